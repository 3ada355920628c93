"""ImportOptions: how a server reads a file that it imports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from everthread.bank.validation import check_filter_name


class ImportOptions(TypedDict, total=False):
    """The options of an import, as for `everthread import`. One that is left out has its default there.

    Attributes:
        format: the format of the file; None: it is recognised.
        assistant: the names under which the bot speaks.
        tz: the time zone of times without one; None: UTC.
        me: the name of the person whose file it is.
        only: titles or ids of the conversations to import; empty: all.
        strict: whether a conversation that can't be read is an error.
        facts_as_lines: whether the facts of another memory (mem0) are stored as lines.
        attachments: whether the texts of attachments are stored in the metadata of their lines.
        disappearing: whether messages of Signal that were to disappear are stored.
        date_order: the order of day, month and year in dates such as 05/06/2024, "dmy", "mdy" or "ymd"; None: it is
            inferred.
        encoding: the encoding of a text, such as "gb18030"; None: UTF-8, or UTF-16 with a byte-order mark.
    """

    format: str | None
    assistant: Collection[str]
    tz: str | None
    me: str | None
    only: Collection[str]
    strict: bool
    facts_as_lines: bool
    attachments: bool
    disappearing: bool
    date_order: str | None
    encoding: str | None


FLAGS = ("strict", "facts_as_lines", "attachments", "disappearing")


def encode_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a request with these `ImportOptions`.

    Raises:
        BadQuery: a name is invalid.
        TypeError: there is no such option.
    """
    known = ImportOptions.__annotations__
    if unknown := options.keys() - known:
        raise TypeError(f"invalid option of an import: got {min(unknown)!r}, expected one of {', '.join(known)}")
    return {name: value if name in FLAGS else _check_names(name, value) for name, value in options.items()}


def _check_names(option: str, value: Any) -> Any:
    """Return the value of an option, several names as a list. Raises BadQuery."""
    is_several = option in ("assistant", "only") and not isinstance(value, str)
    names = list(value) if is_several else value
    for name in names if is_several else [value]:
        if name is not None:
            check_filter_name(name, option)
    return names

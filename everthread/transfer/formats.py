"""The formats that files of conversations are imported from, each read by the module of its name.

A format's module is imported when a file of that format is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from datetime import tzinfo
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from everthread.errors import ConfigError
from everthread.transfer.files import describe_json, load_json, looks_like_json
from everthread.types import NewLine

if TYPE_CHECKING:
    from everthread.transfer.bank_file import SessionLabel

Reader = Callable[[], Iterator[NewLine]]

FORMATS = {  # the options of each module's `read`, apart from the path
    "jsonl": ("tz", "skipped", "places", "sessions", "evidence"),
    "messages": ("tz", "skipped", "places"),
    "transcript": ("assistant", "tz"),
    "whatsapp": ("assistant", "tz", "skipped"),
    "locomo": ("only",),
    "realtalk": ("only",),
}

NAME_FORMAT = f"give its format with {{option}} ({', '.join(FORMATS)})"


def open_reader(
    path: Path,
    format: str | None = None,
    *,
    only: Collection[str] = (),
    assistant: Collection[str] = (),
    tz: tzinfo | None = None,
    skipped: Counter[str] | None = None,
    places: dict[str, str] | None = None,
    sessions: dict[str, SessionLabel] | None = None,
    evidence: bool = False,
) -> Reader:
    """Open a file of conversations.

    Args:
        path: the file.
        format: one of `FORMATS`; without it, the one that the file's name and first lines indicate.
        only: conversations of a data set to read; without any, all.
        assistant: names under which the chatbot speaks.
        tz: the zone of times without one.
        skipped: filled with the number of entries without a line, by kind.
        places: filled with the place in the file of each line with its own key, by key.
        sessions: filled with the titles and the metadata of sessions, by id.
        evidence: whether lines have the evidence of replies, as `importing.store_lines` expects it.

    Returns:
        A function that reads the file from its beginning at each call.

    Raises:
        ConfigError: the format is unknown, or doesn't have a given option.
    """
    format = format or _recognize(path)
    if format not in FORMATS:
        raise ConfigError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    options = FORMATS[format]
    given = {name: value for name, value in (("only", only), ("assistant", assistant), ("tz", tz)) if value}
    for name in given.keys() - set(options):
        others = ", ".join(other for other, known in FORMATS.items() if name in known)
        what = f"format {format} has no option {name!r} (only {others} have it)"
        raise ConfigError(what, path=path, remedy="leave out {option}", option=name)
    filled = {"skipped": skipped, "places": places, "sessions": sessions, "evidence": evidence}
    outputs = {name: value for name, value in filled.items() if name in options}
    return partial(import_module(f"everthread.transfer.{format}").read, path, **given, **outputs)


def _recognize(path: Path) -> str:
    """Return the format of a file, by its name and its first lines."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return "jsonl"
    if path.suffix.lower() != ".json":
        if looks_like_json(path):
            raise ConfigError("this looks like JSON", path=path, remedy=NAME_FORMAT, option="format")
        from everthread.transfer import whatsapp

        return "whatsapp" if whatsapp.is_whatsapp_export(path) else "transcript"
    from everthread.transfer import messages, other_services

    value = load_json(path)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        if "conversation" in first:
            return "locomo"
        if "session_1" in first:
            return "realtalk"
    if messages.is_messages(value) or other_services.detect_service(value) is not None:
        return "messages"  # whose reader rejects another service's export by its name
    raise ConfigError(
        f"unrecognised JSON: {describe_json(value)}. Supported are messages of chat APIs "
        '([{"role": "user", "content": "…"}], or an object with "messages"), an export of Everthread (.jsonl), and the '
        "files of LoCoMo and REALTALK",
        path=path,
        remedy=f"if it is one of these, {NAME_FORMAT}",
        option="format",
    )

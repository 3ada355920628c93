"""The formats that files of conversations are imported from, each read by the module of its name.

A format's module is imported when a file of that format is read. Exports of other services are read by `services`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from everthread.errors import BadFile, ConfigError
from everthread.transfer.files import describe_json, file_error, load_json, looks_like_json, raise_unreadable
from everthread.transfer.other_files import card_error, check_is_chat, describe_remedy
from everthread.transfer.services.conversation import ReadOptions
from everthread.transfer.services.export import is_archive, open_export
from everthread.transfer.services.registry import SERVICES, find_services, may_have_texts
from everthread.transfer.services.sqlite_file import CHANGE_SUFFIXES
from everthread.transfer.types import DATE_ORDERS
from everthread.types import NewLine

if TYPE_CHECKING:
    from everthread.transfer.bank_file import SessionLabel
    from everthread.transfer.services.lines import Findings

Reader = Callable[[], Iterator[NewLine]]

OWN_OPTIONS = {  # of single services, of WhatsApp and of transcripts
    "whatsapp": ("date_order",),
    "transcript": ("date_order",),
    "claude": ("attachments",),
    "openwebui": ("attachments",),
    "signal": ("disappearing",),
    "table": ("date_order",),
}
FORMATS = {  # the options of each module's `read`, apart from the path
    "jsonl": ("tz", "skipped", "places", "sessions", "evidence"),
    "messages": ("tz", "skipped", "places"),
    "transcript": ("assistant", "tz", "me", *OWN_OPTIONS["transcript"], "findings", "left_out"),
    "whatsapp": ("only", "assistant", "tz", "me", *OWN_OPTIONS["whatsapp"], "skipped", "findings", "left_out"),
    "locomo": ("only",),
    "realtalk": ("only",),
    **{name: ("only", "assistant", "tz", "me", "strict", *OWN_OPTIONS.get(name, ())) for name in SERVICES},
}
MAX_NAMED_FILES = 5  # of an archive or a folder, in a message

_FILE_FORMATS = [name for name in FORMATS if name not in SERVICES]  # exports of services are recognised

NAME_FORMAT = f"give its format with {{option}} ({', '.join(_FILE_FORMATS)})"


def open_reader(
    path: Path | Sequence[Path],
    format: str | None = None,
    *,
    only: Collection[str] = (),
    assistant: Collection[str] = (),
    tz: tzinfo | None = None,
    me: str | None = None,
    strict: bool = False,
    facts_as_lines: bool = False,
    attachments: bool = False,
    disappearing: bool = False,
    date_order: str | None = None,
    skipped: Counter[str] | None = None,
    places: dict[str, str] | None = None,
    sessions: dict[str, SessionLabel] | None = None,
    evidence: bool = False,
    findings: Findings | None = None,
    left_out: Collection[Path] = (),
) -> Reader:
    """Open a file of conversations, or several.

    Args:
        path: the file, or the archive or folder with an export or transcripts; or several of these.
        format: one of `FORMATS`; without it, the one that the file's name and first lines indicate.
        only: conversations of a data set or an export to read; without any, all.
        assistant: names under which the chatbot speaks.
        tz: the zone of times without one.
        me: the name of the person whose file it is.
        strict: whether a conversation that can't be read is an error.
        facts_as_lines: whether facts that another memory wrote, if the file has any, become lines.
        attachments: whether the texts that a service extracted from attachments become metadata of their lines.
        disappearing: whether messages that were to disappear are read.
        date_order: the order of day, month and year in dates such as 05/06/2024, one of `DATE_ORDERS`; without it,
            inferred.
        skipped: filled with the number of entries without a line, by kind.
        places: filled with the place in the file of each line with its own key, by key.
        sessions: filled with the titles and the metadata of sessions, by id.
        evidence: whether lines have the evidence of replies, as `importing.store_lines` expects it.
        findings: filled with what is found in an export of a service, or of WhatsApp.
        left_out: damaged files and archives that are not read.

    Returns:
        A function that reads the file from its beginning at each call.

    Raises:
        BadFile: an archive or a folder has no export that can be read.
        ConfigError: the format is unknown, or doesn't have a given option.
    """
    paths = [each for each in ([path] if isinstance(path, Path) else path) if each not in left_out]
    _check_names(format, date_order)
    found = _recognize_files(paths, format, left_out)
    options: dict[str, Any] = {"only": only, "assistant": assistant, "tz": tz, "me": me, "strict": strict}
    options |= {"attachments": attachments, "disappearing": disappearing, "date_order": date_order}
    given = {option: value for option, value in options.items() if value}
    if not found.services and (len(paths) > 1 or paths[0].is_dir() or is_archive(paths[0])):
        given.pop("strict", None)  # it is about which of the files are read
    _check_options(paths[0], found.name, found.list_formats(), given)
    if found.services or found.is_mixed:
        given |= {"only": tuple(only), "assistant": tuple(assistant), "facts_as_lines": facts_as_lines}
        return _open_services(paths, found, given, findings, left_out)
    outputs: dict[str, Any] = {"skipped": skipped, "places": places, "sessions": sessions, "evidence": evidence}
    return _open_format(paths, found.name, given, {**outputs, "findings": findings, "left_out": left_out})


class _Recognized(NamedTuple):
    """The formats of files.

    Attributes:
        name: the format; of exports of services, the first service.
        services: the services whose exports there are.
        chats: those of several files with chats of WhatsApp, if there are others.
        transcripts: those of several files that are transcripts.
        is_mixed: whether they are in several formats.
    """

    name: str
    services: Sequence[str]
    chats: Sequence[Path] = ()
    transcripts: Sequence[Path] = ()
    is_mixed: bool = False

    def list_formats(self) -> list[str]:
        """Return the formats and services that are read."""
        others = [name for name, paths in (("whatsapp", self.chats), ("transcript", self.transcripts)) if paths]
        return [*(self.services or [self.name]), *others]


def _recognize_files(paths: Sequence[Path], format: str | None, left_out: Collection[Path]) -> _Recognized:
    """Return the formats of files. Raises as `open_reader`."""
    if format is not None:
        return _Recognized(format, [format] if format in SERVICES else [])
    services = _find_services(paths, left_out)
    transcripts = _find_transcripts(paths, services, left_out)
    is_mixed = bool(services) or 0 < len(transcripts) < len(paths)
    chats = _find_whatsapp_chats(paths, left_out) if is_mixed else []
    name = services[0] if services else "transcript" if transcripts else _recognize(paths[0], left_out)
    return _Recognized(name, services, chats, transcripts, is_mixed)


def _check_names(format: str | None, date_order: str | None) -> None:
    """Raise ConfigError for an unknown format or order of dates."""
    if date_order and date_order not in DATE_ORDERS:
        what = f"unknown order of dates {date_order!r}; expected one of {', '.join(DATE_ORDERS)}"
        raise ConfigError(what, remedy="correct {option}", option="date_order")
    if format and format not in FORMATS:
        raise ConfigError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")


def _open_format(paths: Sequence[Path], name: str, given: Mapping[str, Any], outputs: Mapping[str, Any]) -> Reader:
    """Open a file in a format of its own, or several of WhatsApp or of transcripts.

    Args:
        paths: the files.
        name: the format.
        given: its options.
        outputs: arguments of which the format may have some.

    Raises:
        ConfigError: the format is read from one file.
    """
    if len(paths) > 1 and name not in ("whatsapp", "transcript"):
        raise ConfigError(f"format {name} is read from one file, got {len(paths)}; import them one after the other")
    known = {option: value for option, value in outputs.items() if option in FORMATS[name]}
    source = paths if len(paths) > 1 else paths[0]
    return partial(import_module(f"everthread.transfer.{name}").read, source, **given, **known)


def _check_options(path: Path, format: str, names: Sequence[str], given: Collection[str]) -> None:
    """Raise ConfigError for an option that none of these formats has.

    Args:
        path: the file, for the message.
        format: the format, for the message.
        names: the formats that are read, of an export the services.
        given: the options that were given.
    """
    possible = {option for name in names for option in FORMATS[name]}
    unknown = next((option for option in given if option not in possible), None)
    if unknown is None:
        return
    is_own = any(unknown in own for own in OWN_OPTIONS.values())
    others = [other for other, known in FORMATS.items() if unknown in known and (is_own or other not in SERVICES)]
    others += [] if is_own else ["exports of services"]
    have = "has" if len(others) == 1 and is_own else "have"
    what = f"format {format} has no option {unknown.replace('_', ' ')!r} (only {', '.join(others)} {have} it)"
    raise ConfigError(what, path=path, remedy="leave out {option}", option=unknown)


def _open_services(
    paths: Sequence[Path],
    found: _Recognized,
    given: Mapping[str, Any],
    findings: Findings | None,
    left_out: Collection[Path],
) -> Reader:
    """Open the exports of services, and other chats that were given with them.

    Args:
        paths: the files.
        found: the formats of the files.
        given: the options.
        findings: filled with what is found.
        left_out: damaged files and archives that are not read.
    """
    from everthread.transfer import transcript, whatsapp
    from everthread.transfer.services import lines

    findings = findings or lines.Findings()
    options = ReadOptions(**given)
    readers: list[Reader] = [partial(lines.read_lines, paths, found.services, options, findings, left_out)]
    if found.chats:
        shared = {option: value for option, value in given.items() if option in FORMATS["whatsapp"]}
        shared |= {"skipped": findings.skipped, "findings": findings, "left_out": left_out}
        readers.append(partial(whatsapp.read, found.chats, **shared, among_others=True))
    if found.transcripts and not given["only"]:  # they have no titles
        shared = {option: value for option, value in given.items() if option in FORMATS["transcript"]}
        shared |= {"findings": findings, "left_out": left_out}
        readers.append(partial(transcript.read, found.transcripts, **shared))
    return lambda: chain.from_iterable(reader() for reader in readers)


def _find_whatsapp_chats(paths: Sequence[Path], left_out: Collection[Path]) -> list[Path]:
    """Return the paths with chats of WhatsApp beside exports of services."""
    from everthread.transfer import whatsapp

    return [path for path in paths if whatsapp.has_chats(path, left_out)]


def _find_services(paths: Sequence[Path], left_out: Collection[Path]) -> list[str]:
    """Return the services whose exports these are; none for a file in another format, and for several files.

    Raises:
        BadFile: no service is recognised in an archive or a folder, or one can't be read.
    """
    try:
        is_missing = len(paths) == 1 and not (paths[0].is_file() or paths[0].is_dir())
    except OSError as error:  # its folder can't be read
        raise_unreadable(paths[0], error)
    if is_missing:
        return []  # its reader raises the error
    if len(paths) == 1 and paths[0].is_file() and not paths[0].stat().st_size:
        what, remedy = "the file is empty", "export or download it again"
        raise file_error(paths[0], "", what, remedy, reason="empty-file")
    with open_export(paths, left_out) as export:
        if services := find_services(export):
            return services
        if len(paths) == 1:
            check_is_chat(paths[0], export)
    for path in paths:
        is_unknown = _has_files(path) and not _has_whatsapp_chat(path, left_out)
        if is_unknown and not _has_transcripts(path, left_out):
            raise _build_unrecognised(path, left_out)
    return []


def _build_unrecognised(path: Path, left_out: Collection[Path]) -> BadFile:
    """Build the error of an archive or a folder without a chat that can be read in it."""
    from everthread.transfer.unread_chats import find_unread

    for error in find_unread(path, False, left_out):
        return error
    with open_export([path], left_out) as export:
        check_is_chat(path, export)
        names = [file.name for file in islice(export.files, MAX_NAMED_FILES)]
    what = f"no export is recognised in these files: {', '.join(names) or 'the folder is empty'}"
    return file_error(path, "", what, describe_remedy(), reason="unknown-file")


def _find_transcripts(paths: Sequence[Path], services: Collection[str], left_out: Collection[Path]) -> list[Path]:
    """Return those of several files that are transcripts, in which neither a service nor WhatsApp is recognised.

    Raises:
        BadFile: one is in a format that is not read together with the others.
        ConfigError: all are.
    """
    if len(paths) == 1:
        return [*paths] if _has_files(paths[0]) and _has_transcripts(paths[0], left_out) else []
    found = {path: _recognize_among_others(path, services, left_out) for path in paths}
    alone = [path for path, name in found.items() if name not in (None, "transcript")]
    if alone and len(alone) == len(paths):
        what = f"format {found[alone[0]]} is read from one file, got {len(alone)}; import them one after the other"
        raise ConfigError(what, path=alone[0])
    if alone:
        what = f"format {found[alone[0]]} is not read together with other files"
        raise file_error(alone[0], "", what, "import it by itself")
    return [path for path, name in found.items() if name == "transcript"]


def _recognize_among_others(path: Path, services: Collection[str], left_out: Collection[Path]) -> str | None:
    """Return the format of one of several files; None for a part of an export of a service, and for WhatsApp.

    Raises:
        BadFile: the file is no chat, or in no known format.
    """
    if not path.is_file() or is_archive(path):
        return "transcript" if _has_transcripts(path, left_out) else None
    if path.name.endswith(CHANGE_SUFFIXES):
        return None
    with open_export([path], left_out) as export:
        if find_services(export) or _has_whatsapp_chat(path, left_out):
            return None
        check_is_chat(path, export)
    try:
        return _recognize(path, left_out)
    except ConfigError as error:  # JSON
        if services:
            return None  # a part of an export, such as its settings
        raise file_error(path, "", error.message, "import it by itself, with its format") from None


def _has_files(path: Path) -> bool:
    return path.is_dir() or is_archive(path)


def _has_transcripts(path: Path, left_out: Collection[Path]) -> bool:
    """Return whether transcripts are read in an archive or a folder: unless there are exports that may have texts."""
    from everthread.transfer import transcript

    with open_export([path], left_out) as export:
        has_texts = may_have_texts(find_services(export)) or _has_whatsapp_chat(path, left_out)
        return not has_texts and bool(transcript.list_transcripts(export))


def _has_whatsapp_chat(path: Path, left_out: Collection[Path]) -> bool:
    from everthread.transfer import whatsapp

    try:
        return whatsapp.is_whatsapp_export(path, left_out)
    except BadFile:  # not UTF-8, such as a picture
        return False


def _recognize(path: Path, left_out: Collection[Path]) -> str:
    """Return the format of a file, by its name and its first lines; of an archive or a folder, by what is in it."""
    if _has_files(path):
        return "whatsapp" if _has_whatsapp_chat(path, left_out) else "transcript"  # or `_find_services` raised an error
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return "jsonl"
    if path.suffix.lower() != ".json":
        if looks_like_json(path):
            what = "this looks like JSON"
            raise ConfigError(what, path=path, remedy=NAME_FORMAT, option="format", reason="unknown-file")
        from everthread.transfer import whatsapp

        return "whatsapp" if whatsapp.is_whatsapp_export(path) else "transcript"
    from everthread.transfer import messages

    value = load_json(path)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        if "conversation" in first:
            return "locomo"
        if "session_1" in first:
            return "realtalk"
    if messages.is_messages(value):
        return "messages"
    if isinstance(first, dict) and ("chara_card" in str(first.get("spec")) or "first_mes" in first):
        raise card_error(path)
    raise ConfigError(
        f"unrecognised JSON: {describe_json(value)}. Supported are exports of services, messages of chat APIs "
        '([{"role": "user", "content": "…"}], or an object with "messages"), an export of Everthread (.jsonl), and the '
        "files of LoCoMo and REALTALK",
        path=path,
        remedy=f"if it is one of these, {NAME_FORMAT}",
        option="format",
        reason="unknown-file",
    )

"""Exports a bank, or one of its sessions, in one of several formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from everthread.errors import BadQuery, NotFound
from everthread.memory import Memory
from everthread.transfer import jsonl
from everthread.transfer.writers import html, markdown, openai, openwebui, sillytavern
from everthread.transfer.writers.session_record import SessionRecord, read_records

MAX_NAME_CHARS = 80  # of a file, without its suffix
MAX_NAME_BYTES = 240  # likewise; the usual limit is 255, and a number and the suffix are added
Progress = Callable[[int], None]
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\u202a-\u202e\u2066-\u2069]+')  # in names of files


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format that a bank is exported in.

    Attributes:
        suffix: of the names of files.
        media_type: its type over HTTP.
        write: writes sessions; None for JSON Lines, which have the whole bank.
        name_file: names the file of a session, without the suffix.
        has_branches: whether it shows, on request, discarded lines and what followed them.
        is_single: whether a file has only one session.
    """

    suffix: str
    media_type: str
    write: Callable[[Iterator[SessionRecord]], Iterator[str]] | None = None
    name_file: Callable[[SessionRecord], str] | None = None
    has_branches: bool = False
    is_single: bool = False


EXPORT_FORMATS = {
    "jsonl": ExportFormat("jsonl", "application/x-ndjson"),
    "markdown": ExportFormat("md", "text/markdown", markdown.write, has_branches=True),
    "html": ExportFormat("html", "text/html", html.write, has_branches=True),
    "sillytavern": ExportFormat(
        "jsonl", "application/x-ndjson", sillytavern.write, sillytavern.name_file, is_single=True
    ),
    "openai": ExportFormat("json", "application/json", openai.write),
    "openwebui": ExportFormat("json", "application/json", openwebui.write),
}


def find_format(name: str) -> ExportFormat:
    """Return the format of a name.

    Raises:
        BadQuery: the name is unknown.
    """
    if name not in EXPORT_FORMATS:
        with_suffix = [known for known, form in EXPORT_FORMATS.items() if name.lower() == form.suffix]
        close = with_suffix[:1] or get_close_matches(name.lower(), EXPORT_FORMATS, 1)
        meant = f"did you mean {close[0]}? There are" if close else "expected one of"
        raise BadQuery(f"unknown format {name[:40]!r} of an export; {meant} {', '.join(EXPORT_FORMATS)}")
    return EXPORT_FORMATS[name]


def export(
    memory: Memory,
    format: str = "jsonl",
    *,
    session: str | None = None,
    retracted: bool = False,
    ascii_only: bool = False,
    progress: Progress | None = None,
) -> Iterator[str]:
    """Yield the text of one file. JSON Lines of a whole bank become the same bank again in an empty one.

    Args:
        memory: the bank.
        format: one of `EXPORT_FORMATS`.
        session: only this session; None: all.
        retracted: in JSON Lines, whether retracted lines and units are included; in Markdown and HTML, whether
            retracted lines are, such as questions that were edited and replies that were regenerated.
        ascii_only: in JSON Lines, whether other characters are escaped.
        progress: called with the number of lines of each part.

    Raises:
        BadQuery: the format is unknown, or has one session in each file and the bank has several.
        NotFound: there is no such session with lines.
    """
    chosen = find_format(format)
    with_lines = _list_sessions(memory, session)
    if chosen.is_single and session is None and len(with_lines) > 1:
        raise BadQuery(
            f"bank {memory.bank!r} has {len(with_lines)} sessions, and a file of {format} has one; choose a session, "
            "or export each into a file of its own"
        )
    if chosen.write is None:
        texts = jsonl.format_bank(memory, session=session, retracted=retracted, ascii_only=ascii_only)
        return _count_lines(texts, progress)
    return chosen.write(_read(memory, chosen, session, retracted, progress))


def export_files(
    memory: Memory,
    format: str,
    *,
    session: str | None = None,
    retracted: bool = False,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name and the text of a file for each session. Arguments and errors are those of `export`.

    Raises:
        BadQuery: the format is unknown, or is JSON Lines, which have the whole bank in one file.
        NotFound: there is no such session with lines.
    """
    chosen = find_format(format)
    if chosen.write is None:
        raise BadQuery(
            f"{format} has all sessions of a bank in one file; name a file instead of a folder, or another format"
        )
    _list_sessions(memory, session)
    return _write_files(chosen, chosen.write, _read(memory, chosen, session, retracted, progress))


def export_zip(memory: Memory, format: str, file: IO[bytes], *, retracted: bool = False) -> None:
    """Write the files of `export_files` into a zip archive. Arguments and errors are those of `export_files`."""
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, texts in export_files(memory, format, retracted=retracted):
            with archive.open(name, "w") as entry:
                for text in texts:
                    entry.write(text.encode())


def _list_sessions(memory: Memory, session: str | None) -> list[str]:
    """Return the ids of the sessions with lines. Raises NotFound unless `session` is one of them or None."""
    with_lines = [each.id for each in memory.sessions() if each.lines]
    if session is not None and session not in with_lines:
        raise NotFound(f"bank {memory.bank!r} has no session {session!r} with lines; see its sessions")
    return with_lines


def _count_lines(texts: Iterator[tuple[str, int]], progress: Progress | None) -> Iterator[str]:
    for text, lines in texts:
        if progress is not None and lines:
            progress(lines)
        yield text


def _read(
    memory: Memory, chosen: ExportFormat, session: str | None, retracted: bool, progress: Progress | None
) -> Iterator[SessionRecord]:
    for record in read_records(memory, session, retracted=retracted and chosen.has_branches):
        if progress is not None:
            branches = (*record.branches, *(branch for turn in record.turns for branch in turn.branches))
            progress(len(record.turns) + sum(len(branch.lines) for branch in branches))
        yield record


def _write_files(
    chosen: ExportFormat, write: Callable[[Iterator[SessionRecord]], Iterator[str]], records: Iterator[SessionRecord]
) -> Iterator[tuple[str, Iterator[str]]]:
    used: set[str] = set()
    for record in records:
        stem = _make_safe((chosen.name_file or _name_file)(record))
        candidates = (stem if number == 1 else f"{stem} ({number})" for number in count(1))
        name = next(candidate for candidate in candidates if candidate.casefold() not in used)
        used.add(name.casefold())
        yield f"{name}.{chosen.suffix}", write(iter([record]))


def _name_file(record: SessionRecord) -> str:
    return f"{record.session.started_at:%Y-%m-%d} {record.title}"


def _make_safe(name: str) -> str:
    """Return the name of a file that any system accepts."""
    short = " ".join(_UNSAFE.sub(" ", name).split())[:MAX_NAME_CHARS]
    return short.encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(" .") or "session"

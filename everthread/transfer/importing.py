"""Imports a file into a bank, which may be the bank that exported it.

If the bank is empty, an exported bank is restored with all that it has (`restoring`). Otherwise only its lines and
sessions are imported.

Lines are identified by their keys. A line without a key is exported with one made from its number and a hash of its
contents, by which it is recognised, so that importing a bank's own export adds nothing. A line whose key is in the bank
is skipped, even if the line in the bank was retracted or corrected, or its speaker has another name there. If the bank
never had these words under this key, the file is rejected, because the line would be lost. Retractions and corrections
in the file are applied to the bank.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from everthread.bank.line_keys import key_history
from everthread.bank.line_validation import clean_line, replace_unstorable
from everthread.common.keys import META_KEY_FROM, META_RECALLED, SESSION_FACTS_TO
from everthread.errors import BadFile, ConfigError
from everthread.memory import BATCH_LINES, Memory
from everthread.stores.arrays import to_ranges
from everthread.stores.base import Store
from everthread.stores.errors import forgotten_bank_error
from everthread.stores.recall_records import get_record
from everthread.stores.shared_rows import SESSION_GAP
from everthread.transfer import formats, restoring
from everthread.transfer.bank_file import Head, SessionLabel, find_head
from everthread.transfer.contents import ContentsCounter
from everthread.transfer.evidence import list_keys, to_seqs
from everthread.transfer.files import PLACEHOLDER_TIME, file_error, shorten
from everthread.transfer.formats import Reader
from everthread.transfer.jsonl import export_key, exported_seq
from everthread.transfer.services.changes import batch_conversations, find_last_times, store_conversations
from everthread.transfer.services.export import is_archive
from everthread.transfer.services.lines import Findings, number_name
from everthread.transfer.services.registry import WHATSAPP
from everthread.transfer.services.units import store_units
from everthread.transfer.types import FileContents
from everthread.transfer.whatsapp_phrases import strip_media_note
from everthread.types import Line, NewLine, NewUnit, Session, now

NO_LABEL = SessionLabel(None, {})
MAX_NAMED_SPEAKERS = 10  # in a message
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that was read once completely and has no errors."""

    path: Path
    read: Reader
    line_count: int
    skipped: Mapping[str, int]  # entries without a line, by kind
    places: Mapping[str, str]  # key -> place in the file, for lines with their own key
    sessions: Mapping[str, SessionLabel]  # titles and metadata, by session
    contents: FileContents
    head: Head | None = None  # of an exported bank
    units: tuple[NewUnit, ...] = ()  # facts and notes that another memory wrote
    began_at: datetime = field(default_factory=now)  # when it was begun to be read

    @property
    def is_export(self) -> bool:
        """True if another service exported conversations with ids, which WhatsApp does not."""
        return bool(self.contents.services) and self.contents.services != (WHATSAPP,)


def check_file(
    path: Path | Sequence[Path], format: str | None = None, progress: Progress | None = None, **options: Any
) -> CheckedFile:
    """Read a file once, and check all of it.

    Args:
        path: the file, or the files of an export. Of several files, also in a folder, those that can't be read are
            named and left out, unless the option `strict` is given.
        format: its format; see `formats.open_reader`.
        progress: called with the number of lines that are read, from time to time; what it raises ends the reading.
        options: further options of `formats.open_reader`.

    Raises:
        BadFile: an entry is invalid, or the file has no line.
        ConfigError: an option is invalid, or no conversation or speaker of an export has a given name.
    """
    paths = [path] if isinstance(path, Path) else path
    left_out: dict[Path, BadFile] = {}
    while True:
        try:
            return _check_files(path, format, left_out, progress, options)
        except BadFile as error:
            if options.get("strict") or not _is_one_of_many(error.path, paths, left_out):
                raise next(iter(left_out.values()), error) from None
            left_out[Path(str(error.path))] = error


def _is_one_of_many(path: object, paths: Sequence[Path], left_out: Collection[Path]) -> bool:
    """Return whether a file that can't be read is one of several, without which the others can be read."""
    is_file = isinstance(path, Path) and path not in left_out and os.path.isfile(path)  # False in an unreadable folder
    return is_file and (paths[0].is_dir() if len(paths) == 1 else not set(paths) <= {*left_out, path})


def _check_files(
    path: Path | Sequence[Path],
    format: str | None,
    left_out: Mapping[Path, BadFile],
    progress: Progress | None,
    options: Mapping[str, Any],
) -> CheckedFile:
    """Read files once, without those that are left out, and check all of them. Raises as `check_file`."""
    began_at = now()
    skipped, places, sessions = Counter[str](), dict[str, str](), dict[str, SessionLabel]()
    outputs: dict[str, Any] = {"skipped": skipped, "places": places, "sessions": sessions}
    findings = Findings(skipped=skipped, sessions=sessions)
    outputs |= {"findings": findings, "left_out": frozenset(left_out)}
    reader = formats.open_reader(path, format, evidence=True, **outputs, **options)
    counter = ContentsCounter()
    for line in reader():
        counter.add(line)
        if progress is not None and not counter.lines % BATCH_LINES:
            progress(BATCH_LINES)
    first = path if isinstance(path, Path) else next(each for each in path if each not in left_out)
    head = find_head(first) if first.is_file() and not findings.services else None
    _note_broken(findings, left_out)
    folders = [each for each in ([path] if isinstance(path, Path) else path) if each.is_dir() or is_archive(each)]
    if folders and format is None:
        from everthread.transfer.unread_chats import note_unread

        note_unread(folders, findings, bool(options.get("strict")), outputs["left_out"])
    contents = counter.summarize(sessions, findings)
    if findings.services or options.get("me"):
        _check_names(contents, findings, first, options)
    if not counter.lines and head is None and not findings.units:
        what = f"the file contains no messages{_format_reasons(contents)}; nothing was imported"
        raise BadFile(what, path=first, reason="no-messages")
    return CheckedFile(
        path=first,
        read=reader,
        line_count=counter.lines,
        skipped=contents.skipped,
        places=dict(places),
        sessions=dict(sessions),
        contents=contents,
        head=head,
        units=tuple(findings.units),
        began_at=began_at,
    )


def _note_broken(findings: Findings, left_out: Mapping[Path, BadFile]) -> None:
    """Note the files that were left out, and why."""
    for file, error in left_out.items():
        reasons = filter(None, (error.where, error.message, "" if error.option else error.remedy))
        findings.broken[number_name(file.name, findings.broken)] = "; ".join(reasons)


def _check_names(contents: FileContents, findings: Findings, path: Path, options: Mapping[str, Any]) -> None:
    """Check that the export has the conversations and speakers that options name.

    Raises:
        ConfigError: it lacks one.
    """
    for name in options.get("only") or ():
        if name not in findings.chosen:
            similar = next((title for title in findings.titles if name.casefold() in title.casefold()), None)
            what = f"no conversation is called {name!r}{f', but one {shorten(similar)}' if similar else ''}"
            remedy = "list the conversations, and correct {option}"
            raise ConfigError(what, path=path, remedy=remedy, option="only")
    speakers = [speaker.name for speaker in contents.speakers]
    for option, names in (("me", [options.get("me")]), ("assistant", options.get("assistant") or ())):
        if missing := [name for name in names if name and name not in speakers] if speakers else []:
            known = ", ".join(speakers[:MAX_NAMED_SPEAKERS])
            what = f"no speaker is called {missing[0]!r}; the most frequent are {known}"
            raise ConfigError(what, path=path, remedy="correct {option}", option=option)


def require_not_forgotten(store: Store, bank: str, source: CheckedFile) -> None:
    """Check that a bank was not forgotten since its file was begun to be read: the import would create it again.

    Raises:
        NotFound: it was.
    """
    if any(receipt.scope == "bank" and receipt.forgotten_at >= source.began_at for receipt in store.receipts(bank)):
        raise forgotten_bank_error(bank)


def check_compatible(memory: Memory, source: CheckedFile) -> None:
    """Check that no line of the file conflicts with the bank.

    Raises:
        BadFile: see `check_keys`.
    """
    if source.is_export:  # its changes are applied to the bank
        return
    stats = memory.stats()
    if (stats.lines or stats.retracted) and not _is_copy(memory, source):
        check_keys(memory, source.read(), source.path, source.places)


def import_lines(
    memory: Memory, source: CheckedFile, progress: Progress | None = None, embed: bool = True
) -> dict[str, Any]:
    """Store the lines of a file that are new to the bank; call `check_compatible` first.

    The lines of an export are embedded when all of them are stored, and found by their words until then.

    Args:
        memory: the bank.
        source: the file.
        progress: called with the number of lines of each batch.
        embed: whether the lines of an export are embedded; otherwise `memory.backlog.embed_missing` does it.

    Raises:
        NotFound: the bank was forgotten since the file was begun to be read.

    Returns:
        The counts of lines read and added; the ranges of the numbers of those that were added, unless a bank was
        restored; the counts of facts and notes added, of the bank's lines, and of skipped entries; the broken
        conversations, and the ambiguous dates.
    """
    writer = BankWriter(memory, source)
    if source.head is not None and _is_copy(memory, source):
        restoring.restore(memory, source.path, source.head, progress)
        return {**writer.count(source.line_count), "skipped": {}}
    try:
        for batch in batch_conversations(source.read()) if source.is_export else _batch_lines(source.read()):
            writer.write(batch)
            if progress is not None:
                progress(len(batch))
    finally:  # also if `progress` stops it
        writer.finish()
    units = store_units(memory, source.units)
    if source.is_export and embed:
        memory.backlog.embed_missing()
    return writer.count(source.line_count) | {"units": units}


def count_kept(memory: Memory, source: CheckedFile) -> tuple[Counter[str], int]:
    """Count the lines of a file that a bank has otherwise, because it had them before.

    Returns:
        The number of lines under another name than in the file, by the name in the bank, and of those of another time.
    """
    names, times = Counter[str](), 0
    for batch in _batch_lines(source.read()):
        stored = _find_by_key(memory, batch)
        for line in batch:
            if (existing := stored.get(_stored_key(line))) is not None:
                cleaned = clean_line(line, existing.said_at)
                names[existing.speaker] += cleaned.speaker != existing.speaker
                times += cleaned.said_at != existing.said_at
    return +names, times


def find_stored(memory: Memory, source: CheckedFile) -> list[int]:
    """Return the numbers of the bank's lines that an import of a file has stored, or would have, had they been new."""
    return [line.seq for batch in _batch_lines(source.read()) for line in _find_by_key(memory, batch).values()]


class BankWriter:
    """Writes lines of a file into a bank, beside those that it has."""

    def __init__(self, memory: Memory, source: CheckedFile) -> None:
        """Write into a bank; no line is written yet. Raises NotFound if the bank was forgotten."""
        require_not_forgotten(memory.store, memory.bank, source)
        memory.store.create(memory.bank)  # it may have been forgotten before
        self.memory, self._source = memory, source
        self._before = memory.stats()
        self._added: list[int] = []  # the numbers of the new lines
        self._last_seq = memory.store.corpus_stats(memory.bank).last_seq
        self._written: set[str] = set()  # the sessions of these
        self._last_line: NewLine | None = None
        sessions = memory.sessions()
        self._last_times = {session.id: session.last_at for session in sessions}
        self._own_sessions = frozenset(self._last_times)
        self._ended = {session.id for session in sessions if _is_ended(session)}
        self._ends = {each.id: each.last_at for each in source.contents.conversations if each.last_at is not None}

    def write(self, lines: Sequence[NewLine]) -> None:
        """Store lines; of an export, a batch of `batch_conversations`. Raises NotFound if the bank was forgotten."""
        if not self.memory.store.exists(self.memory.bank):  # forgotten meanwhile
            raise forgotten_bank_error(self.memory.bank)
        if self._source.is_export:
            added = store_conversations(self.memory, lines, self._last_times, self._ends, self._last_seq)
            for session, at in find_last_times(lines).items():
                self._last_times[session] = max(at, self._last_times.get(session, at))
        else:
            added = store_lines(self.memory, lines, self._last_line, self._last_seq)
            self._last_line = lines[-1]
        self._added += [line.seq for line in added]
        self._last_seq = max([self._last_seq, *(line.seq for line in added)])
        self._written.update(line.session for line in added)

    def finish(self) -> None:
        """End and label the new sessions; a conversation must neither continue an imported one nor summarise it.

        A session that was ended and has new lines is ended again. Sessions of others that write meanwhile stay open. A
        bank that was forgotten is left as it is.
        """
        if not self.memory.store.exists(self.memory.bank):
            return
        sessions = [session for session in self.memory.sessions() if session.id in self._written]
        new = [session for session in sessions if session.id not in self._own_sessions]
        grown = [session for session in sessions if session.id in self._ended and not _is_ended(session)]
        for session in [*grown, *(new if self._own_sessions or self._source.is_export else _list_last(new))]:
            self.memory.end(session.id, session.last_at)
        labels = self._source.sessions
        unnamed = labels.get("", NO_LABEL)  # of lines without a session
        by_session = {**dict.fromkeys([session.id for session in new], unnamed), **labels}
        _label_sessions(self.memory, by_session if labels else {})

    def count(self, read: int) -> dict[str, Any]:
        """Return the counts of the import, of which `read` lines were read."""
        before, after = self._before, self.memory.stats()
        added = after.lines + after.retracted - before.lines - before.retracted
        totals = {"units": 0, "lines": after.lines, "retracted": after.retracted, "pending": after.pending}
        contents = self._source.contents
        found = {"skipped": dict(self._source.skipped), "broken": dict(contents.broken)}
        dates = {
            chat: {name: str(part) for name, part in asdict(example).items()}
            for chat, example in contents.ambiguous_dates.items()
        }
        return {
            "read": read,
            "added": added,
            "seqs": to_ranges(sorted(self._added)),
            **totals,
            **found,
            "ambiguous_dates": dates,
        }


def _is_copy(memory: Memory, source: CheckedFile) -> bool:
    return source.head is not None and restoring.is_copy(memory, source.path, source.head, source.line_count)


def _is_ended(session: Session) -> bool:
    return session.ended_at is not None and session.ended_at >= session.last_at


def _list_last(sessions: Sequence[Session]) -> list[Session]:
    """Return the sessions that a conversation would end: the last one, and those that were left for it. One with a line
    of the last hour can be continued, and is left out."""
    present = now()
    idle = [session for session in sessions if present - session.last_at > SESSION_GAP]
    last = max(idle, key=lambda session: (session.last_at, session.last_seq), default=None)
    return [session for session in idle if last and last.started_at - session.last_at <= SESSION_GAP]


def _batch_lines(lines: Iterator[NewLine]) -> Iterator[list[NewLine]]:
    while batch := list(islice(lines, BATCH_LINES)):
        yield batch


def _label_sessions(memory: Memory, labels: Mapping[str, SessionLabel]) -> None:
    """Set the titles and the metadata of sessions that have none in the bank."""
    for session in memory.sessions() if labels else ():
        label = labels.get(session.id, NO_LABEL)
        title = label.title if session.title is None else None
        # Not the mark of the facts: they stay in the bank of the export, and lines have other numbers here.
        portable = {name: value for name, value in label.metadata.items() if name != SESSION_FACTS_TO}
        metadata = None if session.metadata.keys() - {SESSION_FACTS_TO} else portable
        if title or metadata:
            memory.set_session(session.id, title=title, metadata=metadata)


def format_skipped(counts: Mapping[str, int]) -> str:
    """Format the number of skipped entries as the end of a sentence."""
    kinds = [f"{count} {kind if count != 1 else _singularize(kind)}" for kind, count in counts.items()]
    return f" (skipped: {', '.join(kinds)})" if kinds else ""


def _singularize(kind: str) -> str:
    """Return the singular of a kind of entries, whose noun is the first word with an s at its end."""
    words = [] if kind.startswith("without ") else kind.split(" ")
    noun = next((word for word in words if word.endswith("s")), "")
    singular = f"{noun[:-3]}y" if noun.endswith("ies") else noun[:-1]
    for plural, verb in ((noun, singular), (" that are ", " that is "), (" that were ", " that was ")):
        kind = kind.replace(plural, verb, 1) if noun else kind
    return kind


def _format_reasons(contents: FileContents) -> str:
    """Format why a file has no messages as the end of a sentence."""
    broken = "".join(f"; {name} can't be read: {reason}" for name, reason in islice(contents.broken.items(), 1))
    return f"{format_skipped(contents.skipped)}{broken}"


def store_lines(memory: Memory, lines: Sequence[NewLine], before: NewLine | None = None, after: int = 0) -> list[Line]:
    """Store the lines that are new to the bank, and apply the retractions and corrections of the others.

    Args:
        memory: the bank.
        lines: the lines.
        before: the line of the file before them.
        after: as for `Memory.replace_lines`.

    Returns:
        The new lines.
    """
    new = list(select_foreign_lines(memory, lines))
    stored = _find_by_key(memory, new if before is None else [before, *new])
    last = None if before is None else stored.get(_stored_key(before))
    added_lines = [_without_evidence(line) for line in _continue_sessions(new, stored, last)]
    added = memory.replace_lines((), added_lines, after=after)
    _store_evidence(memory, [line for line in lines if META_RECALLED in line.metadata])
    exported = [
        (line, existing) for line in lines if line.retracted_at and (existing := _find_exported(memory, line.key))
    ]
    for line, existing in (*((line, stored[key]) for line in new if (key := _stored_key(line)) in stored), *exported):
        if existing.retracted_at is not None:
            continue
        if _is_correction(line, existing):
            memory.replace_lines([existing.seq], [line])
        elif line.retracted_at is not None and _has_same_words(line, existing):
            memory.store.retract(memory.bank, existing.seq, line.retracted_at)
    return added


def _continue_sessions(lines: Iterable[NewLine], stored: Mapping[str, Line], before: Line | None) -> Iterator[NewLine]:
    """Yield the lines that are not stored, one without a session in that of the line shortly before it.

    Otherwise the new lines of a file that has grown would begin another session.

    Args:
        lines: lines of a file.
        stored: the bank's lines, by key.
        before: the bank's line for the one before them.
    """
    session, last_at = (before.session, before.said_at) if before is not None else (None, None)
    for line in lines:
        existing = stored.get(_stored_key(line))
        if existing is not None:
            session, last_at = existing.session, existing.said_at
            continue
        at = line.said_at
        is_near = at is not None and last_at is not None and abs(at - last_at) <= SESSION_GAP
        session, last_at = line.session or (session if is_near else None), at
        yield replace(line, session=session)


def _without_evidence(line: NewLine) -> NewLine:
    return replace(line, metadata={name: value for name, value in line.metadata.items() if name != META_RECALLED})


def _store_evidence(memory: Memory, replies: Sequence[NewLine]) -> None:
    """Store the evidence of lines that have none: new ones, and those of an import that was interrupted.

    The lines in it get the numbers that they have in this bank.
    """
    evidence = {_stored_key(line): get_record(line.metadata) or {} for line in replies if line.key}
    stored = _find_by_any_key(memory, evidence)
    missing = {key: evidence[key] for key, line in stored.items() if META_RECALLED not in line.metadata}
    lines = _find_by_any_key(memory, set(missing).union(*map(list_keys, missing.values())))
    seqs = {key: line.seq for key, line in lines.items()}
    if records := {seqs[key]: to_seqs(record, seqs) for key, record in missing.items()}:
        memory.store.set_records(memory.bank, records)


def _find_by_any_key(memory: Memory, keys: Collection[str]) -> dict[str, Line]:
    """Return the bank's lines with these keys, and those that it exported under them, by key."""
    found = memory.store.get_by_key(memory.bank, sorted(keys))
    exported = {key: line for key in keys if key not in found and (line := _find_exported(memory, key)) is not None}
    return found | exported


def select_foreign_lines(memory: Memory, lines: Iterable[NewLine]) -> Iterator[NewLine]:
    """Yield the lines that this bank did not export. A parent that it exported is replaced by its number."""
    for line in lines:
        if _find_exported(memory, line.key) is None:
            parent = _find_exported(memory, line.parent)
            yield line if parent is None else replace(line, parent=parent.seq)


def check_keys(memory: Memory, lines: Iterable[NewLine], path: Path, places: Mapping[str, str]) -> None:
    """Check that the bank has no different texts under the keys of some lines.

    Args:
        memory: the bank.
        lines: the lines.
        path: their file, for the message.
        places: key -> place in the file.

    Raises:
        BadFile: the bank has a different text under a key, so that the line would be lost.
    """
    remaining = iter(lines)
    while batch := list(islice(remaining, BATCH_LINES)):
        stored = _find_by_key(memory, batch)
        for line in batch:
            existing = stored.get(_stored_key(line))
            if (
                existing is not None
                and not _is_correction(line, existing)
                and not _had_same_words(memory, line, existing)
                and (line.key in places or not _has_more_words(line, existing))
            ):
                other = "text" if _clean(line).text != existing.text else f"speaker, {existing.speaker!r},"
                what = f"has a different {other} under the key {shorten(line.key)}, its line {existing.seq}"
                where = places.get(line.key or "", str(line.key))
                remedy = "change or remove the line's key; nothing was imported"
                raise file_error(path, where, f"bank {memory.bank!r} {what}", remedy)


def _stored_key(line: NewLine) -> str:
    """Return the line's key as a bank would store it; empty for a line without one."""
    return replace_unstorable(line.key)[0] if isinstance(line.key, str) else ""


def _find_by_key(memory: Memory, lines: Iterable[NewLine]) -> dict[str, Line]:
    """Return the bank's lines with the keys of these lines, by key."""
    return memory.store.get_by_key(memory.bank, [key for line in lines if (key := _stored_key(line))])


def _had_same_words(memory: Memory, line: NewLine, existing: Line) -> bool:
    """Return whether the bank has, or had before a correction, the same words under the key."""
    return any(_has_same_words(line, version) for version in key_history(memory.store, memory.bank, existing))


def _has_same_words(line: NewLine, existing: Line) -> bool:
    """Return whether a line of the bank has the same words, perhaps under another name of the speaker.

    Earlier versions stored a caption from WhatsApp together with the note that names its file.
    """
    cleaned = _clean(line)
    if cleaned.text != existing.text and cleaned.text != strip_media_note(existing.text):
        return False
    return cleaned.speaker == existing.speaker or cleaned.role == existing.role


def _has_more_words(line: NewLine, existing: Line) -> bool:
    """Return whether a line of the bank has further words, such as those around a reply, which 0.1.0 left in it."""
    cleaned = _clean(line)
    return cleaned.text in existing.text and cleaned.role == existing.role


def _is_correction(line: NewLine, existing: Line) -> bool:
    """Return whether a line is another bank's correction of a line that this bank has not corrected."""
    changed = META_KEY_FROM in line.metadata and META_KEY_FROM not in existing.metadata
    return changed and line.retracted_at is None and not _has_same_words(line, existing)


def _clean(line: NewLine) -> NewLine:
    """Return the line as a bank would store it."""
    return clean_line(line, PLACEHOLDER_TIME)


def _find_exported(memory: Memory, key: int | str | None) -> Line | None:
    """Return the bank's line that was exported under this key, retracted or not."""
    seq = exported_seq(key) if isinstance(key, str) else None
    if seq is None:
        return None
    line = next(memory.lines(after=seq - 1, limit=1, include_retracted=True, include_wordless=True), None)
    return line if line is not None and export_key(line) == key else None

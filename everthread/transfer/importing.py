"""Lines on their way into a bank that may be the one they came from.

A line with a key is known by it. One without was exported under a key that holds its number and a digest of what it
says; here it is looked up, so that a bank's own export adds nothing to it. A key that the bank knows is passed over,
also where its line was retracted or corrected here; one under which the bank never held these words is an error: the
line would be lost. What was retracted or corrected where it comes from is retracted or corrected here as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from everthread.bank.line_keys import key_history
from everthread.bank.line_validation import clean_line, replace_unstorable
from everthread.common.keys import META_KEY_FROM
from everthread.errors import BadFile
from everthread.memory import BATCH, Memory
from everthread.transfer import formats
from everthread.transfer.files import PLACEHOLDER_TIME, file_error, shorten
from everthread.transfer.formats import Reader
from everthread.transfer.jsonl import export_key, exported_seq
from everthread.types import Line, NewLine


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that was read once from beginning to end, and found sound."""

    path: Path
    read: Reader
    line_count: int
    skipped: Mapping[str, int]  # what holds no line, by its kind
    places: Mapping[str, str]  # where each key of a line's own stands


def check_file(path: Path, format: str | None = None, **options: Any) -> CheckedFile:
    """Read a file once, and check all of it.

    Args:
        path: the file.
        format: its format; see `formats.open_reader`.
        options: further options of `formats.open_reader`.

    Raises:
        BadFile: an entry is invalid, or the file has no line.
        ConfigError: an option is invalid.
    """
    skipped, places = Counter[str](), dict[str, str]()
    reader = formats.open_reader(path, format, skipped=skipped, places=places, **options)
    total, left_out = sum(1 for _ in reader()), dict(skipped)
    if not total:
        what = f"there is nothing in it to remember{format_skipped(left_out)}"
        raise BadFile(f"{what}; nothing was imported", path=path)
    return CheckedFile(path, reader, total, left_out, dict(places))


def check_compatible(memory: Memory, source: CheckedFile) -> None:
    """See that the bank takes all of it. Raises as `check`."""
    held = memory.stats()
    if held.lines or held.retracted:
        check_keys(memory, source.read(), source.path, source.places)


def import_lines(memory: Memory, source: CheckedFile, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
    """Keep the lines of a file that are new to the bank, once it was seen that the bank takes all: what was read, added
    and skipped, and what the bank holds. progress is called with the size of each batch that is done."""
    before, talks, lines = memory.stats(), {each.id for each in memory.sessions()}, source.read()
    while batch := list(islice(lines, BATCH)):
        store_lines(memory, batch)
        if progress is not None:
            progress(len(batch))
    if talks:  # the conversation that goes on is the bank's own, whatever is read into it, and when
        for each in memory.sessions():
            if each.id not in talks:
                memory.end(each.id, each.last_at)
    after = memory.stats()
    added = after.lines + after.retracted - before.lines - before.retracted
    held = {"lines": after.lines, "retracted": after.retracted, "pending": after.pending}
    return {"read": source.line_count, "added": added, **held, "skipped": dict(source.skipped)}


def format_skipped(counts: Mapping[str, int]) -> str:
    """What was left out of an import, as the end of a sentence."""
    return f" (skipped: {', '.join(f'{count} {kind}' for kind, count in counts.items())})" if counts else ""


def store_lines(memory: Memory, lines: Sequence[NewLine]) -> None:
    """Keep the lines that are new to the bank, and retract or correct those that have been since."""
    new = list(select_foreign_lines(memory, lines))
    held = _find_by_key(memory, new)
    memory.observe_many([line for line in new if _stored_key(line) not in held])
    own = [(line, there) for line in lines if line.retracted_at and (there := _find_exported(memory, line.key))]
    for line, there in (*((line, held[key]) for line in new if (key := _stored_key(line)) in held), *own):
        if there.retracted_at is not None:
            continue
        if _is_correction(line, there):
            memory.replace_lines([there.seq], [line])
        elif line.retracted_at is not None and _stored_words(line) == (there.speaker, there.text):
            memory.store.retract(memory.bank, there.seq, line.retracted_at)


def select_foreign_lines(memory: Memory, lines: Iterable[NewLine]) -> Iterator[NewLine]:
    """Those of the lines that this bank did not export itself. A parent that it did is named by its number."""
    for line in lines:
        if _find_exported(memory, line.key) is None:
            parent = _find_exported(memory, line.parent)
            yield line if parent is None else replace(line, parent=parent.seq)


def check_keys(memory: Memory, lines: Iterable[NewLine], path: Path, places: Mapping[str, str]) -> None:
    """BadFile, where the bank knows the key of one of the lines and keeps other words under it. places says where each
    key stands in the file."""
    rest = iter(lines)
    while batch := list(islice(rest, BATCH)):
        held = _find_by_key(memory, batch)
        for line in batch:
            there = held.get(_stored_key(line))
            if there is not None and not _is_correction(line, there) and not _had_same_words(memory, line, there):
                what = (
                    f"bank {memory.bank!r} keeps other words under the key {shorten(line.key)}, as its line {there.seq}"
                )
                where = places.get(line.key or "", str(line.key))
                raise file_error(path, where, what, "give the line another key, or none; nothing was imported")


def _stored_key(line: NewLine) -> str:
    """The line's key as a bank would keep it; nothing, where it has none."""
    return replace_unstorable(line.key)[0] if isinstance(line.key, str) else ""


def _find_by_key(memory: Memory, lines: Iterable[NewLine]) -> dict[str, Line]:
    """The lines that the bank has under the keys of these."""
    return memory.store.get_by_key(memory.bank, [key for line in lines if (key := _stored_key(line))])


def _had_same_words(memory: Memory, line: NewLine, there: Line) -> bool:
    """Whether the bank has or had these words under the key of the line that is there."""
    said = _stored_words(line)
    return any((each.speaker, each.text) == said for each in key_history(memory.store, memory.bank, there))


def _is_correction(line: NewLine, there: Line) -> bool:
    """Whether a line is another bank's correction of the line that is here, which this bank has not changed."""
    changed = META_KEY_FROM in line.metadata and META_KEY_FROM not in there.metadata
    return changed and line.retracted_at is None and _stored_words(line) != (there.speaker, there.text)


def _stored_words(line: NewLine) -> tuple[str, str]:
    """Who says what, as a bank would keep it."""
    kept = clean_line(line, PLACEHOLDER_TIME)
    return kept.speaker, kept.text


def _find_exported(memory: Memory, key: int | str | None) -> Line | None:
    """The line of the bank that was exported under this key, retracted or not."""
    seq = exported_seq(key) if isinstance(key, str) else None
    if seq is None:
        return None
    line = next(memory.lines(after=seq - 1, limit=1, retracted=True), None)
    return line if line is not None and export_key(line) == key else None

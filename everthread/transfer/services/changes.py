"""Writes the conversations of an export into a bank that may have them from an earlier export.

Changes at the service are applied to the bank: edited texts, messages that were edited or regenerated away, and
branches that are shown again. Changes in the bank stay: corrected lines, retracted lines, and conversations that were
continued there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from everthread.bank.line_keys import key_history
from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.memory import Memory
from everthread.types import Line, NewLine

BATCH_LINES = 4096  # written together: the fewer batches, the less often the index of words is written


def batch_conversations(lines: Iterable[NewLine]) -> Iterator[list[NewLine]]:
    """Yield the lines of conversations, in batches of about `BATCH_LINES`. Only a linear conversation is divided.

    A line that an earlier export in the same import has begins a batch, so that the changes since are applied to it.
    """
    batch: list[NewLine] = []
    keys: set[str | None] = set()
    is_tree = False
    for line in lines:
        is_next = bool(batch) and line.session != batch[-1].session
        is_tree = (is_tree and not is_next) or line.parent is not None or line.retracted_at is not None
        if line.key in keys or (len(batch) >= BATCH_LINES and (is_next or not is_tree)):
            yield batch
            batch, keys = [], set()
        batch.append(line)
        keys.add(line.key)
    if batch:
        yield batch


def store_conversations(
    memory: Memory,
    lines: Sequence[NewLine],
    last_times: Mapping[str, datetime],
    ends: Mapping[str, datetime],
    after: int = 0,
) -> list[Line]:
    """Store the lines of a batch that are new to the bank, and apply the service's changes to the others.

    Args:
        memory: the bank.
        lines: the lines, each with a key.
        last_times: the time of the last line of each conversation that the bank has. An export that ends earlier is
            older than the bank and changes none of its lines.
        ends: the time of the last line of each conversation in the export, of which the batch may have a part.
        after: as for `Memory.replace_lines`.

    Returns:
        The lines of which the bank had no version.
    """
    stored = memory.store.get_by_key(memory.bank, [line.key or "" for line in lines])
    newer = _find_newer(lines, last_times, ends)
    known = [(line, stored[line.key]) for line in lines if line.key in stored and line.session in newer]
    switched: set[str | None] = set()
    for line, existing in known:
        if line.retracted_at is not None and existing.retracted_at is None and line.text == existing.text:
            memory.store.retract(memory.bank, existing.seq, existing.said_at)
            switched.add(line.session)
    shown_again = {
        line.key: existing.seq
        for line, existing in known
        if line.session in switched and line.retracted_at is None and _was_hidden(existing)
    }
    new = [
        _link_copy(line, shown_again.get(line.key))
        for line in lines
        if line.key not in stored or line.key in shown_again
    ]
    written = memory.replace_lines((), new, defer_embedding=True, after=after) if new else []
    memory.backlog.discard(written)  # `embed_missing` embeds them when all are stored
    for line, existing in known:
        if line.retracted_at is None and existing.retracted_at is None and _is_edited(memory, line, existing):
            _replace_text(memory, line)
    return [line for line in written if line.key not in stored]


def find_last_times(lines: Sequence[NewLine]) -> dict[str, datetime]:
    """Return the time of the last line of each conversation."""
    newest: dict[str, datetime] = {}
    for line in lines:
        if line.said_at is not None:
            session = line.session or ""
            newest[session] = max(line.said_at, newest.get(session, line.said_at))
    return newest


def _find_newer(
    lines: Sequence[NewLine], last_times: Mapping[str, datetime], ends: Mapping[str, datetime]
) -> set[str | None]:
    """Return the conversations of which the export is at least as new as the bank."""
    newest = find_last_times(lines)
    newer: set[str | None] = set()
    for session in {line.session for line in lines}:
        name = session or ""
        known = [at for times in (newest, ends) if (at := times.get(name)) is not None]
        last = last_times.get(name)
        if last is None or max(known, default=last) >= last:
            newer.add(session)
    return newer


def _was_hidden(existing: Line) -> bool:
    """Return whether an import retracted a line, rather than the bank's user, who does so later than it was said."""
    return existing.retracted_at is not None and existing.retracted_at <= existing.said_at


def _link_copy(line: NewLine, repeated: int | None) -> NewLine:
    return line if repeated is None else replace(line, metadata={**line.metadata, META_REPEATS: repeated})


def _is_edited(memory: Memory, line: NewLine, existing: Line) -> bool:
    """Return whether a text is new to the bank under the line's key, and the line was not corrected in the bank."""
    if line.text == existing.text or META_CORRECTS in existing.metadata:
        return False
    return all(version.text != line.text for version in key_history(memory.store, memory.bank, existing))


def _replace_text(memory: Memory, line: NewLine) -> None:
    memory.observe(
        line.text,
        speaker=line.speaker,
        role=line.role,
        said_at=line.said_at,
        session=line.session,
        metadata=line.metadata,
        parent=line.parent,
        key=line.key,
        replace=True,
        undated=line.undated,
    )

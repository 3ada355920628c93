"""Chooses lines that a character may bring up unprompted, and records the ones that it was reminded of.

The metadata of a reply hold the number of the line that it was reminded of, so that a reminder counts only if its
reply was saved and not discarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import dropwhile

from everthread.chat.events import (
    MAX_REMINDED_LINES,
    MIN_TURNS_BETWEEN,
    Event,
    ReminderHistory,
    find_best_old_hit,
    find_due_events,
    parse_event,
    phrase,
)
from everthread.chat.prompt_builder import is_character_line
from everthread.common.keys import META_OFFERED, SETTING_OFFERS
from everthread.memory import Memory
from everthread.types import Context, Filter, JSONValue, Line

SCAN_LINES = 400  # latest lines of the bank that are searched for announced events when a session begins

Reminder = tuple[int, str]  # the number of the line that is brought up, and the text for the prompt


class Reminders:
    """Chooses a line that a character may bring up: one at a time, and each only once in a bank."""

    def __init__(self, memory: Memory) -> None:
        """Load the history of a bank. Raises BadInput if it is invalid."""
        self._memory = memory
        self.load(memory.settings())

    def load(self, settings: Mapping[str, JSONValue]) -> None:
        """Load the history, which another process may have changed, from the bank's settings. Raises BadInput if it is
        invalid."""
        saved = settings.get(SETTING_OFFERS)
        self._seqs = (ReminderHistory.from_json(saved) if saved else ReminderHistory()).seqs

    def choose(
        self,
        lines: Sequence[Line],
        context: Context,
        last_seen: datetime | None,
        now: datetime,
        replaces: Line | None = None,
    ) -> Reminder | None:
        """Choose an event or a line to bring up after these lines; usually None.

        Args:
            lines: the lines of the conversation.
            context: the memories recalled for the reply.
            last_seen: the time of the last line before this conversation.
            now: the present time.
            replaces: the reply to be replaced; the character may be reminded of its line again.
        """
        answered = dropwhile(is_character_line, lines)  # without a greeting
        replies = [line for line in answered if is_character_line(line)]
        if not replies and (event := self.find_event(last_seen, now, replaces)) is not None:
            return event.line.seq, phrase(event, now)
        hit = find_best_old_hit(context.hits, now)
        if hit is None or not self._load_history(replies, replaces).allows(hit.line.seq):
            return None
        return hit.line.seq, phrase(hit, now)

    def find_event(self, last_seen: datetime | None, now: datetime, replaces: Line | None = None) -> Event | None:
        """Return an event announced by the user that has happened since `last_seen`, or is about to happen."""
        if last_seen is None:
            return None
        last = self._memory.store.corpus_stats(self._memory.bank).last_seq
        recent = self._memory.lines(Filter(role="user"), after=max(0, last - SCAN_LINES))
        events = [event for line in recent if (event := parse_event(line)) is not None]
        used = self._list_seqs_without(replaces)
        fresh = [event for event in find_due_events(events, now, last_seen) if event.line.seq not in used]
        return fresh[0] if fresh else None

    def _list_seqs_without(self, *replies: Line | None) -> tuple[int, ...]:
        """Return the lines of earlier reminders, without those of these replies."""
        removed = {_get_reminded_seq(line) for line in replies if line is not None}
        return tuple(seq for seq in self._seqs if seq not in removed)

    def _load_history(self, replies: Sequence[Line], replaces: Line | None) -> ReminderHistory:
        """Return the lines of earlier reminders, and the number of replies since the last one."""
        turns = next(
            (turns for turns, line in enumerate(reversed(replies), 1) if _get_reminded_seq(line) is not None),
            MIN_TURNS_BETWEEN,
        )
        return ReminderHistory(min(turns, MIN_TURNS_BETWEEN), self._list_seqs_without(replaces))

    def record(self, added: Sequence[Line], removed: Sequence[Line]) -> None:
        """Save the lines that added replies were reminded of, and drop those of removed replies."""
        seqs = list(self._list_seqs_without(*removed))
        seqs += [seq for line in added if (seq := _get_reminded_seq(line)) is not None and seq not in seqs]
        if tuple(seqs) != self._seqs:
            history = ReminderHistory(0, tuple(seqs)[-MAX_REMINDED_LINES:])
            self._memory.set_setting(SETTING_OFFERS, history.to_json())
            self._seqs = history.seqs


def _get_reminded_seq(line: Line) -> int | None:
    """Return the number of the line that a reply was reminded of."""
    seq = line.metadata.get(META_OFFERED)
    return seq if isinstance(seq, int) else None

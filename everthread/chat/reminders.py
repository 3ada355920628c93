"""What a character may bring up unasked in a conversation, and what it has brought up. Which line it was stands in the
metadata of the reply, so that a reply that never came or is discarded has brought up nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from everthread.chat.events import (
    MAX_OFFERED_LINES,
    MIN_TURNS_BETWEEN,
    ReminderHistory,
    best_old_hit,
    due_events,
    parse_event,
    phrase,
)
from everthread.chat.prompt_builder import is_character_line
from everthread.common.keys import META_OFFERED, SETTING_OFFERS
from everthread.memory import Memory
from everthread.types import Context, Filter, Line

SCAN_LINES = 400  # latest lines of the person in which a session's beginning looks for what they announced

Offer = tuple[int, str]  # the line that is brought up, and the words for the prompt


class Reminders:
    """What is offered in one bank's conversations: one thing at a time, and none twice."""

    def __init__(self, memory: Memory) -> None:
        """As the bank's settings have it. Raises BadInput where they are none of ours."""
        self._memory = memory
        kept = memory.settings().get(SETTING_OFFERS)
        self._seqs = (ReminderHistory.from_json(kept) if kept else ReminderHistory()).seqs

    def next(
        self,
        lines: Sequence[Line],
        context: Context,
        last_seen: datetime | None,
        now: datetime,
        replaces: Line | None = None,
    ) -> Offer | None:
        """The one thing that could be brought up at this moment, behind these lines; nothing most of the time. since is
        when the two spoke last, before this conversation. What the reply that is to be replaced has brought up may be
        brought up again."""
        spoken = [line for line in lines if is_character_line(line)]
        if not spoken and (event := self.next_event(last_seen, now, replaces)) is not None:
            return event
        hit = best_old_hit(context.hits, now)
        if hit is None or not self._recent(spoken, replaces).allows(hit.line.seq):
            return None
        return hit.line.seq, phrase(hit, now)

    def next_event(self, last_seen: datetime | None, now: datetime, replaces: Line | None = None) -> Offer | None:
        """What the person announced, and has happened since the two spoke last, or is about to."""
        if last_seen is None:
            return None
        last = self._memory.store.corpus(self._memory.bank).last_seq
        recent = self._memory.lines(Filter(role="user"), after=max(0, last - SCAN_LINES))
        events = [event for line in recent if (event := parse_event(line)) is not None]
        made = self._history_without(replaces)
        fresh = [event for event in due_events(events, now, last_seen) if event.line.seq not in made]
        return (fresh[0].line.seq, phrase(fresh[0], now)) if fresh else None

    def _history_without(self, *gone: Line | None) -> tuple[int, ...]:
        """What was brought up, but for what these lines did."""
        theirs = {_seq(line) for line in gone if line is not None}
        return tuple(seq for seq in self._seqs if seq not in theirs)

    def _recent(self, spoken: Sequence[Line], replaces: Line | None) -> ReminderHistory:
        """What was brought up, and how many replies ago."""
        turns = next(
            (turns for turns, line in enumerate(reversed(spoken), 1) if _seq(line) is not None), MIN_TURNS_BETWEEN
        )
        return ReminderHistory(min(turns, MIN_TURNS_BETWEEN), self._history_without(replaces))

    def record(self, added: Sequence[Line], removed: Sequence[Line]) -> None:
        """Keep what was brought up by the lines that came, and not by those that are gone. Raises StoreUnavailable."""
        seqs = list(self._history_without(*removed))
        seqs += [seq for line in added if (seq := _seq(line)) is not None and seq not in seqs]
        if tuple(seqs) != self._seqs:
            offers = ReminderHistory(0, tuple(seqs)[-MAX_OFFERED_LINES:])
            self._memory.set_setting(SETTING_OFFERS, offers.to_json())
            self._seqs = offers.seqs


def _seq(line: Line) -> int | None:
    """The number of the line that a reply could bring up."""
    seq = line.metadata.get(META_OFFERED)
    return seq if isinstance(seq, int) else None

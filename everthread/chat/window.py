"""Window: the notes and the lines of a conversation that a prompt holds word for word."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from everthread.chat.conversation import Conversation
from everthread.chat.prompt_builder import count_line_tokens
from everthread.chat.scribe_worker import ScribeWorker, make_job
from everthread.text.tokens import Counter
from everthread.types import Line, Unit


class Window:
    """Selects the lines and notes of a conversation that a prompt holds."""

    def __init__(self, conversation: Conversation, scribe_worker: ScribeWorker, count: Counter) -> None:
        self.conversation, self.scribe_worker, self._count = conversation, scribe_worker, count
        self._noted_in: tuple[int, datetime] | None = None
        self._noted_last = 0

    def notes(self, replaces: Line | None) -> Unit | None:
        """Returns the latest notes that hold nothing of a reply that is to be replaced, nor of lines discarded in
        private; None without notes."""
        if not self.conversation.memory.recipe.notes:
            return None
        gone = {*self.conversation.hidden_seqs, *([replaces.seq] if replaces else [])}
        current = self.scribe_worker.notes()
        if current is None or not any(current.first_seq <= seq <= current.last_seq for seq in gone):
            return current
        older = (unit for unit in reversed(self.conversation.memory.units("note")))
        return next((unit for unit in older if not any(unit.first_seq <= seq <= unit.last_seq for seq in gone)), None)

    def lines(self, lines: Sequence[Line], notes: Unit | None, max_tokens: int) -> list[Line]:
        """Returns the lines that are not in the notes yet, at most as many as the recipe wants, in `most` tokens."""
        waiting, wanted = self.lines_since_notes(lines, notes, max_tokens), self.conversation.memory.recipe.window
        return waiting if wanted is None else waiting[max(len(waiting) - wanted, 0) :]

    def lines_since_notes(self, lines: Sequence[Line], notes: Unit | None, max_tokens: int) -> list[Line]:
        """Returns the lines that are not in the notes yet, and the recipe's overlap; of many the last, in `most`
        tokens."""
        noted, left, first = self._noted(notes), max_tokens, len(lines)
        while first and not 0 < lines[first - 1].seq <= noted and left > 0:
            first -= 1
            left -= count_line_tokens(lines[first], self._count)
        return list(lines[max(first - self.conversation.memory.recipe.overlap, 0) :])

    def queue_notes(self, budget: int, max_tokens: int) -> None:
        """Queue notes on the oldest lines if the window has more than `room` tokens; of many lines the last are
        considered, in `most` tokens."""
        memory, gone, window = self.conversation.memory, 0, list[Line]()
        if memory.recipe.notes:
            window = self.lines_since_notes(self.conversation.lines, self.scribe_worker.notes(), max_tokens)
            gone = memory.recipe.lines_to_evict([count_line_tokens(line, self._count) for line in window], budget)
        if gone and not any(waiting.kind == "notes" for waiting in memory.jobs()):
            self.scribe_worker.submit(make_job("notes", window[:gone]))
        else:
            self.scribe_worker.start()

    def _noted(self, notes: Unit | None) -> int:
        """Returns the last line of the conversation that is in the notes. Looked up when other notes are current."""
        current = None if notes is None else (notes.id, notes.valid_from)
        if current != self._noted_in:
            self._noted_in, self._noted_last = (
                current,
                self.scribe_worker.last_noted_seq(self.conversation.lines) if notes else 0,
            )
        return self._noted_last

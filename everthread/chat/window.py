"""Selects the window: the lines of a conversation that a prompt holds verbatim, and the notes on earlier lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from everthread.chat import pins
from everthread.chat.conversation import Conversation
from everthread.chat.prompt_builder import LineFormatter
from everthread.chat.scribe_worker import ScribeWorker, make_job
from everthread.types import Line, Unit

DEFAULT_CONTEXT = 8192  # tokens of context, without a model
NOTES_RESERVE_TOKENS = 250  # notes and one reminder, with their headings
REPLY_RESERVE_TOKENS = 512  # left free for a reply
NOTES_REBUILD_CONTEXTS = 4  # contexts of lines to write notes on again, after notes were forgotten with a line


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Divides the context of a model, in tokens."""

    context: int  # the model's context length
    reply: int  # left free for the reply
    memories: int  # recalled memories in a prompt

    @property
    def prompt(self) -> int:
        """The tokens of a prompt."""
        return self.context - self.reply

    def window(self, prefix: int) -> int:
        """Return the tokens of the window, after a prompt prefix of `prefix` tokens.

        That is the context without the prefix, the parts that change every turn and the reply, less an eighth of the
        context, into which the window grows while notes on its oldest lines are written.
        """
        fixed = prefix + pins.PINS_BUDGET_TOKENS + NOTES_RESERVE_TOKENS + self.memories + self.reply
        return max(self.context - fixed - self.context // 8, self.context // 8)


class Window:
    """Selects the notes and the lines of a conversation that a prompt holds."""

    def __init__(self, conversation: Conversation, scribe_worker: ScribeWorker, formatter: LineFormatter) -> None:
        self._conversation, self._scribe_worker, self._formatter = conversation, scribe_worker, formatter
        self._notes_version: tuple[int, datetime] | None = None  # the notes for which _last_noted_seq was looked up
        self._last_noted_seq = 0

    def notes(self, replaces: Line | None) -> Unit | None:
        """Return the latest notes that cover neither the line `replaces` nor a line discarded in incognito."""
        if not self._conversation.memory.recipe.notes:
            return None
        excluded = {*self._conversation.hidden_seqs, *([replaces.seq] if replaces else [])}
        current = self._scribe_worker.notes()
        if current is None or not _covers(current, excluded):
            return current
        older = reversed(self._conversation.memory.units("note"))
        return next((unit for unit in older if not _covers(unit, excluded)), None)

    def lines(self, lines: Sequence[Line], notes: Unit | None, max_tokens: int) -> list[Line]:
        """Return the lines after the notes: at most as many as the recipe wants, in about `max_tokens` tokens."""
        count, limit = len(self._costs_since_notes(lines, notes, max_tokens)), self._conversation.memory.recipe.window
        return list(lines[len(lines) - (count if limit is None else min(count, limit)) :])

    def _costs_since_notes(self, lines: Sequence[Line], notes: Unit | None, max_tokens: int) -> list[int]:
        """Return the tokens of each of the last lines after the notes, in about `max_tokens` tokens in all, and of the
        recipe's overlap before them."""
        last_noted, budget, costs = self._find_last_noted(notes), max_tokens, list[int]()
        for line in reversed(lines):
            if 0 < line.seq <= last_noted or budget <= 0:
                break
            costs.append(self._formatter.count_tokens(line))
            budget -= costs[-1]
        first = len(lines) - len(costs)
        overlap = lines[max(first - self._conversation.memory.recipe.overlap, 0) : first]
        return [*map(self._formatter.count_tokens, overlap), *reversed(costs)]

    def queue_notes(self, tokens: TokenBudget, prefix: int) -> None:
        """Queue notes on the oldest lines if the window is over its budget, and start the queued jobs.

        Args:
            tokens: the budget of a prompt.
            prefix: the tokens of the prompt's prefix.
        """
        memory, lines, costs = self._conversation.memory, self._conversation.lines, list[int]()
        if memory.recipe.notes:
            max_tokens = NOTES_REBUILD_CONTEXTS * tokens.context
            costs = self._costs_since_notes(lines, self._scribe_worker.notes(), max_tokens)
        evicted = memory.recipe.count_evicted_lines(costs, tokens.window(prefix)) if costs else 0
        if evicted and not any(job.kind == "notes" for job in memory.jobs()):
            self._scribe_worker.submit(make_job("notes", lines[len(lines) - len(costs) :][:evicted]))
        else:
            self._scribe_worker.start()

    def _find_last_noted(self, notes: Unit | None) -> int:
        """Return the number of the conversation's last line that the notes cover, looked up once for each version."""
        version = None if notes is None else (notes.id, notes.valid_from)
        if version != self._notes_version:
            lines = self._conversation.lines
            self._notes_version = version
            self._last_noted_seq = self._scribe_worker.last_noted_seq(lines) if notes else 0
        return self._last_noted_seq


def _covers(unit: Unit, seqs: set[int]) -> bool:
    return any(unit.first_seq <= seq <= unit.last_seq for seq in seqs)

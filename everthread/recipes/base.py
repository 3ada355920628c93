"""Recipe: one complete memory strategy: which units it writes, how it searches, and how it formats hits.

A recipe consists of choices and numbers, and composes the stages of `recall`. It is a frozen dataclass, so every number
can be set by an argument: `Membot(threshold=0.65)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from everthread.bank.validation import check_at_least
from everthread.recall import passages, relevance_buffer
from everthread.recall.context_packing import fill_context
from everthread.recall.passages import SeqRange
from everthread.recall.reader import BankReader
from everthread.recall.rerank.base import Reranker
from everthread.recall.types import ContextLimits, Query, SearchResult
from everthread.recipes.options import check_options, option
from everthread.recipes.prompt_parts import RULES, count_evicted_lines, render_lines
from everthread.scribes.base import Scribe
from everthread.stores.base import Store
from everthread.types import ROLES, Context, Line, Role, Sampling

MEMORY_TOKENS = 500  # of memories in a prompt; on LoCoMo they include 84% of the lines that answer a question
OFFERS_MEANING = "Let the character bring up past events unasked."
FACTS_MEANING = "Add what is known of those that a question names, and note on lines what is no longer true."
MAX_NEIGHBOURS = 1000  # lines on either side of a hit, all of which are read
MEMORY_CONTEXT_DIVISOR = 16  # memories take at most 1/16 of a small context: more would empty the prompt cache


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One complete memory strategy, and the base class of all recipes. The defaults are those of the default recipe.

    Every line is stored verbatim in any case: a recipe determines which units are derived from lines, and which lines
    and units are found.
    """

    name: ClassVar[str]
    description: ClassVar[str]  # in a few words
    kinds: ClassVar[tuple[str, ...]] = ("line",)  # the kinds of its hits
    vectors: ClassVar[bool] = True  # whether lines are embedded; `embedded_roles` names the roles
    max_hits: int = option(50, "Maximum number of hits in a context.", low=1, high=1000)
    min_relevance: float = option(0.001, "Minimum relevance of a hit in a context.", low=0, high=1)
    min_gain: float = 0.0  # as for `fill_context`; the relevances of hits have to be calibrated
    profile: bool = False  # whether a prompt has a profile of the user, of facts
    facts: bool = False  # whether a context has facts, unless the caller says
    reads_facts: ClassVar[bool] = False  # whether a chat's lines are read for facts in the background in any case
    corrects_spelling: ClassVar[bool] = False  # whether misspelt words of a query are corrected by those of the bank
    facts_alone: ClassVar[bool] = False  # whether also without hits: for recipes whose hits say little of relevance
    rerank: Reranker | str = ""  # orders the hits of queries that name no reranker; empty for none
    buffer_hits: int = 3  # hits whose passages enter the session's relevance buffer

    # In a conversation (`Chat`):
    window: int | None = option(
        None, "Number of latest lines quoted verbatim in a prompt; none: as many as fit.", low=0
    )
    overlap: int = 0  # lines of the window that the notes already cover
    uses_buffer: ClassVar[bool] = False  # whether the prompt also includes the relevance buffer
    memories_last: ClassVar[bool] = False  # whether a prompt has the memories after the newest line, not before it
    offers: bool = option(True, OFFERS_MEANING)
    notes: ClassVar[bool] = True  # whether lines that leave the window are summarised in notes
    summaries: ClassVar[bool] = True  # whether a conversation that ends is summarised
    sampling: ClassVar[Sampling] = Sampling()  # of replies, unless the user sets other values
    categorised: ClassVar[bool] = False  # whether its units have a category
    needs_consent: ClassVar[bool] = False  # whether summaries need the person's consent

    def __post_init__(self) -> None:
        """Check the options. Raises BadInput."""
        check_options(self)
        check_at_least(self.buffer_hits, "buffer_hits", 0)  # not an option in every recipe
        check_at_least(self.overlap, "overlap", 0)

    @property
    def embedded_roles(self) -> tuple[Role, ...]:
        """Roles whose lines are embedded. For a recipe that embeds more roles, lines of the others are pending."""
        return ROLES if self.vectors else ()

    @property
    def token_roles(self) -> tuple[Role, ...]:
        """Roles whose lines get the codes of their words, for late interaction, if the embedder gives any."""
        return ()

    @property
    def rules(self) -> str:
        """The instruction that opens a prompt, unless the character has its own."""
        return RULES

    def update(self, reader: BankReader) -> None:
        """Write the units that derive from lines alone and are not written yet.

        Called after lines were stored or retracted. If it is interrupted, the next call completes it.

        Args:
            reader: the bank.
        """

    def prepare(self, reader: BankReader, text: str) -> None:
        """Begin what `recall` will need for a query, while something else is done.

        Args:
            reader: the bank.
            text: the query, which is not blank.
        """

    def recall(self, reader: BankReader, query: Query, k: int) -> SearchResult:
        """Find the best hits for a query that is not blank.

        Args:
            reader: the bank.
            query: the query.
            k: maximum number of hits.

        Raises:
            BadQuery: the recipe can't apply the filter.
        """
        raise NotImplementedError

    def lay_out(self, reader: BankReader, result: SearchResult, limits: ContextLimits) -> Context:
        """Lay out hits as text for a prompt.

        Args:
            reader: the bank.
            result: the hits and the query relevance.
            limits: the limits of the text.
        """
        buffered: list[Line] = []
        if limits.session is not None and "line" in self.kinds:
            lines = self._push_and_read_buffer(reader, result, limits.session)
            buffered = [line for line in lines if line.seq not in limits.exclude]
        min_gain = self.min_gain if result.calibrated else 0.0
        return fill_context(
            result.hits, buffered, limits.tokens, limits.count, result.relevance, result.terms, min_gain
        )

    def _push_and_read_buffer(self, reader: BankReader, result: SearchResult, session: str) -> list[Line]:
        """Push the passages of the best hits into the session's buffer, and return its lines, newest passage first."""
        new = passages.merge_ranges(
            seq_range
            for hit in result.hits[: self.buffer_hits]
            if hit.kind == "line"
            for seq_range in passages.list_ranges(hit.passage)
        )
        ranges = reversed(push_buffer(reader.store, reader.bank, session, new))
        return [line for first, last in ranges for line in reader.get_visible(range(first, last + 1), result.allowed)]

    def render(self, context: Context, name: str, now: datetime) -> str:
        """Render the part of a character's prompt that contains the memories, with its heading."""
        return render_lines(context, name, now)

    def narrow_summary(self, reader: BankReader, scribe: Scribe, summary: str) -> str | None:
        """Return the part of a summary to store; None for nothing. If it raises ModelError, nothing is stored."""
        return summary

    def choose_category(self, scribe: Scribe, summary: str) -> str:
        """Return the category of a summary. Raises ModelError."""
        return scribe.categorize(summary)

    def count_evicted_lines(self, costs: Sequence[int], limit: int) -> int:
        """Count the oldest lines that leave a conversation's window.

        Args:
            costs: the tokens of each line in the window, oldest first.
            limit: tokens that the window may have.
        """
        return count_evicted_lines(costs, limit)

    def memory_budget(self, context: int) -> int:
        """Return the tokens of memories in a prompt.

        Args:
            context: tokens of the model's context.
        """
        return min(MEMORY_TOKENS, context // MEMORY_CONTEXT_DIVISOR)


def push_buffer(
    store: Store, bank: str, session: str, new: Sequence[SeqRange], capacity: int = relevance_buffer.MAX_PASSAGES
) -> list[SeqRange]:
    """Push passages into a session's relevance buffer.

    Args:
        store: the store that holds the bank.
        bank: the bank's name.
        session: the session whose buffer it is.
        new: the passages, oldest first.
        capacity: passages that the buffer holds at most.

    Returns:
        The passages in the buffer, oldest first.
    """
    saved = store.buffer(bank, session)
    buffer = relevance_buffer.push_ranges(saved, new, capacity)
    if buffer != saved:
        store.set_buffer(bank, session, buffer)
    return buffer

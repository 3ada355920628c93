"""The recipe membot: finds lines by meaning alone, and shows them with their neighbours for several turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from everthread.recall import passages, relevance_buffer
from everthread.recall.context_packing import fill_context
from everthread.recall.passages import SeqRange
from everthread.recall.reader import BankReader
from everthread.recall.types import ContextLimits, Query, ScoredLine, SearchResult
from everthread.recipes.base import MAX_NEIGHBOURS, OFFERS_MEANING, Recipe, push_buffer
from everthread.recipes.options import option
from everthread.recipes.role_filter import restrict_to_roles
from everthread.text.analyzer import terms
from everthread.text.formatting import format_in_order
from everthread.types import Context, Hit, Line, Role, Seqs

Block = list[Line]
BLOCK_TOKENS = 300  # of a block of seven lines of average length with its heading

# The calibrated threshold (docs/log.md, 2026-11-22). The best of many unrelated cosines is higher than the best of few,
# so no single number fits banks of every size: this one is for CALIBRATION_LINES and more, and drops with each halving.
FULL_THRESHOLD = 0.4  # of LoCoMo's development questions 95% reach it in their own bank, and 14% in another one's
CALIBRATION_LINES = 400
THRESHOLD_STEP = 0.025  # its drop with each halving of the lines searched, which keeps those two shares
MIN_THRESHOLD = 0.3  # a lower one would let small talk pass

BARE_RULES = "You are {{char}}, talking with {{user}}. What you don't know, you may say that you don't know."
RECENCY_POOL = 50  # nearest lines that `recency` may reorder


@dataclass(frozen=True, slots=True)
class MembotResult(SearchResult):
    """The nearest lines, and the threshold that they had to reach."""

    threshold: float = FULL_THRESHOLD  # cosine


@dataclass(frozen=True, kw_only=True)
class Membot(Recipe):
    """Recalls the earlier lines nearest in meaning to the newest message, and shows them for several turns.

    The recipe follows uncany-membot, a chatbot in TypeScript for the web and SMS. It has no summaries and no graph,
    because summaries and lines differ too much in form to be near to one another.

    The newest message is embedded as it is and compared with every earlier line: exactly while a bank is small (400
    vectors in a folder, 20,000 in Postgres), else by codes first, of which the nearest 400 are compared exactly. The
    best 3 lines that reach the threshold each grow by the 3 lines before and the 3 after them. These blocks enter a
    buffer of 10, first in, first out, whatever their scores, and are shown at the following turns, too. Lines of the
    window, the last 10 of the conversation, are not recalled. Nothing is noted, summarised or brought up.

    The README's threshold is 0.8 and the code's 0.65, both for OpenAI's Ada, which gives any two texts a high cosine.
    With the shipped model, 12% of LoCoMo's development questions reach 0.65 and 0.1% reach 0.8. So the threshold is
    calibrated (`calibrate_threshold`): 0.4 in a bank of 400 lines and more, less in smaller ones, because the best of
    few unrelated cosines is lower than the best of many. Cosines of other models are first moved to the scale of the
    shipped one (`embedders.calibration`). A threshold that the user sets (`threshold=0.65`) is applied as it is. The
    buffer of the code has 8 blocks: `blocks=8`.

    Options from the README and the code: `replies` embeds and searches the bot's replies only; `recency` prefers newer
    lines and discards no old one; `bare` opens the prompt with one line of instruction, since a longer one influences
    the wording of the replies.

    Deviations: no line is in the buffer twice (a block recalled again moves to the end and absorbs overlapping ones);
    of one message's blocks the best enters last, and so stays longest; over the budget the oldest blocks are left out;
    the conversation precedes the memories in the prompt, for a model server's prompt cache. `recall` also returns
    nearest lines below the threshold; their relevance is the cosine. Without vectors nothing is recalled, since words
    alone never counted. The source's second mode shows dialogues of the bot's canon in place of memories, to train a
    voice. A character has such dialogues already, in every prompt, so in that mode (`canon=True`) nothing is recalled.
    """

    name = "membot"
    description = "uncany-membot's: the lines nearest in meaning, in blocks that stay in view for a while"
    kinds = ("line",)
    uses_buffer = True
    notes = False
    summaries = False
    offers: bool = option(False, OFFERS_MEANING)

    threshold: float | None = option(
        None,
        "Minimum cosine of a shown line. Default: calibrated to the number of lines.",
        low=0,
        high=1,
    )
    max_hits: int = option(3, "Maximum number of lines recalled for a message.", low=1, high=1000)
    neighbours: int = option(
        3, "Lines on either side that form a block with a recalled line.", low=0, high=MAX_NEIGHBOURS
    )
    blocks: int = option(10, "Number of blocks that stay in the prompt, first in, first out.", low=1)
    window: int | None = option(10, "Number of latest lines quoted verbatim in a prompt; none: as many as fit.", low=0)
    canon: bool = option(False, "Recall nothing; use only the character's example dialogues.")
    replies: bool = option(False, "Embed and search the bot's replies only.")
    recency: float = option(
        0.0,
        "Cosine bonus of the newest line over the oldest; old lines that reach the threshold are still shown.",
        low=0,
        high=1,
    )
    bare: bool = option(
        False, "Open the prompt with a one-line instruction, which does not influence the style of replies."
    )

    @property
    def embedded_roles(self) -> tuple[Role, ...]:
        return ("assistant",) if self.replies else super().embedded_roles

    @property
    def rules(self) -> str:
        return BARE_RULES if self.bare else super().rules

    def recall(self, reader: BankReader, query: Query, k: int) -> MembotResult:
        if self.canon:
            return MembotResult()
        allowed = reader.allowed_seqs(query)
        corpus = reader.corpus_stats()
        searched = (
            replace(query, where=restrict_to_roles(query.where, self.embedded_roles, corpus)) if self.replies else query
        )
        lines = _count_lines(reader.allowed_seqs(searched), corpus.lines) - len(query.exclude)
        threshold = calibrate_threshold(lines) if self.threshold is None else self.threshold
        nearest = reader.find_nearest(searched, max(k, RECENCY_POOL) if self.recency else k)
        ranked = [
            ScoredLine(seq, score, min(max(cosine, 0.0), 1.0), {"cosine": cosine})
            for seq, cosine, score in self._score_lines(nearest, corpus.last_seq, threshold)[:k]
        ]
        hits = reader.read_hits(ranked, self.neighbours, allowed, query.exclude)
        best = max((hit.relevance for hit in hits), default=0.0)
        passes = bool(hits) and best >= threshold
        found = tuple(dict.fromkeys(terms(query.text)))
        return MembotResult(hits, best, passes, found, allowed, threshold=threshold)

    def _score_lines(
        self, nearest: Sequence[tuple[int, float]], last: int, threshold: float
    ) -> list[tuple[int, float, float]]:
        """Score lines, newer ones higher; lines that pass stay before those that don't.

        Returns:
            Number, cosine and score of each line, best first.
        """
        scored = [(seq, cosine, cosine + self.recency * seq / max(last, 1)) for seq, cosine in nearest]
        if not self.recency:
            return scored
        return sorted(scored, key=lambda line: (line[1] < threshold, -line[2]))

    def lay_out(self, reader: BankReader, result: SearchResult, limits: ContextLimits) -> Context:
        """Lay out the buffer's blocks, oldest first; without a session, only the blocks of this query."""
        if any(hit.kind != "line" for hit in result.hits):
            return super().lay_out(reader, result, limits)
        if self.canon:
            return Context("", 0, (), (), (), 0.0)
        if limits.gate and isinstance(result, MembotResult):
            result = replace(result, hits=[hit for hit in result.hits if hit.relevance >= result.threshold])
        return _fit_blocks(self._read_blocks(reader, result, limits), result, limits)

    def _read_blocks(self, reader: BankReader, result: SearchResult, limits: ContextLimits) -> list[Block]:
        """Read the blocks in view, oldest first, without lines that may not be shown or that the prompt contains."""
        ranges = self._update_buffer(reader, result.hits, limits.session)
        seqs = [seq for first, last in ranges for seq in range(first, last + 1) if seq not in limits.exclude]
        lines = {line.seq: line for line in reader.get_visible(seqs, result.allowed)}
        blocks = [[lines[seq] for seq in range(first, last + 1) if seq in lines] for first, last in ranges]
        return _place_corrections([_drop_other_sessions(block, result.hits) for block in blocks if block])

    def _update_buffer(self, reader: BankReader, hits: Sequence[Hit], session: str | None) -> list[SeqRange]:
        """Push the passages of hits, and return those in view, oldest first."""
        new = [
            passage for hit in reversed(hits) for passage in passages.list_ranges(hit.passage)
        ]  # the best enters last
        if session is None:
            return relevance_buffer.push_ranges([], new, self.blocks)
        return push_buffer(reader.store, reader.bank, session, new, self.blocks)

    def render(self, context: Context, name: str, now: datetime) -> str:
        text = format_in_order(context.lines, now)
        return f"[From earlier conversations with {name}]\n{text}" if text else ""

    def memory_budget(self, context: int) -> int:
        """Return the tokens that all blocks need, at most a quarter of the context.

        The window is short, so a model server's prompt cache would save little even with fewer blocks.
        """
        return min(BLOCK_TOKENS * self.blocks, context // 4)


def calibrate_threshold(lines: int) -> float:
    """Return the cosine that a line must reach.

    Args:
        lines: the number of lines that are searched.
    """
    halvings = max(math.log2(CALIBRATION_LINES / max(lines, 1)), 0.0)
    return max(FULL_THRESHOLD - THRESHOLD_STEP * halvings, MIN_THRESHOLD)


def _count_lines(allowed: Seqs | None, total: int) -> int:
    """Count the lines that may be recalled."""
    return total if allowed is None else len(allowed)


def _drop_other_sessions(block: Block, hits: Sequence[Hit]) -> Block:
    """Drop lines of parallel sessions: those without a hit in the block, and at neither end of it."""
    hit_sessions = {hit.line.session for hit in hits if block[0].seq <= hit.line.seq <= block[-1].seq}
    sessions = {block[0].session, block[-1].session, *hit_sessions}
    return [line for line in block if line.session in sessions]


def _place_corrections(blocks: list[Block]) -> list[Block]:
    """Move each correction to the position of the line that it corrects, if a block in view contains or adjoins it."""
    for block in [block for block in blocks if len(block) == 1 and block[0].position != block[0].seq]:
        correction = block[0]
        for target in blocks:
            if target is not block and _adjoins(target, correction):
                blocks.remove(block)
                target.append(correction)
                target.sort(key=lambda line: line.position)
                break
    return blocks


def _adjoins(block: Block, line: Line) -> bool:
    """Return whether the position of a line is inside or next to a block of its session."""
    return block[0].session == line.session and block[0].position - 1 <= line.position <= block[-1].position + 1


def _fit_blocks(blocks: Sequence[Block], result: SearchResult, limits: ContextLimits) -> Context:
    """Lay out the newest blocks that fit into the budget; if not even one fits, the part of the newest that does."""
    text = ""
    for first in range(len(blocks)):
        lines = [line for block in blocks[first:] for line in block]
        text = format_in_order(lines)
        if (tokens := limits.count(text)) <= limits.tokens:
            return _build_context(text, tokens, lines, result)
    if not blocks:
        return _build_context("", 0, [], result)
    seqs = {line.seq for line in blocks[-1]}
    hits = [hit for hit in result.hits if hit.line.seq in seqs]
    cut = fill_context(hits, blocks[-1], limits.tokens, limits.count, result.relevance, result.terms)
    return _build_context(cut.text, cut.tokens, cut.lines, result)


def _build_context(text: str, tokens: int, lines: Sequence[Line], result: SearchResult) -> Context:
    seqs = {line.seq for line in lines}
    included = tuple(hit for hit in result.hits if hit.line.seq in seqs)
    cut = tuple(hit for hit in result.hits if hit.line.seq not in seqs)
    return Context(text, tokens, tuple(lines), included, cut, result.relevance)

"""membot: every line is a memory, found by meaning alone, shown among its neighbours, and in view for a while."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from everthread.recall import neighbours, relevance_buffer
from everthread.recall.context_packing import fill_context
from everthread.recall.neighbours import Span
from everthread.recall.reader import BankReader
from everthread.recall.types import ContextBudget, Query, ScoredLine, SearchResult
from everthread.recipes.base import OFFERS, WIDEST, Recipe, push_buffer
from everthread.recipes.options import option
from everthread.recipes.role_filter import of_roles
from everthread.text.analyzer import terms
from everthread.text.formatting import format_in_order
from everthread.types import Context, Hit, Line, Role, Seqs

Block = list[Line]
BLOCK = 300  # tokens of a block of seven lines with its heading, as people talk

# The calibrated threshold (docs/log.md, 2026-11-22). The best of many unrelated cosines is higher than the best of few,
# so one number can't fit banks of every size: this one is for MANY lines and more, and drops with each halving.
THRESHOLD = 0.4  # of LoCoMo's development questions 95% reach it in their own bank, and 14% in another one's
MANY = 400  # lines
HALVING = 0.025  # by which it drops with each halving of the lines searched, to keep those two shares
LEAST = 0.3  # below it small talk passes

BARE = "You are {{char}}, talking with {{user}}. What you don't know, you may say that you don't know."
POOL = 50  # nearest lines among which `recency` has its say


@dataclass(frozen=True, slots=True)
class Near(SearchResult):
    """The nearest lines, and the cosine that was needed."""

    threshold: float = THRESHOLD


@dataclass(frozen=True, kw_only=True)
class Membot(Recipe):
    """uncany-membot (a chatbot in TypeScript for the web and SMS): memory from dialogue to dialogue, without a summary
    or a graph. Summaries and lines are too unlike in form to be near to one another; lines are not.

    The newest message is embedded as it is and compared with every earlier line: exactly while a bank is small (400
    vectors in a folder, 20,000 in Postgres), else by codes first, of which the nearest 400 are compared exactly. The
    best 3 that reach the threshold each grow by the 3 lines before and the 3 after them, and these blocks enter a
    buffer of 10, first in, first out, whatever their scores, so that they are in view at the following turns, too. A
    line of the window, the last 10 of the conversation, is not recalled. Nothing is noted, summarised or brought up.

    The README's threshold is 0.8 and the code's 0.65, both for OpenAI's Ada, which gives any two texts a high cosine.
    The shipped model does not: of LoCoMo's development questions 12% reach 0.65 and 0.1% reach 0.8. So the threshold is
    calibrated (`calibrated`): 0.4 in a bank of 400 lines and more, less in smaller ones, because the best of few
    unrelated cosines is lower than the best of many. Cosines of other models are first moved to where the shipped one's
    would be (`embedders.calibration`). A number of your own (`threshold=0.65`) is applied as it is. The code's buffer
    has 8 blocks: `blocks=8`.

    Options from the README and the code: `replies` embeds and searches the bot's replies only; `recency` prefers newer
    lines and discards no old one; `bare` opens the prompt with one line of instruction, since more words rub off on the
    replies.

    Where it differs: no line stands in the buffer twice (a block recalled again moves to the end, and takes in what it
    overlaps); of one message's blocks the best enters last, and so stays longest; over the budget the oldest blocks are
    left out; the conversation stands before what is remembered, not behind it, for a model server's prompt cache.
    `recall` gives the nearest lines, also those below the threshold: their relevance, which is the cosine, tells.
    Without vectors nothing is recalled: words alone never counted. The source's second mode shows dialogues of the
    bot's canon in place of memories, for training a voice. A character has such dialogues already, which stand in every
    prompt of its: so in that mode (`canon=True`) nothing is recalled, and they speak alone.
    """

    name = "membot"
    description = "uncany-membot's: the lines nearest in meaning, in blocks that stay in view for a while"
    kinds = ("line",)
    uses_buffer = True
    notes = False
    summaries = False
    offers: bool = option(False, OFFERS)

    threshold: float | None = option(
        None, "Cosine that a line must reach to be shown. Default: calibrated to the number of lines.", low=0, high=1
    )
    max_hits: int = option(3, "Lines recalled at most for a message.", low=1, high=1000)
    neighbours: int = option(3, "Lines on either side by which a recalled line grows to a block.", low=0, high=WIDEST)
    blocks: int = option(10, "Blocks that stay in view, first in, first out.", low=1)
    window: int | None = option(
        10, "Latest lines that a prompt holds word for word; none: as many as there is room for.", low=0
    )
    canon: bool = option(False, "Recall nothing, and let the character's example dialogues speak alone.")
    replies: bool = option(False, "Embed and search the bot's replies only.")
    recency: float = option(
        0.0,
        "Cosine that the newest line gains over the oldest; old lines that reach the threshold stay.",
        low=0,
        high=1,
    )
    bare: bool = option(False, "Open the prompt with a one-line instruction, which lends the replies no style.")

    @property
    def embedded(self) -> tuple[Role, ...]:
        return ("assistant",) if self.replies else super().embedded

    @property
    def rules(self) -> str:
        return BARE if self.bare else super().rules

    def recall(self, reader: BankReader, asked: Query, k: int) -> Near:
        if self.canon:
            return Near()
        allowed = reader.allowed_seqs(asked)
        corpus = reader.corpus_stats()
        searched = replace(asked, where=of_roles(asked.where, self.embedded, corpus)) if self.replies else asked
        lines = _lines(reader.allowed_seqs(searched), corpus.lines) - len(asked.exclude)
        threshold = calibrated(lines) if self.threshold is None else self.threshold
        near = reader.find_nearest(searched, max(k, POOL) if self.recency else k)
        ranked = [
            ScoredLine(seq, score, min(max(cosine, 0.0), 1.0), {"cosine": cosine})
            for seq, cosine, score in self._preferred(near, corpus.last_seq, threshold)[:k]
        ]
        hits = reader.read_hits(ranked, self.neighbours, allowed, asked.exclude)
        best = max((hit.relevance for hit in hits), default=0.0)
        passes = bool(hits) and best >= threshold
        return Near(hits, best, passes, tuple(dict.fromkeys(terms(asked.query))), allowed, threshold)

    def _preferred(
        self, near: Sequence[tuple[int, float]], last: int, threshold: float
    ) -> list[tuple[int, float, float]]:
        """Line, cosine and score, best first. A newer line scores higher; an old one that passes stays before those
        that don't."""
        scored = [(seq, cosine, cosine + self.recency * seq / max(last, 1)) for seq, cosine in near]
        if not self.recency:
            return scored
        return sorted(scored, key=lambda each: (each[1] < threshold, -each[2]))

    def lay_out(self, reader: BankReader, found: SearchResult, room: ContextBudget) -> Context:
        """The buffer's blocks, the one that came first at the top; without a session, those of this query alone."""
        if any(hit.kind != "line" for hit in found.hits):
            return super().lay_out(reader, found, room)
        if self.canon:
            return Context("", 0, (), (), (), 0.0)
        if room.gate and isinstance(found, Near):
            found = replace(found, hits=[hit for hit in found.hits if hit.relevance >= found.threshold])
        return _fit_blocks(self._blocks(reader, found, room), found, room)

    def _blocks(self, reader: BankReader, found: SearchResult, room: ContextBudget) -> list[Block]:
        """What is in view, oldest block first, of lines that may be shown and are not in the prompt already."""
        spans = self._spans(reader, found.hits, room.session)
        seqs = [seq for first, last in spans for seq in range(first, last + 1) if seq not in room.exclude]
        lines = {line.seq: line for line in reader.get_visible(seqs, found.allowed)}
        blocks = [[lines[seq] for seq in range(first, last + 1) if seq in lines] for first, last in spans]
        return _place_corrections([_of_its_sessions(block, found.hits) for block in blocks if block])

    def _spans(self, reader: BankReader, hits: Sequence[Hit], session: str | None) -> list[Span]:
        new = [span for hit in reversed(hits) for span in neighbours.list_spans(hit.passage)]  # the best enters last
        if session is None:
            return relevance_buffer.push_spans([], new, self.blocks)
        return push_buffer(reader.store, reader.bank, session, new, self.blocks)

    def render(self, context: Context, name: str, now: datetime) -> str:
        text = format_in_order(context.lines, now)
        return f"[From earlier conversations with {name}]\n{text}" if text else ""

    def memory_budget(self, context: int) -> int:
        """As much as all blocks need, up to a quarter: the window is short, and a server's cache keeps little of it."""
        return min(BLOCK * self.blocks, context // 4)


def calibrated(lines: int) -> float:
    """Return the cosine that a line must reach in a search over a number of lines.

    Args:
        lines: how many lines are searched.
    """
    halvings = max(math.log2(MANY / max(lines, 1)), 0.0)
    return max(THRESHOLD - HALVING * halvings, LEAST)


def _lines(allowed: Seqs | None, every: int) -> int:
    """Count the lines that may be recalled."""
    return every if allowed is None else len(allowed)


def _of_its_sessions(block: Block, hits: Sequence[Hit]) -> Block:
    """The block without lines of a session that went on at the same time, of which nothing was found."""
    found = {hit.line.session for hit in hits if block[0].seq <= hit.line.seq <= block[-1].seq}
    sessions = {block[0].session, block[-1].session, *found}
    return [line for line in block if line.session in sessions]


def _place_corrections(blocks: list[Block]) -> list[Block]:
    """The blocks, each corrected line in its old place, where that is in view or at the edge of what is."""
    for block in [each for each in blocks if len(each) == 1 and each[0].position != each[0].seq]:
        line = block[0]
        at = line.position
        for home in blocks:
            if (
                home is not block
                and home[0].session == line.session
                and home[0].position - 1 <= at <= home[-1].position + 1
            ):
                blocks.remove(block)
                home.append(line)
                home.sort(key=lambda each: each.position)
                break
    return blocks


def _fit_blocks(blocks: Sequence[Block], found: SearchResult, room: ContextBudget) -> Context:
    """The newest blocks that fit into the budget together; of the very newest what fits, where it doesn't alone."""
    text = ""
    for first in range(len(blocks)):
        lines = [line for block in blocks[first:] for line in block]
        text = format_in_order(lines)
        if (tokens := room.count(text)) <= room.budget:
            return _context(text, tokens, lines, found)
    if not blocks:
        return _context("", 0, [], found)
    seqs = {line.seq for line in blocks[-1]}
    hits = [hit for hit in found.hits if hit.line.seq in seqs]
    cut = fill_context(hits, blocks[-1], room.budget, room.count, found.relevance, found.terms)
    return _context(cut.text, cut.tokens, cut.lines, found)


def _context(text: str, tokens: int, lines: Sequence[Line], found: SearchResult) -> Context:
    seqs = {line.seq for line in lines}
    kept = tuple(hit for hit in found.hits if hit.line.seq in seqs)
    cut = tuple(hit for hit in found.hits if hit.line.seq not in seqs)
    return Context(text, tokens, tuple(lines), kept, cut, found.relevance)

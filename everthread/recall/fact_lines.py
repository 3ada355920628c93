"""Finds the lines that answer a question for all that is known of someone, or for what has changed.

Such a question shares no topic with any line, so search finds none. Its facts lead to the lines that state them, and
these are quoted as they were said: a context without facts has them as its first hits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from everthread.facts.cache import FactIndex
from everthread.facts.types import Fact
from everthread.recall.time_overview import OVERVIEW_RELEVANCE
from everthread.text.questions import is_question_only
from everthread.types import Hit, Line

MAX_FACTS = 50  # whose lines are read; a prompt has room for fewer

ReadLines = Callable[[Sequence[int]], list[Line]]


def put_lines_first(
    hits: Sequence[Hit], facts: Sequence[Fact], known: FactIndex, read_lines: ReadLines, exclude: Collection[int] = ()
) -> list[Hit]:
    """Return the lines of facts as hits, in the order of the facts, and the other hits after them.

    Args:
        hits: what was found, best first.
        facts: the facts that answer, the most important first.
        known: what is known in the bank.
        read_lines: reads the lines with these numbers that may be shown.
        exclude: numbers of lines that are in the prompt already, and so what they state.
    """
    excluded = set(exclude)
    shown = [fact for fact in facts if excluded.isdisjoint(fact.seqs)][:MAX_FACTS]
    numbers = {seq for fact in shown for seq in (*fact.seqs, *_list_ends(fact, known))} - excluded
    lines = {line.seq: line for line in read_lines(sorted(numbers))}
    stated = {line.seq: line for fact in shown for line in _find_lines(fact, known, lines)}
    return [
        *map(build_line_hit, stated.values()),
        *(hit for hit in hits if hit.kind != "line" or hit.seq not in stated),
    ]


def build_line_hit(line: Line) -> Hit:
    """Return the hit of a line that a fact has found."""
    return Hit(line, OVERVIEW_RELEVANCE, OVERVIEW_RELEVANCE, {}, (line,))


def find_statement(fact: Fact, lines: Mapping[int, Line]) -> Line | None:
    """Return the line that states a fact last; a question, as "Where does my brother live?", only if no other does."""
    own = [lines[seq] for seq in reversed(fact.seqs) if seq in lines]
    return next((line for line in own if not is_question_only(line.text)), own[0] if own else None)


def _find_lines(fact: Fact, known: FactIndex, lines: Mapping[int, Line]) -> Iterator[Line]:
    """Yield the line that states a fact last, and the one that says that it has ended."""
    if (line := find_statement(fact, lines)) is not None:
        yield line
    yield from (lines[seq] for seq in _list_ends(fact, known)[-1:] if seq in lines)


def _list_ends(fact: Fact, known: FactIndex) -> list[int]:
    """Return the numbers of the lines that say that a fact has ended."""
    return [seq for statement, _ in known.endings_of(fact) for seq in statement.seqs]

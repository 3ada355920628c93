"""Chooses the profile of the person in the stable prefix of a prompt: a few sentences of what is known.

A server's cache of the prompt holds as long as the prefix stays the same. So the profile stays the same while the
window begins with the same line, since what is said meanwhile is in the window. Only if a fact in it is no longer
known or has changed, it is chosen again at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from everthread.facts.asker import find_asker
from everthread.facts.attributes import is_single
from everthread.facts.sentences import describe_fact
from everthread.facts.types import Fact
from everthread.memory import Memory
from everthread.text.indentation import indent, join_rows
from everthread.text.tokens import TokenCounter
from everthread.types import now

MAX_TOKENS = 120
ALWAYS = ("allergy", "diet")  # what harms the person if it is not known


class PersonProfile:
    """The profile of the person in one conversation."""

    def __init__(self, memory: Memory, count: TokenCounter) -> None:
        self._memory, self._count = memory, count
        self._first_seq: int | None = None  # of the window for which it was chosen
        self._shown: tuple[Fact, ...] = ()
        self.text = ""  # as it was chosen last

    def choose(self, window: Sequence[int], hidden: Collection[int], language: str, person: str) -> str:
        """Return the profile; empty if nothing is known, or the bank never remembers.

        Args:
            window: the numbers of the lines in the window, and of the newest one.
            hidden: lines that count as discarded.
            language: the language of the sentences.
            person: the name under which the person speaks.
        """
        known = self._memory.read_known(exclude=frozenset(window))
        asker = find_asker(self._memory.store, self._memory.bank, known, person)
        facts = [] if asker is None else known.facts_about(asker)
        holding = {fact.id: fact for fact in facts if fact.until is None or fact.until > now()}
        allowed = {number: fact for number, fact in holding.items() if fact.seqs and not set(fact.seqs) & set(hidden)}
        first = window[0] if window else 0
        if first != self._first_seq or any(allowed.get(fact.id) != fact for fact in self._shown):
            self._first_seq = first
            self._shown = self._fit(sorted(allowed.values(), key=_order), language)
        self.text = _format(self._shown, language)
        return self.text

    def _fit(self, facts: Sequence[Fact], language: str) -> tuple[Fact, ...]:
        """Return as many of the facts as there is room for."""
        chosen: list[Fact] = []
        for fact in facts:
            if self._count(_format([*chosen, fact], language)) <= MAX_TOKENS:
                chosen.append(fact)
        return tuple(chosen)


def _order(fact: Fact) -> tuple[bool, bool, bool, float]:
    """Return the key by which facts are put in the order in which they are chosen."""
    return fact.attribute not in ALWAYS, not fact.is_confirmed, not is_single(fact.attribute), -fact.said_at.timestamp()


def _format(facts: Sequence[Fact], language: str) -> str:
    return "\n".join(indent(join_rows(describe_fact(fact, language))) for fact in facts)

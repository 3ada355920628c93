"""Tests of finding clauses."""

from __future__ import annotations

from everthread.facts import clauses
from everthread.facts.grammar import load_grammar


def test_a_clause_begins_after_a_comma_and_after_what_opens_it() -> None:
    grammar = load_grammar("zh")
    assert grammar is not None
    assert [start for start, _ in clauses.find_starts(grammar, " 累，对了我在小米上班")] == [1, 3, 5]
    assert clauses.is_first(grammar, " 对了我在小米上班", 3)
    assert not clauses.is_first(grammar, " 累，我在小米上班", 3)


def test_a_clause_ends_at_a_comma_or_with_the_text() -> None:
    assert clauses.find_clause_end("我在小米上班，很累", 0) == 6
    assert clauses.find_clause_end("很累", 0) == 2

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.memory import Memory
from everthread.transfer.into import check, strange
from everthread.transfer.jsonl import export_key
from everthread.types import Line, NewLine


def exported(line: Line, parent: str | None = None) -> NewLine:
    key = export_key(line)
    return NewLine(line.text, line.speaker, line.role, line.said_at, line.session, line.metadata, parent, key)


def test_what_the_bank_exported_itself_is_not_strange_to_it(memory: Memory) -> None:
    lines = [memory.observe(text) for text in ("One.", "Two.", "Three.")]
    memory.retract(2)
    assert list(strange(memory, map(exported, lines))) == []


def test_a_line_of_the_same_number_that_says_something_else_is_strange(memory: Memory) -> None:
    line = memory.observe("One.")
    other = exported(replace(line, text="Another one."))
    assert list(strange(memory, [other])) == [other]


def test_a_forgotten_line_comes_back_behind_the_line_it_answered(memory: Memory) -> None:
    first, second = memory.observe("Which boat?"), memory.observe("The blue one.", parent=1)
    again = exported(second, parent=export_key(first))
    memory.forget(seq=2)
    assert list(strange(memory, [exported(first), again])) == [replace(again, parent=1)]


def test_lines_with_keys_of_their_own_and_without_any_pass(memory: Memory) -> None:
    lines = [NewLine("One.", key="k"), NewLine("Two."), NewLine("Three.", key=f"everthread:9:{'0' * 64}")]
    assert list(strange(memory, lines)) == lines


def test_a_key_that_the_bank_knows_for_other_words_is_refused_with_its_place(memory: Memory) -> None:
    memory.observe("I sail.", speaker="Ann", key="k")
    check(memory, [NewLine("I sail.", "Ann", key="k"), NewLine("I bake.", key="l")], Path("a.jsonl"), {})
    for line in (NewLine("I bake.", "Ann", key="k"), NewLine("I sail.", "Bob", key="k")):
        with pytest.raises(
            BadFile, match=r"a\.jsonl, line 7: bank 'alice' keeps other words under the key 'k', as its"
        ):
            check(memory, [NewLine("Yes."), line], Path("a.jsonl"), {"k": "line 7"})


def test_words_that_the_bank_had_to_mend_are_not_other_words(memory: Memory) -> None:
    line = NewLine("A half: \ud83d", key="k")
    memory.observe_many([line])
    check(memory, [line], Path("a.jsonl"), {"k": "line 1"})

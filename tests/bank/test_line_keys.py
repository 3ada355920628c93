"""The current line with a key or a number."""

from __future__ import annotations

import pytest

from everthread import BadQuery, Memory


def test_a_line_is_got_by_its_number_or_its_key(memory: Memory) -> None:
    line = memory.observe("Mia lives in Porto.", key="k")
    assert memory.get(1) == memory.get(key="k") == line
    assert [memory.get(seq) for seq in (2, 0, -1, 2**70)] == [None] * 4
    assert memory.get(key="other") is None


def test_a_corrected_line_is_got_by_its_key_but_not_by_its_old_number(memory: Memory) -> None:
    memory.observe("Mia lives in Porto.", key="k")
    line = memory.correct(1, "Mia lives in Lisbon.")
    assert (memory.get(1), memory.get(key="k")) == (None, line)


def test_a_retracted_line_is_not_got(memory: Memory) -> None:
    memory.observe("Mia lives in Porto.", key="k")
    memory.retract(1)
    assert (memory.get(1), memory.get(key="k")) == (None, None)


def test_a_line_may_answer_the_retracted_line_whose_key_it_takes(memory: Memory) -> None:
    memory.observe("Mia lives in Porto.", key="k")
    memory.retract(1)
    line = memory.observe("In Lisbon now.", key="k", parent="k")
    assert (line.parent, memory.get(key="k")) == (1, line)


@pytest.mark.parametrize(
    ("seq", "key", "message"),
    [
        (None, None, "either the seq or the key of a line, got seq=None and key=None"),
        (1, "k", "either the seq or the key of a line, got seq=1 and key='k'"),
        ("1", None, "seq must be a whole number, got '1'"),
        (True, None, "seq must be a whole number, got True"),
        (None, 1, "key must be a str, got 1"),
        (None, "k" * 201, "at most 200 are allowed"),
        (None, "\0", "contains NUL"),
    ],
)
def test_an_invalid_number_or_key_is_rejected(memory: Memory, seq: object, key: object, message: str) -> None:
    with pytest.raises(BadQuery, match=message):
        memory.get(seq, key=key)  # type: ignore[arg-type]

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from everthread.memory import Memory
from everthread.recall import statements
from everthread.recall.features import SIGNALS
from everthread.recall.query_parsing import parse_query
from everthread.recall.statements import MAX_READ_LINES
from everthread.recall.types import Query
from everthread.types import NewLine, Role
from recall.builders import BEGUN, open_filled


def measure(memory: Memory, query: str) -> dict[str, list[float]]:
    candidates, signals = memory.reader.measure_candidates(Query(query))
    signals = memory.reader.measure_best(candidates, signals, statements.SIGNALS).signals
    return {name: values.tolist() for name, values in signals.items()}


def test_the_signals_of_texts_follow_those_of_stored_columns(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I built a kite."]) as memory:
        assert tuple(measure(memory, "kite")) == (*SIGNALS, *statements.SIGNALS)


def test_an_empty_bank_has_empty_signals(tmp_path: Path) -> None:
    with open_filled(tmp_path, []) as memory:
        assert measure(memory, "kite")["experience"] == []


def test_what_people_say_of_themselves_counts_for_the_speaker_asked_about(tmp_path: Path) -> None:
    lines = [
        NewLine("I built a kite.", "Ann"),
        NewLine("My kite is red.", "Bob"),
        NewLine("Kites are fun.", "Ann"),
        NewLine("I found a kite for you.", "Bot", "assistant"),
    ]
    with open_filled(tmp_path, lines) as memory:
        signals = measure(memory, "What did Ann build, a kite?")
        assert signals["first_person"] == [1, -1, 0, 0]
        assert signals["experience"] == [1, 0, 0, 0]
        assert measure(memory, "What was the kite like?")["first_person"] == [0, 0, 0, 0]
        assert measure(memory, "What was the kite like?")["experience"] == [1, 0, 0, 0]


def test_what_happened_counts_only_for_a_question_in_the_past(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I adopted a cat.", "My cat is asleep."]) as memory:
        assert measure(memory, "When did we get the cat?")["experience"] == [1, 0]
        assert measure(memory, "Are there any pets?")["experience"] == [0, 0]


def test_only_the_best_lines_of_people_are_read_and_only_if_the_query_needs_them() -> None:
    signals = {name: np.zeros(300, np.float32) for name in SIGNALS}
    signals["person"][::2] = 1
    signals["cosine"] = np.linspace(1, 0, 300, dtype=np.float32)
    asking, greeting = (parse_query(text, [], BEGUN) for text in ("Where did we go?", "Good morning"))
    best = statements.find_best(signals)
    assert best.tolist() == list(range(0, 2 * MAX_READ_LINES, 2))
    assert statements.choose_lines(asking, signals, best).tolist() == best.tolist()
    assert statements.choose_lines(greeting, signals, best).tolist() == []


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_texts_of_people_are_read_among_friends_and_with_a_bot(tmp_path: Path, role: Role) -> None:
    lines = [NewLine("Kites are fun.", "Bob"), NewLine("I flew a kite.", "Ann"), NewLine("I flew one too!", "Cy", role)]
    with open_filled(tmp_path, lines) as memory:
        found = {hit.line.speaker: hit.signals["experience"] for hit in memory.recall("Where did Ann fly a kite?")}
        assert found == {"Bob": 0, "Ann": 1, "Cy": float(role == "user")}

from __future__ import annotations

import math
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.models.fakes import HashEmbedder
from everthread.recall.fuse import SIGNALS
from everthread.recall.gate import EVIDENCE
from everthread.recipes.default import Default, Head
from everthread.types import Role

HEADS = {"friends": Default().friends, "assistant": Default().assistant}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_head_weighs_signals_and_evidence_that_exist_with_finite_numbers(head: Head) -> None:
    assert set(head.weights) <= set(SIGNALS)
    assert set(head.whole.weights) <= set(EVIDENCE)
    numbers = [*head.weights.values(), *head.whole.weights.values(), *head.hit.weights.values()]
    assert all(map(math.isfinite, [*numbers, head.whole.bias, head.hit.bias]))
    assert 0 < head.threshold < 1


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_meaning_and_words_both_speak_for_a_line(head: Head) -> None:
    assert head.weights["cosine"] > 0
    assert head.weights["bm25_window"] > 0
    assert head.whole.weights["match"] > 0


def test_a_context_is_offered_more_hits_than_it_holds_in_view() -> None:
    assert Default().name == "default"
    assert Default().hits >= Default().buffered >= 1
    assert Default().width >= 0


@pytest.mark.parametrize(("role", "expected"), [("user", "friends"), ("assistant", "assistant"), ("tool", "friends")])
def test_the_head_is_chosen_by_whether_a_bot_has_spoken(tmp_path: Path, role: Role, expected: str) -> None:
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        memory.observe("Good morning.", speaker="Ann")
        memory.observe("Good morning!", speaker="Someone", role=role)
        chosen = Default().head(memory.store.corpus("bank"))
        assert chosen is getattr(Default(), expected)

"""The places of facts among the hits of a query."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.recall.time_overview import OVERVIEW_RELEVANCE
from everthread.types import Filter, Hit
from recall.builders import FIRST, open_with_talk

TALK = (
    "I live in Porto.",
    "My sister Mia works at Acme.",
    "I love jazz and chess.",
    "I'm allergic to walnuts.",
    "The weather is awful today.",
    "I moved to Berlin in March 2024.",
    "We went to the lake and it was lovely.",
    "Jazz is what I love most.",
)
HOME = "Nora lives in Berlin (since March 2024; before: Porto)."
OLD_HOME = "Nora no longer lives in Porto (until March 2024; then: Berlin)."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_with_talk(tmp_path, TALK) as opened:
        yield opened


def texts(hits: list[Hit], kind: str = "fact") -> list[str]:
    return [hit.text for hit in hits if hit.kind == kind]


@pytest.mark.parametrize("question", ["Where do I live?", "What do I love?", "How is the weather?", "", "Mia?"])
def test_without_the_option_the_hits_are_lines(memory: Memory, question: str) -> None:
    plain = memory.recall(question)
    memory.recall(question, facts=True)
    assert memory.recall(question, facts=False) == plain
    assert texts(plain) == []


def test_a_fact_takes_the_place_and_the_relevance_of_its_line(memory: Memory) -> None:
    plain = memory.recall("Where does my sister work?", 3)
    hits = memory.recall("Where does my sister work?", 3, facts=True)
    assert hits[0].text == "Mia works at Acme."
    assert (hits[0].relevance, hits[0].score, hits[0].signals) == (plain[0].relevance, plain[0].score, plain[0].signals)
    assert hits[0].passage == plain[0].passage
    assert hits[0].unit.metadata["lines"] == [2]
    assert len(hits) == 3


def test_the_lines_of_a_fact_are_no_hits_beside_it(memory: Memory) -> None:
    hits = memory.recall("What does Nora love?", facts=True)
    stated = [hit.unit.metadata["lines"] for hit in hits if hit.kind == "fact"]
    assert [3] in stated
    assert not [hit.seq for hit in hits if hit.kind == "line" and [hit.seq] in stated]


def test_of_several_facts_of_one_line_the_first_has_its_passage(memory: Memory) -> None:
    hits = [hit for hit in memory.recall("What does Nora love?", facts=True) if hit.kind == "fact"]
    assert {hit.text for hit in hits} >= {"Nora likes jazz.", "Nora likes chess."}
    passages = [line.seq for hit in hits for line in hit.passage]
    assert len(passages) == len(set(passages))


def test_what_holds_comes_before_what_it_replaced_with_the_relevance_of_the_better_line(memory: Memory) -> None:
    question = "Where do I live?"
    best = memory.recall(question)[0]
    hits = memory.recall(question, facts=True)
    assert texts(hits) == [HOME, OLD_HOME]
    assert [hit.relevance for hit in hits[:2]] == [best.relevance] * 2
    assert [hit.passage[0].text for hit in hits[:2]] == [TALK[5], TALK[0]]


def test_facts_are_those_of_the_moment(memory: Memory) -> None:
    hits = memory.recall("Where do I live?", facts=True, as_of=FIRST + timedelta(days=30))
    assert texts(hits) == ["Nora lives in Porto."]


def test_all_that_is_known_comes_first_with_its_lines(memory: Memory) -> None:
    hits = memory.recall("What do you know about me?", facts=True)
    assert texts(hits)[0] == HOME
    assert {hit.relevance for hit in hits if hit.kind == "fact"} == {OVERVIEW_RELEVANCE}
    assert [hit.kind for hit in hits] == sorted(hit.kind for hit in hits)
    assert hits[0].passage[0].seq == 6


def test_a_query_with_a_filter_or_without_a_named_person_has_lines_only(memory: Memory) -> None:
    where = Filter(until=FIRST + timedelta(days=200))
    assert texts(memory.recall("Where do I live?", facts=True, where=where)) == []
    assert texts(memory.recall("How is the weather?", facts=True)) == []
    assert memory.recall(" ", facts=True) == []


def test_a_fact_whose_line_is_in_the_prompt_is_left_out(memory: Memory) -> None:
    assert HOME not in texts(memory.recall("Where do I live?", facts=True, exclude=[6]))


def test_a_forgotten_line_takes_its_fact_along(memory: Memory) -> None:
    memory.recall("Where do I live?", facts=True)
    memory.forget(seq=6)
    assert texts(memory.recall("Where do I live?", facts=True)) == ["Nora lives in Porto."]


def test_of_several_banks_the_own_one_has_facts(memory: Memory) -> None:
    with Memory.open("mia", store=memory.store, embedder=memory.embedder) as other:
        other.observe("I live in Rome.", speaker="Mia")
    hits = memory.recall("Where do I live?", facts=True, banks=["nora", "mia"])
    assert {hit.bank for hit in hits if hit.kind == "fact"} == {"nora"}
    assert "I live in Rome." in texts(hits, "line")


@pytest.mark.parametrize("recipe", ["character", "packabby"])
def test_recipes_without_the_lines_of_a_fact_have_hits_of_their_own_only(memory: Memory, recipe: str) -> None:
    with Memory.open("nora", store=memory.store, embedder=memory.embedder, recipe=recipe) as other:
        assert texts(other.recall("Where do I live?", facts=True)) == []


def test_a_fact_of_an_undated_line_is_undated(memory: Memory) -> None:
    memory.observe("My sister Mia moved to Graz in January.", speaker="Nora", undated=True)
    (hit,) = [hit for hit in memory.recall("Where does Mia live?", facts=True) if hit.kind == "fact"]
    assert (hit.text, hit.source.is_undated) == ("Mia lives in Graz.", True)

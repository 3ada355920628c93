from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.types import Context, Filter
from recall.builders import FIRST, open_with_talk

TALK = (
    "I live in Porto.",
    "My sister Mia works at Acme.",
    "I love jazz.",
    "I'm allergic to walnuts.",
    "The weather is awful today.",
    "Mia has a cat called Miso.",
    "I moved to Berlin in March 2024.",
    "I'm a nurse.",
    "We went to the lake and it was lovely.",
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_with_talk(tmp_path, TALK) as opened:
        yield opened


def facts_of(context: Context) -> list[str]:
    return [fact.text for fact in context.facts]


def test_a_line_that_is_no_longer_true_says_so(memory: Memory) -> None:
    text = memory.context("Where do I live?", facts=True).text
    assert "Nora: I live in Porto. [until March 2024; then: Berlin]" in text


def test_a_line_whose_fact_the_person_has_corrected_says_what_is_right(memory: Memory) -> None:
    (work,) = memory.facts("Mia", "employer")
    memory.confirm_fact(work.id)
    assert "works at Acme. [" not in memory.context("Where does my sister work?", facts=True).text
    memory.correct_fact(work.id, "Bosch")
    text = memory.context("Where does my sister work?", facts=True).text
    assert "Nora: My sister Mia works at Acme. [Mia works at Bosch.]" in text


def test_what_a_passage_says_is_not_repeated_as_a_fact(memory: Memory) -> None:
    assert facts_of(memory.context("Where does my sister work?", facts=True)) == []


def test_facts_whose_lines_are_not_found_come_before_the_passages(memory: Memory, tmp_path: Path) -> None:
    options = {"max_hits": 1, "neighbours": 0, "facts": True}
    with Memory.open("nora", store=tmp_path, options=options) as narrow:
        context = narrow.context("Where does Nora live, and what is Nora allergic to?", gate=False)
    assert "Nora lives in Berlin (since March 2024; before: Porto)." in facts_of(context)
    assert context.text.startswith("[What is known]\nNora")
    assert context.text.endswith(f"Nora: {context.lines[-1].text}")
    stated = {seq for fact in context.facts for seq in range(fact.unit.first_seq, fact.unit.last_seq + 1)}
    assert stated.isdisjoint(line.seq for line in context.lines)


def test_lines_in_the_prompt_are_not_repeated_as_facts(memory: Memory) -> None:
    context = memory.context("Where do I live?", facts=True, exclude=[7])
    assert facts_of(context) == []
    assert "Porto" in context.text


def test_no_line_is_left_out_for_a_fact(memory: Memory) -> None:
    for budget in (30, 60, 120):
        plain = memory.context("What does Nora love?", budget, gate=False)
        context = memory.context("What does Nora love?", budget, gate=False, facts=True)
        assert [line.seq for line in context.lines] == [line.seq for line in plain.lines]
        assert context.tokens <= budget


def test_a_question_that_nothing_answers_gets_no_facts(memory: Memory) -> None:
    context = memory.context("What was the final score of the 1986 match in Turin?", facts=True)
    assert (context.text, context.facts) == ("", ())


def test_facts_are_those_of_the_moment(memory: Memory) -> None:
    context = memory.context("Where do I live?", facts=True, as_of=FIRST + timedelta(days=30))
    assert "Porto" in context.text
    assert "Berlin" not in context.text


def test_a_filter_leaves_facts_out(memory: Memory) -> None:
    context = memory.context("Where do I live?", facts=True, where=Filter(until=FIRST + timedelta(days=1)))
    assert "Berlin" not in context.text


def test_a_forgotten_value_is_in_no_note(memory: Memory) -> None:
    memory.context("Where do I live?", facts=True)
    memory.forget(seq=7)
    assert "Berlin" not in memory.context("Where do I live?", facts=True).text


def test_a_question_for_all_that_is_known_is_answered_by_facts_without_a_relevant_line(memory: Memory) -> None:
    context = memory.context("What do you know about me?", facts=True, min_relevance=1.0)
    assert context.hits == ()
    assert facts_of(context)[:2] == ["Nora lives in Berlin (since March 2024; before: Porto).", "Nora is a nurse."]
    assert context.text == "[What is known]\n" + "\n".join(facts_of(context))
    assert memory.context("What do you know about me?", min_relevance=1.0).text == ""


def test_a_question_for_what_has_changed_gets_what_was_learnt_in_that_time(memory: Memory) -> None:
    moment = FIRST + timedelta(days=170)
    context = memory.context("What has changed since May?", facts=True, as_of=moment, min_relevance=1.0)
    assert facts_of(context) == ["Nora is a nurse."]


def test_a_note_names_what_has_ended_of_a_line_that_states_more(tmp_path: Path) -> None:
    with Memory.open("mia", store=tmp_path) as memory:
        for days, text in enumerate(("My sister Ann lives in Porto and works at Acme.", "Ann quit Acme.")):
            memory.observe(text, speaker="Nora", said_at=FIRST + timedelta(days=days))
        text = memory.context("Where does Ann work?", facts=True).text
    assert "Nora: My sister Ann lives in Porto and works at Acme. [Acme: until January 2024]" in text


@pytest.mark.parametrize("budget", range(30, 60, 5))
def test_also_a_short_note_names_what_has_ended_of_a_line_that_states_more(tmp_path: Path, budget: int) -> None:
    with Memory.open("ann", store=tmp_path) as memory:
        for days, text in enumerate(("I live in Leeds and work as a nurse.", "I moved to York last week!")):
            memory.observe(text, speaker="Ann", said_at=FIRST + timedelta(days=40 * days))
        text = memory.context("Where does Ann live?", budget, facts=True).text
    assert "nurse. [until" not in text


@pytest.mark.parametrize("budget", range(30, 400, 10))
def test_no_line_is_shown_as_true_that_no_longer_is_however_small_the_budget(memory: Memory, budget: int) -> None:
    plain = memory.context("Where do I live?", budget, gate=False)
    context = memory.context("Where do I live?", budget, gate=False, facts=True)
    assert context.tokens <= budget
    assert [hit.seq for hit in plain.hits[:1]] == [hit.seq for hit in context.hits[:1]]
    assert {hit.seq for hit in (*context.hits, *context.cut)} == {hit.seq for hit in (*plain.hits, *plain.cut)}
    assert "I live in Porto.\n" not in f"{context.text}\n" or len(context.lines) == 1

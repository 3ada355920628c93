from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.bench.metrics import KS
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.run import THRESHOLDS, gate_curve, rename_in_questions, replace_names, run_benchmark
from everthread.errors import BadInput
from everthread.types import NewLine

BEGUN = datetime(2024, 5, 1, tzinfo=UTC)


def conversation(
    name: str, speakers: tuple[str, str], facts: list[str], questions: list[Question]
) -> AnnotatedConversation:
    ids = tuple(f"{name}{number}" for number in range(len(facts)))
    lines = tuple(
        NewLine(fact, speakers[n % 2], said_at=BEGUN + timedelta(minutes=n), session="s", key=f"{name}:{n}")
        for n, fact in enumerate(facts)
    )
    return AnnotatedConversation(name, lines, ids, tuple(questions), speakers, unresolved=1, left_out=2)


GARDEN = conversation(
    "garden",
    ("Ida", "Tom"),
    ["I planted a walnut tree.", "The roof leaks again.", "My parrot speaks Danish.", "We sold the old tractor."],
    [
        Question("Who planted the walnut tree?", frozenset({"garden0"}), "plants"),
        Question("Which language does the parrot speak?", frozenset({"garden2"}), "animals"),
        Question("Does the roof leak?", frozenset({"garden1"}), "plants", after=2),
    ],
)
HARBOUR = conversation(
    "harbour",
    ("Ada", "Ben"),
    ["The lighthouse was painted white.", "Our ferry leaves at nine."],
    [Question("When does the ferry leave, Ben?", frozenset({"harbour1"}), "times")],
)


def test_every_question_is_asked_and_every_figure_is_reported() -> None:
    steps: list[tuple[int, int]] = []
    report = run_benchmark(
        [GARDEN, HARBOUR], dataset="sample", embedder="hash", progress=lambda *step: steps.append(step)
    )
    assert (report.dataset, report.recipe, report.questions) == ("sample", "default", 4)
    assert (report.left_out, report.unresolved) == (4, 2)
    assert steps == [(n, 8) for n in range(1, 9)]
    assert {name: category.questions for name, category in report.categories.items()} == {
        "plants": 2,
        "animals": 1,
        "times": 1,
    }
    assert report.recall[5] == report.recall[50] == 1  # no bank has more than four lines
    assert report.gold_in_context == {500: 1, 1000: 1, 2000: 1}
    assert 0 < report.ndcg10 <= 1
    assert 0 < report.latency_p50 <= report.latency_p95
    assert list(report.recall) == list(KS)
    assert report.false_injection
    assert [point.threshold for point in report.false_injection.curve] == list(THRESHOLDS)


def test_recall_is_reported_at_the_requested_cut_offs() -> None:
    report = run_benchmark([GARDEN, HARBOUR], dataset="sample", embedder="hash", ks=(2, 20))
    assert list(report.recall) == [2, 20]
    assert report.recall[20] == 1
    assert [name for name in report.text().splitlines()[2].split() if name.startswith("R@")] == ["R@2", "R@20"]


def test_a_question_does_not_see_what_was_said_after_it() -> None:
    early = Question("Which language does the parrot speak?", frozenset({"garden2"}), "animals", after=2)
    garden = AnnotatedConversation("g", GARDEN.lines, GARDEN.ids, (early,), GARDEN.speakers)
    assert run_benchmark([garden], dataset="sample", embedder="hash").recall[50] == 0


def test_one_conversation_alone_has_no_false_injection() -> None:
    report = run_benchmark([HARBOUR], dataset="sample", embedder="hash")
    assert report.false_injection is None


def test_unrelated_questions_of_the_dataset_are_asked_of_their_own_bank() -> None:
    unrelated = replace(HARBOUR, unrelated=("Who sold the greyhound?", "good morning"))
    steps: list[tuple[int, int]] = []
    report = run_benchmark([unrelated], dataset="sample", embedder="hash", progress=lambda *step: steps.append(step))
    assert steps[-1] == (3, 3)
    assert report.false_injection
    assert report.false_injection.unchanged == report.false_injection.mapped


def test_without_questions_there_is_nothing_to_measure() -> None:
    silent = AnnotatedConversation("silent", HARBOUR.lines, HARBOUR.ids, (), HARBOUR.speakers)
    for conversations in ([], [silent]):
        with pytest.raises(BadInput, match="sample has no question with gold"):
            run_benchmark(conversations, dataset="sample", embedder="hash")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Ida's aunt tell Tom?", "What did Tom's aunt tell Zoë?"),
        ("Idaho and Tomato", "Idaho and Tomato"),
        ("IDA, ida and Ida!", "IDA, tom and Tom!"),
        ("Ida在公园", "Tom在公园"),
    ],
)
def test_names_are_replaced_as_whole_words_and_all_at_once(text: str, expected: str) -> None:
    assert replace_names(text, ("Ida", "Tom"), ("Tom", "Zoë")) == expected


def test_first_names_are_replaced_like_full_names() -> None:
    names, others = ("Ana Lima", "Assistant"), ("Bo Chen", "Assistant")
    assert replace_names("Ana Lima, or Ana", names, others) == "Bo Chen, or Bo"


def test_people_are_called_by_other_names_in_questions_alone() -> None:
    asked = replace(GARDEN, questions=(Question("What did Ida plant?", frozenset({"garden0"}), "plants"),))
    renamed = rename_in_questions(asked, {"Ida": "Idalina"})
    assert [each.text for each in renamed.questions] == ["What did Idalina plant?"]
    assert renamed.lines == asked.lines


def test_without_names_nothing_is_replaced() -> None:
    assert replace_names("Ida", (), ("Tom",)) == "Ida"


@given(st.lists(st.floats(0, 1), max_size=20))
def test_a_stricter_gate_never_lets_more_through(relevance: list[float]) -> None:
    curve = gate_curve(relevance, relevance, [])
    assert all(a.kept >= b.kept and a.unchanged >= b.unchanged for a, b in pairwise(curve))
    assert curve[0].kept == (1 if relevance else 0)
    assert all(point.mapped == 0 for point in curve)

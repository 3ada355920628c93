from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hardship.embedders import Moody

from everthread import factory
from everthread.bench import first_facts, fit_profile
from everthread.bench.corpus import load_corpus
from everthread.bench.first_facts import load_first_facts, merge
from everthread.bench.fit import Example
from everthread.bench.fit_profile import Trial, cross_validate, leave_out
from everthread.bench.fit_result import FitResult
from everthread.bench.fit_settings import (
    AMONG_FRIENDS,
    ASSISTANT_SIGNALS,
    BY_CHARACTERS,
    BY_WORDS,
    CHARACTER_SIGNALS,
    COMMON_FEATURES,
    FRIEND_SIGNALS,
    KEPT_SHARES,
    MESSAGE_SIGNALS,
    WORD_SIGNALS,
)
from everthread.bench.metrics import KS
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.errors import BadInput
from everthread.types import NewLine, Role

pytestmark = pytest.mark.slow  # it fits weights

THINGS = (
    "walnut kite parrot tractor saxophone ferry lighthouse alpaca boiler tulip greyhound motorbike orchestra midwife "
    "kitchen lentil compass glacier orchard violin lantern harbour meadow bicycle"
).split()
NAMES = (("Ida", "Tom"), ("Ada", "Ben"), ("Eva", "Max"), ("Uma", "Rob"))
BEGUN = datetime(2024, 5, 1, tzinfo=UTC)


def conversation(number: int, second: Role = "user") -> AnnotatedConversation:
    """Build a conversation of a dozen lines about six things, in two sessions, with a question about each thing."""
    things = THINGS[6 * number : 6 * number + 6]
    speakers = NAMES[number]
    lines: list[NewLine] = []
    for place, thing in enumerate(things):
        at = BEGUN + timedelta(days=place // 3, minutes=place)
        session = f"s{place // 3}"
        lines.append(NewLine(f"I finally sold the {thing} of my uncle.", speakers[0], "user", at, session))
        lines.append(NewLine("Well, who would have thought?", speakers[1], second, at, session))
    lines = [replace(line, key=f"{number}:{place}") for place, line in enumerate(lines)]
    ids = tuple(str(line.key) for line in lines)
    questions = tuple(
        Question(f"What did {speakers[0]} do with the {thing}?", frozenset({ids[2 * place]}), "things")
        for place, thing in enumerate(things)
    )
    return AnnotatedConversation(f"talk-{number}", tuple(lines), ids, questions, speakers)


FRIENDLY = [conversation(number) for number in range(4)]
ASSISTED = [conversation(number, "assistant") for number in range(3)]


@pytest.fixture(autouse=True, scope="module")
def _few_first_facts(few_first_facts: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(first_facts, "DATA_FILES", few_first_facts)
        yield


@pytest.fixture(scope="module")
def fitted() -> FitResult:
    return cross_validate(FRIENDLY, "hash")


def test_each_signal_and_each_feature_of_a_query_gets_a_fitted_number(fitted: FitResult) -> None:
    assert tuple(fitted.weights) == FRIEND_SIGNALS
    assert tuple(fitted.query_model) == ("bias", *AMONG_FRIENDS.query_features)
    assert tuple(fitted.hit_model) == ("bias", "score_share")
    numbers = [*fitted.weights.values(), *fitted.query_model.values(), *fitted.hit_model.values()]
    assert all(map(math.isfinite, numbers))
    assert 0 <= fitted.threshold <= 1


def test_a_signal_of_gold_lines_alone_gets_a_positive_weight(fitted: FitResult) -> None:
    assert fitted.weights["share"] > 0
    assert fitted.weights["asks"] < 0  # no gold line of ours asks


def test_every_question_is_measured_on_a_conversation_left_out(fitted: FitResult) -> None:
    assert fitted.questions == 24
    assert tuple(fitted.recall) == KS
    assert all(small <= large for small, large in pairwise(fitted.recall.values()))
    assert fitted.recall[50] == 1  # no bank has more lines
    assert fitted.recall[1] > 0.9  # each question names the one line by a word of its own


def test_a_gate_that_keeps_less_lets_in_less(fitted: FitResult) -> None:
    assert len(fitted.curve) == len(KEPT_SHARES)
    for laxer, stricter in pairwise(fitted.curve):
        assert laxer.kept >= stricter.kept
        assert (laxer.unchanged or 0) >= (stricter.unchanged or 0)
        assert (laxer.mapped or 0) >= (stricter.mapped or 0)
    for point in fitted.small.values():
        assert all(share is not None and 0 <= share <= 1 for share in (point.kept, point.unchanged, point.mapped))


def test_the_figures_come_as_json_and_as_text(fitted: FitResult) -> None:
    figures = fitted.json()
    assert set(figures["head"]) == {"weights", "message_weights", "whole", "hit", "threshold"}
    assert figures["left_out"]["questions"] == 24
    assert list(figures["left_out"]["recall"]) == [str(k) for k in KS]
    assert set(figures["left_out"]["banks"]) == {each.id for each in FRIENDLY}
    assert set(figures["left_out"]["gate"][0]) == {"kept", "unchanged", "mapped"}
    text = fitted.text()
    assert "each conversation left out in turn, 24 questions: R@1 " in text
    assert all(name in text for name in FRIEND_SIGNALS)


def test_conversations_with_an_assistant_have_other_signals_and_friends_may_be_mixed_in() -> None:
    alone = cross_validate(ASSISTED, "hash")
    mixed = cross_validate(ASSISTED, "hash", FRIENDLY[3:])
    assert tuple(alone.weights) == tuple(mixed.weights) == ASSISTANT_SIGNALS
    assert tuple(alone.query_model) == ("bias", *COMMON_FEATURES, "uncovered", "unmatched")
    assert tuple(alone.message_weights) == tuple(mixed.message_weights) == MESSAGE_SIGNALS
    assert alone.weights != mixed.weights
    assert alone.questions == mixed.questions == 18


def test_our_own_conversations_are_fitted_as_well_and_each_is_measured_left_out() -> None:
    fitted = cross_validate(FRIENDLY[:3], "hash", corpus=[FRIENDLY[3], replace(FRIENDLY[0], id="corpus")])
    alone = cross_validate(FRIENDLY[:3], "hash")
    assert fitted.questions == alone.questions == 18
    assert fitted.weights != alone.weights
    assert fitted.corpus is not None
    assert alone.corpus is None
    recall, curve = fitted.corpus
    assert recall[50] == 1
    assert len(curve) == len(KEPT_SHARES)
    assert set(fitted.small) - set(alone.small) == {"the corpus"}
    assert set(fitted.banks) == {each.id for each in FRIENDLY[:3]}
    assert "  the corpus: R@1 " in fitted.text()


def test_foreign_questions_are_asked_while_a_bank_grows_not_only_at_its_end() -> None:
    growing = [
        replace(each, questions=tuple(replace(q, after=2 * n + 2) for n, q in enumerate(each.questions)))
        for each in FRIENDLY
    ]
    trials = list(fit_profile._ask_all(growing, factory.open_embedder("hash"), FRIEND_SIGNALS))
    full = [trial for trial in trials if trial.source == "full" and trial.bank == "talk-0"]
    sizes = {kind: [len(trial.example.signals) for trial in full if trial.kind == kind] for kind in ("own", "mapped")}
    assert sizes["own"] == [2, 4, 6, 8, 10, 12]
    assert sizes["mapped"] == [size for size in sizes["own"] for _ in range(3)]  # the questions of three others


CHINESE = [merge(load_first_facts("zh")[at::3], f"talk-{at}") for at in range(3)]


def test_by_words_alone_meaning_has_no_weight_and_the_acceptance_rate_sets_the_threshold() -> None:
    fitted = cross_validate(CHINESE, "hash", language="zh", kind=BY_CHARACTERS)
    assert tuple(fitted.weights) == CHARACTER_SIGNALS
    assert tuple(fitted.query_model) == ("bias", *BY_CHARACTERS.query_features)
    assert fitted.weights["share"] > 0
    assert fitted.weights["person"] == BY_CHARACTERS.given["person"]  # with a single speaker it cannot be fitted
    assert (fitted.questions, len(fitted.curve)) == (126, len(BY_CHARACTERS.kept_shares))
    foreign_share = np.mean([point.unchanged or 0.0 for _, point in fitted.banks.values()])
    assert foreign_share == pytest.approx(BY_CHARACTERS.foreign_share, abs=0.02)


def test_beside_chinese_our_conversations_in_other_languages_are_asked_no_foreign_questions() -> None:
    german, italian = load_corpus("development", "de"), load_corpus("development", "it")
    fitted = cross_validate(CHINESE, "hash", corpus=[*german, *italian], language="zh", kind=BY_WORDS)
    assert tuple(fitted.weights) == WORD_SIGNALS
    assert fitted.questions == 126
    assert fitted.corpus is not None
    recall, curve = fitted.corpus
    assert 0 < recall[10] < 1
    assert curve == []
    kept = fitted.small["the corpus"]
    assert (kept.unchanged, kept.mapped) == (None, None)
    assert f"in the corpus, at the threshold: keeps {100 * kept.kept:.1f}%\n" in fitted.text()


def test_the_meaning_of_glosses_has_a_weight() -> None:
    few = [merge(load_first_facts("zh")[at:9:3], f"talk-{at}") for at in range(3)]
    assert cross_validate(few, "hash", language="zh").weights["cosine"] > 0


def test_fitting_on_chinese_is_refused_for_an_embedder_that_reads_it() -> None:
    with pytest.raises(BadInput, match="moody reads Chinese"):
        cross_validate(CHINESE, Moody(), language="zh")


def test_each_bank_is_reported_and_the_mean_of_their_recalls_is_the_total(fitted: FitResult) -> None:
    assert set(fitted.banks) == {each.id for each in FRIENDLY}
    for k in KS:
        assert np.mean([recall[k] for recall, _ in fitted.banks.values()]) == pytest.approx(fitted.recall[k])


@pytest.mark.parametrize("few", [[], FRIENDLY[:1], FRIENDLY[:2]], ids=len)
def test_fewer_than_three_conversations_are_refused(few: Sequence[AnnotatedConversation]) -> None:
    with pytest.raises(BadInput, match=f"at least three conversations, got {len(few)}"):
        cross_validate(few, "hash")


def test_a_conversation_is_left_out_as_asker_and_as_bank() -> None:
    nothing = Example("", np.zeros((1, 1), np.float32), np.zeros(0, np.intp))
    pairs = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"), ("b", "c")]
    trials = [Trial(asker, bank, "own", "full", 0, nothing, {}) for asker, bank in pairs]
    assert [(trial.asker, trial.bank) for trial in leave_out(trials, "a")] == [("b", "b"), ("b", "c")]

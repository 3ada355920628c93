from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.recall.rerank.base import KeywordOverlap, RecencyImportance, Reranker
from everthread.scribes.extractive import ExtractiveScribe
from everthread.types import Hit
from recall.builders import BEGUN, assert_only_moved, hit, hits, line, rerank_scores, seqs

NOW = BEGUN + timedelta(days=2)
TEXT = st.text("ab cat Dog's 我的猫喜欢鱼图书馆。，?!\n", max_size=40)


def hit_after(seq: int, hours: float, relevance: float = 0.5, **metadata: Any) -> Hit:
    """Build a hit whose line was said some hours after BEGUN; NOW is 48 hours after BEGUN."""
    return replace(hit(replace(line(seq, hours=hours), metadata=metadata)), relevance=relevance)


# ----------------------------------------------------------------------------------------------- KeywordOverlap

FERRY = ("I baked bread.", "The ferry was late.", "The ferry to the island was late.", "What a small island!")
KEYS = ("她喜欢吃面包", "钥匙丢了", "小明把钥匙放在图书馆了")


def test_more_shared_keywords_rank_higher_and_ties_keep_their_order() -> None:
    reranker = KeywordOverlap()
    found = reranker.rerank("Which ferry goes to the island?", hits(*FERRY))
    assert seqs(found) == [3, 2, 4]
    assert rerank_scores(reranker, found) == [2.0, 1.0, 1.0]


def test_shared_keywords_are_counted_in_chinese() -> None:
    reranker = KeywordOverlap()
    found = reranker.rerank("图书馆的钥匙在哪里？", hits(*KEYS))
    assert seqs(found) == [3, 2]
    assert rerank_scores(reranker, found) == [3.0, 1.0]


def test_min_shared_is_the_least_number_of_shared_keywords() -> None:
    assert seqs(KeywordOverlap(min_shared=2).rerank("Which ferry goes to the island?", hits(*FERRY))) == [3]
    assert seqs(KeywordOverlap(min_shared=0).rerank("图书馆的钥匙在哪里？", hits(*KEYS))) == [3, 2, 1]


def test_ignored_names_are_not_keywords() -> None:
    given = hits("Emi, good morning, Emi!", "I saw a heron, Emi.")
    assert seqs(KeywordOverlap(ignored_names=["Emi"]).rerank("Emi, do you remember the heron?", given)) == [2]
    assert seqs(KeywordOverlap(ignored_names=["小美"]).rerank("小美，猫呢？", hits("小美早上好", "猫睡了"))) == []


def test_only_the_top_keywords_are_compared() -> None:
    given = hits("ferry, ferry and island")
    assert seqs(KeywordOverlap(top=1).rerank("the island", given)) == []
    assert seqs(KeywordOverlap(top=2).rerank("the island", given)) == [1]


def test_no_line_shares_a_keyword_with_a_blank_query() -> None:
    assert KeywordOverlap().rerank(" \n", hits(*FERRY)) == []
    assert seqs(KeywordOverlap(min_shared=0).rerank("", hits(*FERRY))) == [1, 2, 3, 4]


def test_quoted_words_of_a_line_are_not_its_keywords() -> None:
    quoting = replace(line(1, "You said: the ferry was late. Poor you."), metadata={"everthread.echo": [[10, 29]]})
    assert KeywordOverlap().rerank("Was the ferry late?", [hit(quoting)]) == []
    assert seqs(KeywordOverlap().rerank("Poor me?", [hit(quoting)])) == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top must be a whole number of at least 1, got 0"),
        ({"top": 2.5}, "top must be a whole number of at least 1, got 2.5"),
        ({"min_shared": -1}, "min_shared must be a whole number of at least 0, got -1"),
        ({"min_shared": True}, "min_shared must be a whole number of at least 0, got True"),
        ({"ignored_names": "Emi"}, r"ignored_names must be names, got the text 'Emi'; write \['Emi'\]"),
    ],
)
def test_invalid_options_of_keyword_overlap_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        KeywordOverlap(**options)


# -------------------------------------------------------------------------------------------- RecencyImportance


def test_relevance_recency_and_importance_are_added() -> None:
    reranker = RecencyImportance(NOW, 1)
    found = reranker.rerank(
        "", [hit_after(1, 48), hit_after(2, 24, importance=4), hit_after(3, 0, importance=10), hit_after(4, 0, 0.9)]
    )
    assert seqs(found) == [3, 1, 2, 4]
    assert rerank_scores(reranker, found) == pytest.approx(
        [0.5 + 1 / 4 + 1, 0.5 + 1 + 0, 0.5 + 1 / 2 + 3 / 9, 0.9 + 1 / 4]
    )


def test_recency_can_decay_inversely() -> None:
    reranker = RecencyImportance(NOW, 1, "inverse", weights=(0, 1, 0))
    found = reranker.rerank("", [hit_after(1, 0), hit_after(2, 24), hit_after(3, 48)])
    assert seqs(found) == [3, 2, 1]
    assert rerank_scores(reranker, found) == pytest.approx([1, 1 / 2, 1 / 3])


def test_weights_apply_to_relevance_recency_and_importance_in_this_order() -> None:
    given = [hit_after(1, 24, 0.2, importance=10)]
    scores = [
        rerank_scores(reranker, reranker.rerank("", given))[0]
        for weights in ((2, 0, 0), (0, 2, 0), (0, 0, 2))
        for reranker in [RecencyImportance(NOW, 1, weights=weights)]
    ]
    assert scores == pytest.approx([0.4, 1, 2])


def test_importance_can_be_rated_by_a_scribe() -> None:
    scribe = ExtractiveScribe()
    reranker = RecencyImportance(NOW, 1, weights=(0, 0, 1), importance=lambda each: scribe.rate_importance(each.text))
    found = reranker.rerank("", hits("Thanks!", "My grandmother died.", "我妈妈去世了", "I had some soup at noon."))
    assert seqs(found) == [2, 3, 4, 1]
    assert rerank_scores(reranker, found) == pytest.approx([8 / 9, 8 / 9, 2 / 9, 0])


@pytest.mark.parametrize("value", [None, True, 0, 11, -3, math.nan, "10", [10]])
def test_an_invalid_importance_in_metadata_counts_as_missing(value: object) -> None:
    reranker = RecencyImportance(NOW, 1, weights=(0, 0, 1))
    assert rerank_scores(reranker, reranker.rerank("", [hit_after(1, 0, importance=value)])) == [0]


def test_lines_later_than_now_have_the_greatest_recency() -> None:
    reranker = RecencyImportance(NOW, 1, weights=(0, 1, 0))
    assert rerank_scores(reranker, reranker.rerank("", [hit_after(1, 48), hit_after(2, 500)])) == [1, 1]


def test_a_clock_is_read_at_each_reranking() -> None:
    times = iter([NOW, NOW + timedelta(days=1)])
    reranker = RecencyImportance(lambda: next(times), 1, weights=(0, 1, 0))
    given = [hit_after(1, 48)]
    assert [rerank_scores(reranker, reranker.rerank("", given)) for _ in range(2)] == [[1], [0.5]]


@pytest.mark.parametrize("days", [0, -1, 1e-12, math.nan, math.inf, 1e12])
def test_an_invalid_half_life_is_rejected(days: float) -> None:
    with pytest.raises(BadInput, match="invalid half-life"):
        RecencyImportance(NOW, days)


@pytest.mark.parametrize("weights", [(1, 1), (1, 1, 1, 1), (1, -1, 1), (1, math.nan, 1), (math.inf, 0, 0)])
def test_weights_other_than_three_numbers_from_0_are_rejected(weights: Any) -> None:
    with pytest.raises(BadInput, match=r"invalid weights .*expected three numbers from 0"):
        RecencyImportance(NOW, 1, weights=weights)


def test_an_unknown_decay_is_rejected() -> None:
    shape: Any = "linear"
    with pytest.raises(BadInput, match="unknown decay 'linear'; expected one of exponential, inverse"):
        RecencyImportance(NOW, 1, shape)


def test_a_time_without_a_time_zone_is_rejected() -> None:
    naive = datetime(2024, 5, 6)
    with pytest.raises(BadInput, match="has no time zone"):
        RecencyImportance(naive, 1)
    with pytest.raises(BadInput, match="has no time zone"):
        RecencyImportance(lambda: naive, 1).rerank("", hits("Yes."))


@pytest.mark.parametrize("rating", [0, 11, math.nan])
def test_a_rating_outside_1_to_10_is_rejected(rating: float) -> None:
    with pytest.raises(BadInput, match=rf"invalid importance {rating} of line 1; expected 1 to 10"):
        RecencyImportance(NOW, 1, importance=lambda _: rating).rerank("", hits("Yes."))


# ---------------------------------------------------------------------------------------------------- both

BOTH: list[Reranker] = [KeywordOverlap(min_shared=0), KeywordOverlap(), RecencyImportance(NOW, 30)]


@st.composite
def found(draw: st.DrawFn) -> list[Hit]:
    texts = draw(st.lists(TEXT, max_size=6))
    return [
        Hit(
            replace(line(seq, text, hours=draw(st.floats(-99, 99))), metadata={"importance": draw(st.integers(0, 11))}),
            *(draw(st.floats(-5, 5)), draw(st.floats(0, 1)), {"cosine": 0.25, "keywords": -1.0}, ()),
        )
        for seq, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize("reranker", BOTH, ids=["keywords-all", "keywords", "recency_importance"])
@given(query=TEXT, given=found())
def test_reranking_changes_only_order_and_signal_of_hits(reranker: Reranker, query: str, given: list[Hit]) -> None:
    ranked = reranker.rerank(query, given)
    assert_only_moved(reranker, given, ranked)
    order = [(-each.signals[reranker.name], each.line.seq) for each in ranked]
    assert order == sorted(order)
    if reranker is not BOTH[1]:
        assert len(ranked) == len(given)


@pytest.mark.parametrize("reranker", BOTH)
def test_reranking_keeps_a_single_hit_and_an_empty_list(reranker: Reranker) -> None:
    assert reranker.rerank("ferry", []) == []
    assert seqs(reranker.rerank("ferry", hits("The ferry was late."))) == [1]

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.embedders.calibration import measure_calibration
from everthread.errors import BadQuery
from everthread.memory import Memory
from everthread.recall import features
from everthread.recall.candidates import MAX_EXHAUSTIVE_LINES, Candidates, add_surroundings, count_surroundings, top_k
from everthread.recall.types import Query
from everthread.recipes.default import Default
from everthread.testing import HashEmbedder
from everthread.types import Filter, NewLine, Seqs
from recall.builders import BEGUN, open_filled

LINES = 3000
WANTED = (17, 600, 1501, 2222, 2990)  # lines that match the filter
MARKED = {"wanted": True}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Open a bank of 3,000 synthetic lines, five of them marked."""
    lines = [
        NewLine(line.text, line.speaker, said_at=line.said_at, session=line.session, metadata=MARKED)
        if number in WANTED
        else line
        for number, line in enumerate(synthetic.lines(LINES), 1)
    ]
    with Memory.open("large", store=tmp_path_factory.mktemp("large"), embedder=BulkEmbedder(HashEmbedder())) as memory:
        memory.observe_many(lines)
        yield memory


@pytest.fixture(scope="module")
def questions(large: Memory) -> list[str]:
    """Build queries from words of lines in the bank, and of lines that are not in it."""
    rng = np.random.default_rng(1)
    texts = [line.text.rstrip(".").split() for line in large.lines() if line.seq % 60 == 0]
    inside = [" ".join(rng.permutation(text)[:6].tolist()) for text in texts]
    return [*inside, *synthetic.queries(30, LINES)]


def all_as_candidates(memory: Memory, found: Candidates) -> Candidates:
    """Return the candidates of the same query with every line of the bank as a candidate."""
    seqs = np.arange(1, LINES + 1)
    vector = memory.embedder.embed_query(found.parsed.embedding_text)
    rows = memory.store.scoring_rows(memory.bank, seqs)
    cosine = memory.store.cosines(memory.bank, memory.embedder.name, vector, seqs)
    cosine = measure_calibration(memory.embedder).to_shipped(cosine)
    return Candidates(seqs, np.arange(LINES), rows, cosine, found.postings, found.corpus, found.parsed, None)


def rank_candidates(memory: Memory, found: Candidates) -> Seqs:
    """Return (C,) the candidates by score, best first."""
    scores = features.weighted_sum(
        features.compute_signals(found.parsed, found), Default().choose_profile(found, multilingual=False).weights
    )
    return np.asarray(found.seqs[np.argsort(-scores, kind="stable")])


def test_in_a_small_bank_every_line_is_a_candidate(tmp_path: Path) -> None:
    with open_filled(tmp_path, [f"Line number {n}." for n in range(40)]) as memory:
        memory.retract(7)
        memory.forget(seq=9)
        found, _ = memory.reader.measure_candidates(Query("something else entirely"))
        assert found.seqs.tolist() == [seq for seq in range(1, 41) if seq not in (7, 9)]


@pytest.mark.slow
def test_a_large_bank_is_not_scored_exhaustively(large: Memory) -> None:
    found, _ = large.reader.measure_candidates(Query(next(large.lines(after=99)).text))
    assert MAX_EXHAUSTIVE_LINES < LINES
    assert len(found.seqs) < LINES / 2
    assert (np.diff(found.seqs) > 0).all()
    assert (found.rows.seq[found.row_indexes] == found.seqs).all()


@pytest.mark.slow
def test_the_best_line_by_score_or_cosine_is_nearly_always_a_candidate(large: Memory, questions: list[str]) -> None:
    by_score, by_cosine, first_ten = [], [], []
    for question in questions:
        found, _ = large.reader.measure_candidates(Query(question))
        every = all_as_candidates(large, found)
        exact = rank_candidates(large, every)
        by_score.append(exact[0] in found.seqs)
        by_cosine.append(int(np.nanargmax(every.cosine)) + 1 in found.seqs)
        first_ten.append(np.isin(exact[:10], rank_candidates(large, found)[:10]).mean())
    assert np.mean(by_score) >= 0.97
    assert np.mean(by_cosine) >= 0.97
    assert np.mean(first_ten) >= 0.9


def test_a_line_is_found_by_its_own_words(large: Memory) -> None:
    for line in [line for line in large.lines() if line.seq % 250 == 0]:
        assert line.seq in [hit.line.seq for hit in large.recall(line.text, k=3)]


def test_the_scores_of_candidates_are_those_of_an_exact_search(large: Memory, questions: list[str]) -> None:
    for question in questions[::10]:
        found, signals = large.reader.measure_candidates(Query(question))
        every = features.compute_signals(found.parsed, all_as_candidates(large, found))
        for name in set(signals) - {"cosine_session"}:  # this one depends on the candidates in the session
            np.testing.assert_allclose(signals[name], every[name][found.seqs - 1], rtol=1e-3, atol=1e-3, err_msg=name)


def test_a_filter_that_matches_five_of_thousands_of_lines_finds_those_five(large: Memory) -> None:
    for question in ("zebra", "?", next(large.lines(after=300)).text):
        hits = large.recall(question, k=10, where=Filter(metadata=MARKED))
        assert sorted(hit.line.seq for hit in hits) == list(WANTED)


def test_filtered_recall_returns_only_matching_lines_even_if_others_are_nearer(large: Memory) -> None:
    line = next(large.lines(after=1000))
    for where in (
        Filter(speaker="Mara"),
        Filter(session=("talk-3", "talk-99")),
        Filter(since=line.said_at),
        Filter(until=line.said_at),
        Filter(speaker="Jonas", session="talk-40"),
    ):
        hits = large.recall(line.text, k=20, where=where)
        allowed = {each.seq for each in large.lines(where)}
        assert len(hits) == min(20, len(allowed))
        assert {hit.line.seq for hit in hits} <= allowed


@pytest.mark.parametrize("number", [1, 250, 2999])
def test_lines_later_than_as_of_are_not_found(large: Memory, number: int) -> None:
    as_of = next(large.lines(after=number - 1)).said_at
    hits = large.recall("the ferry", k=50, as_of=as_of)
    assert len(hits) == min(50, number)
    assert all(hit.line.said_at <= as_of for hit in hits)


def test_recall_as_of_a_time_before_the_first_line_finds_nothing(large: Memory) -> None:
    assert large.recall("the", as_of=datetime(1999, 1, 1, tzinfo=BEGUN.tzinfo)) == []
    assert large.context("the", as_of=datetime(1999, 1, 1, tzinfo=BEGUN.tzinfo), gate=False).text == ""


@pytest.mark.parametrize("k", [1, 7, 400])
def test_recall_returns_k_hits_best_first(large: Memory, k: int) -> None:
    hits = large.recall("What did Mara say about the ferry?", k=k)
    assert len(hits) == k
    assert len({hit.line.seq for hit in hits}) == k
    assert all(a.score >= b.score and a.relevance >= b.relevance for a, b in pairwise(hits))


@pytest.mark.parametrize("question", ["the of and", "?", "😀", "x" * 50_000, "那只猫", "\x00", "\ud800"])
def test_any_text_can_be_recalled(large: Memory, question: str) -> None:
    assert len(large.recall(question, k=5)) == 5
    large.context(question)


@pytest.mark.parametrize("question", [None, 3, b"kite"])
def test_a_query_that_is_not_a_str_is_rejected(large: Memory, question: object) -> None:
    with pytest.raises(BadQuery, match=f"query must be a str, got {type(question).__name__}"):
        large.recall(question)  # type: ignore[arg-type]


@given(st.sets(st.integers(1, 80), max_size=30), st.integers(0, 20), st.integers(2, 6), st.integers(1, 3))
def test_each_line_is_read_with_those_around_it(seqs: set[int], more: int, before: int, after: int) -> None:
    last = max(seqs, default=1) + more
    found = add_surroundings(np.array(sorted(seqs), np.int64), last, before, after)
    expected = {seq + step for seq in seqs for step in range(-before, after + 1)}
    assert found.tolist() == [seq for seq in range(1, last + 1) if seq in expected]


@pytest.mark.parametrize(("terms", "expected"), [(30, (2, 1)), (12, (2, 1)), (8, (3, 2)), (5, (5, 3)), (1, (6, 3))])
def test_more_lines_are_read_around_each_where_lines_are_short(
    tmp_path: Path, terms: int, expected: tuple[int, int]
) -> None:
    with open_filled(tmp_path, [" ".join(f"word{line}x{n}" for n in range(terms)) for line in range(3)]) as memory:
        corpus = memory.store.corpus_stats(memory.bank)
        assert count_surroundings(corpus) == expected


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 50))
def test_top_k_returns_those_of_the_greatest_weight(weights: list[int], most: int) -> None:
    weight = np.array(weights, np.float32)
    top = top_k(np.arange(len(weights)), weight, most)
    assert len(set(top.tolist())) == min(most, len(weights))
    rest = set(range(len(weights))) - set(top.tolist())
    assert all(weight[seq] <= weight[top].min() for seq in rest)


def test_a_long_query_in_an_unspaced_script_uses_as_many_words_as_others(tmp_path: Path) -> None:
    words = [f"{chr(0x7000 + 2 * n)}{chr(0x7001 + 2 * n)}" for n in range(24)]  # 24 words of two characters
    with open_filled(tmp_path, words) as memory:
        found, signals = memory.reader.measure_candidates(Query("，".join(words)))
        assert len(found.postings) == 72
        assert (signals["share"] > 0).all()
        spaced, _ = memory.reader.measure_candidates(Query(" ".join(f"word{n}" for n in range(40))))
        assert len(spaced.postings) == 24

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
from everthread.bench.speed import BulkEmbedder
from everthread.embedders.calibration import measure_calibration
from everthread.errors import BadQuery
from everthread.memory import Memory
from everthread.recall import features
from everthread.recall.candidates import MAX_EXHAUSTIVE_LINES, Candidates, add_windows, top_k
from everthread.recall.types import Query
from everthread.recipes.default import Default
from everthread.testing import HashEmbedder
from everthread.types import Filter, NewLine, Seqs
from recall.made import BEGUN, remembered

LINES = 3000
WANTED = (17, 600, 1501, 2222, 2990)  # lines that a filter leaves
MARKED = {"wanted": True}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A bank of 3,000 lines of made-up talk, five of them marked."""
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
    """Questions in the words of lines in the bank, and of lines that are not."""
    words = np.random.default_rng(1)
    texts = [line.text.rstrip(".").split() for line in large.lines() if line.seq % 60 == 0]
    inside = [" ".join(words.permutation(text)[:6].tolist()) for text in texts]
    return [*inside, *synthetic.queries(30, LINES)]


def whole(memory: Memory, found: Candidates) -> Candidates:
    """The same question with every line for a candidate."""
    seqs = np.arange(1, LINES + 1)
    vector = memory.embedder.embed_query(found.query.embedding_text)
    rows = memory.store.scoring_rows(memory.bank, seqs)
    cosine = memory.store.cosines(memory.bank, memory.embedder.name, vector, seqs)
    cosine = measure_calibration(memory.embedder).to_shipped(cosine)
    return Candidates(seqs, np.arange(LINES), rows, cosine, found.postings, found.corpus, found.query, None)


def weighed(memory: Memory, found: Candidates) -> Seqs:
    """(C,) the candidates by score, best first."""
    scores = features.weighted_sum(
        features.compute_signals(found.query, found), Default().choose_profile(found).weights
    )
    return np.asarray(found.seqs[np.argsort(-scores, kind="stable")])


def test_in_a_small_bank_every_line_is_a_candidate(tmp_path: Path) -> None:
    with remembered(tmp_path, [f"Line number {n}." for n in range(40)]) as memory:
        memory.retract(7)
        memory.forget(seq=9)
        found, _ = memory.reader.find_candidates(Query("something else entirely"))
        assert found.seqs.tolist() == [seq for seq in range(1, 41) if seq not in (7, 9)]


def test_a_large_bank_is_not_scored_whole(large: Memory) -> None:
    found, _ = large.reader.find_candidates(Query(next(large.lines(after=99)).text))
    assert MAX_EXHAUSTIVE_LINES < LINES
    assert len(found.seqs) < LINES / 2
    assert (np.diff(found.seqs) > 0).all()
    assert (found.rows.seq[found.row_indexes] == found.seqs).all()


def test_the_best_by_every_signal_is_nearly_always_a_candidate(large: Memory, questions: list[str]) -> None:
    by_score, by_cosine, first_ten = [], [], []
    for question in questions:
        found, _ = large.reader.find_candidates(Query(question))
        every = whole(large, found)
        exact = weighed(large, every)
        by_score.append(exact[0] in found.seqs)
        by_cosine.append(int(np.nanargmax(every.cosine)) + 1 in found.seqs)
        first_ten.append(np.isin(exact[:10], weighed(large, found)[:10]).mean())
    assert np.mean(by_score) >= 0.97
    assert np.mean(by_cosine) >= 0.97
    assert np.mean(first_ten) >= 0.9


def test_a_line_is_found_again_by_its_own_words(large: Memory) -> None:
    for line in [line for line in large.lines() if line.seq % 250 == 0]:
        assert line.seq in [hit.line.seq for hit in large.recall(line.text, k=3)]


def test_the_scores_of_candidates_are_those_of_an_exact_search(large: Memory, questions: list[str]) -> None:
    for question in questions[::10]:
        found, got = large.reader.find_candidates(Query(question))
        every = features.compute_signals(found.query, whole(large, found))
        for name in set(got) - {"cosine_session"}:  # which is of the candidates in the session
            np.testing.assert_allclose(got[name], every[name][found.seqs - 1], rtol=1e-3, atol=1e-3, err_msg=name)


def test_a_filter_that_leaves_five_lines_of_thousands_finds_those_five(large: Memory) -> None:
    for question in ("zebra", "?", next(large.lines(after=300)).text):
        hits = large.recall(question, k=10, where=Filter(metadata=MARKED))
        assert sorted(hit.line.seq for hit in hits) == list(WANTED)


def test_a_filter_holds_inside_the_index_whatever_is_nearer(large: Memory) -> None:
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
def test_what_was_said_later_is_not_found(large: Memory, number: int) -> None:
    as_of = next(large.lines(after=number - 1)).said_at
    hits = large.recall("the ferry", k=50, as_of=as_of)
    assert len(hits) == min(50, number)
    assert all(hit.line.said_at <= as_of for hit in hits)


def test_before_the_first_word_nothing_is_known(large: Memory) -> None:
    assert large.recall("the", as_of=datetime(1999, 1, 1, tzinfo=BEGUN.tzinfo)) == []
    assert large.context("the", as_of=datetime(1999, 1, 1, tzinfo=BEGUN.tzinfo), gate=False).text == ""


@pytest.mark.parametrize("k", [1, 7, 400])
def test_hits_come_best_first_and_as_many_as_were_asked_for(large: Memory, k: int) -> None:
    hits = large.recall("What did Mara say about the ferry?", k=k)
    assert len(hits) == k
    assert len({hit.line.seq for hit in hits}) == k
    assert all(a.score >= b.score and a.relevance >= b.relevance for a, b in pairwise(hits))


@pytest.mark.parametrize("question", ["the of and", "?", "😀", "x" * 50_000, "那只猫", "\x00", "\ud800"])
def test_any_question_gets_an_answer(large: Memory, question: str) -> None:
    assert len(large.recall(question, k=5)) == 5
    large.context(question)


@pytest.mark.parametrize("question", [None, 3, b"kite"])
def test_what_is_no_text_is_no_question(large: Memory, question: object) -> None:
    with pytest.raises(BadQuery, match=f"query must be a str, got {type(question).__name__}"):
        large.recall(question)  # type: ignore[arg-type]


@given(st.sets(st.integers(1, 80), max_size=30), st.integers(0, 20))
def test_windows_hold_each_line_with_two_before_and_one_behind(seqs: set[int], more: int) -> None:
    last = max(seqs, default=1) + more
    found = add_windows(np.array(sorted(seqs), np.int64), last)
    wanted = {seq + step for seq in seqs for step in (-2, -1, 0, 1)}
    assert found.tolist() == [seq for seq in range(1, last + 1) if seq in wanted]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 50))
def test_the_best_are_those_of_the_greatest_weight(weights: list[int], most: int) -> None:
    weight = np.array(weights, np.float32)
    kept = top_k(np.arange(len(weights)), weight, most)
    assert len(set(kept.tolist())) == min(most, len(weights))
    left = set(range(len(weights))) - set(kept.tolist())
    assert all(weight[seq] <= weight[kept].min() for seq in left)


def test_of_a_long_question_in_a_script_without_spaces_as_many_words_count(tmp_path: Path) -> None:
    words = [f"{chr(0x7000 + 2 * n)}{chr(0x7001 + 2 * n)}" for n in range(24)]  # 24 words of two characters
    with remembered(tmp_path, words) as memory:
        found, signals = memory.reader.find_candidates(Query("，".join(words)))
        assert len(found.postings) == 72
        assert (signals["share"] > 0).all()
        spaced, _ = memory.reader.find_candidates(Query(" ".join(f"word{n}" for n in range(40))))
        assert len(spaced.postings) == 24

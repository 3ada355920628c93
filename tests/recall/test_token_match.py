"""Late interaction in banks that have codes, in some of their lines or in none, of both stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from everthread import Memory, NewLine
from everthread.embedders.onnx import OnnxEmbedder
from everthread.recall.token_match import SIGNAL, UNKNOWN_UNMATCHED, WordComparison
from everthread.recall.types import Query
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import Seqs

LINES = ("I adopted a greyhound.", "The train to the coast was late.", "My printer has no more ink.")
SCHEME = "signs-128"
ALL = np.arange(1, 4)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    folder = request.param == "sqlite"
    made: Store = SQLiteStore(tmp_path) if folder else PostgresStore(request.getfixturevalue("database"))
    with closing(made):
        if made.exists("alice"):
            Memory("alice", made, OnnxEmbedder(), Default()).forget(everything=True)
        yield made


def opened(store: Store, late_interaction: bool = True) -> Memory:
    return Memory("alice", store, OnnxEmbedder(), Default(late_interaction=late_interaction))


def compare(memory: Memory, question: str) -> WordComparison:
    candidates, signals = memory.reader.measure_candidates(Query(question))
    signals, unmatched, _ = memory.reader.measure_best(candidates, signals, [SIGNAL])
    return WordComparison(signals[SIGNAL], unmatched)


def coded(memory: Memory) -> list[int]:
    seqs = memory.reader.measure_candidates(Query("greyhound"))[0].seqs
    return sorted(codes_by_seq(memory, SCHEME, seqs))


def codes_by_seq(memory: Memory, scheme: str, seqs: Seqs = ALL) -> dict[int, bytes]:
    read = memory.store.texts_with_codes("alice", memory.embedder.name, scheme, seqs)
    return {seq: codes for seq, _, codes in read if codes is not None}


def test_a_line_whose_word_is_near_to_one_of_the_question_matches_best(store: Store) -> None:
    memory = opened(store)
    for text in LINES:
        memory.observe(text)
    found = compare(memory, "Which pet does she have?")
    assert found.match.argmax() == 0
    assert found.match[0] > 0.1


def test_words_without_any_near_word_are_unmatched(store: Store) -> None:
    memory = opened(store)
    for text in LINES:
        memory.observe(text)
    assert compare(memory, "the greyhound").unmatched == 0
    assert compare(memory, "the mortgage").unmatched == 1


def test_without_codes_the_signal_says_nothing(store: Store) -> None:
    memory = opened(store, late_interaction=False)
    for text in LINES:
        memory.observe(text)
    found = compare(memory, "Which pet does she have?")
    assert found.match.tolist() == [0, 0, 0]
    assert found.unmatched == UNKNOWN_UNMATCHED
    assert memory.recall("Which pet does she have?")[0].text == LINES[0]


def test_the_words_of_talk_that_is_longer_than_a_question_are_not_compared(store: Store) -> None:
    memory = opened(store)
    for text in LINES:
        memory.observe(text)
    found = compare(memory, " ".join(["Which pet does she have?", *(f"word{number}" for number in range(40))]))
    assert found.match.tolist() == [0, 0, 0]
    assert found.unmatched == UNKNOWN_UNMATCHED


def test_reindex_stores_the_codes_that_an_earlier_version_did_not(store: Store) -> None:
    memory = opened(store, late_interaction=False)
    for text in LINES:
        memory.observe(text)
    memory = opened(store)
    assert coded(memory) == []
    assert memory.reindex() == 3
    assert memory.reindex() == 0
    assert coded(memory) == [1, 2, 3]
    assert compare(memory, "Which pet does she have?").match.argmax() == 0


def test_the_backlog_stores_missing_codes(store: Store) -> None:
    memory = opened(store, late_interaction=False)
    memory.observe(LINES[0])
    memory = opened(store)
    memory.backlog.embed_missing()
    assert coded(memory) == [1]


def test_lines_of_an_earlier_version_get_their_codes_some_at_a_time(store: Store) -> None:
    memory = opened(store, late_interaction=False)
    for text in LINES:
        memory.observe(text)
    memory = opened(store)
    assert memory.backlog.embed_earlier(2)
    assert coded(memory) == [1, 2]
    assert memory.backlog.embed_earlier(2)
    assert coded(memory) == [1, 2, 3]
    assert not memory.backlog.embed_earlier(2)


def test_nothing_is_coded_of_a_bank_without_late_interaction_or_of_one_that_does_not_exist(store: Store) -> None:
    memory = opened(store, late_interaction=False)
    memory.observe(LINES[0])
    assert not memory.backlog.embed_earlier(2)
    memory = opened(store)
    memory.forget(everything=True)
    assert not memory.backlog.embed_earlier(2)
    assert not store.exists("alice")


def test_deferred_lines_get_their_codes_with_their_vectors(store: Store) -> None:
    memory = opened(store)
    memory.replace_lines((), [NewLine(LINES[0]), NewLine("So did I.", role="assistant")], defer_embedding=True)
    assert coded(memory) == []
    memory.backlog.embed_pending()
    assert coded(memory) == [1]


def test_forgotten_and_retracted_lines_have_no_codes(store: Store) -> None:
    memory = opened(store)
    for text in LINES:
        memory.observe(text)
    memory.retract(1)
    memory.forget(seq=2)
    assert list(codes_by_seq(memory, SCHEME)) == [3]
    assert store.check("alice") == []


def test_a_line_without_codes_is_read_with_its_text_alone(store: Store) -> None:
    memory = opened(store)
    memory.observe(LINES[0])
    memory.observe("So did I.", role="assistant")
    memory.observe(LINES[1])
    memory.retract(3)
    for scheme, is_coded in ((SCHEME, True), ("another", False)):
        read = store.texts_with_codes("alice", memory.embedder.name, scheme, ALL)
        assert sorted((seq, text, codes is not None) for seq, text, codes in read) == [
            (1, LINES[0], is_coded),
            (2, "So did I.", False),
        ]


def test_codes_of_another_scheme_are_replaced(store: Store) -> None:
    memory = opened(store)
    line = memory.observe(LINES[0])
    (codes,) = codes_by_seq(memory, SCHEME).values()
    assert len(codes) == 2 * 16
    tokens = memory.reader.encoder.embed([LINES[0]])[0].tokens
    assert tokens is not None
    store.put_vectors("alice", memory.embedder.name, {}, [line], {1: replace(tokens, scheme="later")})
    assert codes_by_seq(memory, SCHEME) == {}
    assert codes_by_seq(memory, "later") == {1: codes}
    store.drop_vectors("alice", keep="another model")
    assert codes_by_seq(memory, "later") == {}

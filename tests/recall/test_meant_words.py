"""How the misspelt words of a question are read in a bank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from everthread import Memory
from everthread.recall.meant_words import correct_question
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    is_file = request.param == "sqlite"
    with closing(SQLiteStore(tmp_path) if is_file else PostgresStore(request.getfixturevalue("database"))) as made:
        yield made


@pytest.fixture
def bank(store: Store, request: pytest.FixtureRequest) -> Memory:
    return Memory.open(request.node.name, store=store, embedder=HashEmbedder(512))


def test_a_misspelt_word_is_read_as_the_banks(bank: Memory) -> None:
    bank.observe("We ate at the restaurant by the harbour.")
    bank.observe("My grandma is called Xaviera.")
    for question, meant in {
        "which resturant was it?": "which restaurant was it?",
        "where is the restaurent?": "where is the restaurant?",
        "what's my grandmna's name?": "what's my grandma's name?",
        "when did xavera call?": "when did xaviera call?",
    }.items():
        assert correct_question(bank.store, bank.bank, question) == meant


def test_what_the_bank_has_is_not_misspelt_and_what_it_lacks_is_not_meant(bank: Memory) -> None:
    bank.observe("I trained as a commis, and I drink kombucha.")
    for question in ("am I a commis?", "do I like kombucha?", "which resturant was it?", "wie geht es dem kombuche?"):
        assert correct_question(bank.store, bank.bank, question) == question


def test_of_two_words_that_may_be_meant_the_commoner_one_is(bank: Memory) -> None:
    bank.observe("The gamine came with a gaming mouse, to a game.")
    assert correct_question(bank.store, bank.bank, "the gamime?") == "the gamine?"
    bank.observe("I bought flour, and I have a flat on the first floor.")
    assert correct_question(bank.store, bank.bank, "the floour?") == "the floor?"


def test_a_word_is_no_longer_meant_once_its_lines_are_forgotten(bank: Memory) -> None:
    line = bank.observe("We ate at the restaurant by the harbour.")
    bank.observe("It rained.")
    bank.forget(seq=line.seq)
    assert correct_question(bank.store, bank.bank, "which resturant was it?") == "which resturant was it?"


def test_a_misspelt_question_finds_what_the_right_one_finds(bank: Memory) -> None:
    bank.observe("We ate at the restaurant by the harbour.", speaker="Ann")
    for text in ("I planted ferns.", "My bicycle was stolen.", "It rained all day."):
        bank.observe(text, speaker="Ann")
    right, wrong = (bank.recall(f"Where was the {word}?", k=3) for word in ("restaurant", "restuarant"))
    assert [(hit.line.seq, hit.relevance) for hit in wrong] == [(hit.line.seq, hit.relevance) for hit in right]
    assert bank.context("Where was the restuarant?").text == bank.context("Where was the restaurant?").text

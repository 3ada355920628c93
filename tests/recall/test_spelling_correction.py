"""How the spelling of a question is corrected by the words of a bank."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread import Chat, Filter, Memory
from everthread.recall.spelling_correction import correct_query
from everthread.recall.types import Query
from everthread.stores.base import Store
from everthread.testing import HashEmbedder

WRONG, RIGHT = "which resturant was it?", "which restaurant was it?"
RESTAURANT = "We ate at the restaurant by the harbour."
MAY, JUNE = datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)


@pytest.fixture
def bank(store: Store, request: pytest.FixtureRequest) -> Memory:
    return Memory.open(request.node.name, store=store, embedder=HashEmbedder(512))


def correct(bank: Memory, question: str, exclude: Collection[int] = ()) -> str:
    return correct_query(bank.store, bank.bank, Query(question, exclude=exclude)).text


@pytest.mark.parametrize(
    ("question", "corrected"),
    [
        (WRONG, RIGHT),
        ("where is the restaurent?", "where is the restaurant?"),
        ("what's my grandmna's name?", "what's my grandma's name?"),
    ],
)
def test_a_misspelt_word_is_corrected_to_one_of_the_bank(bank: Memory, question: str, corrected: str) -> None:
    bank.observe(RESTAURANT)
    bank.observe("My grandma is called Xaviera.")
    assert correct(bank, question) == corrected


def test_words_of_chats_are_written_out_in_english(bank: Memory) -> None:
    assert correct(bank, "do u know wheres my bike") == "do you know where is my bike"
    assert correct(bank, "was heisst das fuer mich") == "was heisst das fuer mich"


def test_what_the_bank_has_is_right_and_what_it_lacks_is_not_meant(bank: Memory) -> None:
    bank.observe("I trained as a commis at a hotel, and I like sosuage.")
    for question in ("am I a commis?", "do I like sosuage?", WRONG, "wie geht es dem sosuige?"):
        assert correct(bank, question) == question


def test_a_month_and_a_sure_error_are_corrected_even_if_the_bank_lacks_the_word(bank: Memory) -> None:
    bank.observe("I work as a nurse.")
    assert correct(bank, "what is my proffesion?") == "what is my profession?"
    assert correct(bank, "what was in Febuary?") == "what was in February?"
    assert correct(bank, "what is wriing?") == "what is wriing?"  # rather "writing" than "wiring", and not sure
    bank.observe("I saw Febuary on the sign.")
    assert correct(bank, "what was in Febuary?") == "what was in Febuary?"


def test_of_two_words_that_may_be_meant_the_commoner_one_is(bank: Memory) -> None:
    bank.observe("A florist came, and a flour sack is on the floor, and it is fluorite.")
    assert correct(bank, "what is on the floorr?") == "what is on the floor?"


def test_a_speakers_name_is_right(bank: Memory) -> None:
    bank.observe("My brother bought a red canoe from a cannon shop.", speaker="Cannoe")
    assert correct(bank, "what did cannoe buy?") == "what did cannoe buy?"
    bank.observe("I bought a boat.", speaker="Agust")
    assert correct(bank, "who believes in Agust?") == "who believes in Agust?"


def test_a_question_that_is_in_the_bank_does_not_make_its_errors_right(bank: Memory) -> None:
    bank.observe(RESTAURANT)
    asked = bank.observe(WRONG)
    assert correct(bank, WRONG) == RIGHT
    told = bank.observe("I mean the resturant.")
    assert correct(bank, WRONG) == WRONG
    assert correct(bank, WRONG, [asked.seq, told.seq]) == RIGHT


def test_only_lines_that_may_be_found_have_the_words_that_are_right_or_meant(bank: Memory) -> None:
    bank.observe(RESTAURANT, speaker="Ann", said_at=MAY)
    bank.observe("It rained.", speaker="Ann", said_at=MAY)
    right = bank.recall(RIGHT, k=1, as_of=MAY)[0].relevance
    bank.observe("Sorry, I mistyped resturant.", speaker="Bob", said_at=JUNE)
    assert bank.recall(WRONG, k=1, as_of=MAY)[0].relevance == right
    assert bank.recall(WRONG, k=1, where=Filter(speaker="Ann"))[0].text == RESTAURANT
    assert correct(bank, WRONG) == WRONG


def test_a_word_is_no_longer_meant_once_its_lines_are_retracted_or_forgotten(bank: Memory) -> None:
    first, second = bank.observe(RESTAURANT), bank.observe("A restaurant opened.")
    bank.observe("It rained.")
    bank.retract(first.seq)
    assert correct(bank, WRONG) == RIGHT
    bank.forget(seq=second.seq)
    assert correct(bank, WRONG) == WRONG


def test_a_misspelt_question_finds_what_the_right_one_finds(bank: Memory) -> None:
    for text in (RESTAURANT, "I planted ferns.", "My bicycle was stolen.", "It rained all day."):
        bank.observe(text, speaker="Ann")
    right, wrong = (bank.recall(question, k=3, facts=True) for question in (RIGHT, WRONG))
    assert [(hit.seq, hit.relevance) for hit in wrong] == [(hit.seq, hit.relevance) for hit in right]
    assert bank.context(WRONG).text == bank.context(RIGHT).text


def test_in_a_chat_a_misspelt_question_is_answered_each_time(tmp_path: Path) -> None:
    with Memory.open("b", store=tmp_path) as memory:
        for text in (RESTAURANT, "I planted ferns.", "My bicycle was stolen.", "It rained all day."):
            memory.observe(text, speaker="Ann", said_at=MAY)
        with Chat(memory, session="later") as chat:
            for _ in range(2):
                assert "restaurant by the harbour" in "".join(chat.reply("Which resturant was it?"))


def test_several_banks_and_other_recipes_take_words_as_they_are(store: Store) -> None:
    def open_bank(name: str, recipe: str = "default") -> Memory:
        bank = Memory.open(f"words {name}", store=store, embedder=HashEmbedder(512), recipe=recipe)
        bank.observe(RESTAURANT)
        bank.observe("It rained.")
        return bank

    own, other, emi = open_bank("own"), open_bank("other"), open_bank("emi", "emi")
    together = own.recall(WRONG, k=1, banks=[own.bank, other.bank])[0].relevance
    assert together < own.recall(WRONG, k=1)[0].relevance
    assert [len(emi.recall(question)) for question in (WRONG, RIGHT)] == [0, 1]

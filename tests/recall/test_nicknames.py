"""Tests for other forms of the speakers' names."""

from __future__ import annotations

import pytest

from everthread.recall import nicknames
from everthread.recall.nicknames import find_nicknames, find_unused_name
from everthread.recall.query_parsing import parse_query
from everthread.text.analyzer import normalize
from everthread.text.word_lists import load_word_lists
from everthread.types import now

FRIENDS = ("Penelope", "Gregory Ashworth Hale", "Danny", "Jonathan")


@pytest.mark.parametrize(
    ("word", "speaker"),
    [
        pytest.param("Pen", "Penelope", id="beginning"),
        pytest.param("Greggy", "Gregory Ashworth Hale", id="diminutive"),
        pytest.param("Ashworth", "Gregory Ashworth Hale", id="middle name"),
        pytest.param("HALE", "Gregory Ashworth Hale", id="family name in capitals"),
        pytest.param("Penelopé", "Penelope", id="accent"),
        pytest.param("Johnathan", "Jonathan", id="spelling"),
    ],
)
def test_another_form_of_a_name_means_its_speaker(word: str, speaker: str) -> None:
    assert list(find_nicknames([word], FRIENDS).values()) == [speaker]


@pytest.mark.parametrize("account", ["kate.w84", "xKateWalsh", "walsh-kate", "84kate", "KATE_W", "Kate Walsh"])
def test_a_word_of_an_account_means_its_speaker_where_no_line_has_it(account: str) -> None:
    assert find_unused_name("Kate", (account, "ben")) == account
    assert find_unused_name("Kate", (account, "kate_o")) is None


@pytest.mark.parametrize("account", ["john_in_paris", "TheParisFan", "Anna Paris", "paris.in.may"])
def test_a_word_of_a_phrase_or_a_family_name_means_no_speaker_where_no_line_has_it(account: str) -> None:
    assert find_unused_name("Paris", (account, "ben")) is None


@pytest.mark.parametrize("word", ["Pe", "Penn", "Danny", "Lisbon", "Nathan", ""])
def test_other_words_mean_no_speaker(word: str) -> None:
    assert find_nicknames([word], FRIENDS) == {}


@pytest.mark.parametrize(
    ("word", "speakers"),
    [
        pytest.param("Mel", ("Melanie", "Melissa"), id="beginning of two names"),
        pytest.param("Hale", ("Nora Hale", "Gregory Hale"), id="family"),
        pytest.param("Mary", ("Martin", ""), id="ending of a diminutive"),
        pytest.param("Christmas", ("Chris",), id="beginning of a longer word"),
    ],
)
def test_a_form_that_fits_several_speakers_or_none_means_no_speaker(word: str, speakers: tuple[str, ...]) -> None:
    assert find_nicknames([word], speakers) == {}


def test_a_question_mentions_the_speaker_whose_nickname_it_contains() -> None:
    short, whole = (parse_query(f"Where did {name} buy the fern?", FRIENDS, now()) for name in ("Pen", "Penelope"))
    assert short.mentioned_speakers == whole.mentioned_speakers == {"Penelope"}
    assert short.embedding_text == whole.embedding_text
    assert "pen" in short.speaker_terms


def test_an_ordinary_word_in_lower_case_is_no_nickname() -> None:
    assert not parse_query("Where did I leave the pen?", FRIENDS, now()).mentioned_speakers


@pytest.mark.parametrize("text", ["What did we do in May 2024?", "Where were we on 5 Jan?"])
def test_months_are_no_nicknames(text: str) -> None:
    assert not parse_query(text, ("Maya", "Janet", "Marcus"), now()).mentioned_speakers


def test_a_short_form_that_begins_otherwise_is_known_by_a_table() -> None:
    assert find_unused_name("Bill", ("William", "Ana")) == "William"
    assert find_unused_name("Peggy", ("margaret.h", "Ana")) == "margaret.h"
    assert find_unused_name("Concha", ("Concepción Ruiz", "Ana")) == "Concepción Ruiz"
    assert find_unused_name("Kate", ("Catherine", "Katherine")) is None
    assert find_unused_name("Bill", ("Kate William", "Ana")) is None


def test_the_table_has_no_form_that_begins_as_its_name_does() -> None:
    lists = load_word_lists(nicknames.__file__)["all"]
    found = {name: [form for form in forms if find_nicknames([form], [name])] for name, forms in lists.items()}
    assert {name: forms for name, forms in found.items() if forms} == {}
    assert list(lists) == sorted(lists)
    assert all(normalize(form) == form for forms in (lists, *lists.values()) for form in forms)

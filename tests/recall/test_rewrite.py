from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.rewrite import LONGEST, Date, dates, named, rewrite, strip
from everthread.stores.text import fold

FRIENDS = ("Ann", "Bob Miller", "Jean-Luc", "Siobhán O'Brien", "小明")


@pytest.mark.parametrize(
    ("question", "matter", "gone"),
    [
        ("What did Ann plant in the garden?", "plant garden", "What did Ann"),
        ("Ann's garden", "garden", "Ann Ann's"),
        ("Ann’s garden, please", "garden, please", "Ann Ann’s"),
        ("When has Bob been to Lisbon?", "Lisbon", "When has Bob"),
        ("miller or ANN: ferry", "ferry", "miller ANN ANN:"),
        ("Announce whose boat was Jean-Luc's?", "Announce boat", "whose was Jean-Luc's"),
        ("Siobhán O’Brien’s ferry", "ferry", "Siobhán O’Brien’s"),
        ("why 明天 we leave", "明天 leave", "why"),
    ],
)
def test_names_and_words_that_only_ask_are_not_embedded(question: str, matter: str, gone: str) -> None:
    words = strip(question, FRIENDS).split()
    assert set(matter.split()) <= set(words)
    assert not set(gone.split()) & set(words)
    assert words == [word for word in re.findall(r"[^\s?]+", question) if word in words]


@pytest.mark.parametrize("question", ["Who is?", "Ann", "Who is Bob?", "What did Ann do?", "", "?", "   "])
def test_a_question_of_nothing_but_names_and_question_words_is_kept_whole(question: str) -> None:
    assert strip(question, FRIENDS) == question


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ann say?", {"Ann"}),
        ("ann's fern", {"Ann"}),
        ("Ann’s fern", {"Ann"}),
        ("(Ann)", {"Ann"}),
        ("Bob", {"Bob Miller"}),
        ("Mr Miller", set()),
        ("Annual meeting of bobsleighs", set()),
        ("Ann and Bob", {"Ann", "Bob Miller"}),
        ("Where is Jean-Luc's boat?", {"Jean-Luc"}),
        ("siobhán’s ferry", {"Siobhán O'Brien"}),
        ("小明喜欢什么？", {"小明"}),
        ("Ann喜欢什么？", {"Ann"}),
        ("", set()),
    ],
)
def test_a_speaker_is_named_by_the_first_name_as_a_word_of_its_own(question: str, expected: set[str]) -> None:
    assert named(fold(question), FRIENDS) == expected


def test_a_blank_speaker_is_never_named() -> None:
    assert named("anything", ("", " ")) == frozenset()
    assert strip("anything else", ("", " ")) == "anything else"


MAY_8 = Date(5, None, 8)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was on 8 May?", [MAY_8]),
        ("on the 8th of May", [MAY_8]),
        ("on May 8th", [MAY_8]),
        ("on May 8th, 2023", [Date(5, 2023, 8)]),
        ("May 8, 2023", [Date(5, 2023, 8)]),
        ("8 MAY 2023", [Date(5, 2023, 8)]),
        ("2023-05-08", [Date(5, 2023, 8)]),
        ("5月8日", [MAY_8]),
        ("2023年5月8日的时候", [Date(5, 2023, 8)]),
        ("２０２３年５月８号", [Date(5, 2023, 8)]),
        ("5月去了哪里", [Date(5)]),
        ("between 3 June and 5 July 2024", [Date(6, None, 3), Date(7, 2024, 5)]),
        ("in August", [Date(8)]),
        ("in August 2022", [Date(8, 2022)]),
        ("in August of 2022", [Date(8, 2022)]),
        ("in May", [Date(5)]),
        ("What happened last May?", [Date(5)]),
        ("mid-May", [Date(5)]),
        ("May 2023", [Date(5, 2023)]),
        ("May of 2023", [Date(5, 2023)]),
        ("What may she have said?", []),
        ("May I ask?", []),
        ("in August or on 8 May", [MAY_8]),
        ("They march on Lisbon", []),
        ("in March", [Date(3)]),
        ("the 8 ferries", []),
        ("12:30 on Monday", []),
        ("room 2023", []),
        ("May 20234", []),
        ("", []),
    ],
)
def test_dates_are_read_as_people_write_them(question: str, expected: list[Date]) -> None:
    assert list(dates(fold(question))) == expected


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("When did the ferry leave?", True),
        ("How long is the crossing?", True),
        ("What year was that?", True),
        ("what time is it", True),
        ("Whenever you like", False),
        ("Who left?", False),
        ("", False),
    ],
)
def test_a_question_about_time_is_known_as_one(question: str, wants: bool) -> None:
    assert rewrite(question, ()).wants_time == wants


def test_terms_come_once_and_in_order() -> None:
    assert (
        rewrite("Ferries and the ferry left the ferries' harbour", ()).terms == rewrite("ferry left harbour", ()).terms
    )


@pytest.mark.parametrize("question", ["", " \n", "?!…", "the of and", "what was it"])
def test_a_question_without_a_word_that_counts_has_no_terms(question: str) -> None:
    assert rewrite(question, FRIENDS).terms == ()


def test_chinese_gives_characters_and_pairs() -> None:
    assert set(rewrite("蕨类", ()).terms) == {"蕨", "类", "蕨类"}


def test_names_are_capitals_inside_the_sentence_speakers_or_not() -> None:
    query = rewrite("Did Ann and Zelda visit Lisbon?", ("Ann",))
    assert query.names == tuple((rewrite(name, ()).terms) for name in ("Ann", "Zelda", "Lisbon"))
    assert query.speaker_terms == set(rewrite("Ann", ()).terms)


def test_of_a_very_long_question_only_the_beginning_is_read() -> None:
    beginning = ("fern " * LONGEST)[:LONGEST]
    assert rewrite(beginning + " lighthouse", ()) == rewrite(beginning, ())


@given(st.text(max_size=80), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_is_understood_somehow(text: str, speakers: list[str]) -> None:
    query = rewrite(text, speakers)
    assert query.text == text
    assert query.named <= set(speakers)
    assert len(set(query.terms)) == len(query.terms)
    assert set(re.findall(r"\S+", query.dense)) <= set(re.findall(r"[^\s?]+", text)) or query.dense == text

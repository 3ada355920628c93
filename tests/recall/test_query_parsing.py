from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.query_parsing import (
    MAX_QUERY_CHARS,
    ParsedQuery,
    build_embedding_text,
    find_mentioned_speakers,
    is_quoted,
    is_topicless,
    parse_query,
    split_messages,
)
from everthread.text.analyzer import normalize
from everthread.text.time_expressions import Date, Span

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday
FRIENDS = ("Ann", "Bob Miller", "Jean-Luc", "Siobhán O'Brien", "小明")


def asked(text: str, speakers: Sequence[str]) -> ParsedQuery:
    return parse_query(text, speakers, NOW)


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
    words = build_embedding_text(question, FRIENDS).split()
    assert set(matter.split()) <= set(words)
    assert not set(gone.split()) & set(words)
    assert words == [word for word in re.findall(r"[^\s?]+", question) if word in words]


@pytest.mark.parametrize("question", ["Who is?", "Ann", "Who is Bob?", "What did Ann do?", "", "?", "   "])
def test_a_question_of_nothing_but_names_and_question_words_is_kept_whole(question: str) -> None:
    assert build_embedding_text(question, FRIENDS) == question


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
    assert find_mentioned_speakers(normalize(question), FRIENDS) == expected


def test_a_blank_speaker_is_never_named() -> None:
    assert find_mentioned_speakers("anything", ("", " ")) == frozenset()
    assert build_embedding_text("anything else", ("", " ")) == "anything else"


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
    assert asked(question, ()).asks_for_time == wants


def test_terms_come_once_and_in_order() -> None:
    assert asked("Ferries and the ferry left the ferries' harbour", ()).terms == asked("ferry left harbour", ()).terms


@pytest.mark.parametrize("question", ["", " \n", "?!…", "the of and", "what was it"])
def test_a_question_without_a_word_that_counts_has_no_terms(question: str) -> None:
    assert asked(question, FRIENDS).terms == ()


def test_chinese_gives_characters_and_pairs() -> None:
    assert set(asked("蕨类", ()).terms) == {"蕨", "类", "蕨类"}


def test_names_are_capitals_inside_the_sentence_speakers_or_not() -> None:
    query = asked("Did Ann and Zelda visit Lisbon?", ("Ann",))
    assert query.name_terms == tuple((asked(name, ()).terms) for name in ("Ann", "Zelda", "Lisbon"))
    assert query.speaker_terms == set(asked("Ann", ()).terms)


def test_of_a_very_long_question_only_the_beginning_is_read() -> None:
    beginning = ("fern " * MAX_QUERY_CHARS)[:MAX_QUERY_CHARS]
    assert asked(beginning + " lighthouse", ()) == asked(beginning, ())


@given(st.text(max_size=80), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_is_understood_somehow(text: str, speakers: list[str]) -> None:
    query = asked(text, speakers)
    assert query.text == text
    assert query.mentioned_speakers <= set(speakers)
    assert len(set(query.terms)) == len(query.terms)
    assert (
        set(re.findall(r"\S+", query.embedding_text)) <= set(re.findall(r"[^\s?]+", text))
        or query.embedding_text == text
    )


# -------------------------------------------------------------------------- times


def test_the_words_of_a_time_told_from_now_are_no_matter_of_the_question() -> None:
    query = asked("What did Ann cook last week?", FRIENDS)
    assert query.times == (Span(datetime(2026, 11, 9), datetime(2026, 11, 16)),)
    assert query.embedding_text == "cook"
    assert set(query.terms) == set(asked("Ann cook", FRIENDS).terms)


def test_the_words_of_a_date_stay() -> None:
    query = asked("What did Ann cook on 8 May?", FRIENDS)
    assert query.times == (Date(5, None, 8),)
    assert query.embedding_text == "cook on 8 May"


def test_beside_a_date_last_friday_is_not_told_from_now() -> None:
    query = asked("What did Ann finish last Friday on 23 January, 2022?", FRIENDS)
    assert query.times == (Date(1, 2022, 23),)
    assert "last Friday" in query.embedding_text


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about yesterday?",
        "what happened in July 2025?",
        "What happened last May?",
        "What did I say last week?",
        "what did Ann tell me on 8 May",
        "tell me what we discussed two days ago",
        "Hey, could you summarize our conversations of last month?",
        "What did Ann and I talk about yesterday?",
        "Did I tell Bob anything this week?",
        "What did Bob Miller mention on Monday?",
        "Do you remember yesterday?",
        "What did I do in 2023?",
        "what do you remember of July 2025",
        "What else did we do last night, and what happened this morning?",
    ],
)
def test_a_question_of_a_time_and_nothing_else_calls_for_what_was_said_then(question: str) -> None:
    assert asked(question, FRIENDS).asks_for_overview


@pytest.mark.parametrize(
    "question",
    [
        "What did Ann cook yesterday?",
        "What did we say about Ann yesterday?",
        "What happened to Ann yesterday?",
        "What did Bob do for Ann on 25 May 2022?",
        "What did Ann's sister tell me yesterday?",
        "What did Zelda tell me yesterday?",
        "What happened yesterday at work?",
        "What did we talk about?",
        "What did we talk about before yesterday?",
        "What did we talk about at yesterday's meeting?",
        "What may Ann have said in July?",
        "Where did I say I would be on Monday?",
        "How are you today?",
        "What are we doing today?",
        "What are we doing in July?",
        "Where did I say I'll be on 8 May?",
        "I told you on 8 May.",
        "We talked yesterday.",
        "in July",
        "yesterday?",
        "",
    ],
)
def test_a_question_with_any_other_matter_does_not(question: str) -> None:
    assert not asked(question, FRIENDS).asks_for_overview


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("what did ann tell me", True),
        ("has ann said anything", True),
        ("what ann has said", True),
        ("what did i tell ann", False),
        ("what did ann and i talk about", False),
        ("what did bob and ann talk about", False),
        ("what did ann's sister say", False),
    ],
)
def test_who_is_to_have_said_it_stands_before_the_verb(rest: str, expected: bool) -> None:
    assert is_quoted("Ann", rest) == expected


def test_a_name_that_looks_like_a_pattern_is_a_name() -> None:
    assert is_topicless("what did a.b* (cat) say", ["A.B* (cat)"])
    assert not is_topicless("what did axb say", ["A.B* (cat)"])


# ---------------------------------------------------------------------- dialogues

SAID = ("When I was little, Hugo's kite flew away.", "Hello Ann! Was it red?", "Yes, and it hung in a tree.")
DIALOGUE = f"Ann: {SAID[0]}\nAssistant: {SAID[1]}\nAnn: {SAID[2]}"


def test_of_a_dialogue_what_was_said_is_embedded_without_who_said_it() -> None:
    assert split_messages(DIALOGUE, FRIENDS) == SAID
    found = asked(DIALOGUE, FRIENDS)
    assert found.text == DIALOGUE
    assert "Assistant" not in found.embedding_text
    assert {"kite", "red", "tree"} <= set(found.terms)
    assert "assist" not in found.terms


def test_names_before_the_messages_name_nobody() -> None:
    found = asked(DIALOGUE, FRIENDS)
    assert found.mentioned_speakers == frozenset()
    assert ("hugo",) in found.name_terms
    assert not {("hello",), ("yes",)} & set(found.name_terms)


def test_a_dialogue_asks_what_its_last_message_asks() -> None:
    assert not asked(DIALOGUE, FRIENDS).asks_for_time
    found = asked(f"{DIALOGUE}\nAnn: When did Bob find it? In May?", FRIENDS)
    assert found.asks_for_time
    assert found.mentioned_speakers == {"Bob Miller"}
    assert found.times == (Date(5),)
    before = "Ann: We met on 3 May.\nAssistant: Lovely!"
    assert asked(before, FRIENDS).times == ()
    then = asked(f"{before}\nAnn: What did we talk about yesterday?", FRIENDS)
    assert then.asks_for_overview
    assert "yesterday" not in then.embedding_text


def test_a_dialogue_of_greetings_calls_for_nothing() -> None:
    assert asked("Ann: Good morning!\nAssistant: hello, thanks", FRIENDS).is_small_talk


def test_a_chinese_dialogue_is_one_too() -> None:
    assert split_messages("小明：我的帽子丢了。\n助手：是红色的吗？", FRIENDS) == ("我的帽子丢了。", "是红色的吗？")


def test_a_message_of_several_lines_is_one() -> None:
    assert split_messages("Ann: First,\nthen second.\nBob: Third.", FRIENDS) == ("First,\nthen second.", "Third.")


@pytest.mark.parametrize(
    "text",
    [
        "Ann: where is my hat?",
        "Milk: two litres\nBread: one loaf",
        "Tell me:\nAnn: yes\nBob: no",
        "Ann said this.\nBob said that.",
        "Ann:\nBob:",
        "",
    ],
)
def test_what_is_no_dialogue_of_speakers_is_a_question(text: str) -> None:
    assert split_messages(text, FRIENDS) == (text,)


@given(st.lists(st.text("ab :：\n小", max_size=12), max_size=5), st.sampled_from(["Ann", "小明"]))
def test_the_messages_of_a_text_are_parts_of_it_in_order(said: list[str], name: str) -> None:
    text, at = "\n".join(f"{name}: {each}" for each in said), 0
    found = split_messages(text, FRIENDS)
    assert all(found) or found == (text,)
    for message in found:
        at = text.index(message, at) + len(message)  # raises ValueError where there is none

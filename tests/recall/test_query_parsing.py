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
    find_names,
    find_quoted_speakers,
    is_quoted,
    is_topicless,
    message_share,
    parse_query,
    remove_mentions,
    split_messages,
    strip_framing,
)
from everthread.text.analyzer import normalize
from everthread.text.time_expressions import Date, Span

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday
FRIENDS = ("Ann", "Bob Miller", "Jean-Luc", "Siobhán O'Brien", "小明")


def parse(text: str, speakers: Sequence[str]) -> ParsedQuery:
    return parse_query(text, speakers, NOW)


@pytest.mark.parametrize(
    ("question", "expected", "removed"),
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
def test_names_and_question_words_are_not_embedded(question: str, expected: str, removed: str) -> None:
    words = build_embedding_text(question, FRIENDS).split()
    assert set(expected.split()) <= set(words)
    assert not set(removed.split()) & set(words)
    assert words == [word for word in re.findall(r"[^\s?]+", question) if word in words]


@pytest.mark.parametrize("question", ["Who is?", "Ann", "Who is Bob?", "What did Ann do?", "", "?", "   "])
def test_a_query_of_only_names_and_question_words_is_embedded_in_full(question: str) -> None:
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
def test_a_speaker_is_mentioned_by_the_first_name_as_a_separate_word(question: str, expected: set[str]) -> None:
    assert find_mentioned_speakers(normalize(question), FRIENDS) == expected


@pytest.mark.parametrize(
    ("question", "mentioned", "asked"),
    [
        ("What did Anna say?", {"Anna Keller", "Anna M.", "Anna"}, {"Anna Keller", "Anna M.", "Anna"}),
        ("What did Anna Keller say?", {"Anna Keller"}, {"Anna Keller"}),
        ("What did @anna m say?", {"Anna M."}, {"Anna M."}),
        ("What did Anna Kellermann say?", {"Anna Keller", "Anna M.", "Anna"}, {"Anna Keller", "Anna M.", "Anna"}),
        ("Anna Keller or Anna M.?", {"Anna Keller", "Anna M."}, {"Anna Keller", "Anna M."}),
        ("What did Anna Keller tell Ben?", {"Anna Keller", "Ben"}, set()),
    ],
)
def test_of_speakers_with_one_first_name_those_named_in_full_are_meant(
    question: str, mentioned: set[str], asked: set[str]
) -> None:
    parsed = parse_query(question, ("Anna Keller", "Anna M.", "Anna", "Ben"), NOW)
    assert parsed.mentioned_speakers == mentioned
    assert parsed.asked_speakers == asked


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("@Guide where does Ann live?", "where does Ann live?"),
        ("@guide-bot, where does Ann live?", "where does Ann live?"),
        ("<@!42> @other_bot: where does Ann live?", "where does Ann live?"),
        ("Where does Ann live, @Guide?", "Where does Ann live?"),
        ("Where does Ann live? @Guide", "Where does Ann live?"),
        ("What did @ann say to @bob?", "What did ann say to bob?"),
        ("@Ann where do you live?", "Ann where do you live?"),
        ("What do you know about @stranger?", "What do you know about stranger?"),
        ("Who is <@42>?", "Who is  ?"),
        ("Was it a@example.org?", "Was it a@example.org?"),
        ("@Guide", "@Guide"),
        ("<@42>", "<@42>"),
    ],
)
def test_the_mention_of_who_is_asked_is_left_out(query: str, rest: str) -> None:
    assert remove_mentions(query, FRIENDS) == rest
    assert parse_query(query, FRIENDS, NOW).terms == parse_query(rest, FRIENDS, NOW).terms


def test_a_question_to_a_bot_is_embedded_like_one_without_a_mention() -> None:
    plain, asked = (parse(query, FRIENDS) for query in ("Where does Ann live?", "@Guide Where does Ann live?"))
    assert asked.embedding_text == plain.embedding_text
    assert asked.mentioned_speakers == {"Ann"}


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What did Ann say about the trip?", {"Ann"}),
        ("@Guide what has @ann told us about it", {"Ann"}),
        ("what Bob Miller wrote to Ann", {"Bob Miller"}),
        ("What did Ann do on the trip?", set()),
        ("What did I tell Ann?", set()),
    ],
)
def test_a_question_may_ask_for_the_words_of_a_speaker(question: str, quoted: set[str]) -> None:
    assert find_quoted_speakers(question, FRIENDS) == quoted


def test_a_blank_speaker_is_never_mentioned() -> None:
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
def test_a_question_about_time_is_recognised(question: str, wants: bool) -> None:
    assert parse(question, ()).asks_for_time == wants


def test_terms_are_unique_and_in_order() -> None:
    assert parse("Ferries and the ferry left the ferries' harbour", ()).terms == parse("ferry left harbour", ()).terms


@pytest.mark.parametrize("question", ["", " \n", "?!…", "the of and", "what was it"])
def test_a_query_of_only_stop_words_has_no_terms(question: str) -> None:
    assert parse(question, FRIENDS).terms == ()


def test_chinese_text_yields_characters_and_pairs_as_terms() -> None:
    assert set(parse("蕨类", ()).terms) == {"蕨", "类", "蕨类"}


def test_known_names_in_lower_case_are_names_in_english() -> None:
    assert find_names("did johnny and caroline go to lisbon or to the rose garden?") == ["johnny", "caroline", "lisbon"]
    assert find_names("mari makan di rumah tanya") == []
    assert find_names("a plain sentence " * 30 + "about caroline") == []


def test_capitalised_words_inside_a_sentence_are_names() -> None:
    query = parse("Did Ann and Zelda visit Lisbon?", ("Ann",))
    assert query.name_terms == tuple((parse(name, ()).terms) for name in ("Ann", "Zelda", "Lisbon"))
    assert query.speaker_terms == set(parse("Ann", ()).terms)


def test_only_the_beginning_of_a_very_long_query_is_read() -> None:
    beginning = ("fern " * MAX_QUERY_CHARS)[:MAX_QUERY_CHARS]
    assert parse(beginning + " lighthouse", ()) == parse(beginning, ())


@given(st.text(max_size=80), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_can_be_parsed(text: str, speakers: list[str]) -> None:
    query = parse(text, speakers)
    assert query.text == text
    assert query.mentioned_speakers <= set(speakers)
    assert len(set(query.terms)) == len(query.terms)
    assert (
        set(re.findall(r"\S+", query.embedding_text)) <= set(re.findall(r"[^\s?]+", text))
        or query.embedding_text == text
    )


# -------------------------------------------------------------------------- times


def test_words_of_a_relative_time_are_not_embedded() -> None:
    query = parse("What did Ann cook last week?", FRIENDS)
    assert query.times == (Span(datetime(2026, 11, 9), datetime(2026, 11, 16)),)
    assert query.embedding_text == "cook"
    assert set(query.terms) == set(parse("Ann cook", FRIENDS).terms)


def test_words_of_a_date_are_embedded() -> None:
    query = parse("What did Ann cook on 8 May?", FRIENDS)
    assert query.times == (Date(5, None, 8),)
    assert query.embedding_text == "cook on 8 May"


def test_a_relative_time_next_to_a_date_is_not_parsed() -> None:
    query = parse("What did Ann finish last Friday on 23 January, 2022?", FRIENDS)
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
        "What did we talk about?",
        "What do you remember about me?",
        "What did I do in 2023?",
        "what do you remember of July 2025",
        "What else did we do last night, and what happened this morning?",
    ],
)
def test_a_query_about_only_a_time_asks_for_an_overview(question: str) -> None:
    assert parse(question, FRIENDS).asks_for_overview


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
def test_a_query_with_another_topic_does_not_ask_for_an_overview(question: str) -> None:
    assert not parse(question, FRIENDS).asks_for_overview


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
def test_a_speaker_is_quoted_only_as_the_subject_of_the_verb(rest: str, expected: bool) -> None:
    assert is_quoted("Ann", rest) == expected


def test_a_name_with_regex_characters_is_matched_literally() -> None:
    assert is_topicless("what did a.b* (cat) say", ["A.B* (cat)"])
    assert not is_topicless("what did axb say", ["A.B* (cat)"])


# ---------------------------------------------------------------------- dialogues

MESSAGES = ("When I was little, Hugo's kite flew away.", "Hello Ann! Was it red?", "Yes, and it hung in a tree.")
DIALOGUE = f"Ann: {MESSAGES[0]}\nAssistant: {MESSAGES[1]}\nAnn: {MESSAGES[2]}"


def test_a_dialogue_is_embedded_without_its_speakers() -> None:
    assert split_messages(DIALOGUE, FRIENDS) == MESSAGES
    found = parse(DIALOGUE, FRIENDS)
    assert found.text == DIALOGUE
    assert "Assistant" not in found.embedding_text
    assert {"kite", "red", "tree"} <= set(found.terms)
    assert "assist" not in found.terms


def test_speaker_labels_of_a_dialogue_are_not_mentions() -> None:
    found = parse(DIALOGUE, FRIENDS)
    assert found.mentioned_speakers == frozenset()
    assert ("hugo",) in found.name_terms
    assert not {("hello",), ("yes",)} & set(found.name_terms)


def test_the_last_message_of_a_dialogue_is_its_question() -> None:
    assert not parse(DIALOGUE, FRIENDS).asks_for_time
    found = parse(f"{DIALOGUE}\nAnn: When did Bob find it? In May?", FRIENDS)
    assert found.asks_for_time
    assert found.mentioned_speakers == {"Bob Miller"}
    assert found.times == (Date(5),)
    before = "Ann: We met on 3 May.\nAssistant: Lovely!"
    assert parse(before, FRIENDS).times == ()
    then = parse(f"{before}\nAnn: What did we talk about yesterday?", FRIENDS)
    assert then.asks_for_overview
    assert "yesterday" not in then.embedding_text


def test_a_dialogue_of_greetings_is_small_talk() -> None:
    assert parse("Ann: Good morning!\nAssistant: hello, thanks", FRIENDS).is_small_talk


def test_a_chinese_dialogue_is_split() -> None:
    assert split_messages("小明：我的帽子丢了。\n助手：是红色的吗？", FRIENDS) == ("我的帽子丢了。", "是红色的吗？")


def test_a_message_of_several_lines_stays_one_message() -> None:
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
def test_a_text_that_is_not_a_dialogue_of_speakers_is_not_split(text: str) -> None:
    assert split_messages(text, FRIENDS) == (text,)


@given(st.lists(st.text("ab :：\n小", max_size=12), max_size=5), st.sampled_from(["Ann", "小明"]))
def test_the_messages_are_substrings_of_the_text_in_order(messages: list[str], name: str) -> None:
    text, at = "\n".join(f"{name}: {each}" for each in messages), 0
    found = split_messages(text, FRIENDS)
    assert all(found) or found == (text,)
    for message in found:
        at = text.index(message, at) + len(message)  # raises ValueError if it is missing


@pytest.mark.parametrize(
    ("question", "overview"),
    [
        ("Worüber haben wir gestern gesprochen?", True),
        ("De quoi avons-nous parlé hier ?", True),
        ("¿De qué hablamos la semana pasada?", True),
        ("Di cosa abbiamo parlato ieri?", True),
        ("Waar hebben we het gisteren over gehad?", True),
        ("Was hat der Arzt gestern gesagt?", False),
        ("我们上周聊了什么？", True),
        ("你昨天告诉我什么？", True),
        ("上個月發生了什麼事？", True),
        ("1月5日我们说了什么？", True),
        ("昨天医生说了什么？", False),
        ("昨天我们去了哪里？", False),
    ],
)
def test_a_question_in_another_language_may_ask_only_what_was_said_at_a_time(question: str, overview: bool) -> None:
    parsed = parse_query(question, ["Anna"], NOW)
    assert parsed.asks_for_overview is overview
    assert len(parsed.times) == 1


@pytest.mark.parametrize(
    ("question", "broad"),
    [
        ("What books has Mia read?", True),
        ("Which events did Ann attend?", True),
        ("In which order did we visit them?", True),
        ("Summarise what I said about my job.", True),
        ("How many pets do we have?", True),
        ("Where does Mia work?", False),
        ("When did Ann move to Lisbon?", False),
        ("Welche Bücher hat Mia gelesen?", False),  # the patterns are English
    ],
)
def test_a_question_whose_answer_is_in_several_sessions_is_broad(question: str, broad: bool) -> None:
    assert parse_query(question, (), datetime(2024, 5, 1, tzinfo=UTC)).is_broad is broad


def test_a_query_is_a_question_up_to_six_terms_and_a_message_from_twenty_on() -> None:
    assert [message_share(terms) for terms in (0, 1, 6)] == [0, 0, 0]
    assert [message_share(terms) for terms in (20, 21, 500)] == [1, 1, 1]
    between = [message_share(terms) for terms in range(6, 21)]
    assert between == sorted(set(between))
    assert parse("Which dose did the vet say?", ()).message_share == 0


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Hey, do you remember where I hid the key?", "where I hid the key?"),
        ("hey! quick question: when did Caroline go?", "when did Caroline go?"),
        ("Can you tell me what my sister does?", "what my sister does?"),
        ("So, what did I buy, do you remember?", "what did I buy?"),
        ("I can't remember what Tom said, please", "what Tom said"),
        ("Remind me again, who is Ben? Thanks!", "who is Ben?"),
        ("hi, my sister's name", "my sister's name"),
        ("Oh, where did I hide it", "where did I hide it"),
        ("Oh, I love hiking!", "Oh, I love hiking!"),
        ("what did i say about Toronto?", "Toronto?"),
        ("Did I ever tell you about my sister", "my sister"),
        ("hey, have I mentioned anything about the move?", "the move?"),
        ("What did you tell me about the visa?", "the visa?"),
        ("What did I say?", "What did I say?"),
        ("What did Mia say about Toronto?", "What did Mia say about Toronto?"),
        ("What did I say about it when I was ill?", "it when I was ill?"),
        ("Do you remember?", "Do you remember?"),
        ("So many books to read", "So many books to read"),
        ("Well-being tips", "Well-being tips"),
        ("Hippos, or what did I see", "Hippos, or what did I see"),
        ("What do I remember?", "What do I remember?"),
    ],
)
def test_what_people_say_around_a_question_is_no_part_of_it(question: str, asked: str) -> None:
    assert strip_framing(question) == asked
    assert parse(question, ()).terms == parse(asked, ()).terms


def test_a_question_for_what_was_said_does_not_ask_what_happened() -> None:
    assert parse("What did I do in Toronto?", ()).asks_what_happened
    assert not parse("What did I say about Toronto?", ()).asks_what_happened


def test_words_around_a_question_still_name_who_and_when() -> None:
    parsed = parse("Hey Mia, do you remember what I said last week?", ("Mia", "Tom"))
    assert parsed.mentioned_speakers == {"Mia"}
    assert parsed.times


def test_a_season_is_a_time_only_of_a_question_without_a_topic() -> None:
    asked, about = (
        parse_query(text, ["Nora"], NOW)
        for text in ("What did we talk about last summer?", "Where did Nora camp last summer?")
    )
    assert asked.asks_for_overview
    assert (about.asks_for_overview, about.times) == (False, ())

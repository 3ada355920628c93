from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.scribes.base import Scribe
from everthread.scribes.extractive import MAX_NOTE_TOKENS, ExtractiveScribe
from everthread.text.formatting import GAP_MARK
from everthread.text.tokens import estimate_tokens
from everthread.types import Line

BEGUN = datetime(2024, 5, 6, 18, tzinfo=UTC)
SCRIBE = ExtractiveScribe()


def line(seq: int, text: str, speaker: str = "Nora", days: int = 0) -> Line:
    at = BEGUN + timedelta(days=days, minutes=seq)
    return Line(seq, "s1", "user" if speaker == "Nora" else "assistant", speaker, text, at)


SESSION = [
    line(1, "Hi there! How are you?"),
    line(2, "I am Marvin, and I have a pain in my diodes.", "Marvin"),
    line(3, "I moved to Lisbon with my sister Ana. It was fine."),
    line(4, "My doctor says that I'm allergic to dogs.", days=1),
    line(5, "Thanks, good night!", days=1),
]

TALK = st.sampled_from(
    [
        "I moved to Lisbon.",
        "I moved to Lisbon!",
        "ok thanks",
        "How are you?",
        "My cat is 3 years old. I love her.",
        "我昨天搬家了。你好吗？",
        "我有一只猫",
        "We married on 3 May 2019 and live in Rome with Dr. Smith",
        "- one\n- two cats",
        "",
        "My " + "very " * 30 + "long story has no end",
        "word_" * 9,
        "I\u2028have 2 dogs",
        "My PIN is 1234",
        "... ?!",
        "I a__b 7",
    ]
)
LINES = st.lists(
    st.builds(line, st.integers(1, 99), TALK, st.sampled_from(["Nora", "nora", "Marvin"]), st.integers(0, 2)),
    max_size=12,
)
OLD = st.lists(st.one_of(TALK, st.text(" ab\n1我", max_size=30)), max_size=6).map("\n".join)
LIMITS = st.integers(1, 90)
DATED = re.compile(r"- \d{1,2} \w+ \d{4}: ")


def test_it_is_a_scribe() -> None:
    scribe: Scribe = SCRIBE
    assert scribe.name == "extractive"


def test_a_summary_lists_the_persons_statements_with_their_days_in_order() -> None:
    assert SCRIBE.summarize(SESSION, "Nora").splitlines() == [
        "- 6 May 2024: I moved to Lisbon with my sister Ana.",
        "- 7 May 2024: My doctor says that I'm allergic to dogs.",
    ]


def test_only_lines_of_exactly_that_speaker_are_summarised() -> None:
    assert "diodes" in SCRIBE.summarize(SESSION, "Marvin")
    assert SCRIBE.summarize(SESSION, "nora") == ""


def test_a_summary_of_a_session_of_several_people_names_who_said_it() -> None:
    friend = replace(line(6, "The kitchen is finished, and I baked bread.", "Ravi  K."), role="user")
    assert SCRIBE.summarize([*SESSION, friend], "Ravi  K.") == (
        "- 6 May 2024: Ravi K.: The kitchen is finished, and I baked bread."
    )
    assert SCRIBE.summarize([*SESSION, friend], "Nora").startswith("- 6 May 2024: Nora: I moved to Lisbon")


def test_a_session_without_informative_sentences_has_no_summary() -> None:
    assert SCRIBE.summarize([line(1, "Hi!"), line(2, "How are you?"), line(3, "ok thanks")], "Nora") == ""
    assert SCRIBE.summarize([], "Nora") == ""


def test_the_later_of_two_repetitions_is_summarised() -> None:
    lines = [
        line(1, "I moved to Lisbon with Ana."),
        line(2, "I love cats."),
        line(3, "I moved to Lisbon, with Ana!", days=1),
    ]
    assert SCRIBE.summarize(lines, "Nora").splitlines() == [
        "- 6 May 2024: I love cats.",
        "- 7 May 2024: I moved to Lisbon, with Ana!",
    ]


def test_sentences_with_different_numbers_are_not_repetitions() -> None:
    lines = [line(1, "I paid 20 euros for the old blue bike."), line(2, "I paid 30 euros for the old blue bike.")]
    assert len(SCRIBE.summarize(lines, "Nora").splitlines()) == 2


def test_under_a_small_limit_the_most_informative_sentence_stays_whole() -> None:
    short = SCRIBE.summarize([*SESSION, line(6, "I water the fern."), line(7, "I like tea with milk.")], "Nora", 20)
    assert short == "- 6 May 2024: I moved to Lisbon with my sister Ana."


def test_a_sentence_is_cut_only_if_none_fits() -> None:
    assert SCRIBE.summarize(SESSION[:3], "Nora", 10) == "- 6 May 2024: I moved to…"
    assert SCRIBE.summarize(SESSION, "Nora", 2) == ""


@pytest.mark.parametrize("limit", [0, -5])
def test_a_limit_below_one_is_rejected(limit: int) -> None:
    with pytest.raises(BadInput, match=f"at least 1 token, got {limit}"):
        SCRIBE.summarize(SESSION, "Nora", limit)
    with pytest.raises(BadInput, match=f"at least 1 token, got {limit}"):
        SCRIBE.update_notes("", [], SESSION, limit)


def test_a_long_session_is_summarised_within_its_limit() -> None:
    session = [
        line(n, f"I saw {n} birds over the {place}.") for n in range(250) for place in ("sea", "hill", "harbour")
    ]
    summary = SCRIBE.summarize(session, "Nora", 300)
    assert 200 < estimate_tokens(summary) <= 300


@settings(deadline=None)
@given(LINES, LIMITS)
def test_a_summary_copies_the_persons_lines_and_never_exceeds_its_limit(lines: list[Line], limit: int) -> None:
    summary = SCRIBE.summarize(lines, "Nora", limit)
    assert estimate_tokens(summary) <= limit
    texts = [line.text for line in lines if line.speaker == "Nora"]
    rows = summary.splitlines()
    for row in rows:
        head = DATED.match(row)
        assert head
        sentence = row[head.end() :]
        assert any(sentence.removesuffix(GAP_MARK) in text or sentence in text for text in texts)
        assert not sentence.endswith(GAP_MARK) or sentence in "".join(texts) or len(rows) == 1
    assert (
        SCRIBE.summarize(lines, "Nora", limit)
        == ExtractiveScribe().summarize(lines[::-1][::-1], "Nora", limit)
        == summary
    )


def test_notes_keep_the_old_rows_and_add_those_of_both_speakers() -> None:
    notes = SCRIBE.update_notes("They sit in the kitchen.", [], SESSION[:3])
    assert notes.splitlines() == [
        "They sit in the kitchen.",
        "Marvin: I am Marvin, and I have a pain in my diodes.",
        "Nora: I moved to Lisbon with my sister Ana.",
    ]


def test_the_newest_old_rows_remain_if_not_all_fit() -> None:
    old = "\n".join(f"Nora: I fed {n} hens." for n in range(1, 9))
    notes = SCRIBE.update_notes(old, [], [line(9, "I moved to Lisbon with Ana.")], 30).splitlines()
    assert notes[-1] == "Nora: I moved to Lisbon with Ana."
    assert notes[:-1] == old.splitlines()[-len(notes[:-1]) :]
    assert len(notes) > 1


def test_new_rows_leave_half_of_the_limit_to_old_rows() -> None:
    old = "\n".join(f"Nora: I fed {n} hens." for n in range(1, 20))
    leaving = [line(n, f"I sold {n} goats to a farmer called Tom.") for n in range(1, 20)]
    notes = SCRIBE.update_notes(old, [], leaving, 100).splitlines()
    assert 30 < sum(estimate_tokens(row) for row in notes if "hens" in row) <= 60
    assert 30 < sum(estimate_tokens(row) for row in notes if "goats" in row) <= 50


def test_a_repeated_row_replaces_the_old_one() -> None:
    notes = SCRIBE.update_notes(
        "Nora: I moved to Lisbon!\nThey sit in the kitchen.", [], [line(1, "I moved to Lisbon.")]
    )
    assert notes.splitlines() == ["They sit in the kitchen.", "Nora: I moved to Lisbon."]


def test_a_sentence_that_repeats_a_recalled_text_is_not_noted() -> None:
    recalled = [line(1, "Well. I moved to Lisbon with my sister Ana!")]
    assert SCRIBE.update_notes("", recalled, SESSION[2:4]) == "Nora: My doctor says that I'm allergic to dogs."


def test_a_long_sentence_is_shortened_in_the_notes() -> None:
    notes = SCRIBE.update_notes("", [], [line(1, "I walked " + "and walked " * 80 + "home.")])
    assert notes.endswith(GAP_MARK)
    assert estimate_tokens(notes) <= MAX_NOTE_TOKENS + 2


def test_old_notes_of_one_long_row_are_cut() -> None:
    assert SCRIBE.update_notes("They sit in the kitchen and wait", [], [], 7) == "They sit in the kitchen…"


@settings(deadline=None)
@given(OLD, LINES, LINES, LIMITS)
def test_notes_copy_old_rows_and_sentences_and_never_exceed_their_limit(
    old: str, recalled: list[Line], leaving: list[Line], limit: int
) -> None:
    notes = SCRIBE.update_notes(old, recalled, leaving, limit)
    assert estimate_tokens(notes) <= limit
    rows = [row.rstrip() for row in old.splitlines()]
    for row in notes.splitlines():
        sentence = row.partition(": ")[2]
        cut = row.removesuffix(GAP_MARK)
        assert any(row == old_row or old_row.startswith(cut) for old_row in rows) or any(
            row.startswith(f"{line.speaker}: ")
            and (sentence in line.text or sentence.removesuffix(GAP_MARK) in line.text)
            for line in leaving
        )
    assert SCRIBE.update_notes(old, recalled, leaving, limit) == notes


@settings(deadline=None)
@given(OLD, LINES, LINES, LIMITS)
def test_notes_are_unchanged_without_new_lines(old: str, recalled: list[Line], leaving: list[Line], limit: int) -> None:
    notes = SCRIBE.update_notes(old, recalled, leaving, limit)
    assert SCRIBE.update_notes(notes, recalled, [], limit) == notes


def test_only_secrets_are_removed() -> None:
    assert SCRIBE.redact("I love Lisbon. My PIN is 1234.") == "I love Lisbon. My PIN is [removed]."
    assert SCRIBE.redact("I love Lisbon since 12 May 2024.") == "I love Lisbon since 12 May 2024."
    assert SCRIBE.redact("My PIN is 1234.") is None


@pytest.mark.parametrize(
    ("query", "text", "relevant"),
    [
        ("Does John like ice cream?", "John likes ice cream most of all.", True),
        ("Does John like ice cream?", "Ice cream makes Nora happy.", True),
        ("Does John like ice cream?", "The fern wants water.", False),
        ("What did she bake?", "She was baking bread.", True),
        ("我的猫叫什么名字", "我家的猫叫咪咪", True),
        ("我的猫叫什么名字", "今天天气很好", False),
        ("How are you?", "I am well, thanks.", False),
        ("", "Anything.", False),
    ],
)
def test_a_text_with_two_of_five_informative_words_is_relevant(query: str, text: str, relevant: bool) -> None:
    assert SCRIBE.is_relevant(query, text) is relevant


def test_categories_and_importance_follow_rules() -> None:
    assert SCRIBE.categorize("My sister married.") == "family"
    assert SCRIBE.rate_importance("My sister married.") == 9


@pytest.mark.parametrize(
    ("query", "complete"),
    [
        ("And when?", "And when? moved Lisbon sister Ana"),
        ("How old is she?", "How old is she? moved Lisbon sister Ana"),
        ("And to Lisbon?", "And to Lisbon? moved sister Ana"),
        ("Why?", "Why? moved Lisbon sister Ana"),
        ("Where is my dog?", "Where is my dog?"),
        ("Did she buy the green bicycle from Tom yesterday?", "Did she buy the green bicycle from Tom yesterday?"),
    ],
)
def test_a_dependent_question_takes_the_informative_words_of_the_lines_before_it(query: str, complete: str) -> None:
    assert SCRIBE.rewrite_query(query, [line(1, "I moved to Lisbon with my sister Ana."), line(2, "Oh!")]) == complete


def test_a_dependent_chinese_question_takes_the_words_of_the_line_before_it() -> None:
    assert SCRIBE.rewrite_query("那他呢？", [line(1, "小明养了狗。")]) == "那他呢？ 小明养了狗"


def test_nothing_is_reworded_without_lines() -> None:
    assert SCRIBE.rewrite_query("And when?", []) == "And when?"
    assert SCRIBE.rewrite_memory("It barked.", []) == "It barked."


def test_a_reworded_memory_has_the_day_and_the_speaker_of_its_line() -> None:
    assert SCRIBE.rewrite_memory("It was fine.", SESSION) == "On 6 May 2024 Nora said: It was fine."
    assert SCRIBE.rewrite_memory("All is well.", SESSION) == "On 7 May 2024 Nora said: All is well."


def test_it_needs_neither_pydantic_nor_json_repair() -> None:
    code = (
        "import sys, everthread, everthread.scribes.extractive; print({'pydantic', 'json_repair'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"

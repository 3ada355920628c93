"""Tests of finding what frames a clause."""

from __future__ import annotations

from everthread.facts import frames
from everthread.facts.grammar import Grammar, load_grammar


def chinese() -> Grammar:
    grammar = load_grammar("zh")
    assert grammar is not None
    return grammar


def test_words_for_thinking_govern_the_clauses_up_to_one_with_a_subject_of_its_own() -> None:
    text = "我觉得累，我在小米上班"
    start = text.rindex("我")
    scope = frames.find_scope(chinese(), text, start)
    assert scope == start
    assert frames.is_framed(chinese(), text, 0, start)
    assert not frames.is_framed(chinese(), text, scope, start)


def test_reported_speech_frames_the_clause_after_it_whatever_its_subject() -> None:
    text = "她说，我在小米上班"
    start = text.rindex("我")
    assert frames.is_framed(chinese(), text, start, start)


def test_a_clause_is_about_the_past_if_a_word_for_it_is_before_or_in_it() -> None:
    assert frames.is_past(chinese(), "以前我在小米上班", 2, 3)
    assert frames.is_past(chinese(), "我以前在小米上班", 0, 3)
    assert not frames.is_past(chinese(), "我在小米上班", 0, 1)

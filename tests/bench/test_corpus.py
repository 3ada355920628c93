from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from everthread.bench.corpus import Part, has_bot, load_corpus, write_pairs
from everthread.text.analyzer import terms

LANGUAGES = {"de", "en", "es", "fr", "it", "ja", "ko", "nl", "pt", "ru", "zh"}


@pytest.mark.parametrize("part", get_args(Part))
def test_every_conversation_has_questions_with_gold_and_questions_that_no_line_answers(part: Part) -> None:
    for conversation in load_corpus(part, "all"):
        assert 60 <= len(conversation.lines) == len(set(conversation.ids)) <= 200
        assert {question.category for question in conversation.questions} == {"detail", "broad"}
        assert all(question.gold <= set(conversation.ids) for question in conversation.questions)
        assert all(len(each.gold) >= 4 for each in conversation.questions if each.category == "broad")
        assert len(conversation.unrelated) >= 5


def test_a_third_is_held_out_and_no_conversation_is_in_both_parts() -> None:
    development, held_out = ({each.id for each in load_corpus(part, "all")} for part in get_args(Part))
    assert not development & held_out
    assert len(held_out) / len(development | held_out) == pytest.approx(1 / 3, abs=0.03)


def test_conversations_are_chosen_by_language_and_by_whether_a_bot_takes_part() -> None:
    found = [(language, load_corpus(part, language)) for part in get_args(Part) for language in sorted(LANGUAGES)]
    assert {language for language, conversations in found if conversations} == LANGUAGES
    assert sum(len(conversations) for _, conversations in found) == 44
    assert all(map(has_bot, load_corpus("development", talk="assistant")))
    assert not any(map(has_bot, load_corpus("development", talk="people")))
    assert len(load_corpus("development")) == 22


def test_many_questions_share_hardly_a_word_with_the_lines_that_answer_them() -> None:
    shares = []
    for conversation in load_corpus("development"):
        texts = {str(line.key): line.text for line in conversation.lines}
        for question in conversation.questions:
            asked = set(terms(question.text))
            shares += [len(asked & set(terms(texts[key]))) / max(1, len(asked)) for key in question.gold]
    assert sum(share <= 0.25 for share in shares) / len(shares) > 0.4


def test_pairs_for_training_have_each_question_with_each_line_that_answers_it(tmp_path: Path) -> None:
    conversations = load_corpus("development", "zh")
    count = write_pairs(conversations, tmp_path / "pairs.jsonl")
    pairs = [json.loads(row) for row in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert len(pairs) == count == sum(len(each.gold) for bank in conversations for each in bank.questions)
    texts = {line.text for bank in conversations for line in bank.lines}
    assert all(pair["text"] in texts and pair["query"] for pair in pairs)

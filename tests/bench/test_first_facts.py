from __future__ import annotations

import pytest

from everthread.bench.first_facts import Language, load_first_facts, merge, with_replies
from everthread.text.analyzer import is_unspaced_script, terms


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_bank_has_lines_questions_with_gold_and_unrelated_questions(language: Language) -> None:
    banks = load_first_facts(language)
    assert len({bank.id for bank in banks}) == len(banks) == 14
    for bank in banks:
        assert len(bank.lines) == len(bank.ids) == 6
        assert all(question.gold <= set(bank.ids) for question in bank.questions)
        assert len(bank.questions) >= 8
        assert len(bank.unrelated) == 8
        assert not {question.text for question in bank.questions} & set(bank.unrelated)


@pytest.mark.parametrize(("language", "share"), [("en", 0.7), ("zh", 0.35)])
def test_many_questions_share_no_word_with_the_line_that_answers(language: Language, share: float) -> None:
    shares_no_word = []
    for bank in load_first_facts(language):
        texts = dict(zip(bank.ids, (line.text for line in bank.lines), strict=True))
        shares_no_word += [
            not set(terms(question.text)) & {term for id in question.gold for term in terms(texts[id])}
            for question in bank.questions
        ]
    assert sum(shares_no_word) / len(shares_no_word) > share


def test_the_chinese_banks_are_chinese_throughout() -> None:
    for bank in load_first_facts("zh"):
        texts = [line.text for line in with_replies(bank, "zh").lines] + [question.text for question in bank.questions]
        assert all(map(is_unspaced_script, [*texts, *bank.unrelated]))


def test_merged_banks_have_the_lines_and_questions_of_each() -> None:
    banks = load_first_facts()[:3]
    merged = merge(banks, "three")
    assert merged.lines == tuple(line for bank in banks for line in bank.lines)
    assert len(set(merged.ids)) == len(merged.lines) == 18
    assert len(merged.questions) == sum(len(bank.questions) for bank in banks)
    assert merged.speakers == ("Alice", "Ben", "Chloe")
    texts = dict(zip(merged.ids, (line.text for line in merged.lines), strict=True))
    (gold,) = merged.questions[-1].gold
    assert texts[gold] == banks[2].lines[4].text


def test_with_replies_a_bot_answers_every_line_and_the_gold_is_the_same() -> None:
    bank = load_first_facts()[0]
    talk = with_replies(bank)
    assert [line.role for line in talk.lines] == ["user", "assistant"] * 6
    assert talk.lines[::2] == bank.lines
    assert len({line.key for line in talk.lines}) == len(set(talk.ids)) == 12
    assert talk.questions == bank.questions
    assert set(bank.ids) < set(talk.ids)

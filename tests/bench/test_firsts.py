from __future__ import annotations

from everthread.bench.firsts import answered, firsts
from everthread.stores.text import terms


def test_every_bank_has_lines_questions_with_gold_and_strange_questions() -> None:
    banks = firsts()
    assert len({bank.id for bank in banks}) == len(banks) == 14
    for bank in banks:
        assert len(bank.lines) == len(bank.ids) == 6
        assert all(question.gold <= set(bank.ids) for question in bank.questions)
        assert len(bank.questions) >= 8
        assert len(bank.strange) == 8
        assert not {question.text for question in bank.questions} & set(bank.strange)


def test_most_questions_share_no_word_with_the_line_that_answers() -> None:
    apart = []
    for bank in firsts():
        texts = dict(zip(bank.ids, (line.text for line in bank.lines), strict=True))
        apart += [
            not set(terms(question.text)) & {term for id in question.gold for term in terms(texts[id])}
            for question in bank.questions
        ]
    assert sum(apart) / len(apart) > 0.7


def test_answered_a_bot_speaks_behind_every_line_and_the_gold_is_the_same() -> None:
    bank = firsts()[0]
    talk = answered(bank)
    assert [line.role for line in talk.lines] == ["user", "assistant"] * 6
    assert talk.lines[::2] == bank.lines
    assert len({line.key for line in talk.lines}) == len(set(talk.ids)) == 12
    assert talk.questions == bank.questions
    assert set(bank.ids) < set(talk.ids)

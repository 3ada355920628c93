from __future__ import annotations

from everthread.bench.untold import DEVELOPMENT, load_untold
from everthread.text.analyzer import terms


def test_every_bank_has_questions_with_gold_and_questions_that_no_line_answers() -> None:
    banks = load_untold()
    assert len({bank.id for bank in banks}) == len(banks) == 12
    assert set(DEVELOPMENT) < {bank.id for bank in banks}
    for bank in banks:
        assert 16 <= len(bank.lines) == len(set(bank.ids)) <= 30
        assert len(bank.questions) == 8
        assert len(bank.unrelated) == 10
        assert all(question.gold <= set(bank.ids) for question in bank.questions)


def test_seven_banks_are_of_a_person_with_a_bot() -> None:
    with_bot = [bank for bank in load_untold() if any(line.role == "assistant" for line in bank.lines)]
    assert len(with_bot) == 7
    assert all({line.role for line in bank.lines} == {"assistant", "user"} for bank in with_bot)


def test_the_lines_of_a_bank_are_in_order_and_in_sessions_of_a_day() -> None:
    for bank in load_untold():
        times = [line.said_at for line in bank.lines if line.said_at]
        assert times == sorted(times)
        assert all(line.session == f"{bank.id}-{line.said_at:%Y-%m-%d}" for line in bank.lines if line.said_at)


def test_most_questions_about_what_was_never_said_share_words_with_their_bank() -> None:
    shares = []
    for bank in load_untold():
        known = {term for line in bank.lines for term in terms(f"{line.speaker} {line.text}")}
        shares += [bool(known.intersection(terms(text))) for text in bank.unrelated]
    assert sum(shares) / len(shares) > 0.9

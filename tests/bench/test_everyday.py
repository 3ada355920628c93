from __future__ import annotations

import pytest

from everthread.bench.everyday import LANGUAGES, load_everyday, measure_languages, table
from everthread.errors import BadInput
from everthread.text.analyzer import detect_language


def test_there_are_ten_languages() -> None:
    assert LANGUAGES == ("de", "es", "fr", "it", "ja", "ko", "nl", "pt", "ru", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_bank_has_lines_questions_with_gold_and_unrelated_questions(language: str) -> None:
    banks = load_everyday(language)
    assert [bank.id for bank in banks] == ["cat", "piano", "wedding"]
    for bank in banks:
        assert (len(bank.lines), len(bank.questions), len(bank.unrelated)) == (6, 7, 5)
        assert all(question.gold <= set(bank.ids) for question in bank.questions)
        recognised = [detect_language(line.text) for line in bank.lines]
        assert recognised.count(language) >= 5


def test_each_language_is_measured_in_a_row_of_its_own() -> None:
    (result,) = results = measure_languages(["de"], ["cat"])
    assert result.json() == {"language": "de", "questions": 7, "recall_at_1": 100, "kept": 85.71, "let_in": 20}
    assert table(results).splitlines()[1].split() == ["de", "7", "100.0", "85.7", "20.0"]
    assert table(results * 2).splitlines()[-1].split() == ["all", "14", "100.0", "85.7", "20.0"]


def test_an_unknown_bank_is_refused() -> None:
    with pytest.raises(BadInput):
        measure_languages(["de"], ["dog"])

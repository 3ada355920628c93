from __future__ import annotations

import pytest

from everthread.scribes.responses import Unusable
from everthread.scribes.titles import MAX_TITLE_CHARS, clean_title


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Mia moves to Lisbon", "Mia moves to Lisbon"),
        ("“Mia moves to Lisbon.”\n", "Mia moves to Lisbon"),
        ("«Déménagement à Lisbonne»", "Déménagement à Lisbonne"),
        ("搬到里斯本。", "搬到里斯本"),
        ("「リスボンへの引っ越し」", "リスボンへの引っ越し"),
        ("# **Mia** moves to `Lisbon`", "Mia moves to Lisbon"),
        ("- _Mia_ in [Lisbon](https://example.org)", "Mia in Lisbon"),
        ("Title: Mia's move", "Mia's move"),
        ("**Titel:** Umzug nach Lissabon", "Umzug nach Lissabon"),
        ("<think>They spoke of\nMia.</think>\nWhy Lisbon?", "Why Lisbon?"),
        ("spoke of Mia</think>Lisbon", "Lisbon"),
        ("Mia\tmoves\x00 to\u200b  Lisbon\nand more", "Mia moves to Lisbon"),
        ("<b>snake_case</b> in Python 3.11!", "snake_case in Python 3.11!"),
    ],
)
def test_a_title_is_one_row_without_what_surrounds_it(answer: str, title: str) -> None:
    assert clean_title(answer) == title


@pytest.mark.parametrize(
    "answer",
    ["", "...", "“”", "# \n---", "<think>Mia", "x" * (MAX_TITLE_CHARS + 1), "a b c d e f g h i j k", "at http://x.org"],
)
def test_an_answer_without_words_or_with_too_many_is_no_title(answer: str) -> None:
    with pytest.raises(Unusable):
        clean_title(answer)

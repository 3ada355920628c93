from __future__ import annotations

import pytest

from everthread.text.shared_words import find_shared_words


@pytest.mark.parametrize(
    ("question", "text", "words"),
    [
        ("Who is my running coach?", "I run with a coach called Joost.", ["running", "coach"]),
        ("Where does Mia live?", "Mia moved to Lisbon.", ["Mia"]),
        ("What did you do?", "What did I do to you?", []),
        ("我的教练是谁?", "教练叫约斯特。", ["教练"]),
        ("", "A text.", []),
    ],
)
def test_words_in_common_are_found_in_any_form(question: str, text: str, words: list[str]) -> None:
    assert find_shared_words(question, text) == words

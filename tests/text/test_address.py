from __future__ import annotations

import pytest

from everthread.text.address import asks_another, remove_address


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("Kit, where do I live?", "where do I live?"),
        ("Where do I live, Kit?", "Where do I live?"),
        ("hey Kit, where do I live, Kit?", "where do I live?"),
        ("@Kit where do I live?", "where do I live?"),
        ("Oye Kit, ¿dónde vivo?", "¿dónde vivo?"),
        ("小白，我住在哪里？", "我住在哪里？"),
        ("キット、私はどこに住んでいますか？", "私はどこに住んでいますか？"),
        ("Where do Mia, Tom, Ben live?", "Where do Mia, Tom, Ben live?"),
        ("What do you know about Mia, Tom, Ben?", "What do you know about Mia, Tom, Ben?"),
        ("When I was in the city of Rome, where did I live?", "When I was in the city of Rome, where did I live?"),
        ("Where do I live?", "Where do I live?"),
        ("", ""),
    ],
)
def test_the_name_of_the_one_who_is_asked_is_left_out(question: str, rest: str) -> None:
    assert remove_address(question) == rest


@pytest.mark.parametrize(
    ("question", "is_for_another"),
    [
        ("Any allergies?", False),
        ("@anna any allergies?", False),
        ("@Anna.Keller any allergies?", False),
        ("@annakeller, @ben any allergies?", False),
        ("@everyone any allergies?", False),
        ("Write to a@example.org. Any allergies?", False),
        ("Anna and Ben, any allergies?", False),
        ("@ben any allergies?", True),
        ("<@!99> any allergies?", True),
        ("@Benedict. Any allergies?", True),
        ("Any allergies, Ben?", True),
        ("Any allergies, kayaker42?", True),
        ("Will bento do?", False),
    ],
)
def test_a_question_with_the_name_of_another_is_for_another(question: str, is_for_another: bool) -> None:
    assert asks_another(question, "Anna Keller", ("Ben Ito", "kayaker42", "🦄")) is is_for_another

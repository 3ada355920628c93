from __future__ import annotations

import pytest

from everthread.text.address import is_addressed, remove_address


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
    ("question", "addressed"),
    [
        ("Any allergies?", None),
        ("@anna any allergies?", True),
        ("@Anna.Keller any allergies?", True),
        ("@annakeller, @ben any allergies?", True),
        ("@everyone any allergies?", True),
        ("Anna and Ben, any allergies?", True),
        ("Write to a@example.org. Any allergies?", None),
        ("Will bento do?", None),
        ("@ben any allergies?", False),
        ("<@!99> any allergies?", False),
        ("@Benedict. Any allergies?", False),
        ("Any allergies, Ben?", False),
        ("Any allergies, kayaker42?", False),
    ],
)
def test_a_question_is_for_those_whose_names_it_has(question: str, addressed: bool | None) -> None:
    assert is_addressed(question, "Anna Keller", ("Ben Ito", "kayaker42", "🦄")) is addressed

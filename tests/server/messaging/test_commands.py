"""Requests to be forgotten: only a whole message is one."""

import pytest

from everthread.config import LANGUAGES
from everthread.server.messaging.commands import find_forget_request, find_language_request


@pytest.mark.parametrize("text", ["FORGET ME", "Please forget me!", "forget everything about me", "Delete my data."])
def test_requests_to_be_forgotten_are_recognised(text: str) -> None:
    assert find_forget_request(text) == "forget me"


@pytest.mark.parametrize("text", ["Don't forget me", "forget me not", "He will forget me", "forget it"])
def test_a_sentence_about_forgetting_is_not_a_request(text: str) -> None:
    assert find_forget_request(text) is None


def test_a_request_that_may_be_an_answer_is_distinguished() -> None:
    assert find_forget_request("Forget everything, please") == "forget everything"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Language: English", "en"),
        ("sprache deutsch!", "de"),
        ("LANGUE FRANÇAIS", "fr"),
        ("Language Spanish", "es"),
        ("语言中文", "zh"),
        ("言語　日本語", "ja"),
    ],
)
def test_a_language_is_asked_for_by_its_name(text: str, language: str) -> None:
    assert find_language_request(text) == language
    assert language in LANGUAGES


@pytest.mark.parametrize("text", ["Deutsch", "language", "Language is a virus", "language klingon"])
def test_a_sentence_about_a_language_is_no_request(text: str) -> None:
    assert find_language_request(text) is None

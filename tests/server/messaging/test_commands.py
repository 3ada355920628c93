"""Requests to be forgotten: only a whole message is one."""

import pytest

from everthread.config import LANGUAGES
from everthread.server.messaging.commands import find_forget_request, find_group_request, find_language_request


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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Group: Mia, Captain Vey", ("Mia", "Captain Vey")),
        ("GRUPPE : mia;Ever.", ("mia", "Ever")),
        ("群聊：米娅、船长", ("米娅", "船长")),
        ("group:", ()),
    ],
)
def test_a_group_is_asked_for_by_the_names_of_its_characters(text: str, names: tuple[str, ...]) -> None:
    request = find_group_request(text)
    assert request is not None
    assert (request.names, request.is_end) == (names, False)


@pytest.mark.parametrize("text", ["End group!", "Gruppe beenden", "グループ終了。"])
def test_a_group_is_ended_by_a_whole_message(text: str) -> None:
    request = find_group_request(text)
    assert request is not None
    assert request.is_end


@pytest.mark.parametrize("text", ["Group hug", "My group: Mia and me", "We end group work at noon", "END"])
def test_a_sentence_about_a_group_is_no_request(text: str) -> None:
    assert find_group_request(text) is None

"""Keywords: only a whole message is a keyword."""

import pytest

from everthread.server.sms.keywords import TEXTS, find_forget_request, find_keyword, render_text
from everthread.server.sms.segments import count_segments


@pytest.mark.parametrize("word", ["STOP", "stop", " Stop. ", "STOPALL", "Unsubscribe!", "cancel", "END", "quit"])
def test_stop_is_recognised_in_any_spelling(word: str) -> None:
    assert find_keyword(word) == "stop"


@pytest.mark.parametrize(
    ("word", "keyword"), [("START", "start"), ("unstop", "start"), ("Yes", "yes"), ("info?", "help")]
)
def test_start_yes_and_help_are_recognised(word: str, keyword: str) -> None:
    assert find_keyword(word) == keyword


@pytest.mark.parametrize("text", ["Don't stop now", "stop it", "The end", "I need help", "", "yes please", "quitting"])
def test_a_sentence_with_a_keyword_is_not_a_keyword(text: str) -> None:
    assert find_keyword(text) is None


@pytest.mark.parametrize("text", ["FORGET ME", "Please forget me!", "forget everything about me", "Delete my data."])
def test_requests_to_be_forgotten_are_recognised(text: str) -> None:
    assert find_forget_request(text) == "me"


@pytest.mark.parametrize("text", ["Don't forget me", "forget me not", "He will forget me", "forget it"])
def test_a_sentence_about_forgetting_is_not_a_request(text: str) -> None:
    assert find_forget_request(text) is None


def test_a_request_that_may_be_an_answer_is_distinguished() -> None:
    assert find_forget_request("Forget everything, please") == "everything"


@pytest.mark.parametrize("name", TEXTS)
def test_each_text_of_the_bot_fits_into_two_segments(name: str) -> None:
    assert count_segments(render_text(name, 12_345)) <= 2


def test_one_line_is_written_in_the_singular() -> None:
    assert "1 line." in render_text("forgotten", 1)
    assert "2 lines." in render_text("forgotten", 2)

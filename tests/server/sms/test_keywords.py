"""Keywords are whole messages, and nothing else is one."""

import pytest

from everthread.server.sms.keywords import TEXTS, find_forget_request, find_keyword, render_text
from everthread.server.sms.segments import count_segments


@pytest.mark.parametrize("word", ["STOP", "stop", " Stop. ", "STOPALL", "Unsubscribe!", "cancel", "END", "quit"])
def test_who_says_stop_means_it(word: str) -> None:
    assert find_keyword(word) == "stop"


@pytest.mark.parametrize(
    ("word", "found"), [("START", "start"), ("unstop", "start"), ("Yes", "yes"), ("info?", "help")]
)
def test_the_other_keywords(word: str, found: str) -> None:
    assert find_keyword(word) == found


@pytest.mark.parametrize("text", ["Don't stop now", "stop it", "The end", "I need help", "", "yes please", "quitting"])
def test_talk_is_no_keyword(text: str) -> None:
    assert find_keyword(text) is None


@pytest.mark.parametrize("text", ["FORGET ME", "Please forget me!", "forget everything about me", "Delete my data."])
def test_ways_to_ask_to_be_forgotten(text: str) -> None:
    assert find_forget_request(text) == "me"


@pytest.mark.parametrize("text", ["Don't forget me", "forget me not", "He will forget me", "forget it"])
def test_talk_of_forgetting_asks_for_nothing(text: str) -> None:
    assert find_forget_request(text) is None


def test_what_may_also_be_an_answer_is_told_apart() -> None:
    assert find_forget_request("Forget everything, please") == "everything"


@pytest.mark.parametrize("name", TEXTS)
def test_what_we_say_of_ourselves_is_at_most_two_segments(name: str) -> None:
    assert count_segments(render_text(name, 12_345)) <= 2


def test_one_line_is_a_line() -> None:
    assert "1 line." in render_text("forgotten", 1)
    assert "2 lines." in render_text("forgotten", 2)

"""Keywords: only a whole message is a keyword."""

import pytest

from everthread.server.sms.channel import SMS
from everthread.server.sms.keywords import find_command


@pytest.mark.parametrize("word", ["STOP", "stop", " Stop. ", "STOPALL", "Unsubscribe!", "cancel", "END", "quit"])
def test_stop_is_recognised_in_any_spelling(word: str) -> None:
    assert find_command(word) == "stop"


@pytest.mark.parametrize(
    ("word", "keyword"), [("START", "start"), ("unstop", "start"), ("Yes", "yes"), ("info?", "help")]
)
def test_start_yes_and_help_are_recognised(word: str, keyword: str) -> None:
    assert find_command(word) == keyword


@pytest.mark.parametrize("text", ["Don't stop now", "stop it", "The end", "I need help", "", "yes please", "quitting"])
def test_a_sentence_with_a_keyword_is_not_a_keyword(text: str) -> None:
    assert find_command(text) is None


@pytest.mark.parametrize(
    ("text", "command"), [("Forget me!", "forget me"), ("Forget everything, please", "forget everything")]
)
def test_requests_to_be_forgotten_are_commands_too(text: str, command: str) -> None:
    assert find_command(text) == command


def test_one_line_is_written_in_the_singular() -> None:
    assert "1 line." in SMS.render_text("forgotten", 1)
    assert "2 lines." in SMS.render_text("forgotten", 2)

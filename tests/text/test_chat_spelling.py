"""Which words of chats are written out."""

from __future__ import annotations

import pytest

from everthread.text.chat_spelling import expand_chat_spelling


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("what do u know about ur sister", "what do you know about your sister"),
        ("Whats my shoe size", "What is my shoe size"),
        ("wat r you up to 2nite", "what are you up to tonight"),
        ("u, me and tea.", "you, me and tea."),
        ("was weisst du ueber mich", "was weißt du über mich"),
    ],
)
def test_words_of_chats_are_written_out(typed: str, meant: str) -> None:
    assert expand_chat_spelling(typed) == meant


@pytest.mark.parametrize("text", ["I write R and U", "r&b", "the u.s. and r.i.p.", "u-boat", "@u #r /u", "sausage", ""])
def test_other_words_stay(text: str) -> None:
    assert expand_chat_spelling(text) == text

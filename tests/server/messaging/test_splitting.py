"""Splitting texts into messages, whatever a channel's limit."""

from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.messaging.splitting import split, split_reply

TEXTS = st.lists(st.text(alphabet="abcé你，😀 \n", min_size=1, max_size=12), max_size=40).map(" ".join)


@examples(150)
@given(TEXTS, st.integers(1, 60))
def test_joined_messages_are_the_text_and_each_fits(text: str, limit: int) -> None:
    messages = split(text, lambda text: min(len(text), limit))
    assert "".join(messages) == text
    assert all(0 < len(message) <= limit for message in messages)


@examples(150)
@given(TEXTS, st.integers(8, 60), st.integers(1, 4))
def test_a_reply_has_no_more_messages_than_allowed_and_each_fits(text: str, limit: int, max_messages: int) -> None:
    messages = split_reply(text, lambda text: min(len(text), limit), max_messages)
    assert len(messages) <= max_messages
    assert all(0 < len(message) <= limit and message == message.strip() for message in messages)


def test_a_text_is_split_between_words_and_cut_with_dots() -> None:
    messages = split_reply("one two three four five six", lambda text: min(len(text), 9), 3)
    assert messages == ["one two", "three", "four ..."]

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everthread.transfer.services.conversation import Message
from everthread.transfer.services.message_spool import MAX_BYTES_IN_MEMORY, MessageSpool, SpoolFile

BEGIN = datetime(2024, 5, 1, 12, tzinfo=UTC)


def said(text: str, minute: int | None = None, id: str | None = None) -> Message:
    said_at = None if minute is None else BEGIN + timedelta(minutes=minute)
    return Message(text, "user", "Ann", said_at, id, metadata={"attachments": [f"{text}.txt"]})


@pytest.mark.parametrize(
    ("messages", "may_be_reversed", "ordered"),
    [
        ([said("b", 2), said("a", 1), said("c", 3)], False, "abc"),
        ([said("d", 9), said("c"), said("b", 1), said("a")], True, "abcd"),
        ([said("a", 1), said("b"), said("c", 2)], True, "abc"),
        ([said("a"), said("b", 1), said("c"), said("d", 1)], False, "abcd"),
        ([said("a", 1, "1"), said("b", 2, "2"), said("c", 1, "1")], False, "cb"),
        ([], True, ""),
    ],
)
def test_messages_are_ordered_by_time_and_one_without_a_time_stays_in_its_place(
    messages: list[Message], may_be_reversed: bool, ordered: str
) -> None:
    spool = MessageSpool()
    for message in messages:
        spool.add(message)
    spool.sort(may_be_reversed)
    by_text = {message.text: message for message in messages}
    assert list(spool) == spool[:] == [by_text[text] for text in ordered]


def test_chats_may_share_a_file_that_does_not_fit_into_the_memory() -> None:
    file = SpoolFile()
    first, second = MessageSpool(file), MessageSpool(file)
    texts = [f"{number} \ud800 " + "x" * (MAX_BYTES_IN_MEMORY // 8) for number in range(12)]
    for number, text in enumerate(texts):
        (second if number % 2 else first).add(said(text, number))
    assert [message.text for message in first] == texts[::2]
    assert [message.text for message in second] == texts[1::2]
    assert (len(first), second[-1].text) == (6, texts[-1])

from __future__ import annotations

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.lmstudio import build_conversation
from transfer.services.companion_examples import LM_STUDIO, lm_studio_message
from transfer.services.reading import hidden, shown


def test_the_selected_version_of_a_reply_is_shown_and_thoughts_are_left_out() -> None:
    built = build_conversation(LM_STUDIO)
    assert shown(built) == [
        ("user", "Which door is red?"),
        ("assistant", "The right one."),
        ("user", "Thank you!"),
    ]
    assert hidden(built) == {"The left one.": "Which door is red?"}
    assert built.skipped == {"thoughts": 1}
    assert [message.metadata for message in built.messages] == [{}, {"model": "qwen3"}, {"model": "qwen3"}, {}]
    assert built.started_at is not None
    assert (built.id, built.title, built.started_at.isoformat()) == (
        "1746093600000",
        "Doors",
        "2025-05-01T10:00:00+00:00",
    )


def test_messages_are_the_same_if_another_version_is_selected() -> None:
    question, reply, thanks = LM_STUDIO["messages"]
    other = {**LM_STUDIO, "messages": [question, {**reply, "currentlySelected": 0}, thanks]}
    first, second = build_conversation(LM_STUDIO).messages, build_conversation(other).messages
    assert [message.id for message in first] == [message.id for message in second]
    assert [message.shown for message in second] == [True, True, False, True]


def test_messages_that_were_not_said_are_counted() -> None:
    rows = [lm_studio_message(" "), lm_studio_message("Be kind.")]
    rows[1]["versions"][0]["role"] = "system"
    built = build_conversation({"messages": rows})
    assert (built.messages, built.skipped) == ([], {"messages without text": 1, "instructions": 1})


def test_a_value_without_messages_is_rejected() -> None:
    with pytest.raises(BadFile, match="it has no list of messages"):
        build_conversation({"messages": None})

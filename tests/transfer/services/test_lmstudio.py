from __future__ import annotations

from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.conversation import Conversation
from everthread.transfer.services.lmstudio import build_conversation
from transfer.services.companion_examples import LM_STUDIO, lm_studio_message, plain
from transfer.services.reading import hidden, read_entries, shown


def test_the_selected_version_of_a_reply_is_shown_and_thoughts_are_left_out() -> None:
    built = build_conversation(LM_STUDIO, "1")
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
    first, second = build_conversation(LM_STUDIO, "1").messages, build_conversation(other, "1").messages
    assert [message.id for message in first] == [message.id for message in second]
    assert [message.shown for message in second] == [True, True, False, True]


def test_messages_that_were_not_said_are_counted() -> None:
    rows = [lm_studio_message(" "), lm_studio_message("Be kind.")]
    rows[1]["versions"][0]["role"] = "system"
    built = build_conversation({"messages": rows}, "1")
    assert (built.messages, built.skipped) == ([], {"messages without text": 1, "instructions": 1})


def test_a_value_without_messages_is_rejected() -> None:
    with pytest.raises(BadFile, match="it has no list of messages"):
        build_conversation({"messages": None}, "1")


def test_a_conversation_without_a_time_is_known_by_the_name_of_its_file(tmp_path: Path) -> None:
    content = plain({name: value for name, value in LM_STUDIO.items() if name != "createdAt"})
    files = {f"{name}.conversation.json": content for name in ("1", "2")}
    built = [entry for entry in read_entries("lmstudio", tmp_path, files) if isinstance(entry, Conversation)]
    assert [(each.id, each.started_at) for each in built] == [("1", None), ("2", None)]

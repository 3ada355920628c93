from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from everthread.transfer.services.conversation import BrokenConversation, Conversation
from everthread.transfer.services.letta import build_conversation
from everthread.types import NewUnit
from transfer.services.companion_examples import LETTA, plain
from transfer.services.reading import read_entries, shown, times

AGENT: Any = LETTA["agents"][0]


def test_the_user_says_messages_and_the_agent_sends_them() -> None:
    conversation = build_conversation(AGENT)
    assert shown(conversation) == [("user", "Which door?"), ("Aria", "The blue one."), ("user", "Thank you.")]
    assert times(conversation)[0] == "2025-06-02T20:02:00+00:00"
    assert conversation.skipped == {
        "instructions": 1,
        "events": 2,
        "thoughts": 1,
        "calls of tools": 1,
        "results of tools": 1,
    }


def test_ids_that_differ_in_each_export_are_not_used() -> None:
    assert all(message.id is None for message in build_conversation(AGENT).messages)


def test_an_agent_of_a_recent_kind_answers_without_a_tool() -> None:
    reply = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Blue."}],
        "tool_calls": [{"function": {"name": "x"}}],
    }
    agent = {"name": "Ben", "agent_type": "letta_v1_agent", "messages": [{"role": "user", "content": "Hi {"}, reply]}
    assert shown(build_conversation(agent)) == [("user", "Hi {"), ("Ben", "Blue.")]
    assert shown(build_conversation({**agent, "agent_type": "memgpt_agent"})) == [("user", "Hi {")]


def test_the_blocks_of_an_agent_are_a_note(tmp_path: Path) -> None:
    _, note = read_entries("letta", tmp_path, {"Aria.af": plain(LETTA)})
    assert isinstance(note, NewUnit)
    assert (note.kind, note.text) == ("note", "human:\nHer name is Nora.")
    assert note.said_at == datetime(2025, 6, 2, 20, 6, tzinfo=UTC)


def test_an_old_agent_file_has_one_agent_with_its_blocks(tmp_path: Path) -> None:
    old = {**copy.deepcopy(AGENT), "core_memory": [{"label": "human", "value": "Nora"}]}
    conversation, note = read_entries("letta", tmp_path, {"Aria.af": plain(old)})
    assert isinstance(conversation, Conversation)
    assert isinstance(note, NewUnit)
    assert (len(shown(conversation)), note.text) == (3, "human:\nNora")


def test_a_broken_agent_leaves_the_others(tmp_path: Path) -> None:
    value = {**LETTA, "agents": [AGENT, {"name": "Ben", "messages": 1}]}
    *_, broken = read_entries("letta", tmp_path, {"a.af": plain(value)})
    assert broken == BrokenConversation("Ben", "the agent has no list of messages")


def test_the_messages_of_an_agent_are_read_from_a_list_of_the_api(tmp_path: Path) -> None:
    rows = [
        {"id": "m3", "date": "2025-06-02T20:02:01Z", "message_type": "assistant_message", "content": "The blue one."},
        {"id": "m2", "date": "2025-06-02T20:02:01Z", "message_type": "reasoning_message", "reasoning": "Hm."},
        {"id": "m1", "date": "2025-06-02T20:02:00Z", "message_type": "user_message", "content": "Which door?"},
        7,
    ]
    for name, value in (("a.json", rows), ("b.json", {"messages": rows})):
        (conversation,) = read_entries("letta", tmp_path / name, {name: plain(value)})
        assert isinstance(conversation, Conversation)
        assert shown(conversation) == [("user", "Which door?"), ("assistant", "The blue one.")]
        assert times(conversation) == ["2025-06-02T20:02:00+00:00", "2025-06-02T20:02:01+00:00"]
        assert conversation.skipped == {"thoughts": 1, "broken messages": 1}

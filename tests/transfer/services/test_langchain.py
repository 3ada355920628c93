from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.transfer.importing import check_file
from everthread.transfer.services.conversation import Conversation
from everthread.transfer.services.langchain import build_history
from transfer.services.companion_examples import LANGCHAIN, plain
from transfer.services.reading import read_entries, shown, times


def test_a_history_is_what_people_and_models_said() -> None:
    history = build_history(LANGCHAIN, "history")
    assert shown(history) == [("Nora", "Which door?"), ("assistant", "The blue one."), ("Aria", "Go in.")]
    assert [message.id for message in history.messages] == [None, "run-2", None]
    assert times(history) == [None, None, None]
    assert history.skipped == {"instructions": 1, "calls of tools": 1, "results of tools": 1}


def test_histories_that_number_their_messages_are_kept_apart(tmp_path: Path) -> None:
    def history(*texts: str) -> bytes:
        rows = [{"type": "human", "data": {"content": text, "id": str(i)}} for i, text in enumerate(texts, 1)]
        return json.dumps(rows).encode()

    files = {"a.json": history("Hi.", "My fern grows."), "b.json": history("Hello.", "My cat sleeps.")}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    lines = list(check_file(tmp_path).read())
    assert len({line.key for line in lines}) == 4


def test_a_history_may_be_in_an_object_and_keeps_its_id_when_it_grows(tmp_path: Path) -> None:
    (history,) = read_entries("langchain", tmp_path, {"h.json": plain({"messages": LANGCHAIN})})
    assert isinstance(history, Conversation)
    assert history.id == build_history(LANGCHAIN[:3], "h").id
    assert history.id != build_history(LANGCHAIN[5:], "h").id


def test_pictures_and_broken_entries_are_counted() -> None:
    picture = {"type": "human", "data": {"content": [{"type": "image_url"}, {"type": "text", "text": "See."}]}}
    history = build_history([picture, 1, {"type": "ai", "data": {"content": ""}}], "h")
    assert shown(history) == [("user", "See.")]
    assert history.skipped == {"parts that are no text": 1, "broken messages": 1, "messages without text": 1}


def test_options_name_those_who_have_no_name(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_bytes(plain([{"type": "human", "data": {"content": "Hi."}}, *LANGCHAIN]))
    lines = check_file(tmp_path / "h.json", me="Ann", assistant=["Door"]).read()
    assert [line.speaker for line in lines] == ["Ann", "Nora", "Door", "Aria"]


HI, HELLO = {"type": "human", "content": "Hi.", "id": "1"}, {"type": "ai", "content": "Hello.", "id": "2"}
DUMPED = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}
    for name, fields in (("HumanMessage", HI), ("AIMessageChunk", HELLO))
]


@pytest.mark.parametrize(
    "value",
    [
        [HI, HELLO],
        {"messages": [HI, HELLO]},
        DUMPED,
        {"values": {"messages": [HI, HELLO]}, "next": []},
        {"ts": "2025-01-02T03:04:05Z", "channel_values": {"messages": [HI, HELLO]}},
        [{"values": {"messages": [HI, HELLO]}}],
    ],
)
def test_messages_are_read_from_dumps_and_from_states_of_langgraph(tmp_path: Path, value: object) -> None:
    (history,) = read_entries("langchain", tmp_path, {"thread.json": plain(value)})
    assert isinstance(history, Conversation)
    assert shown(history) == [("user", "Hi."), ("assistant", "Hello.")]


def test_a_thread_has_each_message_of_its_states_once_with_the_time_of_the_first(tmp_path: Path) -> None:
    states = [
        {"created_at": "2025-01-02T03:04:07Z", "values": {"messages": [HELLO]}},  # the first was trimmed away
        {"created_at": "2025-01-02T03:04:06Z", "values": {"messages": [HI, HELLO]}},
        {"created_at": "2025-01-02T03:04:05Z", "values": {"messages": [HI]}},
    ]
    (history,) = read_entries("langchain", tmp_path, {"thread.json": plain(states)})
    assert isinstance(history, Conversation)
    assert shown(history) == [("user", "Hi."), ("assistant", "Hello.")]
    assert times(history) == ["2025-01-02T03:04:05+00:00", "2025-01-02T03:04:06+00:00"]

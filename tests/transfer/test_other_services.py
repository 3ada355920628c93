"""Exports are minimal ones made for these tests, with the fields that the services write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.formats import open_reader
from everthread.transfer.other_services import detect_service

ANN = {"id": "10", "name": "ann", "nickname": "Ann", "isBot": False}
EXPORTS: dict[str, object] = {
    "Discord (DiscordChatExporter)": {
        "guild": {"id": "1", "name": "Direct Messages"},
        "channel": {"id": "2", "type": "DirectTextChat", "name": "bob"},
        "messages": [
            {"id": "3", "type": "Default", "timestamp": "2023-05-01T10:00:00+02:00", "content": "Hi!", "author": ANN},
            {"id": "4", "type": "ChannelPinnedMessage", "content": "Pinned a message.", "author": ANN},
        ],
    },
    "Messenger or Instagram": {
        "participants": [{"name": "Ann"}, {"name": "Bob"}],
        "messages": [{"sender_name": "Ann", "timestamp_ms": 1682928000000, "content": "Hi!"}],
        "title": "Bob",
    },
    "Telegram": {
        "name": "Bob",
        "type": "personal_chat",
        "messages": [{"id": 1, "type": "message", "date_unixtime": "1682928000", "from_id": "user1", "text": "Hi!"}],
    },
    "LibreChat": {"conversationId": "c", "messages": [{"messageId": "m", "isCreatedByUser": True, "text": "Hi!"}]},
    "Matrix (Element)": {"messages": [{"event_id": "$1", "origin_server_ts": 1, "content": {"body": "Hi!"}}]},
    "RisuAI": {"type": "risuChat", "ver": 1, "data": {}},
    "Character.AI": {"histories": {"histories": []}},
    "Letta": {"agents": [{"messages": []}]},
    "LlamaIndex": {"store": {"ann": [{"role": "user", "blocks": []}]}, "class_name": "SimpleChatStore"},
    "Open WebUI": [{"id": "1", "chat": {"history": {"messages": {}}}}],
    "Slack": [{"type": "message", "user": "U1", "ts": "1682928000.000100", "text": "Hi!"}],
    "Gemini (Google Takeout)": [{"header": "Gemini Apps", "title": "Prompted Hi", "time": "2024-06-02T20:11:00Z"}],
    "LangChain": [{"type": "human", "data": {"content": "Hi!"}}],
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_of_another_service_is_rejected_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(EXPORTS[name]), encoding="utf-8")
    for form in (None, "messages"):
        with pytest.raises(BadFile, match=f"export of {name.replace('(', '.').replace(')', '.')}, which"):
            list(open_reader(path, form)())


def test_messages_of_a_chat_api_belong_to_no_other_service() -> None:
    message = {"role": "user", "content": "Hi!", "type": "message", "id": "m1"}
    assert detect_service([message]) is None
    assert detect_service({"messages": [message], "model": "m", "channel": "c"}) is None


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [[]], {"messages": {}}, {"messages": [1]}, {"turns": None}])
def test_json_of_an_unknown_structure_belongs_to_no_service(value: object) -> None:
    assert detect_service(value) is None

"""Exports are minimal ones made for these tests, with the fields that the services write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.formats import open_reader
from everthread.transfer.other_services import detect_service

EXPORTS: dict[str, object] = {
    "LibreChat": {"conversationId": "c", "messages": [{"messageId": "m", "isCreatedByUser": True, "text": "Hi!"}]},
    "RisuAI": {"type": "risuChat", "ver": 1, "data": {}},
    "Character.AI": {"histories": {"histories": []}},
    "Letta": {"agents": [{"messages": []}]},
    "LlamaIndex": {"store": {"ann": [{"role": "user", "blocks": []}]}, "class_name": "SimpleChatStore"},
    "Open WebUI": [{"id": "1", "chat": {"history": {"messages": {}}}}],
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

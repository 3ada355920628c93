from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer import importing
from everthread.transfer.selection import select
from everthread.transfer.services import changes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return an export of ChatGPT with two conversations of two messages."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([conversation(name) for name in ("red", "blue")]))
    return path


def conversation(name: str) -> dict[str, object]:
    def node(role: str, parent: str | None, children: list[str]) -> dict[str, object]:
        content = {"content_type": "text", "parts": [f"The {name} kite."]}
        message = {"id": role, "author": {"role": role}, "content": content, "create_time": 1.7e9}
        return {"id": role, "parent": parent, "children": children, "message": message}

    mapping = {"user": node("user", None, ["assistant"]), "assistant": node("assistant", "user", [])}
    return {"conversation_id": name, "title": name, "mapping": mapping, "current_node": "assistant"}


def test_a_file_is_narrowed_to_conversations_and_its_speakers_are_renamed(file: Path) -> None:
    source = importing.check_file(file)
    assert select(source) is source
    chosen = select(source, ["blue"], {"user": "Nora"}, ["ChatGPT"])
    for _ in range(2):  # it can be read again
        lines = list(chosen.read())
        assert [(line.session, line.speaker, line.role) for line in lines] == [
            ("blue", "Nora", "user"),
            ("blue", "ChatGPT", "assistant"),
        ]
    assert (chosen.line_count, select(source, [], {}).line_count) == (2, 0)
    assert {line.key for line in chosen.read()} < {line.key for line in source.read()}  # names are no part of them


def test_an_import_that_was_stopped_is_completed_by_another(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "BATCH_LINES", 1)
    source = select(importing.check_file(file), None, {"user": "Nora"})
    store = SQLiteStore(tmp_path / "banks")
    memory = Memory("kites", store, HashEmbedder(8), Default())
    with pytest.raises(InterruptedError):
        importing.import_lines(memory, source, lambda number: (_ for _ in ()).throw(InterruptedError))
    assert [(session.id, session.title) for session in memory.sessions()] == [("red", "red")]
    assert importing.import_lines(memory, source)["added"] == 2
    assert importing.import_lines(memory, source)["added"] == 0
    assert {line.speaker for line in memory.lines()} == {"Nora", "ChatGPT"}
    store.close()

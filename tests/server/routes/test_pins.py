"""Pins over HTTP."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder


def test_a_line_is_pinned_listed_and_unpinned(tmp_path: Path) -> None:
    client = TestClient(
        create_app(Services(SQLiteStore(tmp_path), HashEmbedder(64), None, Default())), "http://127.0.0.1"
    )
    api = "/api/v1/banks/alice"
    client.post(f"{api}/lines", json={"text": "I am allergic to nuts."})
    assert client.put(f"{api}/pins/1").json()["items"][0]["text"] == "I am allergic to nuts."
    assert [line["seq"] for line in client.get(f"{api}/pins").json()["items"]] == [1]
    assert client.put(f"{api}/pins/2").status_code == 404
    assert client.put(f"{api}/pins/0").status_code == 404
    assert client.delete(f"{api}/pins/1").json() == {"items": []}
    assert client.get("/api/v1/banks/bob/pins").status_code == 404


def test_a_line_that_is_corrected_or_edited_stays_pinned(tmp_path: Path) -> None:
    client = TestClient(
        create_app(Services(SQLiteStore(tmp_path), HashEmbedder(64), None, Default())), "http://127.0.0.1"
    )
    api = "/api/v1/banks/alice"
    client.post(f"{api}/lines", json={"text": "I am allergic to nuts.", "session": "s"})
    client.post(f"{api}/lines", json={"text": "And to cats.", "session": "s"})
    client.put(f"{api}/pins/1")
    assert client.patch(f"{api}/lines/1", json={"text": "I am allergic to bees."}).json()["seq"] == 3
    assert [line["text"] for line in client.get(f"{api}/pins").json()["items"]] == ["I am allergic to bees."]
    client.patch(f"{api}/lines/2", json={"text": "And to dogs."})
    assert len(client.get(f"{api}/pins").json()["items"]) == 1
    assert client.post(f"{api}/chat/s/edit", json={"seq": 3, "text": "I am allergic to wasps."}).status_code == 200
    assert [line["text"] for line in client.get(f"{api}/pins").json()["items"]] == ["I am allergic to wasps."]

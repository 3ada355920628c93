"""Lines over HTTP."""

from pathlib import Path

from fastapi.testclient import TestClient

from everthread.models.fakes import HashEmbedder
from everthread.recipes.default import Default
from everthread.server.app import create
from everthread.server.engine import Engine
from everthread.stores.sqlite import SQLiteStore


def test_a_line_is_kept_and_read(tmp_path: Path) -> None:
    client = TestClient(create(Engine(SQLiteStore(tmp_path), HashEmbedder(64), None, Default())))
    kept = client.post("/api/v1/banks/alice%2Fnemo/lines", json={"text": "My sister Mia moved to Lisbon."})
    assert kept.status_code == 201, kept.text
    assert client.get("/api/v1/banks/alice%2Fnemo/lines/1").json() == kept.json()
    assert client.get("/api/v1/banks/bob/lines/1").json()["type"] == "urn:everthread:not-found"
    assert client.get("/api/v1/banks/alice/nemo/lines/1").status_code == 404

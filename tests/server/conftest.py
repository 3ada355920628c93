"""The app over a real store in a temporary folder, embedded by spelling alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from everthread.models.fakes import HashEmbedder
from everthread.recipes.default import Default
from everthread.server.app import create
from everthread.server.engine import Engine
from everthread.stores.sqlite import SQLiteStore


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    store = SQLiteStore(tmp_path / "banks")
    yield Engine(store, HashEmbedder(64), None, Default())
    store.close()


@pytest.fixture
def api(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A client of the app, whose characters are this test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    app = create(engine)
    with TestClient(app, base_url="http://127.0.0.1:7391/api/v1/") as client:
        yield client
    app.state.once.close()


@pytest.fixture
def told(api: TestClient) -> TestClient:
    """The same, with two conversations in the bank `alice/nemo`."""
    lines = [
        {"text": "My sister Mia moved to Lisbon.", "session": "one", "said_at": "2024-05-06T20:00:00+02:00"},
        {"text": "How exciting!", "role": "assistant", "session": "one", "said_at": "2024-05-06T20:01:00+02:00"},
        {"text": "She has a dog called Rex.", "session": "one", "said_at": "2024-05-06T20:02:00+02:00"},
        {"text": "I planted ferns today.", "session": "two", "said_at": "2024-07-01T09:00:00+00:00"},
    ]
    assert api.post("banks/alice%2Fnemo/lines/batch", json={"lines": lines}).status_code == 201
    return api

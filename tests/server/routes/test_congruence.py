"""Both stores give the same responses to the same requests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

BANK = "banks/alice%2Fnemo"
AT = "2024-05-06T20:0{}:00+02:00"
VOLATILE = ("retracted_at", "forgotten_at", "valid_from", "valid_to", "bytes")  # differ between runs

REQUESTS: list[tuple[str, str, Any]] = [
    ("PUT", BANK, None),
    (
        "POST",
        f"{BANK}/lines/batch",
        {
            "lines": [
                {"text": "My sister Mia moved to Porto.", "session": "one", "said_at": AT.format(0)},
                {"text": "How nice!", "role": "assistant", "session": "one", "said_at": AT.format(1), "parent": 1},
                {"text": "She has a dog.", "session": "one", "said_at": AT.format(2), "key": "k"},
                {"text": "Ferns need shade.", "session": "two", "said_at": AT.format(3)},
            ]
        },
    ),
    ("POST", f"{BANK}/lines", {"text": "Twice.", "session": "two", "said_at": AT.format(4)}),
    ("POST", f"{BANK}/lines", {"text": "Twice.", "session": "two", "said_at": AT.format(4)}),
    ("PATCH", f"{BANK}/lines/1", {"text": "My sister Mia moved to Lisbon."}),
    ("PATCH", f"{BANK}/lines/1", {"text": "Again."}),
    ("GET", f"{BANK}/lines?around=2", None),
    ("GET", f"{BANK}/lines?retracted=true&limit=2", None),
    ("POST", f"{BANK}/recall", {"query": "Where does Mia live?"}),
    ("POST", f"{BANK}/context", {"query": "Where does Mia live?", "gate": False}),
    ("POST", f"{BANK}/search", {"text": "mia moved"}),
    ("POST", f"{BANK}/search", {"text": "e", "limit": 2}),
    ("GET", f"{BANK}/sessions", None),
    ("PATCH", f"{BANK}/sessions/two", {"title": "Ferns", "metadata": {"source": "mail"}}),
    ("PATCH", f"{BANK}/sessions/two", {"title": ""}),
    ("PATCH", f"{BANK}/sessions/three", {"title": "None"}),
    ("GET", f"{BANK}/timeline", None),
    ("PUT", f"{BANK}/notes", {"text": "She has a sister."}),
    ("PUT", f"{BANK}/notes", {"text": "She has a sister, Mia."}),
    ("GET", f"{BANK}/units", None),
    ("PATCH", f"{BANK}/units/note/2", {"text": "She has two sisters."}),
    ("DELETE", f"{BANK}/units/note/2", None),
    ("GET", f"{BANK}/units?current=true", None),
    ("DELETE", f"{BANK}/units/note/9", None),
    ("PUT", f"{BANK}/sessions/two/buffer", {"spans": [[1, 3]]}),
    ("PATCH", f"{BANK}/settings", {"remember": "always"}),
    ("PATCH", f"{BANK}/character", {"location": "On deck"}),
    ("POST", f"{BANK}/lines/4/retract", None),
    ("DELETE", f"{BANK}/lines/7", None),
    ("DELETE", f"{BANK}/lines/7", None),
    ("GET", f"{BANK}/export?retracted=true", None),
    ("GET", BANK, None),
    ("DELETE", f"{BANK}/sessions/two", None),
    ("GET", "banks", None),
    ("DELETE", BANK, None),
    ("GET", BANK, None),
    ("POST", "banks/demo/sample", {"language": "zh"}),
    ("DELETE", "banks/demo/lines/12", None),
    ("POST", "banks/demo/sample", {"language": "zh"}),
    ("GET", "banks/demo/lines/12", None),
    ("GET", "banks", None),
]


@pytest.fixture
def stores(any_database: str, tmp_path: Path) -> Iterator[list[Store]]:
    stores: list[Store] = [SQLiteStore(tmp_path), PostgresStore(any_database)]
    yield stores
    for store in stores:
        store.close()


def without_volatile(value: Any) -> Any:
    """Return a response without values that differ between runs, except whether they are null."""
    if isinstance(value, dict):
        return {name: part is None if name in VOLATILE else without_volatile(part) for name, part in value.items()}
    return [without_volatile(part) for part in value] if isinstance(value, list) else value


def approximate(value: Any) -> Any:
    """Return a response whose numbers equal those that differ by a rounding error."""
    if isinstance(value, dict):
        return {name: approximate(part) for name, part in value.items()}
    if isinstance(value, list):
        return [approximate(part) for part in value]
    return pytest.approx(value, abs=2e-3) if isinstance(value, float) else value


def test_both_stores_give_the_same_responses(
    stores: list[Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    answers: list[list[Any]] = []
    for store in stores:
        app = create_app(Services(store, HashEmbedder(64), None, Default()))
        with TestClient(app, base_url="http://127.0.0.1:7391/api/v1/") as client:
            responses = [client.request(method, path, json=body) for method, path, body in REQUESTS]
        app.state.idempotency.close()
        answers.append([(response.status_code, without_volatile(comparable(response))) for response in responses])
    for request, one, other in zip(REQUESTS, *answers, strict=True):
        assert one[0] == other[0], request
        assert approximate(one[1]) == other[1], request


def comparable(answer: Any) -> Any:
    """Return the parts of a response that are compared."""
    if answer.headers["content-type"].startswith("application/x-ndjson"):
        return len(answer.text.splitlines())
    return answer.json()

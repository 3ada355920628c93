"""Sessions over HTTP."""

import pytest
from fastapi.testclient import TestClient

from everthread.server.services import Services
from everthread.types import Filter, NewUnit
from server.problem import kind

SESSIONS = "banks/alice%2Fnemo/sessions"


def test_sessions_are_listed_newest_first_with_their_opening(told: TestClient, services: Services) -> None:
    memory = services.get_memory("alice/nemo")
    last = next(memory.lines(Filter(session="two")))
    memory.add_unit(NewUnit("summary", "Ferns.", 4, 4, last.said_at, metadata={"session": "two"}))
    two, one = told.get(SESSIONS).json()["items"]
    assert (two["id"], two["opening"], two["summary"]) == ("two", "I planted ferns today.", "Ferns.")
    assert (one["id"], one["lines"], one["first_seq"], one["last_seq"], one["summary"]) == ("one", 3, 1, 3, None)
    assert told.get(f"{SESSIONS}/one").json() == one
    first = told.get(SESSIONS, params={"limit": 1}).json()
    assert told.get(SESSIONS, params={"after": first["next"]}).json() == {"items": [one], "next": None}
    assert kind(told.get(SESSIONS, params={"after": "Wzdd"}), 422) == "bad-query"


def test_a_long_opening_is_cut(api: TestClient) -> None:
    api.post("banks/bob/lines", json={"text": "fern " * 100, "session": "a/b"})
    assert len(api.get("banks/bob/sessions/a%2Fb").json()["opening"]) == 120


def test_a_forgotten_session_is_gone(told: TestClient) -> None:
    assert told.delete(f"{SESSIONS}/one").json()["lines"] == 3
    assert [item["id"] for item in told.get(SESSIONS).json()["items"]] == ["two"]
    for answer in (told.delete(f"{SESSIONS}/one"), told.get(f"{SESSIONS}/one"), told.get(f"{SESSIONS}/one/buffer")):
        assert kind(answer, 404) == "not-found"


def test_the_relevance_buffer_is_shown_and_set(told: TestClient) -> None:
    assert told.get(f"{SESSIONS}/two/buffer").json() == {"items": []}
    (passage,) = told.put(f"{SESSIONS}/two/buffer", json={"spans": [[1, 3]]}).json()["items"]
    assert (passage["first_seq"], passage["last_seq"]) == (1, 3)
    assert [line["seq"] for line in passage["lines"]] == [1, 2, 3]
    assert told.get(f"{SESSIONS}/two/buffer").json()["items"] == [passage]


@pytest.mark.parametrize(
    ("spans", "problem"), [([[3, 1]], "bad-query"), ([[1, 500]], "bad-query"), ([[0, 1]], "invalid-request")]
)
def test_invalid_spans_are_rejected(told: TestClient, spans: list[list[int]], problem: str) -> None:
    assert kind(told.put(f"{SESSIONS}/two/buffer", json={"spans": spans}), 422) == problem
    assert kind(told.put(f"{SESSIONS}/two/buffer", json={"spans": [[1, 1]] * 11}), 422) == "invalid-request"

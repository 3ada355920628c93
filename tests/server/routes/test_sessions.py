"""Sessions over HTTP."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from everthread.server.services import Services
from everthread.types import Filter, NewUnit
from server.problem import kind

SESSIONS = "banks/alice%2Fnemo/sessions"


def test_sessions_are_listed_newest_first_with_their_opening(api_with_lines: TestClient, services: Services) -> None:
    memory = services.get_memory("alice/nemo")
    last = next(memory.lines(Filter(session="two")))
    memory.add_unit(NewUnit("summary", "Ferns.", 4, 4, last.said_at, metadata={"session": "two"}))
    two, one = api_with_lines.get(SESSIONS).json()["items"]
    assert (two["id"], two["opening"], two["summary"]) == ("two", "I planted ferns today.", "Ferns.")
    assert (one["id"], one["lines"], one["first_seq"], one["last_seq"], one["summary"]) == ("one", 3, 1, 3, None)
    assert api_with_lines.get(f"{SESSIONS}/one").json() == one
    first = api_with_lines.get(SESSIONS, params={"limit": 1}).json()
    assert api_with_lines.get(SESSIONS, params={"after": first["next"]}).json() == {"items": [one], "next": None}
    assert kind(api_with_lines.get(SESSIONS, params={"after": "Wzdd"}), 422) == "bad-query"


def test_sessions_are_filtered_by_tag_archive_and_time_and_pinned_ones_come_first(api_with_lines: TestClient) -> None:
    def listed(**params: Any) -> list[str]:
        return [item["id"] for item in api_with_lines.get(SESSIONS, params=params).json()["items"]]

    changes = {"metadata": {"pinned": True, "archived": True, "tags": ["family", "sea"]}}
    assert api_with_lines.patch(f"{SESSIONS}/one", json=changes).status_code == 200
    api_with_lines.patch(f"{SESSIONS}/two", json={"metadata": {"tags": "sea", "pinned": "yes"}})
    assert listed() == ["one", "two"]
    first = api_with_lines.get(SESSIONS, params={"limit": 1}).json()
    assert listed(after=first["next"]) == ["two"]
    assert (listed(archived=True), listed(archived=False), listed(tag="sea")) == (["one"], ["two"], ["one"])
    assert (listed(since="2024-06-01T00:00:00Z"), listed(until="2024-06-01T00:00:00Z")) == (["two"], ["one"])
    assert kind(api_with_lines.get(SESSIONS, params={"since": "2024-06-01"}), 422) == "invalid-request"


def test_a_long_opening_is_cut(api: TestClient) -> None:
    api.post("banks/bob/lines", json={"text": "fern " * 100, "session": "a/b"})
    assert len(api.get("banks/bob/sessions/a%2Fb").json()["opening"]) == 120


def test_a_session_is_titled(api_with_lines: TestClient) -> None:
    before = api_with_lines.get(f"{SESSIONS}/one").json()
    changes = {"title": "Mia", "metadata": {"source": "mail"}}
    assert before == {**before, "title": None, "metadata": {}}
    assert api_with_lines.patch(f"{SESSIONS}/one", json=changes).json() == {**before, **changes}
    assert api_with_lines.patch(f"{SESSIONS}/one", json={"title": None}).json() == {**before, **changes}
    assert api_with_lines.patch(f"{SESSIONS}/one", json={"title": ""}).json()["title"] is None
    assert kind(api_with_lines.patch(f"{SESSIONS}/three", json=changes), 404) == "not-found"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"title": "t" * 1001}, "bad-input"),
        ({"metadata": {"n": [1] * 100_000}}, "bad-input"),
        ({"metadata": [1]}, "invalid-request"),
        ({"name": "Mia"}, "invalid-request"),
    ],
)
def test_invalid_titles_are_rejected(api_with_lines: TestClient, changes: dict[str, Any], problem: str) -> None:
    assert kind(api_with_lines.patch(f"{SESSIONS}/one", json=changes), 422) == problem
    assert api_with_lines.get(f"{SESSIONS}/one").json()["title"] is None


def test_a_forgotten_session_is_gone(api_with_lines: TestClient) -> None:
    assert api_with_lines.delete(f"{SESSIONS}/one").json()["lines"] == 3
    assert [item["id"] for item in api_with_lines.get(SESSIONS).json()["items"]] == ["two"]
    for answer in (
        api_with_lines.delete(f"{SESSIONS}/one"),
        api_with_lines.get(f"{SESSIONS}/one"),
        api_with_lines.get(f"{SESSIONS}/one/buffer"),
    ):
        assert kind(answer, 404) == "not-found"


def test_the_relevance_buffer_is_shown_and_set(api_with_lines: TestClient) -> None:
    assert api_with_lines.get(f"{SESSIONS}/two/buffer").json() == {"items": []}
    (passage,) = api_with_lines.put(f"{SESSIONS}/two/buffer", json={"spans": [[1, 3]]}).json()["items"]
    assert (passage["first_seq"], passage["last_seq"]) == (1, 3)
    assert [line["seq"] for line in passage["lines"]] == [1, 2, 3]
    assert api_with_lines.get(f"{SESSIONS}/two/buffer").json()["items"] == [passage]


@pytest.mark.parametrize(
    ("spans", "problem"), [([[3, 1]], "bad-query"), ([[1, 500]], "bad-query"), ([[0, 1]], "invalid-request")]
)
def test_invalid_spans_are_rejected(api_with_lines: TestClient, spans: list[list[int]], problem: str) -> None:
    assert kind(api_with_lines.put(f"{SESSIONS}/two/buffer", json={"spans": spans}), 422) == problem
    assert kind(api_with_lines.put(f"{SESSIONS}/two/buffer", json={"spans": [[1, 1]] * 11}), 422) == "invalid-request"

"""Bodies are read after the key was checked, and parsed without blocking other requests."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hardship.served import serve_folder
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from everthread.server import server_db
from everthread.server.keys import KeyStore
from everthread.server.recall_schemas import RecallBody
from everthread.server.request_body import MAX_INLINE_JSON_BYTES, BodyRequest, YieldingDecoder
from everthread.server.schemas import MAX_METADATA_VALUES, LineBody, RequestBody, has_at_most
from everthread.server.services import Services
from server.problem import kind

PATIENCE = 60.0  # seconds; a busy machine is slow
JSON = {"Content-Type": "application/json"}
BROKEN = b'{"text": [[['
NEED_NO_KEY = ("login", "logout")
LISTS = b"[" + b",".join([b"[]"] * 200_000) + b"]"


# ------------------------------------------------------------------- keys come first


@pytest.fixture
def restricted(api: TestClient, services: Services) -> Iterator[tuple[TestClient, KeyStore]]:
    """Return a client of a server that requires keys, and its keys."""
    api.app.state.authenticator.key_required = True  # type: ignore[attr-defined]
    keys = KeyStore(server_db.get_path(services.store))
    yield api, keys
    keys.close()


def operations(api: TestClient) -> Iterator[tuple[str, str, str]]:
    """Yield method, path and Content-Type of every operation with a body that needs a key."""
    for path, methods in api.get("openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation and path.removeprefix("/api/v1/") not in NEED_NO_KEY:
                rest = re.sub(r"\{(seq|id)\}", "1", path.removeprefix("/api/v1/")).replace("{kind}", "note")
                yield method, re.sub(r"\{\w+\}", "one", rest), next(iter(operation["requestBody"]["content"]))


def test_the_key_is_checked_before_the_body(restricted: tuple[TestClient, KeyStore]) -> None:
    api, keys = restricted
    other = {"Authorization": f"Bearer {keys.create('other', ['other'], ['read'])}"}
    with_body = list(operations(api))
    assert len(with_body) > 15
    for method, path, media_type in with_body:
        headers = {"Content-Type": media_type}
        answer = api.request(method, path, content=BROKEN, headers=headers)
        assert kind(answer, 401) == "unauthorized", (method, path)
        answer = api.request(method, path, content=BROKEN, headers={**headers, **other})
        assert kind(answer, 403) == "forbidden", (method, path)


@pytest.mark.parametrize("expects", [b"", b"Expect: 100-continue\r\n"])
def test_without_a_key_a_body_is_rejected_before_it_is_sent(tmp_path: Path, expects: bytes) -> None:
    with (
        serve_folder(tmp_path, key_required=True) as running,
        socket.create_connection(("127.0.0.1", running.port), PATIENCE) as raw,
    ):
        raw.sendall(
            b"POST /api/v1/banks/alice/lines HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: application/json\r\nContent-Length: 3900000\r\n" + expects + b"\r\n"
        )
        assert raw.recv(65_536).startswith(b"HTTP/1.1 401 ")


# ------------------------------------------------------------------ others are served


def test_the_event_loop_is_not_blocked_while_a_large_body_is_parsed() -> None:
    async def count_turns() -> int:
        """Return how often the event loop ran while a body was parsed."""
        parsing, turns = asyncio.create_task(_request(LISTS).json()), 0
        while not parsing.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert len(parsing.result()) == 200_000
        return turns

    assert asyncio.run(count_turns()) >= 3


def _request(body: bytes) -> BodyRequest:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return BodyRequest({"type": "http", "headers": []}, receive)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(ANY, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_a_large_body_is_parsed_like_a_small_one(value: Any, encoding: str) -> None:
    body = json.dumps(value, ensure_ascii=False).encode(encoding, "surrogatepass")
    assert YieldingDecoder().parse(body) == json.loads(body)


@pytest.mark.parametrize(
    "broken", [b'{"text": ', b'{"text": "\xff"}', b"[" * 10, b"x", b'{"text": 1,}', b"[" * 100_000]
)
def test_a_large_invalid_body_is_rejected_like_a_small_one(api: TestClient, broken: bytes) -> None:
    small = api.post("banks/alice/lines", content=broken, headers=JSON)
    large = api.post("banks/alice/lines", content=b" " * MAX_INLINE_JSON_BYTES + broken, headers=JSON)
    assert small.status_code == large.status_code
    assert small.status_code in (400, 422)
    assert not api.get("banks").json()["items"]


def test_a_large_body_is_stored_completely(api: TestClient) -> None:
    text = "Hello, „there“. " * 10_000
    assert api.post("banks/alice/lines", json={"text": text}).json()["text"] == text


# ------------------------------------------------------- a body of nonsense is cheap


@pytest.mark.parametrize(
    ("body", "given"),
    [
        (LineBody, {"text": "x", **{f"field {number}": 1 for number in range(1000)}}),
        (RecallBody, {"query": "x", "exclude": [[]] * 1000}),
        (RecallBody, {"query": "x", "where": {"speaker": [1] * 1000}}),
        (RecallBody, {"query": "x", "where": {"role": [1] * 1000}}),
    ],
)
def test_only_the_first_of_many_errors_is_reported(body: type[RequestBody], given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        body.model_validate(given)
    assert caught.value.error_count() <= 2


def test_an_unknown_field_is_named_even_among_many(api: TestClient) -> None:
    answer = api.post("banks/alice/lines", json={"text": "x", **{f"field{number}": 1 for number in range(100)}})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("body.field0: ")


def test_metadata_with_too_many_values_is_rejected(api: TestClient) -> None:
    many: dict[str, Any] = {"a": [[]] * MAX_METADATA_VALUES}
    answer = api.post("banks/alice/lines", json={"text": "x", "metadata": many})
    assert kind(answer, 422) == "bad-line"
    assert "100,000 values" in answer.json()["detail"]
    api.put("banks/alice")
    answer = api.post("banks/alice/recall", json={"query": "x", "where": {"metadata": many}})
    assert kind(answer, 422) == "bad-query"


@given(ANY, st.integers(1, 100))
def test_nested_json_values_are_counted(value: Any, limit: int) -> None:
    def count(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return 1 + sum(map(count, inner))

    assert has_at_most(limit, value) == (count(value) <= limit)

"""Requests that are rejected before they reach the app, and the security headers of every response."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from everthread.common.json_logs import JSONFormatter
from everthread.recipes.default import Default
from everthread.server import logs, request_guard, server_db
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.problems import Problem
from everthread.server.rate_limit import MAX_CALLERS, RateLimiter, client_address
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

LINE = "/api/v1/banks/alice/lines"
SAID = {"text": "My sister Mia moved to Lisbon."}


def app(folder: Path, **settings: Any) -> FastAPI:
    services = Services(SQLiteStore(folder), HashEmbedder(64), None, Default())
    return create_app(services, Settings(**settings), closes=True)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(
        app(tmp_path, allowed_hosts=("memory.example.org",), max_body_bytes=2000), base_url="http://127.0.0.1:7391"
    ) as client:
        yield client


def kind(answer: Any) -> str:
    """Return the kind of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["detail"]
    return str(document["type"].removeprefix("urn:everthread:"))


# ---------------------------------------------------------------------- host, origin


@pytest.mark.parametrize("host", ["127.0.0.1:7391", "localhost", "LOCALHOST:80", "[::1]:7391", "memory.example.org"])
def test_names_of_this_machine_and_configured_names_are_accepted(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7391", "192.0.2.1", "0.0.0.0", "[::2]"]
)
def test_a_name_that_was_rebound_to_this_machine_is_rejected(client: TestClient, host: str) -> None:
    answer = client.get("/healthz", headers={"Host": host})
    assert (answer.status_code, kind(answer)) == (421, "wrong-host")


@pytest.mark.parametrize("host", ["", "a b", "localhost:x", "user@localhost", "localhost/", "localhost:7391:1", "ü"])
def test_an_invalid_host_is_rejected(client: TestClient, host: str) -> None:
    answer = client.get("/healthz", headers={b"Host": host.encode("latin-1")})
    assert (answer.status_code, kind(answer)) == (400, "bad-host")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:7391", 201),
        ("https://memory.example.org", 201),
        ("https://memory.example.org:443", 201),
        ("https://memory.example.org:3000", 403),
        ("http://localhost:7391", 403),  # the same machine, but another page
        ("http://127.0.0.1", 403),
        ("http://127.0.0.1:3000", 403),
        ("https://evil.example", 403),
        ("http://127.0.0.1:7391.evil.example", 403),
        ("file://127.0.0.1:7391", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_only_requests_from_the_own_origin_are_accepted(client: TestClient, origin: str, status: int) -> None:
    answer = client.post(LINE, json=SAID, headers={"Origin": origin})
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers
    if status == 403:
        assert kind(answer) == "foreign-origin"
        assert client.options(LINE, headers={"Origin": origin}).status_code == 403
        assert client.get(LINE + "/1", headers={"Origin": origin}).status_code == 403


def test_an_origin_with_the_default_port_equals_one_without(client: TestClient) -> None:
    headers = {"Host": "localhost", "Origin": "http://localhost:80"}
    assert client.post(LINE, json=SAID, headers=headers).status_code == 201


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_may_link_to_the_page_and_do_nothing_else(client: TestClient, site: str) -> None:
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/healthz", headers=link).status_code == 200
    for method, path, headers in (
        ("GET", LINE + "/1", link),
        ("POST", "/healthz", link),
        ("GET", "/healthz", {**link, "Sec-Fetch-Dest": "iframe"}),
        ("GET", "/healthz", {**link, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}),
    ):
        answer = client.request(method, path, headers=headers)
        assert (answer.status_code, kind(answer)) == (403, "foreign-origin")
    for own in ("same-origin", "none"):
        assert client.post(LINE, json=SAID, headers={"Sec-Fetch-Site": own}).status_code == 201


# ------------------------------------------------------------------------- bodies


@pytest.mark.parametrize("type_", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x"])
def test_content_types_that_a_form_can_send_are_rejected(client: TestClient, type_: str) -> None:
    answer = client.post(LINE, content=json.dumps(SAID), headers={"Content-Type": type_})
    assert (answer.status_code, kind(answer)) == (415, "wrong-type")
    right = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert client.post(LINE, content=json.dumps(SAID), headers=right).status_code == 201


def test_uploads_and_text_messages_have_their_own_types_and_limits(client: TestClient) -> None:
    card, line = b"x" * 3000, {"Content-Type": "application/x-ndjson"}
    statuses = {  # the guard alone is tested here: the routes may reject these bodies
        client.post("/api/v1/characters", content=card, headers={"Content-Type": "image/png"}).status_code,
        client.post("/api/v1/banks/a/import", content=card, headers=line).status_code,
        client.post("/sms", content=card, headers={"Content-Type": "application/x-www-form-urlencoded"}).status_code,
    }
    assert not statuses & {413, 415}
    refused = client.post("/sms", content=b"x" * 64_001, headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert refused.status_code == 413


def test_a_body_that_is_too_large_is_not_read(client: TestClient) -> None:
    answer = client.post(LINE, json={"text": "x" * 2000})
    assert (answer.status_code, kind(answer)) == (413, "too-large")
    assert "2,000" in answer.json()["detail"]


def test_a_body_of_unknown_length_is_read_up_to_the_limit(client: TestClient) -> None:
    read = []

    def parts() -> Iterator[bytes]:
        for number in range(100):
            read.append(number)
            yield b"x" * 1000

    answer = client.post(LINE, content=parts(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, kind(answer)) == (413, "too-large")


@pytest.mark.parametrize("length", ["-1", "1e3", "many", "٣"])
def test_an_invalid_content_length_is_rejected(length: str) -> None:
    guard = request_guard.RequestGuard(None, Settings(), None)  # type: ignore[arg-type]
    scope = {"method": "POST", "path": "/", "headers": [(b"content-length", length.encode("utf-8"))]}
    with pytest.raises(Problem, match="Content-Length"):
        guard._check_body(Headers(scope=scope), scope)


# --------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/.%2E/app.py",
        "/api/v1/banks/%2e%2e/lines/1",
        "/static/app%00.js",
        "/api/v1/banks/alice%00nemo/lines/1",
        "/static/%ff",
        "/%c0%ae%c0%ae/etc/passwd",
        "http://127.0.0.1/static/x",
        "*",
    ],
)
def test_malicious_paths_are_rejected(path: str) -> None:
    with pytest.raises(Problem) as caught:
        request_guard.check_path({"raw_path": path.encode(), "path": "/", "query_string": b""})
    assert caught.value.status == 400


def test_a_path_beyond_the_maximum_length_is_rejected() -> None:
    request_guard.check_path(
        {"raw_path": b"/" + b"a" * (request_guard.MAX_TARGET_BYTES - 1), "path": "/", "query_string": b""}
    )
    for path, query in (
        (b"/" + b"a" * request_guard.MAX_TARGET_BYTES, b""),
        (b"/", b"q" * request_guard.MAX_TARGET_BYTES),
    ):
        with pytest.raises(Problem) as caught:
            request_guard.check_path({"raw_path": path, "path": "/", "query_string": query})
        assert caught.value.status == 414


@given(st.text(min_size=1, max_size=200).filter(lambda name: name not in (".", "..") and "\x00" not in name))
def test_any_other_name_is_accepted_in_a_path(name: str) -> None:
    try:
        escaped = "".join(f"%{byte:02X}" for byte in name.encode())
    except UnicodeEncodeError:
        return
    request_guard.check_path({"raw_path": f"/api/v1/banks/{escaped}".encode(), "path": "/", "query_string": b""})


# --------------------------------------------------------------------------- rates


def test_too_many_requests_are_rejected_with_a_retry_time(tmp_path: Path) -> None:
    with (
        TestClient(app(tmp_path, requests_per_minute=5)) as client,
        TestClient(client.app, client=("203.0.113.9", 1)) as other,
    ):
        assert [client.get("/healthz").status_code for _ in range(6)] == [200] * 5 + [429]
        answer = client.get("/healthz")
        assert kind(answer) == "too-many-requests"
        assert 1 <= int(answer.headers["retry-after"]) <= 12
        assert other.get("/healthz").status_code == 200
        keys = KeyStore(server_db.get_path(SQLiteStore(tmp_path)))
        key = {"Authorization": f"Bearer {keys.create('phone')}"}
        assert [client.get("/healthz", headers=key).status_code for _ in range(6)] == [200] * 5 + [429]
        assert client.get("/healthz", headers={"Authorization": "Bearer et_x"}).status_code == 429, "the key is unknown"
        keys.close()


@given(st.lists(st.floats(0, 30), max_size=200), st.integers(1, 120))
def test_at_most_two_minutes_quota_is_accepted_in_any_minute(pauses: list[float], per_minute: int) -> None:
    limiter, now, accepted = RateLimiter(per_minute), 0.0, []
    for pause in pauses:
        now += pause
        wait = limiter.acquire("a", now)
        assert 0 <= wait <= 61
        if not wait:
            accepted.append(now)
    for start in accepted:
        assert sum(start <= time < start + 60 for time in accepted) <= 2 * per_minute


def test_a_request_is_accepted_after_the_retry_time() -> None:
    limiter = RateLimiter(2)
    assert [limiter.acquire("a", 0.0) for _ in range(3)] == [0, 0, 30]
    assert limiter.acquire("a", 30.0) == 0
    assert limiter.acquire("a", 30.0) == 30


def test_the_number_of_remembered_callers_is_limited() -> None:
    limiter = RateLimiter(1)
    for number in range(MAX_CALLERS + 100):
        limiter.acquire(str(number), 0.0)
    assert len(limiter._buckets) == MAX_CALLERS


def test_all_addresses_of_an_ipv6_subscriber_count_as_one_caller() -> None:
    one, two, three = ({"client": (f"2001:db8:0:{net}::{host:x}", 1)} for net, host in ((1, 1), (1, 999), (2, 1)))
    assert client_address(one) == client_address(two) != client_address(three)
    assert client_address({"client": ("192.0.2.1", 1)}) == "192.0.2.1"
    assert client_address({"client": None}) == ""


# ------------------------------------------------------------------------- answers


def test_every_response_forbids_foreign_scripts(client: TestClient) -> None:
    def broken() -> None:
        raise RuntimeError(SAID["text"])

    cast("FastAPI", client.app).add_api_route("/broken", broken)
    quiet = TestClient(client.app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    answers = {
        201: client.post(LINE, json=SAID),
        404: client.get("/nowhere"),
        405: client.delete("/healthz"),
        413: client.post(LINE, json={"text": "x" * 2000}),
        421: client.get("/", headers={"Host": "evil.example"}),
        422: client.post(LINE, json={"nonsense": 1}),
        500: quiet.get("/broken"),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        if status >= 400:
            assert kind(answer)
    assert SAID["text"] not in answers[500].text


# --------------------------------------------------------------------- metrics, logs


def test_requests_are_counted_and_logged_without_texts_and_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "everthread.access")
    with TestClient(app(tmp_path), raise_server_exceptions=False) as client:
        client.post("/api/v1/banks/alice%2Fnemo/lines", json=SAID)
        client.get("/api/v1/banks/alice%2Fnemo/lines/1?q=secret")
        client.post("/api/v1/banks/alice%2Fnemo/recall", json={"query": "Where is Mia?"})
        client.get("/no/such/path")
        client.request("BREW", "/no/such/path")
        counted = client.get("/metrics").text
    assert 'everthread_requests_total{method="POST",route="/api/v1/banks/{bank}/lines",status="201"} 1.0' in counted
    assert 'everthread_requests_total{method="GET",route="-",status="404"} 1.0' in counted
    assert 'everthread_requests_total{method="-",route="-",status="404"} 1.0' in counted
    assert 'everthread_request_seconds_count{method="GET",route="/api/v1/banks/{bank}/lines/{seq}"} 1.0' in counted
    assert "everthread_streams 0.0" in counted
    assert "everthread_lines_kept_total 1.0" in counted
    assert "everthread_recalls_total 1.0" in counted
    logged = [json.loads(JSONFormatter().format(record)) for record in caplog.records]
    assert {
        "route": "/api/v1/banks/{bank}/lines",
        "status": 201,
        "bank": logs.hash_bank_id("alice/nemo"),
    }.items() <= logged[0].items()
    for word in ("alice", "nemo", "Mia", "Lisbon", "secret", "such"):
        assert word not in json.dumps(logged)
        assert word not in counted


def test_an_unexpected_error_is_logged_by_its_position_without_its_message() -> None:
    try:
        raise ValueError(SAID["text"])
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "f", 1, "failed", None, (type(error), error, error.__traceback__)
        )
    entry = JSONFormatter().format(record)
    assert json.loads(entry)["error"] == "ValueError"
    assert "test_request_guard.py" in entry
    assert "Mia" not in entry


def test_the_server_describes_itself_and_reports_its_health(client: TestClient) -> None:
    about = client.get("/api/v1/about").json()
    assert about["recipe"] == "default"
    assert {"name", "about"} == set(about["recipes"][0])
    assert (about["model"], about["key_required"]) == (None, False)
    assert client.get("/api/v1/models").json() == {"items": [], "default": None}
    assert client.get("/healthz").text == "ok\n"
    client.post(LINE, json=SAID)
    assert client.get("/readyz").text == "ready\n"
    assert client.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")


def test_an_unreadable_store_is_not_ready(tmp_path: Path) -> None:
    with TestClient(app(tmp_path)) as client:
        (tmp_path / server_db.FILE_NAME).write_bytes(b"no database" * 100)
        answer = client.get("/readyz")
        assert (answer.status_code, kind(answer)) == (503, "store-unavailable")
        assert client.get("/healthz").status_code == 200

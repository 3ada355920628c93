"""Writes that are requested twice."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from everthread.server.app import create_app
from everthread.server.idempotency import MAX_REQUEST_S, RECORD_LIFETIME_S, SCHEMA, IdempotencyStore
from everthread.server.keys import KeyStore
from everthread.server.problems import Problem
from everthread.server.server_db import ServerFile, get_path
from everthread.server.services import Services
from server.problem import RAW, kind

LINES = "banks/alice%2Fnemo/lines"
KEY = {"Idempotency-Key": "one-and-only"}


def test_a_line_is_stored_once_per_key(api_with_lines: TestClient) -> None:
    first = api_with_lines.post(LINES, json={"text": "Once."}, headers=KEY)
    assert first.json() == api_with_lines.post(LINES, json={"text": "Once."}, headers=KEY).json()
    assert kind(api_with_lines.post(LINES, json={"text": "Twice."}, headers=KEY), 422) == "idempotency-conflict"
    assert (
        kind(api_with_lines.post(f"{LINES}/batch", json={"lines": [{"text": "a"}]}, headers=KEY), 422)
        == "idempotency-conflict"
    )
    assert len(api_with_lines.get(LINES).json()["items"]) == 5
    assert api_with_lines.post(LINES, json={"text": "Once."}, headers={"Idempotency-Key": "b"}).json()["seq"] == 6


@pytest.mark.parametrize("header", ["Authorization", "X-Api-Key"])
def test_each_key_of_ours_has_names_of_its_own(api: TestClient, services: Services, header: str) -> None:
    keys = KeyStore(get_path(services.store))
    for bank in ("ann", "ben"):
        secret = keys.create(bank, [bank])
        given = {header: f"Bearer {secret}" if header == "Authorization" else secret, **KEY}
        answers = [api.post(f"banks/{bank}/lines", json={"text": bank}, headers=given) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].json() == answers[1].json()
    keys.close()


def test_a_batch_and_a_correction_are_stored_once(api_with_lines: TestClient) -> None:
    body = {"lines": [{"text": "Same."}, {"text": "Same."}, {"text": "Own.", "key": "k"}]}
    answers = [api_with_lines.post(f"{LINES}/batch", json=body, headers=KEY).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert [line["seq"] for line in answers[0]["items"]] == [5, 6, 7]
    fixed = {"Idempotency-Key": "fixed"}
    answers = [api_with_lines.patch(f"{LINES}/5", json={"text": "Other."}, headers=fixed).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert api_with_lines.get("banks/alice%2Fnemo").json()["lines"] == 7


def test_a_line_is_stored_once_even_if_the_record_is_gone(
    api_with_lines: TestClient, services: Services, tmp_path: Path
) -> None:
    first = api_with_lines.post(LINES, json={"text": "Once."}, headers=KEY)
    app = create_app(services)
    app.state.idempotency = IdempotencyStore(ServerFile(tmp_path / "elsewhere.sqlite", SCHEMA))
    with TestClient(app, base_url="http://127.0.0.1:7391/api/v1/") as other:
        assert other.post(LINES, json={"text": "Once."}, headers=KEY).json() == first.json()
    app.state.idempotency.close()
    app.state.idempotency = IdempotencyStore(ServerFile(tmp_path / "third.sqlite", SCHEMA))
    with TestClient(app, base_url="http://127.0.0.1:7391/api/v1/") as other:
        assert kind(other.post(LINES, json={"text": "Twice."}, headers=KEY), 422) == "idempotency-conflict"
    app.state.idempotency.close()


def test_a_forgotten_line_is_not_stored_again_under_its_key(api_with_lines: TestClient) -> None:
    seq = api_with_lines.post(LINES, json={"text": "Once."}, headers=KEY).json()["seq"]
    api_with_lines.delete(f"{LINES}/{seq}")
    assert kind(api_with_lines.post(LINES, json={"text": "Once."}, headers=KEY), 404) == "not-found"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", f"{LINES}/1", None),
        ("DELETE", "banks/alice%2Fnemo/sessions/one", None),
        ("DELETE", "banks/alice%2Fnemo", None),
        ("POST", f"{LINES}/1/retract", None),
        ("PUT", "banks/alice%2Fnemo/notes", {"text": "She likes tea."}),
        ("PATCH", "banks/alice%2Fnemo/settings", {"remember": "always"}),
        ("PUT", "banks/alice%2Fnemo/character", {"name": "Nora"}),
        ("PUT", "characters/Nora", {"name": "Nora"}),
        ("PUT", "banks/alice%2Fnemo/characters/Ever", None),
        ("POST", "banks/alice%2Fnemo/chat/current/say", {"text": "Hello."}),
        ("PUT", "banks/bob", None),
        ("PUT", "banks/alice%2Fnemo/pins/1", None),
        ("DELETE", "banks/alice%2Fnemo/pins/1", None),
    ],
)
def test_every_write_has_one_outcome_per_key(api_with_lines: TestClient, method: str, path: str, body: Any) -> None:
    answers = [api_with_lines.request(method, path, json=body, headers=KEY) for _ in range(2)]
    assert answers[0].status_code == answers[1].status_code == 200, answers[1].text
    first, second = ({**answer.json(), "notes": ""} for answer in answers)  # notes are written in the background
    assert first == second
    assert kind(api_with_lines.put("banks/carol", headers=KEY), 422) == "idempotency-conflict"


def test_an_import_has_one_outcome_per_key_and_file(api_with_lines: TestClient) -> None:
    path, params = "banks/bob/import", {"name": "a.jsonl"}
    answers = [
        api_with_lines.post(path, params=params, content=b'{"text": "a"}', headers={**KEY, **RAW}).json()
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert answers[1]["added"] == 1
    answer = api_with_lines.post(path, params=params, content=b'{"text": "b"}', headers={**KEY, **RAW})
    assert kind(answer, 422) == "idempotency-conflict"


def test_a_failed_request_can_be_retried_under_its_key(api_with_lines: TestClient) -> None:
    assert kind(api_with_lines.delete(f"{LINES}/5", headers=KEY), 404) == "not-found"
    api_with_lines.post(LINES, json={"text": "Five."})
    assert api_with_lines.delete(f"{LINES}/5", headers=KEY).status_code == 200


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "ü"])
def test_an_idempotency_key_consists_of_visible_characters(api_with_lines: TestClient, key: str) -> None:
    answer = api_with_lines.post(LINES, json={"text": "a"}, headers={b"Idempotency-Key": key.encode()})
    assert kind(answer, 422) == "invalid-request"


def test_no_record_contains_text(api_with_lines: TestClient, services: Services, tmp_path: Path) -> None:
    api_with_lines.post(LINES, json={"text": "My cat is called Ulysses."}, headers=KEY)
    files = list((tmp_path / "banks").glob("server.sqlite*"))
    assert files
    for file in files:
        raw = file.read_bytes()
        assert b"Ulysses" not in raw
        assert b"one-and-only" not in raw


def test_a_copy_of_a_request_in_progress_is_rejected(tmp_path: Path) -> None:
    now = [1000.0]
    records = IdempotencyStore(ServerFile(tmp_path / "server.sqlite", SCHEMA), lambda: now[0])
    assert records.begin("a", "r", safe=False) is None
    with pytest.raises(Problem) as running:
        records.begin("a", "r", safe=False)
    assert (running.value.status, running.value.name) == (409, "in-progress")
    assert records.begin("a", "r", safe=True) is None
    now[0] += MAX_REQUEST_S
    assert records.begin("a", "r", safe=False) is None  # the process that began it has ended
    records.complete("a", [1])
    assert records.begin("a", "r", safe=False) == ([1],)
    now[0] += RECORD_LIFETIME_S + 1
    assert records.begin("a", "other", safe=False) is None
    records.close()


def test_a_crashed_request_can_be_repeated_after_the_clock_was_set_back(tmp_path: Path) -> None:
    now = [100_000.0]
    records = IdempotencyStore(ServerFile(tmp_path / "server.sqlite", SCHEMA), lambda: now[0])
    assert records.begin("a", "r", safe=False) is None
    now[0] -= 1.0  # a small correction of the clock: the request may still be running
    with pytest.raises(Problem, match="is in progress"):
        records.begin("a", "r", safe=False)
    now[0] -= MAX_REQUEST_S
    assert records.begin("a", "r", safe=False) is None
    records.close()


def test_another_process_knows_the_outcome(tmp_path: Path) -> None:
    one, two = (IdempotencyStore(ServerFile(tmp_path / "server.sqlite", SCHEMA)) for _ in range(2))
    assert one.begin("a", "r", safe=False) is None
    one.complete("a", {"lines": 3})
    assert two.begin("a", "r", safe=False) == ({"lines": 3},)
    one.close()
    two.close()


def test_many_concurrent_requests_under_one_key_write_once(api_with_lines: TestClient) -> None:
    with ThreadPoolExecutor(8) as pool:
        lines = list(
            pool.map(lambda _: api_with_lines.post(LINES, json={"text": "Once."}, headers=KEY).json(), range(8))
        )
        deletions = list(
            pool.map(lambda _: api_with_lines.delete(f"{LINES}/1", headers={"Idempotency-Key": "d"}), range(8))
        )
    assert all(line == lines[0] for line in lines)
    assert {answer.status_code for answer in deletions} <= {200, 409}
    assert len({answer.text for answer in deletions if answer.status_code == 200}) == 1
    assert [line["seq"] for line in api_with_lines.get(LINES).json()["items"]] == [2, 3, 4, 5]


def test_a_correction_is_made_once_even_if_the_record_is_gone(
    api_with_lines: TestClient, services: Services, tmp_path: Path
) -> None:
    api_with_lines.post(LINES, json={"text": "Porto.", "key": "k"})
    first = api_with_lines.patch(f"{LINES}/5", json={"text": "Lisbon."}, headers=KEY)
    app = create_app(services)
    app.state.idempotency = IdempotencyStore(ServerFile(tmp_path / "elsewhere.sqlite", SCHEMA))
    with TestClient(app, base_url="http://127.0.0.1:7391/api/v1/") as other:
        assert other.patch(f"{LINES}/5", json={"text": "Lisbon."}, headers=KEY).json() == first.json()
    app.state.idempotency.close()

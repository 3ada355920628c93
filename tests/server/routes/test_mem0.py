import asyncio
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from hardship.loopback import serve_app

from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.server_db import get_path
from everthread.server.services import Services
from everthread.server.settings import Settings

HOST = "http://127.0.0.1:7391"
UNKNOWN = "4751ba67-72ca-5b40-8cd1-d70000000001"

Call = Callable[..., Any]


@pytest.fixture
def call(api: TestClient) -> Call:
    """Return a function that sends a request as mem0's client does where no key is needed."""

    def send(method: str, path: str, body: Any = None, key: str = "m0-of-its-own", **query: Any) -> Any:
        headers = {"Authorization": f"Token {key}"}
        return api.request(method, HOST + path, json=body, params=query or None, headers=headers)

    return send


def add(call: Call, text: str, **fields: Any) -> str:
    """Add a text, of Nora if no one else is named, and return the id of the memory."""
    body = {"messages": [{"role": "user", "content": text}], **(fields or {"user_id": "nora"})}
    added = call("POST", "/v3/memories/add/", body)
    assert added.status_code == 200, added.text
    return str(added.json()["results"][0]["id"])


def texts(found: Any) -> list[str]:
    assert found.status_code == 200, found.text
    return [record["memory"] for record in found.json()["results"]]


def test_memories_of_an_app_are_found_and_deleted_alone(call: Call) -> None:
    add(call, "I play tennis", user_id="nora")
    add(call, "I play padel", user_id="nora", app_id="sport hall")
    add(call, "I play chess", app_id="chess")
    both = {"user_id": "nora", "app_id": "sport hall"}
    found = call("POST", "/v3/memories/", {"filters": both})
    assert texts(found) == ["I play padel"]
    assert found.json()["results"][0]["app_id"] == "sport hall"
    assert texts(call("POST", "/v3/memories/search/", {"query": "chess?", "filters": {"app_id": "chess"}})) == [
        "I play chess"
    ]
    assert call("DELETE", "/v1/memories/", **both).status_code == 200
    assert texts(call("POST", "/v3/memories/", {"filters": {"user_id": "nora"}})) == ["I play tennis"]
    names = {(each["type"], each["name"]) for each in call("GET", "/v1/entities/").json()["results"]}
    assert names == {("user", "nora"), ("app", "chess")}
    assert call("DELETE", "/v2/entities/app/chess/").status_code == 200
    assert texts(call("POST", "/v3/memories/", {"filters": {"app_id": "chess"}})) == []


def test_the_client_of_mem0_works_unchanged(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "mem0"))
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    with warnings.catch_warnings():  # it changes the filters of the process
        warnings.simplefilter("ignore")
        mem0 = pytest.importorskip("mem0")
    key = KeyStore(get_path(services.store)).create("app")
    with serve_app(create_app(services, Settings(key_required=True))) as url, httpx.Client() as connection:
        with pytest.raises(ValueError, match="key"):
            mem0.MemoryClient(api_key="m0-unknown", host=url, client=connection)
        client = mem0.MemoryClient(api_key=key, host=url, client=connection)
        messages = [
            {"role": "user", "content": "My sister Mia moved to Lisbon"},
            {"role": "assistant", "content": "How nice"},
        ]
        first, second = (
            each["id"] for each in client.add(messages, user_id="nora", metadata={"year": 2024})["results"]
        )
        client.add("I play tennis", filters={"user_id": "nora", "run_id": "r1"}, timestamp=1_714_550_000)
        filters = {"AND": [{"user_id": "nora"}, {"OR": [{"year": {"gte": 2024}}, {"run_id": "r1"}]}]}
        found = client.search("Where did my sister Mia move?", filters=filters, threshold=0.0, top_k=2)["results"]
        assert (found[0]["id"], found[0]["metadata"]) == (first, {"year": 2024})
        page = client.get_all(filters={"user_id": "nora"}, page=1, page_size=2)
        assert (page["count"], len(page["results"]), page["previous"]) == (3, 2, None)
        assert "page=2" in page["next"]
        assert client.get_all(filters={"user_id": "nora"}, page=2, page_size=2)["next"] is None
        client.update(first, text="My sister Mia moved to Porto", metadata={"year": 2025})
        record = client.get(first)
        assert (record["memory"], record["metadata"]) == ("My sister Mia moved to Porto", {"year": 2025})
        assert [event["event"] for event in client.history(first)] == ["ADD", "UPDATE"]
        client.batch_update([{"memory_id": second, "text": "How sad"}])
        client.batch_delete([{"memory_id": first}, {"memory_id": first}])
        with pytest.raises(Exception, match="no memory") as raised:
            client.get(first)
        assert type(raised.value).__name__ == "MemoryNotFoundError"
        client.delete(second)
        assert [(each["type"], each["name"]) for each in client.users()["results"]] == [("user", "nora")]
        client.delete_all(user_id="nora", run_id="r1")
        assert client.get_all(filters={"user_id": "nora"})["results"] == []
        client.add("I play chess", user_id="a/b")
        client.reset()
        assert client.users()["results"] == []
        asyncio.run(use_async_client(mem0, key, url))


async def use_async_client(mem0: Any, key: str, url: str) -> None:
    async with httpx.AsyncClient() as connection:
        client = mem0.AsyncMemoryClient(api_key=key, host=url, client=connection)
        number = (await client.add("I play tennis", user_id="nora"))["results"][0]["id"]
        await client.update(number, text="I play padel")
        found = await client.search("Do I play padel?", filters={"user_id": "nora"}, threshold=0.0)
        assert [(record["id"], record["memory"]) for record in found["results"]] == [(number, "I play padel")]
        assert (await client.get_all(filters={"user_id": "nora"}))["count"] == 1
        assert [event["event"] for event in await client.history(number)] == ["ADD", "UPDATE"]
        await client.delete(number)
        await client.delete_all(user_id="nora")
        assert (await client.users())["results"] == []


def test_a_key_of_mem0_is_ignored_where_none_is_needed(call: Call) -> None:
    assert call("GET", "/v1/ping/").json()["org_id"]
    add(call, "I play tennis")
    assert texts(call("POST", "/v3/memories/", {"filters": {"user_id": "nora"}})) == ["I play tennis"]


def test_a_key_reaches_only_the_memories_that_it_permits(call: Call, services: Services) -> None:
    keys = KeyStore(get_path(services.store))
    nora = keys.create("nora", ["mem0/user/nora"])
    reader = keys.create("reader", ["mem0/*"], ["read"])
    of_nora, of_tom = add(call, "I play tennis"), add(call, "I play chess", user_id="tom", agent_id="bob")
    tom = {"filters": {"user_id": "tom"}}

    assert call("GET", f"/v1/memories/{of_nora}/", key=nora).status_code == 200
    assert call("GET", f"/v1/memories/{of_tom}/", key=nora).status_code == 404
    assert call("GET", f"/v1/memories/{of_tom}/history/", key=nora).json() == []
    assert call("DELETE", f"/v1/memories/{of_tom}/", key=nora).status_code == 404
    for filters in (tom, {"filters": {"user_id": "nobody-yet"}}):
        assert call("POST", "/v3/memories/", filters, key=nora).status_code == 403
        assert call("POST", "/v3/memories/search/", {"query": "chess", **filters}, key=nora).status_code == 403
    assert call("DELETE", "/v1/memories/", key=nora, user_id="tom").status_code == 403
    assert call("DELETE", "/v2/entities/user/tom/", key=nora).status_code == 403
    assert call("POST", "/v3/memories/add/", {"messages": "hello", "user_id": "tom"}, key=nora).status_code == 403
    assert texts(call("POST", "/v3/memories/", {"filters": {"user_id": "*"}}, key=nora)) == ["I play tennis"]
    assert [each["name"] for each in call("GET", "/v1/entities/", key=nora).json()["results"]] == ["nora"]

    assert texts(call("POST", "/v3/memories/", tom, key=reader)) == ["I play chess"]
    assert call("PUT", f"/v1/memories/{of_tom}/", {"text": "hello"}, key=reader).status_code == 403
    assert call("DELETE", f"/v1/memories/{of_tom}/", key=reader).status_code == 403
    assert call("DELETE", "/v1/batch/", {"memories": [{"memory_id": of_tom}]}, key=reader).status_code == 403
    assert call("GET", "/v1/ping/", key="et_unknown").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "named"),
    [
        ("GET", f"/v1/memories/{UNKNOWN}/", None, 404, UNKNOWN),
        ("DELETE", f"/v1/memories/{UNKNOWN}/", None, 404, UNKNOWN),
        ("PUT", f"/v1/memories/{UNKNOWN}/", {"text": "hello"}, 404, UNKNOWN),
        ("PUT", f"/v1/memories/{UNKNOWN}/", {"timestamp": 7}, 422, "changes nothing"),
        ("PUT", "/v1/batch/", {"memories": [{"memory_id": UNKNOWN, "text": "hello"}]}, 404, UNKNOWN),
        ("POST", "/v3/memories/add/", {"messages": "hello"}, 422, "user_id"),
        ("POST", "/v3/memories/search/", {"query": "tennis"}, 422, "invalid filters"),
        ("POST", "/v3/memories/", {"filters": {"user_id": "nora", "AND": 7}}, 422, "invalid filter AND"),
        ("DELETE", "/v1/memories/", None, 422, "user_id"),
        ("DELETE", "/v2/entities/team/x/", None, 404, "user, agent, run or app"),
    ],
)
def test_bad_requests_are_named(call: Call, method: str, path: str, body: Any, status: int, named: str) -> None:
    refused = call(method, path, body)
    assert (refused.status_code, named in refused.json()["detail"]) == (status, True), refused.text


def test_a_batch_deletes_the_memories_of_each_bank_at_once(call: Call, services: Services) -> None:
    ids = [add(call, f"I play game {n}", user_id=user) for user in ("nora", "tom") for n in range(3)]
    add(call, "I play tennis")
    deleted = call("DELETE", "/v1/batch/", {"memories": [{"memory_id": each} for each in (*ids, ids[0])]})
    assert deleted.json() == {"message": "Successfully deleted 7 memories"}
    assert texts(call("POST", "/v3/memories/", {"filters": {"user_id": "nora"}})) == ["I play tennis"]
    assert texts(call("POST", "/v3/memories/", {"filters": {"user_id": "tom"}})) == []
    for user in ("nora", "tom"):
        assert [receipt.lines for receipt in services.store.receipts(f"mem0/user/{user}")] == [3]


def test_a_batch_with_an_unknown_memory_deletes_nothing(call: Call) -> None:
    known = add(call, "I play tennis")
    refused = call("DELETE", "/v1/batch/", {"memories": [{"memory_id": known}, {"memory_id": UNKNOWN}]})
    assert refused.status_code == 404
    assert call("GET", f"/v1/memories/{known}/").json()["memory"] == "I play tennis"

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.server_db import get_path
from everthread.server.services import Services
from everthread.server.settings import Settings

HOST = "http://127.0.0.1:7391"


@pytest.fixture
def server(services: Services) -> Iterator[TestClient]:
    with TestClient(create_app(services, Settings(serves_mem0=True)), base_url=HOST) as client:
        yield client


def add(server: TestClient, text: str, headers: dict[str, str] | None = None, **ids: str) -> str:
    body = {"messages": [{"role": "user", "content": text}], **(ids or {"user_id": "nora"})}
    added = server.post("/memories", json=body, headers=headers)
    assert added.status_code == 200, added.text
    return str(added.json()["results"][0]["id"])


def texts(found: Any) -> list[str]:
    assert found.status_code == 200, found.text
    return [record["memory"] for record in found.json()["results"]]


def test_memories_are_stored_listed_found_changed_and_deleted(server: TestClient) -> None:
    mia, tennis = add(server, "My sister Mia moved to Lisbon"), add(server, "I play tennis", user_id="nora", run_id="r")
    assert texts(server.get("/memories", params={"user_id": "nora"})) == [
        "I play tennis",
        "My sister Mia moved to Lisbon",
    ]
    assert texts(server.get("/memories", params={"user_id": "nora", "run_id": "r"})) == ["I play tennis"]
    query = {"query": "Where did my sister Mia move?", "user_id": "nora", "top_k": 1, "threshold": 0.0}
    assert texts(server.post("/search", json=query)) == ["My sister Mia moved to Lisbon"]
    assert texts(server.post("/search", json={**query, "filters": {"run_id": "r"}})) == ["I play tennis"]
    assert server.put(f"/memories/{mia}", json={"text": "Mia is in Porto"}).json()["message"]
    assert server.get(f"/memories/{mia}").json()["memory"] == "Mia is in Porto"
    assert server.put(f"/memories/{mia}", json={"data": "Mia is in Faro"}).status_code == 200
    assert [each["event"] for each in server.get(f"/memories/{mia}/history").json()] == ["ADD", "UPDATE", "UPDATE"]
    assert server.delete(f"/memories/{tennis}").json()["message"]
    assert texts(server.get("/memories", params={"user_id": "nora"})) == ["Mia is in Faro"]
    assert server.delete("/memories", params={"user_id": "nora"}).json()["message"]
    assert texts(server.get("/memories", params={"user_id": "nora"})) == []


def test_a_reset_deletes_all_memories_and_no_other_bank(server: TestClient, services: Services) -> None:
    add(server, "I play tennis")
    add(server, "I play chess", agent_id="bob")
    services.get_memory("diary", create=True).observe("Tennis at nine.", speaker="Nora")
    assert server.post("/reset").json() == {"message": "All memories reset"}
    for ids in ({"user_id": "nora"}, {"agent_id": "bob"}):
        assert texts(server.get("/memories", params=ids)) == []
    assert services.get_memory("diary").stats().lines == 1


def test_a_key_reaches_only_the_memories_that_it_permits(server: TestClient, services: Services) -> None:
    key = {"X-API-Key": KeyStore(get_path(services.store)).create("nora", ["mem0/user/nora"])}
    chess = add(server, "I play chess", user_id="tom")
    add(server, "I play tennis", headers=key)
    assert server.get("/memories", params={"user_id": "tom"}, headers=key).status_code == 403
    assert server.post("/search", json={"query": "chess", "user_id": "tom"}, headers=key).status_code == 403
    assert server.put(f"/memories/{chess}", json={"text": "hello"}, headers=key).status_code == 404
    assert server.post("/reset", headers=key).status_code == 200
    assert texts(server.get("/memories", params={"user_id": "nora"})) == []
    assert texts(server.get("/memories", params={"user_id": "tom"})) == ["I play chess"]


def test_an_owner_has_to_be_named(server: TestClient) -> None:
    assert server.get("/memories").status_code == 422
    assert server.delete("/memories").status_code == 422
    assert server.post("/search", json={"query": "chess"}).status_code == 422


def test_the_paths_are_served_only_on_request(api: TestClient) -> None:
    for method, path in (("GET", "/memories"), ("POST", "/memories"), ("POST", "/search"), ("POST", "/reset")):
        assert api.request(method, HOST + path).status_code in (404, 405)

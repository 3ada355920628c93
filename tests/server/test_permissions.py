"""Authentication and permissions, and what responses reveal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread.recipes.default import Default
from everthread.server import server_db
from everthread.server.app import create_app
from everthread.server.keys import ApiKey, KeyStore
from everthread.server.permissions import (
    ForgetMemory,
    ReadAllServices,
    VisibleGallery,
    WriteGallery,
    permitted_banks,
    require,
)
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

LINES = "/api/v1/banks/{}/lines"


class KeyServer:
    """A server that requires keys, with the banks `mine` and `secret`, and its keys."""

    def __init__(self, folder: Path, required: bool = True) -> None:
        self.store = SQLiteStore(folder)
        self.app = create_app(Services(self.store, HashEmbedder(64), None, Default()), Settings(key_required=required))
        self.keys = KeyStore(server_db.get_path(self.store))
        self.owner = self.client(self.keys.create("owner"))
        for bank in ("mine", "secret"):
            assert self.owner.post(LINES.format(bank), json={"text": f"a line of {bank}"}).status_code == 201

    def client(self, secret: str | None = None) -> TestClient:
        return TestClient(self.app, headers={"Authorization": f"Bearer {secret}"} if secret else {})

    def close(self) -> None:
        self.keys.close()
        self.app.state.authenticator.keys.close()
        self.store.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KeyServer]:
    server = KeyServer(tmp_path)
    yield server
    server.close()


def visible_parts(answer: Any) -> tuple[int, bytes, dict[str, str]]:
    """Return everything that a client sees of a response."""
    return answer.status_code, answer.content, dict(answer.headers)


def test_a_missing_or_wrong_key_is_rejected(server: KeyServer) -> None:
    for secret in (None, "et_wrong", "et_" + "A" * 43):
        answer = server.client(secret).get(LINES.format("mine") + "/1")
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["type"] == "urn:everthread:unauthorized"
    answer = server.client().get(LINES.format("mine") + "/1", headers={"Authorization": "Basic YTpi"})
    assert answer.status_code == 401


def test_a_wrong_key_is_rejected_even_if_none_is_required(tmp_path: Path) -> None:
    server = KeyServer(tmp_path, required=False)
    assert server.client().get(LINES.format("mine") + "/1").status_code == 200
    assert server.client("et_wrong").get(LINES.format("mine") + "/1").status_code == 401
    server.close()


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Real-IP"])
def test_a_client_behind_a_proxy_needs_a_key(tmp_path: Path, header: str) -> None:
    server = KeyServer(tmp_path, required=False)
    answer = server.client().get(LINES.format("mine") + "/1", headers={header: "203.0.113.7"})
    assert answer.status_code == 401
    server.close()


def test_a_key_in_either_header_is_looked_up_beside_the_event_loop(server: KeyServer) -> None:
    on_loop: list[bool] = []

    class WatchedKeys(KeyStore):
        def find(self, secret: str) -> ApiKey | None:
            on_loop.append(asyncio._get_running_loop() is not None)
            return super().find(secret)

    key = server.keys.create("phone")
    server.app.state.authenticator.keys.close()
    server.app.state.authenticator.keys = WatchedKeys(server_db.get_path(server.store))
    for header in ({"Authorization": f"Bearer {key}"}, {"X-Api-Key": key}):
        assert server.client().post(LINES.format("mine"), json={"text": "hello"}, headers=header).status_code == 201
    assert on_loop == [False, False]


def test_a_revoked_key_is_rejected_by_the_running_server(server: KeyServer) -> None:
    client = server.client(server.keys.create("phone"))
    assert client.get(LINES.format("mine") + "/1").status_code == 200
    server.keys.revoke("phone")
    assert client.get(LINES.format("mine") + "/1").status_code == 401


def test_a_key_is_valid_only_for_its_banks_and_verbs(server: KeyServer) -> None:
    reader = server.client(server.keys.create("reader", ["mine"], ["read"]))
    assert reader.get(LINES.format("mine") + "/1").status_code == 200
    assert reader.post(LINES.format("mine"), json={"text": "no"}).status_code == 403
    assert reader.get(LINES.format("secret") + "/1").status_code == 403
    writer = server.client(server.keys.create("writer", ["mine", "new/*"], ["write"]))
    assert writer.get(LINES.format("mine") + "/1").status_code == 403
    assert writer.post(LINES.format("new%2Fone"), json={"text": "yes"}).status_code == 201
    assert writer.post(LINES.format("new"), json={"text": "no"}).status_code == 403
    assert not server.store.exists("new")


@pytest.fixture(scope="module")
def restricted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KeyServer, TestClient]]:
    """Return the server, with a client whose key is for `mine` alone."""
    server = KeyServer(tmp_path_factory.mktemp("closed"))
    yield server, server.client(server.keys.create("narrow", ["mine", "mine/*"]))
    server.close()


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/1", None),
    ("GET", "/999", None),
    ("GET", "/none", None),
    ("POST", "", {"text": "hello"}),
    ("POST", "", {"nonsense": 1}),
]


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.one_of(st.just("mine2"), st.just("min"), st.just("Mine"), st.text("absecrt/.%_", min_size=1, max_size=12)),
    st.sampled_from(REQUESTS),
)
def test_a_key_for_one_bank_does_not_reveal_whether_another_exists(
    restricted: tuple[KeyServer, TestClient], other: str, request_: tuple[str, str, Any]
) -> None:
    server, narrow = restricted
    method, rest, body = request_
    segment = "".join(f"%{byte:02X}" for byte in other.encode())
    if other in (".", "..") or other.startswith("mine/"):
        return

    def request_bank(bank: str) -> tuple[int, bytes, dict[str, str]]:
        return visible_parts(narrow.request(method, LINES.format(bank) + rest, json=body))

    existing = request_bank("secret")
    assert existing == request_bank(segment)
    assert existing[0] == 403
    assert not server.store.exists(other) or other == "secret"


def test_routes_shared_by_all_banks_need_a_key_for_all(server: KeyServer) -> None:
    @server.app.get("/try/all")
    def everything(services: ReadAllServices) -> str:
        return "read"

    @server.app.put("/try/all")
    def change(services: WriteGallery) -> str:
        return "written"

    @server.app.get("/try/chat")
    def chats(services: VisibleGallery) -> str:
        return "chat"

    clients = {
        "narrow": server.client(server.keys.create("narrow", ["mine"], ["read", "write", "chat"])),
        "reader": server.client(server.keys.create("reader", ["*"], ["read"])),
        "owner": server.owner,
        "keyless": server.client(),
    }
    requests = (("GET", "all"), ("PUT", "all"), ("GET", "chat"))
    statuses = {
        name: [client.request(method, f"/try/{path}").status_code for method, path in requests]
        for name, client in clients.items()
    }
    assert statuses == {
        "narrow": [403, 403, 200],
        "reader": [200, 403, 403],
        "owner": [200, 200, 200],
        "keyless": [401, 401, 401],
    }


def test_banks_named_in_a_body_are_checked_and_lists_show_only_readable_banks(server: KeyServer) -> None:
    @server.app.get("/try/banks")
    def several(request: Request, bank: Annotated[str, "the bank that is asked for"]) -> list[str]:
        require(request, "read", bank)
        return permitted_banks(request, "read", ["mine", "mine/x", "secret"])

    @server.app.delete("/try/banks/{bank}")
    def forget(memory: ForgetMemory) -> str:
        return memory.bank

    narrow = server.client(server.keys.create("narrow", ["mine", "mine/*"], ["read"]))
    assert narrow.get("/try/banks?bank=mine").json() == ["mine", "mine/x"]
    assert narrow.get("/try/banks?bank=secret").status_code == 403
    assert narrow.delete("/try/banks/mine").status_code == 403
    assert server.owner.get("/try/banks?bank=secret").json() == ["mine", "mine/x", "secret"]
    assert server.owner.delete("/try/banks/mine").json() == "mine"


def test_the_openapi_document_declares_keys(server: KeyServer) -> None:
    document = server.client().get("/api/v1/openapi.json").json()
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert document["paths"]["/api/v1/banks/{bank}/lines"]["post"]["security"] == [{"HTTPBearer": []}]

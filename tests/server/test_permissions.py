"""Who gets in, and what whoever gets in can learn."""

from __future__ import annotations

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
from everthread.server.keys import KeyStore
from everthread.server.permissions import (
    ChatAnyServices,
    ForgetMemory,
    ReadAllServices,
    WriteAllServices,
    permitted_banks,
    require,
)
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

LINES = "/api/v1/banks/{}/lines"


class House:
    """A server that wants keys, with a bank `mine` and a bank `secret`, and its keys."""

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
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


def told(answer: Any) -> tuple[int, bytes, dict[str, str]]:
    """All that an answer tells."""
    return answer.status_code, answer.content, dict(answer.headers)


def test_a_missing_or_wrong_key_is_rejected(house: House) -> None:
    for shown in (None, "et_wrong", "et_" + "A" * 43):
        answer = house.client(shown).get(LINES.format("mine") + "/1")
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["type"] == "urn:everthread:unauthorized"
    answer = house.client().get(LINES.format("mine") + "/1", headers={"Authorization": "Basic YTpi"})
    assert answer.status_code == 401


def test_a_wrong_key_is_rejected_even_if_none_is_required(tmp_path: Path) -> None:
    house = House(tmp_path, required=False)
    assert house.client().get(LINES.format("mine") + "/1").status_code == 200
    assert house.client("et_wrong").get(LINES.format("mine") + "/1").status_code == 401
    house.close()


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Real-IP"])
def test_a_client_behind_a_proxy_needs_a_key(tmp_path: Path, header: str) -> None:
    house = House(tmp_path, required=False)
    answer = house.client().get(LINES.format("mine") + "/1", headers={header: "203.0.113.7"})
    assert answer.status_code == 401
    house.close()


def test_a_revoked_key_is_rejected_by_the_running_server(house: House) -> None:
    client = house.client(house.keys.create("phone"))
    assert client.get(LINES.format("mine") + "/1").status_code == 200
    house.keys.revoke("phone")
    assert client.get(LINES.format("mine") + "/1").status_code == 401


def test_a_key_is_valid_only_for_its_banks_and_verbs(house: House) -> None:
    reader = house.client(house.keys.create("reader", ["mine"], ["read"]))
    assert reader.get(LINES.format("mine") + "/1").status_code == 200
    assert reader.post(LINES.format("mine"), json={"text": "no"}).status_code == 403
    assert reader.get(LINES.format("secret") + "/1").status_code == 403
    writer = house.client(house.keys.create("writer", ["mine", "new/*"], ["write"]))
    assert writer.get(LINES.format("mine") + "/1").status_code == 403
    assert writer.post(LINES.format("new%2Fone"), json={"text": "yes"}).status_code == 201
    assert writer.post(LINES.format("new"), json={"text": "no"}).status_code == 403
    assert not house.store.exists("new")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, TestClient]]:
    """The same, with somebody who has a key for `mine` alone."""
    made = House(tmp_path_factory.mktemp("closed"))
    yield made, made.client(made.keys.create("narrow", ["mine", "mine/*"]))
    made.close()


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/1", None),
    ("GET", "/999", None),
    ("GET", "/none", None),
    ("POST", "", {"text": "hello"}),
    ("POST", "", {"nonsense": 1}),
]


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.one_of(st.just("mine2"), st.just("min"), st.just("Mine"), st.text("absecrt/.%_", min_size=1, max_size=12)),
    st.sampled_from(REQUESTS),
)
def test_a_key_for_one_bank_does_not_reveal_whether_another_exists(
    closed: tuple[House, TestClient], other: str, request_: tuple[str, str, Any]
) -> None:
    house, narrow = closed
    method, rest, body = request_
    segment = "".join(f"%{byte:02X}" for byte in other.encode())
    if other in (".", "..") or other.startswith("mine/"):
        return

    def asked(bank: str) -> tuple[int, bytes, dict[str, str]]:
        return told(narrow.request(method, LINES.format(bank) + rest, json=body))

    there = asked("secret")
    assert there == asked(segment)
    assert there[0] == 403
    assert not house.store.exists(other) or other == "secret"


def test_routes_shared_by_all_banks_need_a_key_for_all(house: House) -> None:
    @house.app.get("/try/all")
    def everything(services: ReadAllServices) -> str:
        return "read"

    @house.app.put("/try/all")
    def change(services: WriteAllServices) -> str:
        return "written"

    @house.app.get("/try/chat")
    def chats(services: ChatAnyServices) -> str:
        return "chat"

    narrow = house.client(house.keys.create("narrow", ["mine"], ["read", "write", "chat"]))
    reader = house.client(house.keys.create("reader", ["*"], ["read"]))
    status = {
        (who, method, path): client.request(method, f"/try/{path}").status_code
        for who, client in (("narrow", narrow), ("reader", reader), ("owner", house.owner), ("nobody", house.client()))
        for method, path in (("GET", "all"), ("PUT", "all"), ("GET", "chat"))
    }
    assert status == {
        ("narrow", "GET", "all"): 403,
        ("narrow", "PUT", "all"): 403,
        ("narrow", "GET", "chat"): 200,
        ("reader", "GET", "all"): 200,
        ("reader", "PUT", "all"): 403,
        ("reader", "GET", "chat"): 403,
        ("owner", "GET", "all"): 200,
        ("owner", "PUT", "all"): 200,
        ("owner", "GET", "chat"): 200,
        ("nobody", "GET", "all"): 401,
        ("nobody", "PUT", "all"): 401,
        ("nobody", "GET", "chat"): 401,
    }


def test_banks_named_in_a_body_are_checked_and_lists_show_only_readable_banks(house: House) -> None:
    @house.app.get("/try/banks")
    def several(request: Request, bank: Annotated[str, "the bank that is asked for"]) -> list[str]:
        require(request, "read", bank)
        return permitted_banks(request, "read", ["mine", "mine/x", "secret"])

    @house.app.delete("/try/banks/{bank}")
    def forget(memory: ForgetMemory) -> str:
        return memory.bank

    narrow = house.client(house.keys.create("narrow", ["mine", "mine/*"], ["read"]))
    assert narrow.get("/try/banks?bank=mine").json() == ["mine", "mine/x"]
    assert narrow.get("/try/banks?bank=secret").status_code == 403
    assert narrow.delete("/try/banks/mine").status_code == 403
    assert house.owner.get("/try/banks?bank=secret").json() == ["mine", "mine/x", "secret"]
    assert house.owner.delete("/try/banks/mine").json() == "mine"


def test_the_openapi_document_declares_keys(house: House) -> None:
    described = house.client().get("/api/v1/openapi.json").json()
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert described["paths"]["/api/v1/banks/{bank}/lines"]["post"]["security"] == [{"HTTPBearer": []}]

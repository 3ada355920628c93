"""MCP at /mcp: the SDK's client over HTTP, the keys of the server, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hardship import PATIENCE, web
from hardship.agent import MODES, Person, call, data_of, list_tools, text_of
from hardship.loopback import serve_app
from mcp.client.streamable_http import streamable_http_client

from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

SAID = "My sister Mia moved to Lisbon."
QUERY = "Where did my sister Mia move? Lisbon?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("banks")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """Yield the URL of /mcp of a server that requires a key."""
    store = SQLiteStore(folder)
    services = Services(store, HashEmbedder(512), None, Default())
    with serve_app(create_app(services, Settings(key_required=True))) as root:
        yield f"{root}/mcp"
    store.close()


@pytest.fixture
def keys(folder: Path) -> Iterator[KeyStore]:
    store = KeyStore(folder / "server.sqlite")
    yield store
    for key in store.list_keys():
        store.revoke(key.name)
    store.close()


@asynccontextmanager
async def connect(url: str, key: str, **headers: str) -> AsyncIterator[Any]:
    """Yield the streams of a client with a key."""
    authorization = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=authorization | headers, timeout=PATIENCE) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_remembers_recalls_and_forgets_over_http(url: str, keys: KeyStore, mode: str) -> None:
    key, person = keys.create("all", ["nora"]), Person("accept", {})
    seq = data_of(call(connect(url, key), "remember", mode, text=SAID, speaker="Nora"))["seq"]
    assert data_of(call(connect(url, key), "recall", mode, query=QUERY))["hits"][0]["text"] == SAID
    assert data_of(call(connect(url, key), "forget", mode, person, seq=seq))["forgotten"]
    assert len(person.asked) == 1
    assert call(connect(url, key), "conversation", mode, around=seq).is_error


def test_a_conversation_is_kept_once_over_http(url: str, keys: KeyStore) -> None:
    key = keys.create("conversation", ["talk"])
    messages = [{"role": "user", "content": SAID}, {"role": "assistant", "content": "How exciting!"}]
    kept = [data_of(call(connect(url, key), "remember_conversation", messages=messages)) for _ in range(2)]
    assert [each["kept"] for each in kept] == [2, 0]
    lines = data_of(call(connect(url, key), "conversation", session=kept[0]["session"]))["lines"]
    assert [line["text"] for line in lines] == [SAID, "How exciting!"]


def test_a_client_that_can_not_ask_forgets_with_a_token_over_http(url: str, keys: KeyStore) -> None:
    key = keys.create("token", ["nora"])
    seq = data_of(call(connect(url, key), "remember", text=SAID))["seq"]
    token = data_of(call(connect(url, key), "forget", "legacy", seq=seq))["confirm"]
    assert data_of(call(connect(url, key), "forget", "legacy", seq=seq, confirm=token))["forgotten"]


def test_a_key_of_one_bank_reads_and_names_no_other(url: str, keys: KeyStore) -> None:
    one, several = keys.create("one", ["nora"]), keys.create("several", ["nora", "bob/*"])
    assert not any("bank" in tool.input_schema["properties"] for tool in list_tools(connect(url, one)))
    assert all("bank" in tool.input_schema["properties"] for tool in list_tools(connect(url, several)))
    refused = call(connect(url, one), "remember", text=SAID, bank="bob/1")
    assert refused.is_error
    assert "does not permit" in text_of(refused)
    assert data_of(call(connect(url, several), "remember", text=SAID, bank="bob/1")) == {"seq": 1, "kept": True}
    assert call(connect(url, several), "recall", query=QUERY).is_error, "the bank default is not permitted"


def test_a_header_chooses_the_bank(url: str, keys: KeyStore) -> None:
    key = keys.create("any")
    chosen = {"X-Everthread-Bank": "carl%20%E7%8C%AB"}
    assert not any("bank" in tool.input_schema["properties"] for tool in list_tools(connect(url, key, **chosen)))
    assert data_of(call(connect(url, key, **chosen), "remember", text=SAID)) == {"seq": 1, "kept": True}
    assert data_of(call(connect(url, key), "recall", query=QUERY, bank="carl 猫"))["hits"][0]["text"] == SAID


def test_a_key_that_only_reads_sees_only_tools_that_read(url: str, keys: KeyStore) -> None:
    key = keys.create("reader", ["nora"], ["read"])
    assert [tool.name for tool in list_tools(connect(url, key))] == ["recall", "conversation", "sessions"]
    for tool, arguments in (("remember", {"text": SAID}), ("forget", {"session": "mcp"})):
        refused = call(connect(url, key), tool, "auto", None, **arguments)
        assert refused.is_error
        assert "does not permit" in text_of(refused)


def test_a_new_bank_is_empty_for_a_key_that_may_write(url: str, keys: KeyStore) -> None:
    assert data_of(call(connect(url, keys.create("new", ["new"])), "recall", query=QUERY))["hits"] == []


def test_a_missing_bank_is_not_created_by_reading(url: str, keys: KeyStore) -> None:
    reader, any_bank = keys.create("reader", ["gone"], ["read"]), keys.create("any")
    for missing in (
        call(connect(url, reader), "recall", query=QUERY),
        call(connect(url, any_bank), "recall", query=QUERY, bank="gone"),
    ):
        assert missing.is_error
        assert "there is no bank 'gone'" in text_of(missing)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer et_wrong"}])
def test_a_request_without_a_valid_key_is_refused(url: str, headers: dict[str, str]) -> None:
    refused = web.post(url, json={}, headers=headers)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_the_guard_applies(url: str, keys: KeyStore, headers: dict[str, str], status: int) -> None:
    authorization = {"Authorization": f"Bearer {keys.create('guard')}"}
    assert web.post(url, content=b"{}", headers={**authorization, **headers}).status_code == status


def test_a_request_is_logged_by_its_route_and_without_what_was_said(
    url: str, keys: KeyStore, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "everthread"):
        call(connect(url, keys.create("log", ["nora"])), "recall", query=SAID)
    fields = [record.fields for record in caplog.records if hasattr(record, "fields")]
    assert {each["route"] for each in fields} == {"/mcp"}
    assert "Mia" not in caplog.text


def test_the_address_may_end_with_a_slash(url: str, keys: KeyStore) -> None:
    result = call(connect(f"{url}/", keys.create("slash", ["nora"])), "remember", text=SAID)
    assert data_of(result)["seq"] >= 1


def test_there_is_no_stream_that_keeps_the_server_from_stopping(url: str, keys: KeyStore) -> None:
    refused = web.get(url, headers={"Authorization": f"Bearer {keys.create('get')}"})
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST, DELETE")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": 1, "method": 7}'])
def test_a_malformed_message_is_an_error_of_the_client(url: str, keys: KeyStore, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {keys.create('bad')}", "Content-Type": "application/json"}
    headers |= {"Accept": "application/json, text/event-stream"}
    assert 400 <= web.post(url, content=body, headers=headers).status_code < 500


def test_under_several_workers_an_old_client_is_not_asked_but_gets_a_token(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    services = Services(store, HashEmbedder(512), None, Default(), multi_process=True)
    with serve_app(create_app(services)) as root:
        server, person = f"{root}/mcp", Person("accept", {})
        call(server, "remember", "legacy", text=SAID)
        assert data_of(call(server, "forget", "legacy", person, seq=1))["confirm"]
        assert person.asked == []
        assert data_of(call(server, "forget", "auto", person, seq=1))["forgotten"]
        assert len(person.asked) == 1
    store.close()

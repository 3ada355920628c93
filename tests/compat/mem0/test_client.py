from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hardship import forked
from hardship.loopback import EchoPort, serve_app, serve_handler

from everthread import BadInput, ConfigError, NotFound, StoreUnavailable
from everthread.compat.mem0 import MemoryClient
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.server_db import get_path
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

UNKNOWN = "4751ba67-72ca-5b40-8cd1-d70000000001"
NORA = {"user_id": "nora"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Yield the URL of a server that needs a key, and a key."""
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    key = KeyStore(get_path(store)).create("app")
    app = create_app(Services(store, HashEmbedder(), None, Default()), Settings(key_required=True))
    with serve_app(app) as url:
        yield url, key
    store.close()


def test_every_method_reaches_the_server(server: tuple[str, str]) -> None:
    url, key = server
    with MemoryClient(key, url) as client:
        added = client.add("I play tennis", {"metadata": {"year": 2024}}, user_id="nora", expiration_date="2999-01-01")
        number = added["results"][0]["id"]
        options = SimpleNamespace(model_dump=lambda exclude_unset: {"filters": NORA})
        assert client.search("tennis", options, threshold=0.0)["results"][0]["id"] == number
        assert client.get_all(filters=NORA, page=1, page_size=1)["count"] == 1
        changed = client.update(number, text="I play padel", expiration_date=None)
        assert (changed["memory"], changed.get("expiration_date")) == ("I play padel", None)
        assert client.get(number) == {**changed, "score": None}
        assert len(client.history(number)) == 2
        client.batch_update([{"memory_id": number, "text": "I play chess"}])
        client.batch_delete([{"memory_id": number}])
        with pytest.raises(NotFound, match=number):
            client.get(number)
        client.delete(client.add("I play tennis", **NORA)["results"][0]["id"])
        client.add("I play tennis", filters={"user_id": "a/b"})
        assert {each["name"] for each in client.users()["results"]} == {"nora", "a/b"}
        client.delete_users(user_id="a/b")
        client.delete_all(filters=NORA)
        client.add("I play tennis", run_id="r1")
        client.reset()
        assert client.users()["count"] == 0


def test_errors_are_those_of_the_library(server: tuple[str, str]) -> None:
    url, key = server
    with pytest.raises(ConfigError, match="key"):
        MemoryClient("et_unknown", url)
    with pytest.raises(StoreUnavailable, match="no server answers"):
        MemoryClient(key, "http://127.0.0.1:9")
    with MemoryClient(key, url) as client:
        with pytest.raises(BadInput, match="invalid filters"):
            client.search("tennis")
        with pytest.raises(BadInput, match="invalid options"):
            client.search("tennis", 7)
        with pytest.raises(NotFound, match=UNKNOWN):
            client.delete(UNKNOWN)


def test_the_key_comes_from_the_environment(server: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    url, key = server
    monkeypatch.setenv("MEM0_API_KEY", key)
    with MemoryClient(host=url) as client:
        assert client.users()["results"] == []


def test_a_forked_process_does_not_use_the_connection_of_its_parent() -> None:
    with serve_handler(EchoPort) as url, MemoryClient(host=url) as client:
        port = client.get(UNKNOWN)["port"]

        def work() -> None:
            assert client.get(UNKNOWN)["port"] != port

        assert forked.exits_cleanly(forked.fork_child(work))
        assert client.get(UNKNOWN)["port"] == port

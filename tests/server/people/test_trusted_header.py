"""Accounts that a reverse proxy names, and the addresses from which it may."""

import logging
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from everthread.errors import ConfigError
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.people.trusted_header import parse_network
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from server.problem import kind

HEADER, ORIGIN = "Remote-User", "http://127.0.0.1:7391"
SETTINGS = Settings(key_required=True, proxies=("172.18.0.0/16", "::1"), account_header=HEADER, proxy_bank="household")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    store.create("taken")
    app = create_app(Services(store, HashEmbedder(64), None, Default()), SETTINGS)
    yield app
    app.state.authenticator.close()
    app.state.idempotency.close()
    store.close()


def request_from(app: FastAPI, address: str, **headers: str) -> TestClient:
    named = {name.replace("_", "-"): value for name, value in headers.items()} | {"Origin": ORIGIN}
    return TestClient(app, base_url=f"{ORIGIN}/api/v1/", client=(address, 1), headers=named)


def test_a_person_named_by_the_proxy_gets_an_account_and_sees_only_their_banks(app: FastAPI) -> None:
    for address in ("172.18.0.4", "::1"):
        nora = request_from(app, address, Remote_User="Nora", X_Forwarded_For="198.51.100.7", X_Forwarded_Proto="https")
        own = {"name": "nora", "administrator": False, "has_password": False, "at_proxy": True, "banks": ["nora"]}
        assert nora.get("account").json() == own
        assert nora.put("banks/nora").status_code == 200
        assert kind(nora.put("banks/mia"), 403) == "forbidden"
    del nora.headers["Origin"]
    assert kind(nora.put("banks/nora"), 403) == "foreign-origin"
    people = app.state.authenticator.people
    people.set_locked(people.accounts.get("nora"), True)
    assert kind(nora.get("account"), 403) == "account-locked"
    people.set_locked(people.accounts.get("nora"), False)


def test_the_header_of_any_other_client_is_ignored_and_logged(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    for address in ("172.19.0.4", "127.0.0.1", "::2"):
        spoofed = request_from(app, address, Remote_User="nora", X_Forwarded_For="172.18.0.4")
        assert kind(spoofed.get("account"), 401) == "unauthorized"
    events = [(record.message, record.fields) for record in caplog.records if record.levelno == logging.WARNING]  # type: ignore[attr-defined]
    assert events[0] == ("ignored a header that names an account", {"address": "172.19.0.4"})
    assert len(events) == 3
    assert kind(request_from(app, "172.18.0.4").get("account"), 401) == "unauthorized"


def test_no_account_is_created_for_an_invalid_name_or_for_a_bank_that_exists_or_is_for_what_others_say(
    app: FastAPI,
) -> None:
    app.state.authenticator.keys.create("front end", ["webui/*"])
    for name in ("taken", "a/b", "*", "telegram", "household", "webui"):
        assert kind(request_from(app, "172.18.0.4", Remote_User=name).get("account"), 403) == "no-account"
        assert app.state.authenticator.people.accounts.find(name) is None


def test_equal_idempotency_keys_of_two_people_are_two_requests(app: FastAPI) -> None:
    for name in ("ann", "zoe"):
        browser = request_from(app, "172.18.0.4", Remote_User=name, Idempotency_Key="same")
        assert browser.put(f"banks/{name}").status_code == 200


def test_an_invalid_network_is_refused() -> None:
    assert str(parse_network(" 172.18.0.0/16 ")) == "172.18.0.0/16"
    for wrong in ("", "proxy", "172.18.0.1/16", "1.2.3"):
        with pytest.raises(ConfigError, match="invalid server_proxies"):
            parse_network(wrong)

"""People on a server that others reach: signing in, the cookie, and that each sees only their own banks."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hardship import llm
from hardship.loopback import serve_app

from everthread import Memory, NewLine
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.conversations import reply_stream
from everthread.server.keys import KeyStore
from everthread.server.people.directory import PeopleDirectory
from everthread.server.routes import transfer
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import now
from server.people.cheap import PASSWORDS
from server.problem import RAW, kind

PASSWORD = "violet harbour"
ORIGIN = "http://127.0.0.1:7391"
SECRET = "Quillfeather moved to Timbuktu."  # said by nora alone


@dataclass
class Site:
    """A server that requires a key or an account, and its accounts."""

    app: FastAPI
    people: PeopleDirectory
    keys: KeyStore

    def visit(self, name: str | None = None, base: str = ORIGIN) -> TestClient:
        """Return a browser, in which an account has signed in."""
        browser = TestClient(self.app, base_url=f"{base}/api/v1/", headers={"Origin": base})
        if name is not None:
            answer = browser.post("login", json={"name": name, "password": PASSWORD})
            assert answer.status_code == 200, answer.text
        return browser


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    app = create_app(Services(store, HashEmbedder(64), None, Default()), Settings(key_required=True))
    yield app
    app.state.authenticator.close()
    app.state.idempotency.close()
    store.close()


@pytest.fixture
def site(app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return the server without banks, with the members nora and mia and the administrator ann."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    for bank in app.state.services.store.banks():
        app.state.services.store.forget(bank, "bank", None, now())
    keys, people = KeyStore(tmp_path / "server.sqlite"), PeopleDirectory(tmp_path / "server.sqlite")
    app.state.authenticator.close()
    app.state.authenticator.keys, app.state.authenticator.people = keys, people
    people.passwords = PASSWORDS
    for name in ("nora", "mia", "ann"):
        people.create(name, PASSWORD, is_administrator=name == "ann")
    return Site(app, people, keys)


def test_a_person_signs_in_sees_their_own_banks_and_signs_out(site: Site) -> None:
    browser = site.visit()
    assert kind(browser.put("banks/nora"), 401) == "unauthorized"
    assert browser.get("about").json() | {"account": None, "has_accounts": True} == browser.get("about").json()
    answer = browser.post("login", json={"name": "Nora", "password": PASSWORD})
    own = {"name": "nora", "administrator": False, "has_password": True, "at_proxy": False, "banks": ["nora"]}
    assert answer.json() == browser.get("account").json() == browser.get("about").json()["account"] == own
    assert re.fullmatch(
        r"everthread=[\w-]{43}; HttpOnly; Max-Age=2592000; Path=/; SameSite=strict", answer.headers["set-cookie"]
    )
    assert browser.put("banks/nora%2Fever").status_code == 200
    assert kind(browser.put("banks/mia"), 403) == "forbidden"
    assert [bank["id"] for bank in browser.get("banks").json()["items"]] == ["nora/ever"]
    left = browser.post("logout", json={})
    assert (left.status_code, 'everthread=""' in left.headers["set-cookie"]) == (204, True)
    assert browser.post("logout", json={"everywhere": True}).status_code == 204, "the session was over"
    assert kind(browser.get("banks"), 401) == "unauthorized"


def test_every_wrong_name_and_password_gets_the_same_answer_and_too_many_have_to_wait(site: Site) -> None:
    browser = site.visit()
    attempts = [("nora", "wrong"), ("nobody", "wrong"), ("../x", ""), ("nora", PASSWORD + " ")]
    answers = [browser.post("login", json={"name": name, "password": word}) for name, word in attempts]
    assert {kind(answer, 401) for answer in answers} == {"wrong-password"}
    assert len({(answer.content, answer.headers.get("set-cookie")) for answer in answers}) == 1
    for name in ("nora", "nobody"):
        waits = [browser.post("login", json={"name": name, "password": "wrong"}) for _ in range(8)]
        assert waits[-1].status_code == 429
        assert int(waits[-1].headers["retry-after"]) >= 1
    assert kind(browser.post("login", json={"name": "nora", "password": PASSWORD}), 429) == "too-many-attempts"


def test_the_cookie_is_secure_by_https_and_one_from_http_is_not_accepted_there(site: Site) -> None:
    base = "https://127.0.0.1:7391"
    browser = site.visit("nora", base)
    (cookie,) = browser.cookies.jar
    assert (cookie.name, cookie.secure, cookie.path) == ("__Host-everthread", True, "/")
    assert browser.get("account").status_code == 200
    planted = TestClient(site.app, base_url=f"{base}/api/v1/", headers={"Cookie": f"everthread={cookie.value}"})
    assert planted.get("account").status_code == 401


def test_a_change_with_a_cookie_needs_the_origin_of_the_own_page(site: Site) -> None:
    browser = site.visit("nora")
    del browser.headers["Origin"]
    for origin in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        for path, body in (("banks/nora/lines", {"text": "Planted."}), ("logout", {"everywhere": True})):
            assert kind(browser.post(path, json=body, headers=origin), 403) == "foreign-origin"
    assert browser.get("account").status_code == 200
    assert browser.get("banks").json()["items"] == []


def test_a_key_beats_the_cookie_and_programs_have_no_account(site: Site) -> None:
    browser = site.visit("nora")
    key = {"Authorization": f"Bearer {site.keys.create('phone', ['bob'])}"}
    assert browser.put("banks/bob", headers=key).status_code == 200
    assert kind(browser.put("banks/nora", headers=key), 403) == "forbidden"
    assert kind(browser.get("account", headers=key), 403) == "forbidden"
    assert kind(browser.put("banks/nora", headers={"Authorization": "Bearer et_wrong"}), 401) == "unauthorized"


def test_the_endpoints_of_programs_accept_no_cookie(site: Site) -> None:
    browser = site.visit("nora")
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    for path in ("/v1/chat/completions", "/bank/nora/v1/chat/completions", "/api/chat"):
        assert browser.post(ORIGIN + path, json=body).status_code == 401
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert browser.post(f"{ORIGIN}/mcp", json=call, headers={"Accept": "application/json"}).status_code == 401
    assert browser.get(f"{ORIGIN}/metrics").status_code == 403


def test_signing_out_everywhere_and_a_new_password_end_the_other_sessions(site: Site) -> None:
    here, there = site.visit("nora"), site.visit("nora")
    change = {"current": PASSWORD, "new": "another harbour"}
    assert kind(here.put("account/password", json={**change, "current": "wrong"}), 401) == "wrong-password"
    assert kind(here.put("account/password", json={**change, "new": "short"}), 422) == "bad-input"
    assert here.put("account/password", json=change).status_code == 204
    assert [here.get("account").status_code, there.get("account").status_code] == [200, 401]
    assert there.post("login", json={"name": "nora", "password": change["new"]}).status_code == 200
    assert here.post("logout", json={"everywhere": True}).status_code == 204
    assert there.get("account").status_code == 401


def test_a_running_reply_is_cut_when_its_reader_is_signed_out_everywhere_or_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_stream, "CHECK_INTERVAL_S", 0.02)
    slow = llm.Reply([f"piece{number} " for number in range(500)], delay=0.01)
    with llm.llm_server(slow) as model, closing(SQLiteStore(tmp_path)) as store:
        services = Services(store, HashEmbedder(64), OpenAICompatible(model.url, "m"), Default())
        app = create_app(services, Settings(key_required=True))
        people: PeopleDirectory = app.state.authenticator.people
        people.passwords = PASSWORDS
        account = people.create("nora", PASSWORD)
        key = app.state.authenticator.keys.create("nora's program", ["nora"])
        with serve_app(app) as url, httpx.Client(base_url=f"{url}/api/v1/", headers={"Origin": url}) as browser:

            def read_until_cut(cut: Callable[[], object], headers: dict[str, str]) -> str:
                """Follow a reply, and cut it off while it arrives."""
                received = ""
                body = {"text": "Hello."}
                with browser.stream("POST", "banks/nora/chat/one/reply", json=body, headers=headers) as reply:
                    for part in reply.iter_text():
                        if "piece3" in part and "piece3" not in received:
                            cut()
                        received += part
                people.set_locked(account, False)
                browser.post("login", json={"name": "nora", "password": PASSWORD}).raise_for_status()
                browser.post("banks/nora/chat/one/stop").raise_for_status()
                return received.rpartition("event: ")[2]

            browser.post("login", json={"name": "nora", "password": PASSWORD}).raise_for_status()
            program = {"Authorization": f"Bearer {key}"}

            for cut, headers in (
                (lambda: people.sign_out(account, None, everywhere=True), {}),
                (lambda: people.set_locked(account, True), {}),
                (lambda: app.state.authenticator.keys.revoke("nora's program"), program),
            ):
                last = read_until_cut(cut, headers)
                assert last.startswith("error"), last
                assert "urn:everthread:unauthorized" in last


def test_a_running_export_is_cut_when_its_key_is_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "CHECK_INTERVAL_S", 0.0)
    with closing(SQLiteStore(tmp_path)) as store:
        app = create_app(Services(store, HashEmbedder(64), None, Default()), Settings(key_required=True))
        Memory("nora", store, HashEmbedder(64), Default()).observe_many([NewLine("Sail" + "." * 9000)] * 1000)
        keys: KeyStore = app.state.authenticator.keys
        address, headers = "/api/v1/banks/nora/export", {"X-Api-Key": keys.create("program", ["nora"])}
        with serve_app(app) as url, httpx.stream("GET", url + address, headers=headers) as export:
            parts = export.iter_bytes()
            next(parts)
            keys.revoke("program")
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                b"".join(parts)


def test_on_this_machine_nothing_of_it_is_needed(api: TestClient) -> None:
    assert api.put("banks/alice", headers={"Cookie": "everthread=stale"}).status_code == 200
    about = api.get("about").json()
    assert (about["account"], about["has_accounts"], about["key_required"]) == (None, False, False)
    assert kind(api.get("account"), 404) == "no-account"
    assert api.post("logout", json={}).status_code == 204


def test_an_equal_idempotency_key_of_another_person_is_another_request(site: Site) -> None:
    once = {"Idempotency-Key": "same"}
    for name in ("nora", "mia"):
        assert site.visit(name).put(f"banks/{name}", headers=once).status_code == 200


def test_a_member_changes_nothing_that_belongs_to_all_and_an_administrator_does(site: Site) -> None:
    member, administrator = site.visit("nora"), site.visit("ann")
    requests: list[tuple[str, str, Any]] = [
        ("GET", "model", None),
        ("GET", "accounts", None),
    ]
    for method, path, body in requests:
        assert kind(member.request(method, path, json=body), 403) == "forbidden"
        assert administrator.request(method, path, json=body).status_code in (200, 204), path


def test_a_member_has_characters_of_their_own_beside_those_of_all(site: Site, tmp_path: Path) -> None:
    nora, mia, ann = (site.visit(name) for name in ("nora", "mia", "ann"))
    ann.put("characters/Vey", json={"name": "Vey", "description": "Of all."}).raise_for_status()
    nora.put("characters/Vey", json={"name": "Vey", "description": "Nora's."}).raise_for_status()
    nora.post("characters", content=b'{"name": "Owl"}', headers=RAW).raise_for_status()

    def described(browser: TestClient) -> dict[str, tuple[str, bool]]:
        items = browser.get("characters").json()["items"]
        return {item["name"]: (item["description"], item["builtin"]) for item in items if item["name"] != "Ever"}

    assert described(nora) == {"Owl": ("", False), "Vey": ("Nora's.", False)}
    assert described(mia) == {"Vey": ("Of all.", True)}
    assert described(ann) == {"Vey": ("Of all.", False)}
    assert kind(mia.get("characters/Owl"), 404) == kind(ann.get("characters/Owl/card"), 404) == "not-found"
    assert kind(mia.delete("characters/Vey"), 403) == "forbidden"
    for browser, bank, description in ((nora, "nora", "Nora's."), (mia, "mia", "Of all.")):
        browser.put(f"banks/{bank}").raise_for_status()
        own = browser.put(f"banks/{bank}/characters/Vey").json()["id"].replace("/", "%2F")
        assert browser.get(f"banks/{own}/character").json()["description"] == description
    nora.delete("characters/Vey").raise_for_status()
    assert described(nora)["Vey"] == ("Of all.", True)
    ann.delete("accounts/nora?banks=keep").raise_for_status()
    assert not list((tmp_path / "home").rglob("owl*"))


def _requests(document: dict[str, Any], bank: str) -> Iterator[tuple[str, str, dict[str, str], Any]]:
    """Yield a request for every operation of the API, for one bank: method, path, headers, body."""
    values = {"bank": bank, "seq": "1", "id": "1", "kind": "note", "session": "one", "name": "Ever"}
    bodies = {
        "query": "Where did Quillfeather move?",
        "text": "Quillfeather Timbuktu",
        "banks": ["nora"],
        "recall_from": ["nora"],
        "name": "nora",
        "password": "wrong password",
        "current": "wrong password",
        "new": "wrong password",
    }
    for path, operations in document["paths"].items():
        target = re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], "one"), path.removeprefix("/api/v1/"))
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            fields = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
            body = {name: value for name, value in bodies.items() if name in fields.get("properties", {})}
            headers = RAW if content and "application/json" not in content else {}
            yield method.upper(), target, headers, body if fields else None


def _plant(nora: TestClient) -> None:
    """Have nora say her secret in every kind of text."""
    assert nora.post("banks/nora/lines", json={"text": SECRET, "session": "one"}).status_code == 201
    assert nora.put("banks/nora/notes", json={"text": SECRET}).status_code == 200
    title = {"title": SECRET, "metadata": {"tags": [SECRET]}}
    assert nora.patch("banks/nora/sessions/one", json=title).status_code == 200
    assert nora.patch("banks/nora/character", json={"description": SECRET}).status_code == 200
    assert nora.put("characters/Ever", json={"name": "Ever", "description": SECRET}).status_code == 200


@pytest.mark.parametrize("other", ["mia", "ann"])
def test_no_response_to_one_account_holds_a_byte_of_anothers_texts(site: Site, other: str) -> None:
    nora, stranger = site.visit("nora"), site.visit(other)
    _plant(nora)
    before = nora.get("banks/nora/export").content
    assert b"Quillfeather" in before
    document = nora.get("openapi.json").json()
    stranger.put(f"banks/{other}")
    for bank in ("nora", other):
        for method, path, headers, body in _requests(document, bank):
            if path in ("logout", "model/pull") or (bank != other and not path.startswith("banks/nora")):
                continue
            answer = stranger.request(method, path, json=body, headers=headers)
            text = answer.text.replace("Where did Quillfeather move?", "").replace("Quillfeather Timbuktu", "")
            assert "Quillfeather" not in text, (method, path)
            if path.startswith("banks/nora"):
                assert answer.status_code == 403, (method, path)
    assert stranger.get("account").status_code == 200, "it was signed in all the time"
    assert nora.get("banks/nora/export").content == before

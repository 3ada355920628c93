"""Signing in at an OpenID Connect provider: who gets in, to which account, and who doesn't."""

import base64
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hardship import web
from hardship.loopback import Quiet, serve_handler
from joserfc.jwk import RSAKey

from everthread.errors import BadInput, ConfigError
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.people.accounts import Account
from everthread.server.people.directory import PeopleDirectory
from everthread.server.people.openid_provider import Identity
from everthread.server.people.openid_sign_in import derive_name, propose_names
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from server.people.oidc_provider import CLIENT, PRIVATE_PARAMETER, SECRET, Provider, new_key, serve_provider
from server.problem import kind

ORIGIN = "http://127.0.0.1:7391"
START, CALLBACK = "/sign-in/openid", "/sign-in/openid/callback"
LED_BACK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture(scope="module")
def served_provider() -> Iterator[Provider]:
    with serve_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def app(served_provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    store.create("taken")
    app = create_app(Services(store, HashEmbedder(64), None, Default()), settings_for(served_provider.url))
    yield app
    app.state.openid.close()
    app.state.authenticator.close()
    app.state.idempotency.close()
    store.close()


@pytest.fixture
def provider(served_provider: Provider) -> Provider:
    served_provider.reset()
    return served_provider


@pytest.fixture
def people(app: FastAPI) -> PeopleDirectory:
    people: PeopleDirectory = app.state.authenticator.people
    return people


def settings_for(issuer: str, **changes: Any) -> Settings:
    values: dict[str, Any] = {"openid_client": CLIENT, "openid_secret": SECRET, "openid_name": "Home"}
    return Settings(key_required=True, openid_issuer=issuer, **(values | changes))


def open_browser(app: FastAPI, base: str = ORIGIN, address: str = "192.0.2.1") -> TestClient:
    headers = {"Origin": base, "Accept": "*/*"}
    return TestClient(app, base_url=base, headers=headers, client=(address, 1), follow_redirects=False)


def go_to_provider(browser: TestClient) -> str:
    """Press the button, sign in at the provider, and return the address to which it sends the browser back."""
    start = browser.get(START)
    assert start.status_code == 303
    return web.get(start.headers["location"], verify=False).headers["location"]


def come_back(browser: TestClient, address: str) -> str:
    """Follow the provider's redirect, and return where the page leads on to."""
    answer = browser.get(address, headers=LED_BACK)
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    led_to = re.search(r'content="0;url=([^"]+)"', answer.text)
    assert led_to
    return led_to[1]


def fields_of(record: logging.LogRecord) -> dict[str, str]:
    return record.fields  # type: ignore[attr-defined, no-any-return]


def account_records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return what was logged of accounts; another test may have switched the log of requests on."""
    return [record for record in caplog.records if record.name == "everthread.accounts"]


def sign_in(app: FastAPI, **options: str) -> tuple[TestClient, str]:
    browser = open_browser(app, **options)
    return browser, come_back(browser, go_to_provider(browser))


def own_account(browser: TestClient) -> Any:
    return browser.get("/api/v1/account").json()


def test_a_new_person_gets_an_account_and_keeps_it_under_any_name(
    app: FastAPI, provider: Provider, people: PeopleDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "everthread.accounts")
    provider.preferred_name = "Nora Quill"
    browser, led_to = sign_in(app)
    assert led_to == "/#/nora-quill"
    own = {"name": "nora-quill", "administrator": False, "has_password": False, "at_proxy": False}
    assert own_account(browser) == own | {"banks": ["nora-quill"]}
    assert browser.put("/api/v1/banks/nora-quill").status_code == 200
    assert kind(browser.put("/api/v1/banks/mia"), 403) == "forbidden"
    assert browser.get("/api/v1/about").json()["openid"] == "Home"
    provider.preferred_name = "other"
    assert sign_in(app)[1] == "/#/nora-quill"
    assert people.accounts.find("other") is None
    events = [(record.message, fields_of(record)["account"]) for record in account_records(caplog)]
    made = [("account created", "nora-quill"), ("identity linked", "nora-quill")]
    assert events == [*made, *[("signed in", "nora-quill")] * 2]


@pytest.mark.parametrize(("base", "prefix"), [(ORIGIN, ""), ("https://127.0.0.1:7391", "__Host-")])
def test_the_cookie_of_the_way_is_lax_and_short_lived_and_that_of_the_session_is_strict(
    app: FastAPI, provider: Provider, base: str, prefix: str
) -> None:
    browser, secure = open_browser(app, base), "; Secure" if prefix else ""
    start = browser.get(START)
    pattern = rf"{prefix}everthread-sign-in=[\w-]{{43}}; HttpOnly; Max-Age=600; Path=/; SameSite=lax{secure}"
    assert re.fullmatch(pattern, start.headers["set-cookie"])
    back = web.get(start.headers["location"], verify=False).headers["location"]
    assert back.startswith(base + CALLBACK)
    deleted, session = browser.get(back).headers.get_list("set-cookie")
    assert deleted.startswith(f'{prefix}everthread-sign-in=""; ')
    assert re.fullmatch(
        rf"{prefix}everthread=[\w-]{{43}}; HttpOnly; Max-Age=2592000; Path=/; SameSite=strict{secure}", session
    )


def test_a_name_or_a_bank_that_exists_or_that_a_key_is_for_is_never_taken(
    app: FastAPI, provider: Provider, people: PeopleDirectory
) -> None:
    ann = people.create("ann", None)
    people.give_banks(ann, ["pool/one"])
    app.state.authenticator.keys.create("front end", ["webui/*", "shop", "bakery/till"])
    for preferred, name in (
        ("webui", "webui-2"),
        ("shop", "shop-2"),
        ("bakery", "bakery-2"),
        ("ANN", "ann-2"),
        ("taken", "taken-2"),
        ("pool", "pool-2"),
        ("sms", "sms-2"),
        ("ann", "ann-3"),
    ):
        provider.reset()
        provider.preferred_name = preferred
        provider.claims = {"email": "ann@example.org", "email_verified": True, "name": "Ann"}
        assert sign_in(app)[1] == f"/#/{name}"
    assert people.accounts.get("ann").signed_in_on is None


def test_names_come_from_the_preferred_name_or_the_subject() -> None:
    for text, name in (("Nora", "nora"), ("../x y", "x-y"), ("n@x.org", "n@x.org"), ("é" * 60, "é" * 24), ("*/", "")):
        assert derive_name(text) == name
    names = list(propose_names(Identity("https://login.example.org", "A-1", "/")))
    assert names[:3] == ["a-1", "a-1-2", "a-1-3"]
    assert re.fullmatch(r"a-1-[0-9a-f]{8}", names[-1])


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"iss": "https://evil.example"},
        {"exp": 1_000_000_000},  # in 2001
        {"sub": ""},
        {"sub": 1},
        {"sub": "s\0"},
    ],
    ids=repr,
)
def test_an_id_token_that_says_something_else_proves_nothing(
    app: FastAPI, provider: Provider, claims: dict[str, Any]
) -> None:
    provider.claims = claims
    browser, led_to = sign_in(app, address="192.0.2.2" if claims.keys() & {"aud", "sub"} else "192.0.2.3")
    assert led_to == "/?sign-in=unconfirmed"
    assert browser.get("/api/v1/account").status_code == 401


def test_a_foreign_signature_is_refused_and_a_new_key_of_the_provider_is_fetched(
    app: FastAPI, provider: Provider
) -> None:
    provider.signing_key = new_key()
    assert sign_in(app, address="192.0.2.4")[1] == "/?sign-in=unconfirmed"
    provider.key, provider.signing_key = provider.signing_key, None
    assert sign_in(app, address="192.0.2.4")[1].startswith("/#/s-")


def test_a_new_key_of_the_provider_counts_at_once_with_the_id_of_the_earlier_one_or_none(
    app: FastAPI, provider: Provider
) -> None:
    for kid in (provider.key.kid, None):
        provider.header = {"kid": kid}
        assert sign_in(app, address="192.0.2.9")[1].startswith("/#/s-")
        provider.key = RSAKey.generate_key(2048, {"kid": str(provider.key.kid)})
        assert sign_in(app, address="192.0.2.9")[1].startswith("/#/s-")


def test_keys_of_the_provider_that_are_not_understood_are_left_out(app: FastAPI, provider: Provider) -> None:
    provider.other_keys = [
        {"kty": "EC", "crv": "P-192", "x": "AA", "y": "AA", "kid": "old"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "short"},
        {"kty": "RSA", "kid": "without a number"},
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA", "kid": "new"},
        {"kid": "without a type"},
    ]
    provider.key = new_key()
    assert sign_in(app, address="192.0.2.10")[1].startswith("/#/s-")


def test_the_header_of_an_id_token_may_have_certificates_and_parameters_of_the_provider_but_no_critical_ones(
    app: FastAPI, provider: Provider
) -> None:
    certificate = base64.b64encode(bytes(3_000)).decode()
    provider.header = {"x5c": [certificate] * 3, PRIVATE_PARAMETER: "home"}
    assert sign_in(app, address="192.0.2.11")[1].startswith("/#/s-")
    provider.header = {"crit": [PRIVATE_PARAMETER], PRIVATE_PARAMETER: "home"}
    assert sign_in(app, address="192.0.2.11")[1] == "/?sign-in=unconfirmed"


def test_an_answer_with_another_state_or_of_another_browser_or_a_used_one_is_refused(
    app: FastAPI, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "everthread.accounts")
    browser, stranger = open_browser(app, address="192.0.2.5"), open_browser(app, address="192.0.2.5")
    back = go_to_provider(browser)
    assert come_back(stranger, back) == "/?sign-in=unconfirmed"
    cookie = {"everthread-sign-in": browser.cookies["everthread-sign-in"]}
    assert come_back(browser, back).startswith("/#/")
    browser.cookies.update(cookie)
    assert come_back(browser, back) == "/?sign-in=unconfirmed", "it was used"
    for change in (
        ("state=", "state=x"),
        ("code=", "code=x"),
        ("code=", "no_code="),
        ("code=", "iss=https://evil.example&code="),
    ):
        assert come_back(browser, go_to_provider(browser).replace(*change)) == "/?sign-in=unconfirmed"
    browser = open_browser(app, address="192.0.2.8")
    first = go_to_provider(browser)
    code = re.search(r"code=\w+", first)
    assert code
    stolen = re.sub(r"code=\w+", code[0], go_to_provider(browser))
    assert come_back(browser, stolen) == "/?sign-in=unconfirmed", "the code was given for another verifier"
    reasons = {fields_of(record)["reason"] for record in account_records(caplog)}
    assert reasons == {"the state is unknown, used or expired", "the answer is another provider's", "invalid_grant"}


def test_a_refusal_of_the_provider_and_too_many_attempts_are_said(app: FastAPI, provider: Provider) -> None:
    provider.error = "access_denied"
    assert sign_in(app, address="192.0.2.6")[1] == "/?sign-in=refused"
    browser = open_browser(app, address="192.0.2.6")
    for _ in range(5):
        last = browser.get(START)
    assert re.fullmatch(r"/\?sign-in=wait&seconds=\d", last.headers["location"])


def test_a_locked_account_is_refused_and_the_next_account_after_its_removal_is_another(
    app: FastAPI, provider: Provider, people: PeopleDirectory
) -> None:
    provider.preferred_name = "mia"
    browser, _ = sign_in(app)
    mia = people.accounts.get("mia")
    people.set_locked(mia, True)
    assert sign_in(app)[1] == "/?sign-in=locked"
    assert browser.get("/api/v1/account").status_code == 401
    people.remove(mia)
    assert sign_in(app)[1] == "/#/mia"
    assert people.accounts.get("mia").id != mia.id


def test_where_only_known_people_may_sign_in_an_administrator_links_them(
    app: FastAPI, provider: Provider, people: PeopleDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.state.openid, "_creates_accounts", False)
    assert sign_in(app, address="192.0.2.7")[1] == "/?sign-in=no_account"
    zoe: Account = people.create("zoe", None)
    people.link(zoe, provider.url, provider.subject)
    assert sign_in(app, address="192.0.2.7")[1] == "/#/zoe"
    with pytest.raises(BadInput, match="belongs to the account 'zoe'"):
        people.link(people.create("zac", None), provider.url, provider.subject)


def test_a_provider_that_takes_the_secret_in_the_body_only_gets_it_there(
    app: FastAPI, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.state.openid.provider, "_metadata", None)
    provider.takes_secret_in_body = True
    assert sign_in(app)[1] == "/#/" + provider.subject
    monkeypatch.setattr(app.state.openid.provider, "_metadata", None)


def test_a_provider_that_is_down_or_another_one_is_unreachable(
    provider: Provider, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Quiet):
        def do_GET(self) -> None:
            self.send_error(503)

    with serve_handler(Broken) as gone:
        urls = [gone, f"{provider.url}/", "http://127.0.0.1:9"]
        monkeypatch.setattr(app.state.openid.provider, "_metadata", None)
        for number, (url, led_to) in enumerate(zip(urls, ("/?", "http", "/?"), strict=True)):
            monkeypatch.setattr(app.state.openid.provider, "issuer", url.rstrip("/"))
            location = open_browser(app, address=f"192.0.2.{30 + number}").get(START).headers["location"]
            assert location.startswith(led_to), location
            monkeypatch.setattr(app.state.openid.provider, "_metadata", None)


def test_invalid_settings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLiteStore(tmp_path)
    services = Services(store, HashEmbedder(64), None, Default())
    invalid: list[tuple[Settings, str]] = [
        (settings_for("http://login.example.org"), "invalid openid_issuer: got 'http://login.example.org'"),
        (settings_for("login.example.org"), "invalid openid_issuer"),
        (settings_for("https://login.example.org", openid_client=""), "openid_issuer needs openid_client"),
        (settings_for("https://login.example.org", account_header="Remote-User"), "exclude each other"),
    ]
    for settings, message in invalid:
        with pytest.raises(ConfigError, match=message):
            create_app(services, settings)
    monkeypatch.setattr("everthread.server.people.openid_settings.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"install them with: .*oidc"):
        create_app(services, settings_for("https://login.example.org"))
    store.close()

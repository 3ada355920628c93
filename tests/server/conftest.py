"""Fixtures with the app over a real store in a temporary folder, and an embedder that compares only spelling.

Fixtures import the app, Playwright and clients themselves: unit tests need none of them, and load faster without.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hardship import firefox, llm

from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

if TYPE_CHECKING:
    from fastapi.testclient import TestClient
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright

    from everthread.server.services import Services
    from server.proxied import Proxy

# A GPU is emulated otherwise, which takes processor time, and so does optimizing scripts that run for a second.
CHROMIUM_OPTIONS = ("--no-sandbox", "--disable-gpu", "--process-per-site", "--js-flags=--no-opt --no-maglev")
_shared = ExitStack()  # closes the browser


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    from everthread.server.services import Services

    store = SQLiteStore(tmp_path / "banks")
    yield Services(store, HashEmbedder(64), None, Default())
    store.close()


@pytest.fixture
def api(services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Return a client of the app, with a character folder of its own."""
    from fastapi.testclient import TestClient

    from everthread.server.app import create_app

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    app = create_app(services)
    with TestClient(app, base_url="http://127.0.0.1:7391/api/v1/") as client:
        yield client
    app.state.idempotency.close()


@pytest.fixture
def api_with_lines(api: TestClient) -> TestClient:
    """Return the client after two conversations were stored in the bank `alice/nemo`."""
    lines = [
        {"text": "My sister Mia moved to Lisbon.", "session": "one", "said_at": "2024-05-06T20:00:00+02:00"},
        {"text": "How exciting!", "role": "assistant", "session": "one", "said_at": "2024-05-06T20:01:00+02:00"},
        {"text": "She has a dog called Rex.", "session": "one", "said_at": "2024-05-06T20:02:00+02:00"},
        {"text": "I planted ferns today.", "session": "two", "said_at": "2024-07-01T09:00:00+00:00"},
    ]
    assert api.post("banks/alice%2Fnemo/lines/batch", json={"lines": lines}).status_code == 201
    return api


@pytest.fixture(scope="module")
def proxy_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    from server.proxied import serve_proxy

    with serve_proxy(tmp_path_factory.mktemp("banks")) as proxy:
        yield proxy


@pytest.fixture
def proxy(proxy_server: Proxy) -> Proxy:
    """Return the proxy with a bank of this test, and an upstream that says hello."""
    from server.proxied import BANKS

    proxy_server.upstream.behaviours[:] = ["Hello there."]
    proxy_server.bank = next(BANKS)
    return proxy_server


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a server with a model."""
    from hardship.loopback import serve_app

    from everthread.server.app import create_app
    from everthread.server.services import Services
    from server.page_helpers import Model

    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    with llm.llm_server(Model()) as model_server:
        services = Services(store, HashEmbedder(512), OpenAICompatible(model_server.url, "m"), Default())
        with serve_app(create_app(services)) as url:
            yield url
    store.close()


@pytest.fixture(scope="module")
def url_without_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from hardship.loopback import serve_app

    from everthread.server.app import create_app
    from everthread.server.services import Services

    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    with serve_app(create_app(Services(store, HashEmbedder(512), None, Default()))) as url:
        yield url
    store.close()


@pytest.fixture
def people_url(tmp_path: Path) -> Iterator[str]:
    """Return the URL of a server that requires accounts, with the administrator nora."""
    from hardship.loopback import serve_app

    from everthread.server.app import create_app
    from everthread.server.services import Services
    from everthread.server.settings import Settings
    from server.page_helpers import PASSWORD
    from server.people.cheap import PASSWORDS

    store = SQLiteStore(tmp_path)
    app = create_app(Services(store, HashEmbedder(64), None, Default()), Settings(key_required=True))
    people = app.state.authenticator.people
    people.passwords = PASSWORDS
    people.create("nora", PASSWORD, is_administrator=True)
    with serve_app(app) as url:
        yield url
    store.close()


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch, url_without_model: str) -> Iterator[llm.Server]:
    """Run an Ollama; at the end, no model is connected."""
    from hardship import web

    with llm.llm_server("Hello from the model.", models=["llama3.2:latest", "qwen3:8b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        yield server
    web.delete(f"{url_without_model}/api/v1/model").raise_for_status()


@cache
def start_playwright() -> Playwright:
    """Start Playwright, which the files share that need a browser and run one after another."""
    from playwright.sync_api import sync_playwright

    _shared.callback(start_playwright.cache_clear)
    return _shared.enter_context(sync_playwright())


@cache
def launch_chromium() -> Browser:
    """Launch the system's Chromium, which the files share that run one after another."""
    from server.page_helpers import CHROMIUM

    _shared.callback(launch_chromium.cache_clear)
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    browser = start_playwright().chromium.launch(executable_path=path, args=CHROMIUM_OPTIONS)
    _shared.callback(browser.close)
    return browser


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Close the browser before a test that needs none: as long as Playwright is open, no other event loop can run."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.get_closest_marker("browser") is None:
            _shared.close()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return Chromium, or Firefox with the option --firefox."""
    if not request.config.getoption("firefox"):
        yield launch_chromium()
        return
    browser = launch_firefox(tmp_path_factory.mktemp("firefox"))
    yield browser
    browser.close()


def launch_firefox(folder: Path) -> Browser:
    """Launch the system's Firefox, by way of `hardship.firefox`."""
    launcher = folder / "firefox"
    launcher.write_text(
        f"#!{sys.executable}\nimport runpy\nrunpy.run_path({firefox.__file__!r}, run_name='__main__')\n"
    )
    launcher.chmod(0o700)
    return start_playwright().firefox.launch(channel="moz-firefox", executable_path=launcher)


@pytest.fixture(scope="module")
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """Return a visitor in whose tabs the tests of a module run one after another.

    A page takes half the processor time there: its files stay in the cache, and the tab of the visitor's own keeps the
    process alive in which the browser runs every page of this host.
    """
    from playwright.sync_api import expect

    from server.page_helpers import TIMEOUT_MS, VISITOR

    context = browser.new_context(**VISITOR)
    context.add_init_script("Object.defineProperty(navigator, 'serviceWorker', {})")  # it would outlive its test
    context.set_default_timeout(TIMEOUT_MS)
    expect.set_options(timeout=TIMEOUT_MS)
    own = context.new_page()
    own.route("**", lambda route: route.fulfill(body=""))
    own.goto("http://127.0.0.1/")
    yield context
    context.close()


@pytest.fixture
def tab(visitor: BrowserContext) -> Iterator[Page]:
    """Open a tab of the visitor. Nothing is stored for it, and its console is not checked."""
    yield visitor.new_page()
    for page in visitor.pages[1:]:
        page.evaluate("localStorage.clear()")
        page.close()
    visitor.clear_cookies()
    visitor.clear_permissions()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """Open a tab as `tab` does. An error or a warning in its console fails the test, except about axe's canvas, and
    about a reply that ended before it was followed."""
    errors = list[str]()

    def record(message: ConsoleMessage) -> None:
        is_expected = message.text.startswith("Canvas2D: Multiple readback") or (
            message.location["url"].endswith("/stream") and "404" in message.text
        )
        if message.type in ("error", "warning") and not is_expected:
            errors.append(f"{message.text} ({message.location['url']})")

    tab.on("console", record)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    yield tab
    tab.evaluate("0")  # by then everything in the console has been reported
    assert not errors

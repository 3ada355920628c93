"""Installing the page: its manifest, its icons, and the page that is shown while the server can't be reached."""

import json
import struct
from pathlib import Path

import httpx
from hardship import web
from playwright.sync_api import Browser, expect

from server.page_helpers import FOLDER, PHONE, check_accessibility

WORKER_IS_READY = "navigator.serviceWorker.ready.then(({ active }) => active.state)"
STORED = """async () => {
    const caches_ = await Promise.all((await caches.keys()).map(name => caches.open(name)));
    const requests = await Promise.all(caches_.map(cache => cache.keys()));
    return requests.flat().map(request => new URL(request.url).pathname).sort();
}"""


def size_of(path: Path) -> tuple[int, int]:
    """Return the width and the height of a PNG file."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_the_page_can_be_installed_and_says_in_its_language_when_the_server_is_away(browser: Browser, url: str) -> None:
    context = browser.new_context(viewport=PHONE, locale="de-DE")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{url}/#/installed")
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(WORKER_IS_READY) in ("activating", "activated")
    devtools = context.new_cdp_session(page)
    manifest = devtools.send("Page.getAppManifest")
    assert manifest["errors"] == []
    assert json.loads(manifest["data"])["lang"] == "de"
    errors = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [error["errorId"] for error in errors if error["errorId"] != "in-incognito"] == []

    page.reload()
    page.wait_for_selector("html[data-ready]")
    shell = [f"/static/{name}" for name in ("icon.svg", "offline.css", "offline.html", "offline.js", "theme.js")]
    assert page.evaluate(STORED) == shell  # nothing of the API
    context.set_offline(True)
    page.reload()
    expect(page.get_by_role("heading")).to_have_text("Everthread ist nicht erreichbar")
    assert page.evaluate("document.documentElement.lang") == "de"
    check_accessibility(page)
    context.set_offline(False)
    page.wait_for_selector("html[data-ready]")
    assert page.url.endswith("/#/installed")
    context.close()


def test_the_icons_have_the_sizes_that_the_manifest_gives(url: str) -> None:
    manifest = web.get(f"{url}/static/manifest.webmanifest").json()
    for icon in manifest["icons"]:
        answer = httpx.get(url + icon["src"])
        assert answer.headers["content-type"] == icon["type"]
        if icon["type"] == "image/png":
            width, height = size_of(FOLDER / icon["src"].removeprefix("/static/"))
            assert f"{width}x{height}" == icon["sizes"]


def test_the_service_worker_is_checked_for_updates_on_each_visit(url: str) -> None:
    answer = httpx.get(f"{url}/serviceworker.js")
    assert answer.headers["cache-control"] == "no-cache"
    assert "worker-src 'self'" in answer.headers["content-security-policy"]

"""The demo on the page, with the included model."""

from collections.abc import Iterator

import pytest
from hardship import web
from hardship.loopback import serve_app
from playwright.sync_api import Browser, Page, expect

from everthread.embedders.onnx import OnnxEmbedder
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from server.page_helpers import TIMEOUT_MS, HeldRoute, check_accessibility

ANSWER = "Ich habe einen gebrauchten Transporter gekauft, einen roten, mit 90.000 Kilometern."
QUESTION = "Wie viele Kilometer hat der Transporter?"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a server with the included embedder and without a model."""
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    with serve_app(create_app(Services(store, OnnxEmbedder(), None, Default()))) as url:
        yield url
    store.close()


def test_the_demo_answers_forgets_leaves_nothing_and_touches_no_bank_of_ones_own(browser: Browser, url: str) -> None:
    context = browser.new_context(locale="de-DE", reduced_motion="reduce")
    context.set_default_timeout(TIMEOUT_MS)
    expect.set_options(timeout=TIMEOUT_MS)
    page, errors = context.new_page(), list[str]()
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(f"{url}/#/mine")
    page.get_by_role("button", name="Mit einem Beispielleben ausprobieren").click()
    expect(page.locator("#demo h2")).to_contain_text("Jonas")
    expect(page.locator("#message")).not_to_be_visible()

    page.get_by_role("button", name=QUESTION).click()
    expect(page.locator("#demo .lit")).to_have_text(ANSWER)
    expect(page.locator("#demo .lead")).to_have_text("Am 13. April 2025 hast du gesagt:")
    expect(page.locator("#demo .dim")).to_have_text("EverUnd, fährt er sich gut?")
    expect(page.locator("#panel")).to_contain_text(ANSWER)

    page.get_by_role("link", name="Im Chat zeigen").click()
    expect(page.locator(".line.target")).to_contain_text(ANSWER)
    page.go_back()
    expect(page.locator("#demo .lit")).to_have_text(ANSWER)

    page.get_by_role("button", name="Jetzt vergiss das").click()
    expect(page.locator("#demo .receipt")).to_contain_text("die Nachricht, endgültig")
    expect(page.get_by_role("button", name=QUESTION)).to_be_disabled()
    expect(page.locator("#demo .from-character").last).to_contain_text("Nichts kommt zurück.")
    expect(page.locator("body")).not_to_contain_text("90.000")
    page.get_by_role("button", name="Wo waren wir im Urlaub?").click()
    expect(page.locator("#demo .lit")).to_contain_text("Rügen")
    page.set_viewport_size({"width": 390, "height": 844})
    check_accessibility(page)

    expect(page.get_by_role("button", name="Demo verlassen")).to_be_visible()
    page.get_by_role("button", name="Mit eigenen Chats beginnen").click()
    expect(page.locator("#notices")).to_contain_text("Die Demo ist gelöscht.")
    expect(page.locator("#message")).to_be_visible()
    assert page.url.endswith("#/mine")
    assert web.get(f"{url}/api/v1/banks/demo").status_code == 404

    page.goto(f"{url}/#/demo")
    page.reload()  # the address of a demo that was deleted
    expect(page.locator("#demo h2")).to_contain_text("Jonas")
    page.get_by_role("button", name="Demo verlassen").click()
    expect(page.locator("#notices")).to_contain_text("Die Demo ist gelöscht.")
    expect(page.locator("#message")).to_be_visible()
    assert errors == []

    web.post(f"{url}/api/v1/banks/demo/lines", json={"text": "My own."}).raise_for_status()
    page.get_by_role("button", name="Mit einem Beispielleben ausprobieren").click()
    expect(page.locator("#notices")).to_contain_text("Im Gedächtnis der Demo sind eigene Nachrichten")
    assert web.delete(f"{url}/api/v1/banks/demo").json()["lines"] == 1
    context.close()


def test_the_bank_of_the_demo_is_deleted_when_nothing_is_read_from_it_any_more(page: Page, url: str) -> None:
    web.post(f"{url}/api/v1/banks/demo/sample", json={"language": "en"}).raise_for_status()
    requests = list[str]()
    page.on("request", lambda request: requests.append(request.method))
    held = HeldRoute(page, "**/api/v1/banks/demo/chat/**")
    page.goto(f"{url}/#/demo")
    page.get_by_role("button", name="Leave the demo").click()
    page.wait_for_url("**/#/default")
    expect(page.locator("#message")).to_be_visible()
    page.wait_for_selector("#character-name:not(:empty)")
    assert "DELETE" not in requests
    held.release()
    expect(page.locator("#notices")).to_contain_text("The demo is deleted.")
    assert web.get(f"{url}/api/v1/banks/demo").status_code == 404


def test_one_can_ask_in_ones_own_words_and_change_the_language(page: Page, url: str) -> None:
    web.post(f"{url}/api/v1/banks/demo/sample", json={"language": "zh"}).raise_for_status()
    page.goto(f"{url}/#/demo")
    page.fill("#demo-question", "钥匙藏在哪儿？")
    page.keyboard.press("Enter")
    expect(page.locator("#demo .lit")).to_contain_text("薄荷")
    page.get_by_role("toolbar", name="Actions for this memory").get_by_role("button", name="Forget").click()
    page.locator("dialog").get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Done").click()
    expect(page.locator("#demo .from-character")).to_have_text("This message is forgotten.")
    page.fill("#demo-question", "Who is the president of France?")
    page.keyboard.press("Enter")
    expect(page.locator("#demo .from-character").last).to_contain_text("Nothing answers that. Closest to it:")
    expect(page.locator("#demo .near li")).to_have_count(3)
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("#demo h2")).to_contain_text("Jonas")
    expect(page.locator("#demo .log")).to_be_empty()
    expect(page.locator("#session-list")).to_contain_text("Fast zwei Jahre hier.")

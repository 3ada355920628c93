"""The page while it is loading: typed text is sent or preserved, however late the rest arrives."""

import pytest
from hardship import web
from playwright.sync_api import Page, expect

from server.page_helpers import HeldRoute, say, visit

API = "**/api/v1/**"
INTERACTIVE = "performance.getEntriesByName('interactive').length"
MIA = "My sister Mia moved to Lisbon."


def stored_texts(url: str, bank: str) -> list[str]:
    """Return the person's lines that are stored in a bank."""
    lines = web.get(f"{url}/api/v1/banks/{bank}/lines").raise_for_status().json()["items"]
    return [line["text"] for line in lines if line["role"] == "user"]


def test_a_message_sent_at_once_is_answered_however_slow_the_server(page: Page, url: str) -> None:
    held = HeldRoute(page, API)
    page.goto(f"{url}/#/early")
    page.wait_for_function(INTERACTIVE)
    page.keyboard.type(MIA)
    page.keyboard.press("Enter")
    expect(page.locator(".line.sending .line-text")).to_have_text(MIA)
    page.keyboard.type("And one thing more.")
    page.keyboard.press("Enter")  # without effect, because a message is waiting
    expect(page.locator("#message")).to_have_value("And one thing more.")
    assert page.evaluate("document.documentElement.dataset.ready") is None
    held.release()
    expect(page.locator(".from-character .line-text").last).to_contain_text(MIA)
    expect(page.locator(".from-person .line-text")).to_have_text([MIA])
    expect(page.locator("#message")).to_have_value("And one thing more.")
    expect(page.locator("#panel")).to_contain_text("No memories were used for this reply.")
    assert stored_texts(url, "early") == [MIA]


def test_a_message_sent_before_the_columns_are_loaded_is_answered_and_appears_in_them(page: Page, url: str) -> None:
    held = HeldRoute(page, "**/static/*/columns.js")
    page.goto(f"{url}/#/alone")
    page.wait_for_function(INTERACTIVE)
    say(page, MIA)
    expect(page.locator(".from-character .line-text").last).to_contain_text(MIA)
    expect(page.locator("#tabs")).to_be_empty()
    held.release()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#panel")).to_contain_text("No memories were used for this reply.")
    expect(page.locator("#session-list .preview")).to_have_text(MIA)
    say(page, "Where did she move?")
    expect(page.locator("#panel")).to_contain_text("Nothing was recalled from earlier chats.")


def test_a_message_that_could_not_be_sent_returns_to_its_box(tab: Page, url: str) -> None:
    tab.route(API, lambda route: route.abort("connectionrefused"))
    tab.goto(f"{url}/#/refused")
    tab.wait_for_function(INTERACTIVE)
    say(tab, MIA)
    expect(tab.locator("#notices")).to_contain_text("can't be reached")
    expect(tab.locator("#message")).to_have_value(MIA)
    expect(tab.locator(".line")).to_have_count(0)
    tab.unroute(API)
    tab.wait_for_selector("html[data-ready]")  # the page checks by itself whether the server is back
    tab.keyboard.press("Enter")
    expect(tab.locator(".from-character .line-text").last).to_contain_text(MIA)
    assert stored_texts(url, "refused") == [MIA]


@pytest.mark.parametrize("path", ["/about", "/banks/{}", "/banks/{}/pins", "/banks/{}/chat/current"])
def test_a_page_whose_server_is_still_starting_is_loaded_when_it_answers(tab: Page, url: str, path: str) -> None:
    bank = f"starting-{path.rpartition('/')[2].strip('{}')}"
    address = f"{url}/api/v1{path.format(bank)}*"
    busy = {"status": 503, "title": "Service Unavailable", "detail": "The database can't be reached."}
    tab.route(address, lambda route: route.fulfill(status=503, json=busy))
    tab.goto(f"{url}/#/{bank}")
    tab.wait_for_function(INTERACTIVE)
    expect(tab.locator("#notices")).to_contain_text("The database can't be reached.")
    assert tab.evaluate("document.documentElement.dataset.ready") is None
    tab.unroute(address)
    tab.wait_for_selector("html[data-ready]")
    expect(tab.locator("#notices")).to_be_empty()
    say(tab, MIA)
    expect(tab.locator(".from-character .line-text").last).to_contain_text(MIA)
    assert stored_texts(url, bank) == [MIA]


def test_text_typed_before_the_page_is_interactive_is_preserved(page: Page, url: str) -> None:
    held = HeldRoute(page, "**/static/*/app.js")
    page.goto(f"{url}/#/typed", wait_until="commit")
    page.fill("#message", "half a thought")
    held.release()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#message")).to_have_value("half a thought")
    page.reload()
    expect(page.locator("#message")).to_have_value("half a thought")


@pytest.mark.parametrize("sent", ["Enter", "Send"])
def test_a_message_sent_before_the_scripts_are_loaded_is_sent_once_they_are(page: Page, url: str, sent: str) -> None:
    held = HeldRoute(page, "**/static/*/app.js")
    page.goto(f"{url}/#/unread-{sent}", wait_until="commit")
    page.fill("#message", MIA)
    if sent == "Enter":
        page.keyboard.press("Enter")
    else:
        page.click("#send")
    expect(page.locator(".line.sending .line-text")).to_have_text(MIA)
    expect(page.locator("#message")).to_have_value("")
    page.keyboard.type("And one thing")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("more.")
    page.keyboard.press("Enter")  # without effect, because a message is waiting
    held.release()
    expect(page.locator(".from-character .line-text").last).to_contain_text(MIA)
    expect(page.locator(".from-person .line-text")).to_have_text([MIA])
    expect(page.locator("#message")).to_have_value("And one thing\nmore.")
    expect(page.locator("#send")).to_have_text("Send")  # the reply has ended, and what was typed meanwhile is saved
    assert stored_texts(url, f"unread-{sent}") == [MIA]
    page.reload()
    expect(page.locator("#message")).to_have_value("And one thing\nmore.")


def test_nothing_jumps_while_the_page_is_loading(page: Page, url: str) -> None:
    page.add_init_script(
        "window.moved = 0; new PerformanceObserver(list => list.getEntries().forEach(each => moved += each.value))"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    visit(page, url, "still")
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator("#avatar")).to_have_text("E")
    page.wait_for_timeout(200)
    assert page.evaluate("moved") < 0.01  # the layout shift score; shifts below 0.1 are hardly visible

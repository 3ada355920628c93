"""The main tasks in the system's Firefox. With the option --firefox the other tests of the page run in it as well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hardship import firefox, web
from playwright.sync_api import Browser, Page, expect

from server.conftest import launch_firefox
from server.page_helpers import HOSTILE, add_past_lines, check_accessibility, say, visit


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = launch_firefox(tmp_path_factory.mktemp("firefox"))
    yield browser
    browser.close()


@pytest.mark.slow
@pytest.mark.skipif(firefox.find_firefox() is None, reason="needs Firefox: apt install firefox-esr")
def test_the_main_tasks_work_in_firefox(page: Page, url_without_model: str) -> None:
    url, dialog = url_without_model, page.get_by_role("dialog")
    page.goto(url)
    page.get_by_role("button", name="Try it with a sample life").click()
    expect(page.locator("#demo .chip")).to_have_count(3)
    page.fill("#demo-question", "So the spare key lives under the chipped blue flowerpot by the shed?")
    page.keyboard.press("Enter")
    answer = page.locator("#demo .lit").inner_text()
    page.get_by_role("button", name="Now forget it").click()
    expect(page.locator("#demo .receipt")).to_contain_text("for good")
    expect(page.locator("body")).not_to_contain_text(answer)

    add_past_lines(url, "firefox", "The blue bicycle stands in the cellar.", HOSTILE)
    reply = {"text": "It is **blue**.\n\n```python\npass\n```", "role": "assistant", "session": "now"}
    web.post(f"{url}/api/v1/banks/firefox/lines", json=reply).raise_for_status()
    visit(page, url, "firefox")
    expect(page.locator(".from-character strong")).to_have_text("blue")
    expect(page.locator(".from-character .hljs-keyword")).to_have_text("pass")
    say(page, "And what of document.title and onerror?")
    expect(page.locator(".recalled .line-text").last).to_contain_text("<script>")
    page.get_by_role("button", name="memor").last.click()
    expect(page.locator(".hit .match").first).to_contain_text("<script>")
    assert page.title() != "owned"

    page.keyboard.press("Control+k")
    page.keyboard.type("cellar")
    page.locator("#session-list a mark", has_text="cellar").click()
    expect(page.locator(".line.target")).to_contain_text("The blue bicycle")
    page.fill("#query", "")
    page.get_by_role("button", name="Options for chat: The blue").press("Enter")
    dialog.get_by_label("Title").fill("The bicycle")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("#session-list")).to_contain_text("The bicycle")
    page.click("#open-settings")
    dialog.get_by_label("Theme").select_option("dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 22, 20)"
    page.keyboard.press("Escape")
    expect(page.locator("#open-settings")).to_be_focused()
    check_accessibility(page)

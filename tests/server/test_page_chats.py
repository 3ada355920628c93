"""The list of chats, search, and where the reader arrives in a chat, in a real Chromium."""

from datetime import UTC, datetime, timedelta

import pytest
from hardship import web
from playwright.sync_api import Page, expect

from server.page_helpers import visit

SPACING_S = 5
AT_END = """text => { const box = document.getElementById('lines');
    return [...box.querySelectorAll('.line-text')].at(-1)?.textContent === text &&
        box.scrollHeight - box.scrollTop - box.clientHeight < 2 }"""
TOP_LINE = """() => { const box = document.getElementById('lines'), top = box.getBoundingClientRect().top;
    const isShown = line => line.getBoundingClientRect().bottom > top + 1;
    return [...box.querySelectorAll('.line')].find(isShown).dataset.seq }"""


def add_chat(url: str, bank: str, session: str, count: int, *, ended: timedelta) -> None:
    """Add a chat whose last line was said this long ago."""
    first = datetime.now(UTC) - ended - timedelta(seconds=SPACING_S * count)
    lines = [
        {
            "text": f"{session.capitalize()} {number} of the garden.",
            "session": session,
            "role": "assistant" if number % 2 else "user",
            "speaker": "Ever" if number % 2 else "Alex",
            "said_at": (first + timedelta(seconds=SPACING_S * number)).isoformat(),
        }
        for number in range(count)
    ]
    web.post(f"{url}/api/v1/banks/{bank}/lines/batch", json={"lines": lines}).raise_for_status()


def expect_end(page: Page, text: str) -> None:
    """Wait until a chat is shown that ends with this message, at its end."""
    page.wait_for_function(AT_END, arg=text)


@pytest.fixture(scope="module")
def long_url(url: str) -> str:
    """Return the server's URL, with a bank of a chat of 400 messages and a current one of 30."""
    add_chat(url, "long", "old", 400, ended=timedelta(days=40))
    add_chat(url, "long", "new", 30, ended=timedelta(seconds=20))
    return url


def test_every_way_into_a_chat_leads_to_where_the_reader_expects_to_be(page: Page, long_url: str) -> None:
    visit(page, long_url, "long")
    expect_end(page, "New 29 of the garden.")
    old = page.locator("#session-list a", has_text="Old 0 of the garden.")
    old.click()
    expect(page.locator(".transcript-head")).to_be_in_viewport(ratio=1)
    assert page.locator(".line").count() < 300
    page.get_by_role("button", name="Back to current chat").click()
    expect_end(page, "New 29 of the garden.")
    page.go_back()
    page.go_back()
    expect_end(page, "New 29 of the garden.")
    page.locator("#lines").evaluate("box => (box.scrollTop = 200)")
    page.wait_for_function("() => history.state?.top")
    seq = page.evaluate(TOP_LINE)
    old.click()
    page.get_by_role("button", name="Continue this chat").click()
    expect_end(page, "Old 399 of the garden.")
    page.go_back()
    expect(page.locator(".transcript-head")).to_be_in_viewport(ratio=1)
    page.go_back()
    expect(page.locator(f"[data-seq='{seq}']")).to_be_in_viewport()
    assert page.evaluate(TOP_LINE) == seq
    page.locator("#session-list a").first.click()  # the chat that is shown
    expect_end(page, "New 29 of the garden.")


def test_a_long_chat_is_drawn_as_far_as_the_reader_scrolls(page: Page, long_url: str) -> None:
    visit(page, long_url, "long")
    page.goto(f"{long_url}/#/long/read/old/200")
    target = page.locator(".line.target")
    expect(target).to_be_in_viewport()
    expect(target).to_contain_text("Old 199 of the garden.")
    box = page.locator("#lines")
    for text, top in (("Old 0 of", "0"), ("Old 399 of", "box.scrollHeight")):
        line = page.locator(".line", has_text=text)
        while not line.count():
            box.evaluate(f"box => (box.scrollTop = {top})")
            page.wait_for_timeout(20)
    expect(page.locator(".line")).to_have_count(400)
    page.goto(f"{long_url}/#/long/talk/old")
    expect_end(page, "Old 399 of the garden.")
    assert page.locator(".line").count() <= 160
    first = page.locator(".line").first.get_attribute("data-seq")
    box.evaluate("box => (box.scrollTop = 900)")
    page.wait_for_function(f"() => document.querySelector('.line').dataset.seq !== '{first}'")
    expect(page.locator(f"[data-seq='{first}']")).to_have_count(1)
    assert int(page.evaluate(TOP_LINE)) > int(first or 0)

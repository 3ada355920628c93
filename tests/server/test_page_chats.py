"""The list of chats, search, and where the reader arrives in a chat, in a real Chromium."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hardship import PATIENCE, llm, web
from hardship.loopback import serve_app
from playwright.sync_api import Page, Route, ViewportSize, expect

from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from server.page_helpers import DESKTOP, PHONE, check_accessibility, module, say_and_wait, visit

SPACING_S = 5
AT_END = """text => { const box = document.getElementById('lines');
    return [...box.querySelectorAll('.line-text')].at(-1)?.textContent === text &&
        box.scrollHeight - box.scrollTop - box.clientHeight < 2 }"""
ROWS = """nodes => nodes.map(node => { const range = document.createRange();
    range.selectNodeContents(node.matches('.tag') ? node : node.firstChild);
    return new Set([...range.getClientRects()].map(rect => rect.top)).size })"""
SHOW_NOTICE = f"async () => {{ {module('notices.js')}.showNotice('It is done.') }}"
# The next frame scrolls to the end of what is drawn.
AT_REST = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
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


@pytest.fixture
def titling(tmp_path: Path) -> Iterator[tuple[str, threading.Event]]:
    """Return the URL of a server whose model also gives chats their titles, from when the event is set."""
    allowed = threading.Event()

    def answer(request: llm.Request) -> str:
        if "response_format" not in (request.body or {}):
            return "How lovely!"
        assert allowed.wait(PATIENCE)
        return '{"title": "**Mia in Lisbon.**"}'

    store = SQLiteStore(tmp_path / "banks")
    with llm.llm_server(answer) as server:
        model = OpenAICompatible(server.url, "m")
        services = Services(store, HashEmbedder(64), model, Default(), writes_titles=True)
        with serve_app(create_app(services)) as url:
            yield url, allowed
            allowed.set()
    store.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.02)


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
    expect(page.locator(".transcript-head")).to_be_in_viewport(ratio=1)  # or the lines before are taken for the next
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


def test_back_on_a_phone_leads_to_the_list_from_which_a_chat_was_opened(page: Page, long_url: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    visit(page, long_url, "long")
    expect_end(page, "New 29 of the garden.")
    page.locator("#lines").evaluate("box => (box.scrollTop = 200)")
    page.wait_for_function("() => history.state?.top")
    seq = page.evaluate(TOP_LINE)
    page.click("#views [data-to=sessions]")
    page.locator("#session-list a", has_text="Old 0 of the garden.").click()
    expect(page.locator(".transcript-head")).to_be_in_viewport(ratio=1)
    page.go_back()
    expect(page.locator(".column:visible")).to_have_id("sessions")
    page.reload()
    expect(page.locator(".column:visible")).to_have_id("sessions")
    page.wait_for_selector("html[data-ready]")
    page.click("#views [data-to=chat]")
    expect(page.locator(f"[data-seq='{seq}']")).to_be_in_viewport()
    assert page.evaluate(TOP_LINE) == seq


def test_back_on_a_phone_leads_from_the_memory_to_the_chat_and_stays_on_the_page(page: Page, long_url: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    visit(page, long_url, "long")
    page.click("#views [data-to=memory]")
    expect(page.locator(".column:visible")).to_have_id("memory")
    page.go_back()
    expect(page.locator(".column:visible")).to_have_id("chat")
    page.go_forward()
    expect(page.locator(".column:visible")).to_have_id("memory")


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_notice_covers_neither_the_last_message_nor_the_message_box(
    page: Page, long_url: str, size: ViewportSize
) -> None:
    page.set_viewport_size(size)
    visit(page, long_url, "long")
    expect_end(page, "New 29 of the garden.")
    page.evaluate(SHOW_NOTICE)
    expect_end(page, "New 29 of the garden.")
    line, notice, composer = (
        page.locator(each).last.evaluate("each => each.getBoundingClientRect().toJSON()")
        for each in (".line", "#notices > div", "#composer")
    )
    assert line["bottom"] <= notice["top"] < notice["bottom"] <= composer["top"]


def test_a_row_of_the_list_of_chats_is_broken_neither_within_a_tag_nor_after_its_time(page: Page, url: str) -> None:
    add_chat(url, "rows", "garden", 12, ended=timedelta(minutes=90))
    tags = {"metadata": {"tags": ["journeys", "photography", "the sea in winter"]}}
    web.patch(f"{url}/api/v1/banks/rows/sessions/garden", json=tags).raise_for_status()
    visit(page, url, "rows")
    parts = page.locator("#session-list li :is(.tag, .small)")
    expect(parts).to_have_count(4)
    assert parts.evaluate_all(ROWS) == [1] * 4


def test_back_leads_from_another_bank_to_the_one_that_an_address_without_a_bank_showed(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    say_and_wait(page, "The first bank.")
    shown = page.url
    page.evaluate("location.hash = '#/another'")
    expect(page.locator(".line")).to_have_count(0)
    page.go_back()
    expect(page.locator("#lines")).to_contain_text("The first bank.")
    assert page.url == shown


def test_a_long_chat_is_drawn_as_far_as_the_reader_scrolls(page: Page, long_url: str) -> None:
    visit(page, long_url, "long")
    page.goto(f"{long_url}/#/long/read/old/200")
    target = page.locator(".line.target")
    expect(target).to_be_in_viewport()
    expect(target).to_contain_text("Old 199 of the garden.")
    box = page.locator("#lines")
    for text, top in (("Old 0 of", "0"), ("Old 399 of", "box.scrollHeight")):
        line = page.locator(".line", has_text=text)
        deadline = time.monotonic() + PATIENCE
        while not line.count():
            assert time.monotonic() < deadline, f"{text} is not drawn"
            box.evaluate(f"box => (box.scrollTop = {top})")
            page.wait_for_timeout(20)
    expect(page.locator(".line")).to_have_count(400)
    page.goto(f"{long_url}/#/long/talk/old")
    expect_end(page, "Old 399 of the garden.")
    assert page.locator(".line").count() <= 160
    page.evaluate(AT_REST)
    first, top = box.evaluate(
        f"box => {{ box.scrollTop = 900; return [document.querySelector('.line').dataset.seq, ({TOP_LINE})()] }}"
    )
    page.wait_for_function(f"() => document.querySelector('.line').dataset.seq !== '{first}'")
    expect(page.locator(f"[data-seq='{first}']")).to_have_count(1)
    assert page.evaluate(TOP_LINE) == top, "what is drawn above does not move what the reader sees"


def test_a_chat_drawn_again_while_earlier_lines_are_read_does_not_move_what_the_reader_sees(
    page: Page, long_url: str
) -> None:
    visit(page, long_url, "long")
    read, held = list[Route](), list[Route]()

    def hold(request: Route) -> None:
        if read:
            held.append(request)
        else:
            read.append(request)
            request.continue_()

    page.route(re.compile("last="), hold)
    page.goto(f"{long_url}/#/long/talk/old")
    expect_end(page, "Old 399 of the garden.")
    page.evaluate(AT_REST)
    box, lines = page.locator("#lines"), page.locator(".line")
    while not held:
        box.evaluate("box => (box.scrollTop = 900)")
        page.wait_for_timeout(20)
    count, top = lines.count(), box.evaluate(f"box => {{ box.scrollTop = 900; return ({TOP_LINE})() }}")
    page.evaluate(f"async () => {module('events.js')}.emit('pins', [])")
    assert (lines.count(), page.evaluate(TOP_LINE)) == (count, top)
    for request in held[:]:
        request.continue_()
    expect(lines).not_to_have_count(count)
    assert page.evaluate(TOP_LINE) == top


def test_a_reader_who_goes_to_the_end_while_earlier_lines_are_read_gets_later_ones(page: Page, long_url: str) -> None:
    visit(page, long_url, "long")
    held: list[Route] = []
    page.route("**/lines?around=*&limit=200", lambda request: held.append(request), times=1)
    page.goto(f"{long_url}/#/long/read/old/20")
    expect(page.locator(".line.target")).to_be_in_viewport()
    last = page.locator(".line").last
    before = last.inner_text()
    page.locator("#lines").evaluate("box => (box.scrollTop = box.scrollHeight)")
    expect(last).to_be_in_viewport()
    held[0].continue_()
    expect(page.locator(".line").last).not_to_have_text(before, use_inner_text=True)


def test_a_new_chat_begins_at_once_and_chats_are_renamed_tagged_pinned_archived_and_deleted(
    page: Page, url: str
) -> None:
    add_chat(url, "kept", "garden", 4, ended=timedelta(days=40))
    add_chat(url, "kept", "ferry", 2, ended=timedelta(days=80))
    visit(page, url, "kept")
    say_and_wait(page, "Good morning.")
    page.keyboard.press("Control+Shift+O")
    expect(page.locator(".welcome")).to_contain_text("New chat with")
    say_and_wait(page, "Another subject.")
    shown = page.locator("#session-list .preview")
    expect(shown).to_have_text(
        ["Another subject.", "Good morning.", "Garden 0 of the garden.", "Ferry 0 of the garden."]
    )
    expect(page.locator("#session-list [aria-current]")).to_contain_text("Another subject.")
    page.get_by_role("button", name="Options for chat: Another").click()
    page.get_by_label("Pin to the top").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#session-list [aria-current] .tag")).to_have_text("Pinned")
    page.locator("#session-list li", has_text="Ferry 0").hover()
    page.get_by_role("button", name="Options for chat: Ferry 0").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title").fill("The ferry")
    dialog.get_by_label("Tags").fill("travel, sea")
    dialog.get_by_label("Pin to the top").check()
    check_accessibility(page)
    dialog.get_by_role("button", name="Save").click()
    expect(shown).to_have_text(["Another subject.", "The ferry", "Good morning.", "Garden 0 of the garden."])
    expect(page.locator("li .tag")).to_have_text(["travel", "sea"])
    page.get_by_role("button", name="Options for chat: Garden 0").click()
    dialog.get_by_label("Archive").press("Space")
    dialog.get_by_role("button", name="Save").press("Enter")
    expect(shown).to_have_text(["Another subject.", "The ferry", "Good morning."])
    page.locator(".filters summary").click()
    page.get_by_label("Archived chats").check()
    expect(shown).to_have_text(["Garden 0 of the garden."])
    page.get_by_role("button", name="Options for chat: Garden 0").click()
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Forget it all").click()
    page.get_by_role("dialog", name="Forgotten").get_by_role("button", name="Done").click()
    expect(page.locator("#session-list")).to_have_text("No chats match these filters.")
    page.get_by_label("Tag", exact=True).fill("sea")
    page.get_by_label("Archived chats").uncheck()
    expect(shown).to_have_text(["The ferry"])
    check_accessibility(page)
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("tab", name="Timeline").click()
    month = page.locator("svg.timeline").get_by_role("listitem").first
    month.locator("rect").click()
    expect(shown).to_have_text(["The ferry"])
    add_chat(url, "stored", "garden", 2, ended=timedelta(days=40))
    web.patch(f"{url}/api/v1/banks/stored/sessions/garden", json={"metadata": {"archived": True}}).raise_for_status()
    visit(page, url, "stored")
    expect(page.locator(".welcome")).to_contain_text("New chat with")  # the bank is not new


def test_after_an_end_the_next_message_starts_a_chat_although_an_older_one_is_open(page: Page, url: str) -> None:
    visit(page, url, "ended")
    say_and_wait(page, "Good morning.")
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".welcome")).to_contain_text("New chat with")
    say_and_wait(page, "Another subject.")
    page.get_by_role("button", name="End chat").click()
    page.get_by_role("button", name="Remember it").click()
    expect(page.locator("#notices")).to_contain_text("Your next message starts a new chat.")
    page.goto(f"{url}/#/ended")  # the current chat, which has no name in the address
    page.reload()
    expect(page.locator(".welcome")).to_contain_text("New chat with")
    say_and_wait(page, "A third subject.")
    expect(page.locator(".from-person .line-text")).to_have_text("A third subject.")


def test_the_current_chat_and_a_person_without_a_name_are_found_by_the_filters(page: Page, url: str) -> None:
    visit(page, url, "filtered")
    say_and_wait(page, "My sister Mia moved to Lisbon.")
    page.get_by_role("tab", name="Timeline").click()
    page.locator("svg.timeline").get_by_role("listitem").last.locator("rect").click()
    expect(page.locator("#session-list")).to_have_text("Current chatMy sister Mia moved to Lisbon.")
    expect(page.get_by_label("Said by").get_by_role("option")).to_have_text(["anyone", "Ever", "You"])
    page.get_by_label("To", exact=True).fill("2020-01-01")
    expect(page.locator("#session-list")).to_have_text("No chats match these filters.")


def test_a_chat_gets_a_title_by_the_model_without_a_reload_until_a_person_renames_it(
    page: Page, titling: tuple[str, threading.Event]
) -> None:
    url, allowed = titling
    sessions = f"{url}/api/v1/banks/untitled/sessions"
    page.clock.install()
    visit(page, url, "untitled")
    say_and_wait(page, "My sister Mia moved to Lisbon.")
    shown = page.locator("#session-list .preview")
    expect(shown).to_have_text(["My sister Mia moved to Lisbon."])
    allowed.set()
    wait_until(lambda: web.get(sessions).json()["items"][0]["model_title"] is not None)
    page.clock.fast_forward(10_000)
    expect(shown).to_have_text(["Mia in Lisbon"])
    page.get_by_role("button", name="Options for chat: Mia in Lisbon").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Title")).to_have_value("")
    expect(dialog.get_by_label("Title")).to_have_attribute("placeholder", "Mia in Lisbon")
    dialog.get_by_label("Title").fill("My sister")
    dialog.get_by_role("button", name="Save").click()
    expect(shown).to_have_text(["My sister"])
    session = web.get(sessions).json()["items"][0]
    assert (session["title"], session["model_title"]) == ("My sister", "Mia in Lisbon")


def test_search_lists_every_message_with_the_words_and_then_what_is_similar(page: Page, long_url: str) -> None:
    visit(page, long_url, "long")
    page.keyboard.press("Control+k")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("arden")
    heading, found = page.locator("#session-list h2").first, page.locator("#session-list a")
    expect(heading).to_have_text("With these words: 50+")
    page.locator("#session-list").evaluate("box => (box.scrollTop = box.scrollHeight)")
    expect(heading).to_have_text("With these words: 100+")
    page.fill("#query", "Old 39 garden")
    expect(heading).to_have_text("With these words: 14")
    expect(found.first).to_contain_text("Old 399 of")
    expect(page.locator("#session-list h2")).to_have_text(["With these words: 14", "Similar in meaning"])
    page.locator(".filters summary").click()
    page.get_by_label("Said by").select_option("Alex")
    expect(heading).to_have_text("With these words: 5")  # 390, 392, …
    page.fill("#query", "")
    page.locator("#message").press("ArrowUp")
    expect(page.locator(".editing textarea")).to_have_value("New 28 of the garden.")
    page.keyboard.press("Escape")
    page.locator("#lines").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Edit your last message")
    check_accessibility(page)
    page.keyboard.press("Escape")
    edit = page.locator(".line").last.get_by_role("button", name="Edit message: New 29 of the garden.")
    expect(edit).to_have_count(1)


def test_a_starter_is_sent_at_once_and_suggests_the_next(page: Page, url: str) -> None:
    visit(page, url, "started")
    expect(page.get_by_role("group", name="Ways to start")).to_have_count(0)
    for step in ("Skip", "Start without them"):
        page.get_by_role("button", name=step).click()
    page.get_by_role("button", name="My sister Mia moved to Lisbon.").click()
    page.get_by_role("button", name="What did I tell you about my sister?").click()
    said = ["My sister Mia moved to Lisbon.", "What did I tell you about my sister?"]
    expect(page.locator(".from-person .line-text")).to_have_text(said)
    expect(page.get_by_role("button", name="Let's plan my week.")).to_be_visible()


def test_without_a_model_the_starters_are_a_fact_and_then_a_question_about_it(
    page: Page, url_without_model: str
) -> None:
    visit(page, url_without_model, "started")
    for step in ("Skip", "Start without them", "None for now"):
        page.get_by_role("button", name=step, exact=True).click()
    expect(page.get_by_role("group", name="Ways to start").get_by_role("button")).to_have_count(1)
    page.get_by_role("button", name="My sister Mia moved to Lisbon.").click()
    page.get_by_role("button", name="What did I tell you about my sister?").click()
    expect(page.locator(".recalled .line-text")).to_have_text("My sister Mia moved to Lisbon.")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(page.get_by_role("button", name="Let's plan my week.")).to_have_count(0)

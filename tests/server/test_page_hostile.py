"""Hostile texts and names in every view: nothing in them runs or is fetched, and nothing is wider than the page.

Each view is accessible as well, on a phone in the dark theme and on a desktop in the light one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from hardship import llm, web
from hardship.loopback import serve_app
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from everthread.chat import character_library
from everthread.chat.character import Character
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from server.page_helpers import DESKTOP, HOSTILE, PHONE, add_past_lines, check_accessibility, say_and_wait

NAME = "<img src=x onerror=\"document.title='owned'\">\u202e" + "W" * 70
TABLE = "| a | ![b](http://x.invalid/b.png) |\n|-|-|\n| <svg onload=\"document.title='owned'\"> | c |"
TEXT = f"{HOSTILE} {'W' * 3000}\n\n{TABLE}"
BANK = "hostile%2Fviews"
WIDER_THAN_ITS_BOX = """() => {
    const nameOf = element => `${element.tagName}#${element.id}.${element.className}`;
    const rightOf = element => element.getBoundingClientRect().right;
    const describe = box => [nameOf(box), box.scrollWidth, box.clientWidth,
        [...box.querySelectorAll('*')].filter(inner => rightOf(inner) > rightOf(box)).map(nameOf)];
    return [document.documentElement, ...document.querySelectorAll(
        '.column, .scroll, dialog, dialog .body, .hit, .tile, .line, #session-list li, .notice')]
        .filter(box => box.clientWidth && box.scrollWidth > box.clientWidth + 1 &&
            getComputedStyle(box).overflowX !== 'hidden').map(describe) }"""
ACTIVE = ":is(body, dialog) :is(img:not([src^='blob:'], [src^='/']), script:not([src^='/']), iframe, object)"
HANDLERS = "body :is([onerror], [onload], a[href^='javascript:'])"

SCREENS: tuple[tuple[dict[str, int], Literal["dark", "light"]], ...] = ((PHONE, "dark"), (DESKTOP, "light"))

Opener = Callable[[Page], object]


@pytest.fixture(scope="module")
def hostile_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a server whose model, characters, chats and notes all have hostile texts."""
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    with llm.llm_server(lambda _: TEXT) as model:
        services = Services(store, HashEmbedder(512), OpenAICompatible(model.url, NAME), Default())
        with serve_app(create_app(services)) as url:
            fill_bank(f"{url}/api/v1/banks/{BANK}", url)
            yield url
    store.close()


def fill_bank(bank: str, url: str) -> None:
    persona = {"name": NAME, "greeting": TEXT, "person": "<i>Al</i>", "location": TEXT, "scenario": TEXT}
    web.put(bank).raise_for_status()
    web.patch(f"{bank}/character", json=persona).raise_for_status()
    add_past_lines(url, BANK, TEXT, HOSTILE, "m" * 100_000)
    web.patch(f"{bank}/sessions/before", json={"title": TEXT[:1000], "metadata": {"tags": [NAME]}}).raise_for_status()
    web.put(f"{bank}/notes", json={"text": TEXT}).raise_for_status()
    web.put(f"{bank}/pins/1").raise_for_status()
    web.post(f"{bank}/lines", json={"text": "I live in Porto.", "speaker": NAME}).raise_for_status()
    for fact in web.get(f"{bank}/facts").json()["items"]:
        web.patch(f"{bank}/facts/{fact['id']}", json={"value": HOSTILE[:200]}).raise_for_status()
    web.post(f"{url}/api/v1/banks/demo/sample", json={}).raise_for_status()


def choose_tab(name: str) -> Opener:
    return lambda page: page.get_by_role("tab", name=name).click()


def search(page: Page) -> None:
    page.fill("#query", "onerror")
    page.wait_for_selector("#session-list mark")


def filter_list(page: Page) -> None:
    page.get_by_role("tab", name="All").click()
    page.get_by_role("combobox", name="Said by").select_option("Everyone")
    page.locator("#panel").get_by_role("searchbox").fill("onerror")


def edit_character(page: Page) -> None:
    page.click("#open-characters")
    page.locator(".tile:has-text('onerror=') [aria-label^='Edit']").first.click()
    for summary in page.locator("dialog details > summary").all():
        summary.click()
    expect(page.get_by_label("Keywords of entry 1")).to_have_value(NAME)
    expect(page.get_by_label("Text of entry 1")).to_have_value(TEXT)


def edit_session(page: Page) -> None:
    page.locator("#session-list [aria-label^='Options for chat']").last.click()
    expect(page.get_by_label("Tags")).to_have_value(NAME)


def choose_group(page: Page) -> None:
    page.click("#open-characters")
    page.get_by_role("button", name="Group chat").click()


def read_file(page: Page) -> None:
    lines = [{"text": TEXT, "speaker": name, "session": f"{name} {NAME}"} for name in (NAME[:80], "Ben")]
    rows = "\n".join(json.dumps(line) for line in lines).encode()
    page.click("#open-settings")
    inputs = page.get_by_role("dialog", name="Settings").locator("input[type=file]")
    inputs.last.set_input_files({"name": f"{NAME[:60]}.jsonl", "mimeType": "text/plain", "buffer": rows})
    page.get_by_role("button", name="Import 2 messages").wait_for()
    page.get_by_text("Choose chats").click()


def forget_note(page: Page) -> None:
    page.get_by_role("tab", name="All").click()
    page.locator("#panel .hit", has_text="Note").get_by_role("button", name="Forget").click()


def show_receipt(page: Page) -> None:
    forget_note(page)
    page.get_by_role("button", name="Forget it").click()
    page.get_by_role("dialog", name="Forgotten").wait_for()


def ask_demo(page: Page) -> None:
    page.goto(f"{page.url.partition('#')[0]}#/demo")
    page.get_by_role("textbox", name="Your question").fill(HOSTILE)
    page.keyboard.press("Enter")
    page.locator("#demo .from-character").wait_for()


def inspect_reply(page: Page) -> None:
    page.locator(".recall-link").last.click()
    page.locator("#panel details").first.click()


VIEWS: dict[str, tuple[str, str, Opener]] = {  # the column that a phone shows, a place of the text, and how to open it
    "chat": ("chat", "#lines", lambda page: None),
    "chats": ("sessions", "#session-list", lambda page: None),
    "options": ("sessions", "", edit_session),
    "search": ("sessions", "#session-list a:has(mark)", search),
    "memories": ("memory", "#panel .match", inspect_reply),
    "all": ("memory", "#panel .hit", choose_tab("All")),
    "filtered": ("memory", "#panel .hit", filter_list),
    "facts": ("memory", "#panel .known-fact", choose_tab("Facts")),
    "pinned": ("memory", "#panel .passage", choose_tab("Pinned")),
    "timeline": ("memory", "", choose_tab("Timeline")),
    "gallery": ("chat", ".tile", lambda page: page.click("#open-characters")),
    "lorebook": ("chat", "", edit_character),
    "group": ("chat", "dialog[open]:last-of-type .choice", choose_group),
    "banks": ("chat", "dialog", lambda page: page.click("#bank")),
    "model": ("chat", "dialog", lambda page: page.click("#model")),
    "settings": ("chat", "dialog", lambda page: page.click("#open-settings")),
    "scene": ("chat", "", lambda page: page.get_by_role("button", name="scene").click()),
    "import": ("chat", "dialog .conversations", read_file),
    "question": ("chat", "dialog blockquote", forget_note),
    "receipt": ("chat", "", show_receipt),
    "past": ("chat", "#lines", lambda page: page.locator("#session-list .session").last.click()),
    "demo": ("chat", "#demo .from-person", ask_demo),
}


def test_hostile_texts_are_only_shown_in_every_view(page: Page, hostile_url: str) -> None:
    book = {"data": {"character_book": {"entries": [{"keys": [NAME], "content": TEXT}]}}}
    character_library.save(Character(NAME, description=TEXT, examples=TEXT, card=book), force=True)
    requested = list[str]()
    page.on("request", lambda request: requested.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(f"{hostile_url}/#/{BANK}")
    page.wait_for_selector("html[data-ready]")
    say_and_wait(page, f"What was it with the script and the image? {HOSTILE}")
    for name, (column, place, open_view) in VIEWS.items():
        open_view(page)
        if place:
            expect(page.locator(place).filter(has_text="owned").first, name).to_be_attached()
        check_view(page, name, column)
        while page.locator("dialog[open]").count():
            page.keyboard.press("Escape")
        page.fill("#query", "")
    assert all(each.startswith((hostile_url, "blob:")) for each in requested)


def check_widths(page: Page, name: str, size: object) -> None:
    """Assert that nothing is wider than its box, once the page is laid out for the screen."""
    try:
        page.wait_for_function(f"() => ({WIDER_THAN_ITS_BOX})().length === 0")
    except PlaywrightTimeout:
        pytest.fail(f"{name}, {size}: wider than its box: {page.evaluate(WIDER_THAN_ITS_BOX)}")


def check_view(page: Page, name: str, column: str) -> None:
    """Assert that nothing in a view became active, and that nothing is wider than a desktop's or a phone's page."""
    assert page.locator(f"{ACTIVE}, {HANDLERS}").count() == 0, name
    assert page.title() != "owned"
    part = "dialog[open]" if page.locator("dialog[open]").count() else "html"  # the rest has views of its own
    for size, scheme in SCREENS:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)
        page.locator(f"#views [data-to={column if size is PHONE else 'chat'}]").evaluate("button => button.click()")
        check_accessibility(page, part)
        check_widths(page, name, size)

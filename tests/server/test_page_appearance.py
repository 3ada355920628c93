"""Settings, themes, a phone's screen, keys and accounts, and the size of the page, in a real Chromium."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hardship import web
from hardship.loopback import serve_app
from playwright.sync_api import Browser, Page, Route, expect

from everthread.chat import character_library
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.page_languages import COOKIE, read_languages
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.server.static_files import load_files
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from server.page_helpers import (
    DESKTOP,
    FOLDER,
    MAX_COMPRESSED_BYTES,
    MAX_TRANSFERRED_BYTES,
    PASSWORD,
    PHONE,
    add_past_lines,
    check_accessibility,
    say,
    say_and_wait,
    visit,
)
from server.people.oidc_provider import CLIENT, SECRET, serve_provider

CUT_OFF = """() => {
    const search = document.getElementById("query"), style = getComputedStyle(search);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const room = search.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const tabs = [...document.querySelectorAll("#tabs, #tabs button")];
    return [pen.measureText(search.placeholder).width > room, tabs.some(each => each.scrollWidth > each.clientWidth)];
}"""


def test_reply_settings_are_sent_with_each_request(page: Page, url: str) -> None:
    visit(page, url, "sampling")
    page.click("#open-settings")
    page.get_by_label("Temperature:").fill("0.4")
    page.get_by_label("Memory budget:").fill("300")
    page.get_by_label("Reply length:").fill("200")
    page.keyboard.press("Escape")
    with page.expect_request("**/reply") as request:
        say(page, "Hello.")
    options = (request.value.post_data_json or {})["options"]
    assert options == {"temperature": 0.4, "max_tokens": 200, "budget": 300}
    expect(page.locator("#usage")).to_contain_text("tokens")


def test_without_a_model_answers_are_quoted_and_stay_in_the_chat(page: Page, url_without_model: str) -> None:
    url = url_without_model
    add_past_lines(url, "bare", "The blue bicycle stands in the cellar.", "Where does the blue bicycle stand?")
    visit(page, url, "bare")
    expect(page.locator(".connect-hint")).to_be_visible()
    say(page, "Where does the blue bicycle stand?")
    answer = page.locator(".recalled").first
    expect(answer.locator(".source")).to_have_text("On 1 March 2024 Alex said:")
    expect(answer.locator(".line-text")).to_have_text("The blue bicycle stands in the cellar.")
    say(page, "Tell me of the purple ferns.")
    expect(page.locator(".from-person")).to_have_count(2)
    page.reload()
    expect(answer.locator(".line-text")).to_have_text("The blue bicycle stands in the cellar.")
    expect(page.locator(".connect-hint")).to_have_count(0)
    answer.get_by_role("button", name="memories").or_(answer.get_by_role("button", name="1 memory")).click()
    expect(page.locator(".hit .match").first).to_contain_text("cellar")
    check_accessibility(page)
    bank = f"{url}/api/v1/banks/bare"
    add_past_lines(url, "bare", "I bought a boat in Ghent.", "My sister Mia moved to Lisbon.", session="may")
    web.post(f"{bank}/chat/may/end", json={"remember": True}).raise_for_status()
    while not web.get(f"{bank}/sessions/may").json()["summary"]:
        page.wait_for_timeout(50)
    page.goto(f"{url}/#/bare/read/may")
    expect(page.locator(".summary li")).to_have_text(
        ["I bought a boat in Ghent.", "2 March 2024: My sister Mia moved to Lisbon."]
    )


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Ferns grow slowly.", "I'll remember that."),
        ("Where is my umbrella?", "I remember nothing about that yet."),
        ("Thanks!", "I'm listening."),
        ("Delete that!", "Saying so deletes nothing. Below each message there is a button that forgets it for good."),
    ],
)
def test_an_answer_without_a_memory_stays_after_a_reload(
    page: Page, url_without_model: str, text: str, reply: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, url_without_model, f"first-{len(text)}")
    assert page.locator("#lines").evaluate("box => box.scrollTop") == 0
    say(page, text)
    expect(page.locator(".recall-only .line-text")).to_have_text(reply)
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    page.reload()
    expect(page.locator(".line + .recall-only .line-text")).to_have_text(reply)
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_the_main_states_are_accessible(page: Page, url: str, scheme: Any, size: Any) -> None:
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=scheme)
    views = page.locator("#views")

    def show(view: str) -> None:
        if size == PHONE:
            views.locator(f"[data-to={view}]").click()

    add_past_lines(url, f"axe-{scheme}", "The blue bicycle stands in the cellar.", "The red one was sold.")
    visit(page, url, f"axe-{scheme}")
    check_accessibility(page)
    say_and_wait(page, "Where does the blue bicycle stand?")
    check_accessibility(page)
    show("memory")
    page.locator("#panel details summary").last.click()
    check_accessibility(page)
    page.get_by_role("tab", name="Pinned").click()
    check_accessibility(page)
    page.get_by_role("tab", name="Timeline").click()
    check_accessibility(page)
    show("sessions")
    for opener in ("#open-characters", "#open-settings"):
        page.click(opener)
        page.wait_for_selector("dialog .avatar, dialog select")
        check_accessibility(page)
        page.keyboard.press("Escape")
    page.locator("#session-list .session").last.click()
    page.wait_for_selector(".transcript-head")
    check_accessibility(page)


def test_texts_of_both_directions_keep_their_order(page: Page, url: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    add_past_lines(url, "both", "الدراجة الزرقاء في القبو", "The blue bicycle stands in the cellar.")
    visit(page, url, "both")
    say_and_wait(page, "أين الدراجة الزرقاء؟")
    assert page.locator(".from-person .line-text").evaluate("each => getComputedStyle(each).direction") == "rtl"
    page.get_by_role("button", name="memor").first.click()
    why = page.locator(".hit", has_text="القبو").locator(".why")
    expect(why).to_contain_text("“\u2068الدراجة\u2069”")  # isolated, so that " · 2 years ago" follows it
    page.evaluate("document.documentElement.dir = 'rtl'")
    edges = page.locator(".hit").first.evaluate(
        "hit => [hit, hit.parentElement].map(e => e.getBoundingClientRect().right)"
    )
    assert edges[0] == edges[1]
    for view in ("chat", "sessions", "memory"):
        page.click(f"#views [data-to={view}]")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    check_accessibility(page)


def test_the_theme_follows_the_system_until_one_is_chosen(page: Page, url: str) -> None:
    visit(page, url, "dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(paper)
    assert dark != light
    page.click("#open-settings")
    page.get_by_label("Theme").select_option("light")
    assert page.evaluate(paper) == light
    page.reload()
    assert page.evaluate(paper) == light


def test_the_memory_column_of_a_phone_shows_what_the_latest_reply_was_given(page: Page, url: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    visit(page, url, "pocket-memory")
    add_past_lines(url, "pocket-memory", "The blue bicycle stands in the barn.")
    say_and_wait(page, "Where does the blue bicycle stand?")
    expect(page.locator("#send")).to_have_text("Send")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.get_by_role("button", name="Memory", exact=True).click()
    expect(page.locator("#panel .match")).to_have_text("The blue bicycle stands in the barn.")


def test_a_phone_shows_one_column_at_a_time_and_never_scrolls_sideways(page: Page, url: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    add_past_lines(url, "phone", "The blue bicycle stands in the cellar.", "An-unbreakable-word-" * 20)
    visit(page, url, "phone")
    say_and_wait(page, "Where does the blue bicycle stand?")
    boxes = page.locator(".from-person .line-text, .from-character .byline").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().toJSON())"
    )
    assert 0 < boxes[1]["top"] - boxes[0]["bottom"] < 32  # no empty row between them
    for view in ("sessions", "memory", "chat"):
        page.click(f"#views [data-to={view}]")
        shown = page.locator(".column:visible")
        expect(shown).to_have_count(1)
        expect(shown).to_have_id(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert shown.locator(".scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    for opener in ("#open-characters", "#open-settings", "#bank"):
        page.click("#views [data-to=sessions]")
        page.click(opener)
        assert page.locator("dialog .body").evaluate("box => box.scrollWidth <= box.clientWidth")
        page.keyboard.press("Escape")


def test_neither_tabs_nor_the_search_are_cut_off_in_any_language(page: Page, url: str) -> None:
    for code in read_languages():
        page.context.add_cookies([{"name": COOKIE, "value": code, "url": url}])
        visit(page, url, "tabs")
        assert page.evaluate(CUT_OFF) == [False, False], code


@pytest.mark.parametrize(("width", "height", "least"), [(844, 390, 195), (320, 256, 75)])
def test_a_phone_on_its_side_and_a_page_at_400_percent_have_room_for_messages(
    page: Page, url: str, width: int, height: int, least: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    visit(page, url, "enlarged")
    say_and_wait(page, "Hello.")
    assert page.locator("#lines").evaluate("box => box.clientHeight") > least


def test_a_switch_that_is_on_is_marked_in_forced_colours(page: Page, url: str) -> None:
    page.emulate_media(forced_colors="active")
    visit(page, url, "forced")
    switch = page.get_by_label("Incognito")
    before = switch.evaluate("each => getComputedStyle(each).borderWidth")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    assert switch.evaluate("each => getComputedStyle(each).borderWidth") != before


def test_a_key_is_requested_if_the_server_requires_one(tab: Page, url: str) -> None:
    sent_keys = list[str]()

    def guarded(route: Route) -> None:
        key = route.request.headers.get("authorization", "")
        sent_keys.append(key)
        if key == "Bearer et_right" or route.request.url.endswith("/about"):
            route.continue_(headers={k: v for k, v in route.request.headers.items() if k != "authorization"})
        else:
            document = {"type": "urn:everthread:unauthorized", "status": 401, "detail": "a key is needed"}
            route.fulfill(status=401, content_type="application/problem+json", body=json.dumps(document))

    tab.route("**/api/v1/**", guarded)
    tab.goto(f"{url}/#/private")
    expect(tab.get_by_role("dialog", name="Enter your access key")).to_contain_text("This server is private.")
    tab.get_by_role("textbox", name="Key").fill("et_wrong")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("dialog")).to_contain_text("This access key is not valid.")
    tab.get_by_role("textbox", name="Key").fill("et_right")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("html[data-ready]")
    expect(tab.locator(".welcome")).to_be_visible()
    assert sent_keys[-1] == "Bearer et_right"


def test_a_key_for_another_bank_leads_to_that_bank(tab: Page, url: str) -> None:
    web.put(f"{url}/api/v1/banks/theirs").raise_for_status()

    def guarded(route: Route) -> None:
        path, key = route.request.url.removeprefix(url), route.request.headers.get("authorization", "")
        status, kind = (403, "forbidden") if key else (401, "unauthorized")
        if path.startswith("/api/v1/about") or (key and "/banks/theirs" in path):
            route.continue_(headers={k: v for k, v in route.request.headers.items() if k != "authorization"})
        elif key and path.startswith("/api/v1/banks?"):
            route.fulfill(json={"items": [{"id": "theirs", "lines": 0, "last_said_at": None}], "next": None})
        else:
            document = {"type": f"urn:everthread:{kind}", "status": status, "detail": "not without"}
            route.fulfill(status=status, content_type="application/problem+json", body=json.dumps(document))

    tab.route("**/api/v1/**", guarded)
    tab.goto(url)
    expect(tab.get_by_role("textbox", name="Key")).to_be_focused()
    tab.keyboard.type("et_theirs")
    tab.keyboard.press("Enter")
    expect(tab.locator("#bank")).to_have_text("Ever in theirs")
    expect(tab.locator(".welcome")).to_be_visible()
    expect(tab.locator("#notices")).to_be_empty()


NEW_PASSWORD = "another harbour"


def sign_in(page: Page, name: str, password: str) -> None:
    page.fill(".sign-in [autocomplete=username]", name)
    page.fill(".sign-in [autocomplete=current-password]", password)
    page.keyboard.press("Enter")


def test_a_person_signs_in_manages_accounts_and_signs_out(tab: Page, people_url: str) -> None:
    tab.goto(people_url)
    expect(tab.get_by_label("Name")).to_be_focused()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Escape")
    check_accessibility(tab)
    sign_in(tab, "nora", "wrong")
    expect(tab.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    sign_in(tab, "nora", PASSWORD)
    tab.wait_for_url("**/#/nora")
    tab.wait_for_selector("html[data-ready]")
    tab.click("#open-settings")
    tab.get_by_role("button", name="Manage accounts").click()
    people = tab.get_by_role("dialog", name="People")
    people.get_by_label("Name").fill("Mia")
    people.get_by_label("Password").fill(NEW_PASSWORD)
    people.get_by_role("button", name="Create account").click()
    mia = people.locator(".people li").filter(has_text="mia")
    expect(mia).to_contain_text("0 banks · 0 messages · never signed in")
    mia.get_by_role("button", name="Lock").click()
    expect(mia).to_contain_text("locked")
    check_accessibility(tab)
    mia.get_by_role("button", name="Remove").click()
    tab.get_by_role("dialog", name="Remove mia?").get_by_role("button", name="Keep the chats").click()
    expect(mia).to_have_count(0)
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Change password").click()
    for number, text in enumerate((PASSWORD, NEW_PASSWORD, NEW_PASSWORD)):
        tab.locator("dialog input[type=password]").nth(number).fill(text)
    check_accessibility(tab)
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("dialog", name="Change password")).to_have_count(0)
    tab.get_by_role("button", name="Sign out", exact=True).click()
    sign_in(tab, "nora", NEW_PASSWORD)
    expect(tab.locator("#bank")).to_have_text("Ever in nora")


def test_another_person_on_the_same_browser_sees_nothing_of_the_first(tab: Page, people_url: str) -> None:
    tab.goto(people_url)
    sign_in(tab, "nora", PASSWORD)
    tab.wait_for_url("**/#/nora")
    tab.wait_for_selector("html[data-ready]")
    body = {"name": "mia", "password": PASSWORD}
    assert tab.request.post(f"{people_url}/api/v1/accounts", data=body, headers={"Origin": people_url}).ok
    expect(tab.get_by_label("What should I call you?")).to_have_value("nora")
    expect(tab.locator(".welcome")).to_contain_text("on this server, for years")
    say(tab, "Quillfeather moved to Timbuktu.")
    expect(tab.locator(".from-person[data-seq]")).to_have_count(1)
    tab.fill("#message", "Quillfeather again")
    tab.context.clear_cookies()
    tab.reload()
    sign_in(tab, "mia", PASSWORD)
    tab.wait_for_url("**/#/mia")
    tab.wait_for_selector("html[data-ready]")
    expect(tab.locator("#bank")).to_have_text("Ever in mia")
    assert "Quillfeather" not in tab.content()
    expect(tab.locator("#message")).to_have_value("")
    tab.get_by_role("button", name="Try it with a sample life").click()
    tab.wait_for_url("**/#/mia%2Fdemo")
    tab.click("#open-characters")
    expect(tab.locator(".tile").first).to_be_visible()
    tab.get_by_role("button", name="New character").click()
    tab.get_by_label("Name", exact=True).fill("Owl")
    tab.get_by_role("button", name="Create").click()
    expect(tab.get_by_label("Chat with Owl")).to_be_visible()
    assert [path.name for path in character_library.library_folder().with_name("people").glob("*/*")] == ["%4Fwl.json"]
    tab.keyboard.press("Escape")
    tab.goto(f"{people_url}/#/nora")
    tab.wait_for_url("**/#/mia")


def test_the_page_is_small(browser: Browser, url: str) -> None:
    compressed_bytes = 0
    with httpx.Client(headers={"Accept-Encoding": "gzip"}) as client:
        for name in [name for name in load_files(FOLDER) if "/" not in name]:
            with client.stream("GET", f"{url}/static/{name}") as answer:
                compressed_bytes += sum(len(part) for part in answer.iter_raw())
    assert compressed_bytes <= MAX_COMPRESSED_BYTES
    page, sizes = browser.new_page(), list[int]()  # with nothing in its cache
    page.on(
        "requestfinished",
        lambda request: sizes.append(sum(request.sizes()[k] for k in ("responseBodySize", "responseHeadersSize"))),
    )
    visit(page, url, "small")
    assert MAX_TRANSFERRED_BYTES / 2 < sum(sizes) <= MAX_TRANSFERRED_BYTES
    page.context.close()


def test_a_person_signs_in_at_the_provider_by_the_button(browser: Browser, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    with serve_provider() as provider:
        settings = Settings(
            key_required=True,
            openid_issuer=provider.url,
            openid_client=CLIENT,
            openid_secret=SECRET,
            openid_name="Home",
        )
        with serve_app(create_app(Services(store, HashEmbedder(64), None, Default()), settings)) as url:
            page, url = browser.new_context().new_page(), url.replace("127.0.0.1", "localhost")  # another site
            provider.error = "access_denied"
            page.goto(url)
            page.get_by_role("button", name="Sign in with Home").click()
            expect(page.get_by_role("alert")).to_have_text("The sign-in with Home was refused.")
            assert page.url == f"{url}/"
            check_accessibility(page)
            provider.error, provider.preferred_name = "", "Nora"
            page.keyboard.press("Enter")
            page.wait_for_url("**/#/nora")
            page.wait_for_selector("html[data-ready]")
            expect(page.locator("#bank")).to_have_text("Ever in nora")
            page.reload()
            expect(page.locator("#bank")).to_have_text("Ever in nora")
            page.context.close()
    store.close()

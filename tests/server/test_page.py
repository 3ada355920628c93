"""The page in a real Chromium, before a real server over loopback; only the model is a script."""

import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from axe_core_python.sync_playwright import Axe
from hardship import llm
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from everthread import server
from everthread.models.fakes import HashEmbedder
from everthread.models.llm import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server.app import create
from everthread.server.engine import Engine
from everthread.stores.sqlite import SQLiteStore

FOLDER = Path(server.__file__).parent / "static"
TRANSFERRED = 150_000  # bytes at most of all the page is made of
PACKED = 60_000  # bytes of its files, packed: what it is meant to stay below
INTERACTIVE = 0.3  # seconds on loopback
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
DESK, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
LATE = 10_000  # milliseconds that something may take on a busy machine
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> ![see](http://x.invalid/y.png)"
CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ines", "description": "A cartographer."}}


class Model:
    """Answers with what the person said last, and how many answers it gave; slowly, if it is asked to."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, request: llm.Request) -> llm.Behaviour:
        said = str((request.body or {})["messages"][-1]["content"]).strip().splitlines()[-1]
        self.given += 1
        if "slowly" in said:
            return llm.Reply([f"piece{number} " for number in range(60)], delay=0.05)
        if "fail" in said and self.given % 2:
            return llm.Status(400, "the model is unwell")
        return llm.Reply(f"Answer {self.given} to: {said}")


def running(engine: Engine) -> Iterator[str]:
    """A server's address, for as long as the generator lasts."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        serving = uvicorn.Server(uvicorn.Config(create(engine), log_config=None, lifespan="on"))
        thread = threading.Thread(target=serving.run, args=([taken],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        finally:
            serving.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a model."""
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    with llm.llm_server(Model()) as told:
        yield from running(Engine(store, HashEmbedder(512), OpenAICompatible(told.url, "m"), Default()))
    store.close()


@pytest.fixture(scope="module")
def url_without_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    yield from running(Engine(store, HashEmbedder(512), None, Default()))
    store.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        there = next(filter(None, map(shutil.which, CHROMIUM)), None)
        opened = playwright.chromium.launch(executable_path=there, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh visitor's tab. Whatever the console has to complain about fails the test."""
    context = browser.new_context(viewport=DESK, color_scheme="light", locale="en-GB")  # type: ignore[arg-type]
    context.set_default_timeout(LATE)
    opened, wrong = context.new_page(), list[str]()
    opened.on("console", lambda told: wrong.append(told.text) if told.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    context.close()
    assert not wrong


def visit(page: Page, url: str, bank: str) -> None:
    """Go to a bank whose character doesn't speak first."""
    of = f"{url}/api/v1/banks/{bank}"
    httpx.put(of).raise_for_status()
    httpx.patch(f"{of}/character", json={"greeting": ""}).raise_for_status()
    page.goto(f"{url}/#/{bank}")
    page.wait_for_selector("html[data-ready]")


def say(page: Page, text: str) -> None:
    page.fill("#say", text)
    page.keyboard.press("Enter")


def tell(page: Page, text: str) -> None:
    """Say it, and wait for the reply."""
    replies = page.locator(".of-character .recalled").count()
    say(page, text)
    expect(page.locator(".of-character .recalled")).to_have_count(replies + 1)


def remember(url: str, bank: str, *texts: str, session: str = "before") -> None:
    """Lines that were said long ago."""
    lines = [
        {"text": text, "speaker": "Alex", "said_at": f"2024-03-{day:02}T18:20:00+00:00", "session": session}
        for day, text in enumerate(texts, 1)
    ]
    httpx.post(f"{url}/api/v1/banks/{bank}/lines/batch", json={"lines": lines}).raise_for_status()


def test_a_first_visit_leads_to_a_remembered_answer(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".welcome h2")).to_be_visible()
    page.get_by_label("What shall I call you?").fill("Alex")
    page.keyboard.press("Enter")
    expect(page.get_by_label("What shall I call you?")).to_have_count(0)
    tell(page, "My sister Mia moved to Lisbon.")
    page.get_by_label("End this conversation").click()
    page.get_by_role("button", name="Remember it").click()
    expect(page.locator("#notices")).to_contain_text("remembered")
    expect(page.locator(".line")).to_have_count(0)
    tell(page, "Where did my sister Mia move?")
    hit = page.locator(".hit", has_text="Mia moved to Lisbon")
    expect(hit).to_be_visible()
    expect(hit.locator(".relevance")).to_contain_text("%")
    expect(page.locator(".of-person .speaker")).to_have_text("Alex")
    hit.get_by_text("Why it was found").click()
    expect(hit.locator(".signals").first).to_contain_text("near in meaning")
    expect(hit.locator(".signals").first).not_to_contain_text(re.compile("[^0-9]0\\.000"))
    expect(hit.locator(".signals").first).to_contain_text("score")
    hit.locator("a").click()
    expect(page.locator(".line.place")).to_have_count(1)
    expect(page.locator("#lines .reading")).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator("#lines")).to_contain_text("Where did my sister Mia move?")


def test_a_reload_in_the_middle_of_a_reply_goes_on_with_it(page: Page, url: str) -> None:
    visit(page, url, "reload")
    say(page, "Tell it slowly.")
    expect(page.locator(".growing")).to_contain_text("piece5")
    page.reload()
    expect(page.locator(".growing")).to_contain_text("piece5")
    expect(page.locator("#say")).to_have_value("")
    page.fill("#say", "half a thought")
    page.reload()
    expect(page.locator(".growing")).to_contain_text("piece5")
    expect(page.locator("#send")).to_have_text("Stop")
    expect(page.locator("#say")).to_have_value("half a thought")
    expect(page.locator(".of-character .said")).to_contain_text("piece59")
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator(".line")).to_have_count(2)


def test_a_reply_is_stopped_and_what_came_of_it_stays(page: Page, url: str) -> None:
    visit(page, url, "stop")
    say(page, "Tell it slowly.")
    expect(page.locator(".growing")).to_contain_text("piece3")
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator(".of-character .said")).to_contain_text("piece3")
    expect(page.locator(".of-character .said")).not_to_contain_text("piece59")
    expect(page.locator(".of-character .by")).to_contain_text("stopped")


def test_nothing_jumps_and_the_reader_is_left_alone_while_a_reply_arrives(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 420})
    visit(page, url, "calm")
    for number in range(3):
        tell(page, f"Something to fill the room, number {number}.")
    say(page, "Tell it slowly.")
    expect(page.locator(".growing")).to_contain_text("piece3")
    first = page.locator(".line").nth(0)
    page.locator("#lines").evaluate("box => (box.scrollTop = 0)")
    before = first.bounding_box()
    expect(page.locator(".growing")).to_contain_text("piece30")
    assert first.bounding_box() == before
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Send")
    assert first.bounding_box() == before


def test_regenerating_and_editing_leave_swipes_and_other_answers(page: Page, url: str) -> None:
    remember(url, "swipes", "I said that bread rhymes with thread.")
    visit(page, url, "swipes")
    tell(page, "What rhymes with thread?")
    first = page.locator(".of-character .said").inner_text()
    page.get_by_label("Another reply").click()
    expect(page.locator(".count")).to_have_text("2/2")
    assert page.locator(".of-character .said").inner_text() != first
    page.locator("#say").press("ArrowLeft")
    expect(page.locator(".of-character .said")).to_have_text(first)
    expect(page.locator(".count")).to_have_text("1/2")
    expect(page.locator("#panel")).to_contain_text("tokens of the prompt")
    page.locator("#say").press("ArrowRight")
    expect(page.locator(".count")).to_have_text("2/2")
    page.locator(".of-person").hover()
    page.locator(".of-person").get_by_label("Edit this line").click()
    page.locator(".editing textarea").fill("What rhymes with bread?")
    page.keyboard.press("Enter")
    expect(page.locator(".of-character .said").last).to_contain_text("rhymes with bread?")
    expect(page.locator(".line")).to_have_count(2)
    page.get_by_role("button", name="Take back my last line").click()
    expect(page.locator(".line")).to_have_count(0)
    expect(page.locator("#say")).to_have_value("What rhymes with bread?")


def test_going_back_to_a_line_sets_the_rest_aside_until_it_is_brought_back(page: Page, url: str) -> None:
    visit(page, url, "branch")
    tell(page, "The first thing.")
    tell(page, "The second thing.")
    page.locator(".line").nth(1).hover()
    page.locator(".line").nth(1).get_by_label("Go on from here").click()
    expect(page.locator(".line")).to_have_count(2)
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator(".line")).to_have_count(4)
    page.locator(".line").first.get_by_label("Edit this line").click()
    expect(page.locator(".editing")).to_contain_text("what came after it is set aside")
    page.locator(".editing textarea").fill("Another first thing.")
    page.keyboard.press("Enter")
    expect(page.locator(".of-character .said").last).to_contain_text("Another first thing")
    expect(page.locator(".line")).to_have_count(2)
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator(".line .said").nth(2)).to_have_text("The second thing.")
    tell(page, "A third thing.")
    expect(page.get_by_role("button", name="Bring it back")).to_have_count(0)


def test_a_forgotten_memory_is_gone_and_a_receipt_is_shown(page: Page, url: str) -> None:
    remember(url, "forget", "The blue bicycle stands in the cellar.")
    visit(page, url, "forget")
    tell(page, "Where does the blue bicycle stand?")
    hit = page.locator(".hit", has_text="cellar")
    hit.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 line")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".hit")).to_have_count(0)
    page.fill("#query", "quantum entanglement")
    expect(page.locator("#past")).to_have_text("Nothing was said about that.")
    page.fill("#query", "blue bicycle cellar")
    expect(page.locator("#past mark").first).to_have_text("blue")
    expect(page.locator("#past")).to_contain_text("places")
    expect(page.locator("#past")).not_to_contain_text("cellar.")


def test_a_corrected_memory_is_remembered_as_corrected(page: Page, url: str) -> None:
    remember(url, "correct", "The blue bicycle stands in the cellar.")
    visit(page, url, "correct")
    tell(page, "Where does the blue bicycle stand?")
    page.locator(".hit", has_text="cellar").get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").locator("textarea").fill("The blue bicycle stands in the garden shed.")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".hit")).to_contain_text("garden shed")
    tell(page, "And where does the blue bicycle stand now?")
    expect(page.locator(".hit", has_text="garden shed")).to_have_count(1)
    expect(page.locator("#panel")).not_to_contain_text("cellar")


def test_the_line_that_is_chosen_is_the_one_that_is_pinned_and_forgotten(page: Page, url: str) -> None:
    remember(url, "chosen", "The blue bicycle stands in the cellar.", "The blue bicycle has a bell.")
    visit(page, url, "chosen")
    tell(page, "Tell me of the blue bicycle, its bell and its cellar.")
    hit = page.locator(".hit")
    expect(hit.get_by_role("radio")).to_have_count(2)
    other = hit.locator("label", has=page.locator("input:not(:checked)"))
    text = other.locator("span").last.inner_text()
    other.locator("input").check()
    hit.get_by_role("button", name="Pin", exact=True).click()
    expect(hit.locator(".pinned")).to_contain_text(text)
    expect(hit.locator("label", has_text=text).locator("input")).to_be_checked()
    hit.get_by_role("button", name="Forget").click()
    asked = page.get_by_role("dialog")
    expect(asked.locator("blockquote")).to_have_text(text)
    expect(asked.locator("figcaption")).to_contain_text("March 2024")
    asked.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Done").click()
    left = [line["text"] for line in httpx.get(f"{url}/api/v1/banks/chosen/lines").json()["items"]]
    assert text not in left
    assert len([line for line in left if line.startswith("The blue")]) == 1


def test_pinned_lines_and_notes_are_seen_and_changed(page: Page, url: str) -> None:
    remember(url, "pins", "The blue bicycle stands in the cellar.")
    visit(page, url, "pins")
    tell(page, "Where does the blue bicycle stand?")
    page.locator(".hit").get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator(".hit").get_by_role("button", name="Pinned")).to_be_visible()
    page.locator(".hit").get_by_role("button", name="Keep in view").click()
    page.get_by_role("tab", name="In view").click()
    expect(page.locator(".hit", has_text="cellar")).to_have_count(2)
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)
    page.get_by_role("button", name="Take it out").click()
    expect(page.locator("#panel")).to_contain_text("Nothing is kept yet.")
    page.get_by_role("tab", name="Notes").click()
    page.get_by_label("Notes", exact=True).last.fill("Alex has a bicycle.")
    page.get_by_role("button", name="Save the notes").click()
    expect(page.locator("#notices")).to_contain_text("changed")
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    expect(page.locator("textarea.notes")).to_have_value("Alex has a bicycle.")


def test_a_card_that_is_dropped_becomes_a_character_to_talk_with(page: Page, url: str) -> None:
    visit(page, url, "cards")
    page.click("#open-characters")
    page.wait_for_selector(".tile")
    drop = """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "ines.json", { type: "application/json" }));
        document.querySelector("dialog .body").dispatchEvent(
            new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    file = page.get_by_role("dialog").locator("input[type=file]")
    large = {"name": "large.png", "mimeType": "image/png", "buffer": b"." * (9 << 20)}
    file.set_input_files(large)  # type: ignore[arg-type]
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("large.png has 9.0 MB")
    page.evaluate(drop, json.dumps(CARD))
    page.get_by_label("Talk with Ines").click()
    expect(page.locator("#who")).to_have_text("Ines")
    tell(page, "Where are we?")
    expect(page.locator(".of-character .speaker")).to_have_text("Ines")
    page.get_by_label("The scene").click()
    page.get_by_role("textbox", name="Your name").fill("Alex")
    page.get_by_label("Where the two of you are").fill("a chart room")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#where")).to_have_text("a chart room")
    tell(page, "And now?")
    expect(page.locator(".of-person .speaker").last).to_have_text("Alex")


def test_what_was_said_is_text_whatever_it_looks_like(page: Page, url: str) -> None:
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    remember(url, "hostile", HOSTILE)
    visit(page, url, "hostile")
    tell(page, f"What was it with the script and the image? {HOSTILE}")
    expect(page.locator(".of-person .said")).to_contain_text("<script>")
    expect(page.locator("#panel .found").first).to_contain_text("![see](http://x.invalid/y.png)")
    page.fill("#query", "script image onerror")
    expect(page.locator("#past .opening").first).to_contain_text("<img src=x")
    assert page.locator("main img, aside img, nav img, body script").count() == 0
    assert page.title() != "owned"
    assert all(each.startswith((url, "blob:")) for each in asked)


def test_a_reply_is_formatted_lightly_and_nothing_moves_by_it(page: Page, url: str) -> None:
    visit(page, url, "marked")
    text = "**Well.** *He nods.* Call `open()`, 2 * 3 * 4\n\n- one\n- two [a](b)\n\nThe *end*"
    line = {"text": text, "role": "assistant", "speaker": "Thread", "session": "now"}
    httpx.post(f"{url}/api/v1/banks/marked/lines", json={"text": "?", "session": "now"}).raise_for_status()
    httpx.post(f"{url}/api/v1/banks/marked/lines", json=line).raise_for_status()
    page.reload()
    said = page.locator(".of-character .said")
    for name, text in {
        "strong": "Well.",
        "em >> nth=0": "He nods.",
        "code": "open()",
        "li >> nth=1": "two [a](b)",
    }.items():
        expect(said.locator(name)).to_have_text(text)
    expect(said.locator("p").first).to_contain_text("2 * 3 * 4")
    formatted = said.evaluate("box => box.clientHeight")
    assert (
        said.evaluate("(box, text) => { box.textContent = text; return box.clientHeight }", line["text"]) == formatted
    )


def test_of_two_who_talked_the_person_is_the_one_on_the_right(page: Page, url: str) -> None:
    of = f"{url}/api/v1/banks/imported"
    said = [
        {"text": "Hi.", "speaker": name, "said_at": f"2024-03-0{day}T18:20:00+00:00", "session": "two"}
        for day, name in enumerate(["Alex", "Bo", "Alex"], 1)
    ]
    visit(page, url, "imported")
    httpx.post(f"{of}/lines/batch", json={"lines": said}).raise_for_status()
    httpx.patch(f"{of}/character", json={"person": "Bo"}).raise_for_status()
    page.goto(f"{url}/#/imported/read/two")
    page.reload()
    expect(page.locator(".of-person .speaker")).to_have_text("Bo")
    expect(page.locator(".of-character .speaker")).to_have_text(["Alex", "Alex"])
    expect(page.locator(".day")).to_have_text(["2 March 2024", "3 March 2024"])


def test_right_to_left_and_chinese_stand_the_right_way(page: Page, url: str) -> None:
    visit(page, url, "scripts")
    tell(page, "أختي انتقلت إلى لشبونة")
    said = page.locator(".of-person .said")
    assert said.evaluate("each => getComputedStyle(each).direction") == "rtl"
    tell(page, "我的妹妹搬到里斯本了。")
    page.fill("#query", "里斯本")
    expect(page.locator("#past")).to_contain_text("我的妹妹搬到里斯本了。")


def test_an_unanswered_line_is_answered_and_a_problem_is_told_calmly(page: Page, url: str, browser: Browser) -> None:
    visit(page, url, "unwell")
    page.route("**/reply", lambda route: broken(route))
    say(page, "A thought I typed.")
    expect(page.locator("#notices")).to_contain_text("Nothing you typed is lost")
    expect(page.locator("#say")).to_have_value("A thought I typed.")
    page.unroute("**/reply")
    post = {"text": "Are you there?", "role": "user", "session": "now"}
    httpx.post(f"{url}/api/v1/banks/unanswered/lines", json=post).raise_for_status()
    visit(page, url, "unanswered")
    page.get_by_role("button", name="Answer this").click()
    expect(page.locator(".of-character .said")).to_contain_text("Are you there?")


def test_a_server_that_comes_back_is_found_again(browser: Browser, url: str) -> None:
    page = browser.new_page(viewport=DESK)  # type: ignore[arg-type]  # whose console tells of the refusals
    visit(page, url, "away")
    tell(page, "Is anyone there?")
    page.route("**/api/v1/**", lambda route: route.abort("connectionrefused"))
    say(page, "And now?")
    expect(page.locator("#notices")).to_contain_text("can't be reached")
    expect(page.locator(".of-character .said")).to_contain_text("Is anyone there?")
    expect(page.locator("#say")).to_have_value("And now?")
    page.unroute("**/api/v1/**")
    expect(page.locator("#notices")).to_be_empty()
    page.route("**/chat/current", lambda route: route.abort("connectionrefused"))  # gone as soon as it has replied
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_contain_text("can't be reached")
    expect(page.locator(".of-character .said").last).to_contain_text("And now?")
    page.close()


def broken(route: Route) -> None:
    """As a server that is away, without the browser's own line in the console."""
    document = {"type": "urn:everthread:unreachable", "detail": "The server is away. Nothing you typed is lost."}
    route.fulfill(
        status=200,
        headers={"content-type": "text/event-stream"},
        body=f"event: error\ndata: {json.dumps(document)}\n\n",
    )


def test_a_bank_that_was_forgotten_elsewhere_is_talked_in_again(browser: Browser, url: str) -> None:
    page = browser.new_page()  # whose console tells that it is gone
    visit(page, url, "elsewhere")
    httpx.delete(f"{url}/api/v1/banks/elsewhere").raise_for_status()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#notices")).to_be_empty()
    tell(page, "Hello again.")
    page.close()


def test_incognito_that_was_lost_is_told_before_anything_is_written(browser: Browser, url: str) -> None:
    page = browser.new_page()  # whose console tells of the refusal
    visit(page, url, "unmasked")
    page.get_by_label("Incognito").click()
    expect(page.locator("#private")).to_be_visible()
    of = f"{url}/api/v1/banks/unmasked"
    httpx.post(f"{of}/chat/current/incognito", json={"on": False}).raise_for_status()  # as a restart would
    say(page, "My word is periwinkle.")
    expect(page.locator("#notices")).to_contain_text("not in incognito any more")
    expect(page.locator("#private")).to_be_hidden()
    expect(page.locator("#say")).to_have_value("My word is periwinkle.")
    assert httpx.get(f"{of}/lines").json()["items"] == []
    page.close()


def test_incognito_writes_nothing_down(page: Page, url: str) -> None:
    visit(page, url, "private")
    page.get_by_label("Incognito").click()
    expect(page.locator("#private")).to_be_visible()
    tell(page, "A secret about the surprise.")
    assert httpx.get(f"{url}/api/v1/banks/private").json()["lines"] == 0
    expect(page.locator(".unwritten")).to_have_count(2)
    page.get_by_label("Incognito").click()
    expect(page.locator(".line")).to_have_count(0)
    expect(page.locator("#notices")).to_contain_text("is gone")


def test_everything_is_exported_imported_and_deleted_with_a_receipt(page: Page, url: str, tmp_path: Path) -> None:
    remember(url, "whole", "The first of all lines.", "The second of all lines.")
    visit(page, url, "whole")
    page.get_by_role("tab", name="Months").click()
    expect(page.locator("svg.timeline rect")).to_have_count(1)
    expect(page.locator("#panel table")).to_contain_text("March 2024")
    page.click("#open-settings")
    with page.expect_download() as found:
        page.get_by_role("button", name="Export all").click()
    found.value.save_as(tmp_path / "whole.jsonl")
    page.get_by_role("button", name="Delete everything").click()
    page.get_by_label("The bank's name").fill("whole")
    page.get_by_role("dialog").last.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_role("dialog").last).to_contain_text("2 lines: everything in this bank")
    page.get_by_role("button", name="Done").click()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#past .session")).to_have_count(1)
    page.click("#open-settings")
    page.locator("input[type=file]").last.set_input_files(tmp_path / "whole.jsonl")
    expect(page.locator("#notices")).to_contain_text("2 lines were added")
    expect(page.locator("#past .session")).to_have_count(2)


def test_another_bank_is_made_and_knows_nothing_of_the_first(page: Page, url: str) -> None:
    remember(url, "one", "The blue bicycle stands in the cellar.")
    httpx.put(f"{url}/api/v1/banks/one/pins/1").raise_for_status()
    visit(page, url, "one")
    page.get_by_role("tab", name="In view").click()
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)
    page.click("#bank")
    page.get_by_label("The name of a new bank").fill("an/other bank")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator("#bank")).to_have_text("an/other bank")
    expect(page.locator(".welcome h2")).to_be_visible()
    expect(page.locator("#past .session")).to_have_count(1)
    expect(page.locator(".hit")).to_have_count(0)
    page.go_back()
    expect(page.locator("#past .session")).to_have_count(2)
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)


def test_how_replies_are_made_is_sent_with_each(page: Page, url: str) -> None:
    visit(page, url, "sampling")
    page.click("#open-settings")
    page.get_by_label("Temperature:").fill("0.4")
    page.get_by_label("Memory budget:").fill("300")
    page.get_by_label("Recipe").select_option("membot")
    page.keyboard.press("Escape")
    with page.expect_request("**/reply") as found:
        say(page, "Hello.")
    options = (found.value.post_data_json or {})["options"]
    assert options == {"temperature": 0.4, "budget": 300, "recipe": "membot"}
    expect(page.locator("#cost")).to_contain_text("tokens")


def test_without_a_model_replies_are_labelled_as_recall(page: Page, url_without_model: str) -> None:
    url = url_without_model
    remember(url, "bare", "The blue bicycle stands in the cellar.")
    visit(page, url, "bare")
    expect(page.locator(".connect")).to_contain_text("ollama serve")
    say(page, "Where does the blue bicycle stand?")
    expect(page.locator(".recall-only .label")).to_contain_text("Recall only")
    expect(page.locator(".recall-only .said")).to_contain_text("cellar")
    expect(page.locator(".recall-only .connect")).to_contain_text("EVERTHREAD_LLM_URL")
    page.reload()
    page.get_by_role("button", name="Look it up again").click()
    expect(page.locator(".recall-only .said")).to_contain_text("cellar")


def test_every_part_is_reached_by_the_keyboard(page: Page, url: str) -> None:
    visit(page, url, "keys")
    page.locator("#say").press("Shift+Enter")
    assert page.locator("#say").input_value() == "\n"
    page.locator("#say").fill("")
    page.locator("#tab-0").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Notes")).to_have_attribute("aria-selected", "true")
    page.locator("#open-settings").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("document.activeElement.id") == "open-settings"
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_and_contrast_hold_in_the_main_states(page: Page, url: str, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    remember(url, f"axe-{scheme}", "The blue bicycle stands in the cellar.", "The red one was sold.")
    visit(page, url, f"axe-{scheme}")
    tell(page, "Where does the blue bicycle stand?")
    axe(page)
    page.get_by_role("tab", name="Months").click()
    page.locator("#past .session").last.click()
    page.wait_for_selector(".reading")
    axe(page)
    for opener in ("#open-characters", "#open-settings"):
        page.click(opener)
        page.wait_for_selector("dialog .face, dialog select")
        axe(page)
        page.keyboard.press("Escape")


def axe(page: Page) -> None:
    """No violation of the rules of WCAG 2.2 A and AA."""
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    found = Axe().run(page, options=rules)["violations"]
    assert not [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]


def test_dark_and_light_follow_the_system_until_one_is_chosen(page: Page, url: str) -> None:
    visit(page, url, "dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(paper)
    assert dark != light
    page.click("#open-settings")
    page.get_by_label("Look").select_option("light")
    assert page.evaluate(paper) == light
    page.reload()
    assert page.evaluate(paper) == light


def test_a_phone_shows_one_part_at_a_time_and_never_scrolls_sideways(page: Page, url: str) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    remember(url, "phone", "The blue bicycle stands in the cellar.", "An-unbreakable-word-" * 20)
    visit(page, url, "phone")
    tell(page, "Where does the blue bicycle stand?")
    for view in ("sessions", "memory", "talk"):
        page.click(f"#views [data-to={view}]")
        shown = page.locator(".column:visible")
        expect(shown).to_have_count(1)
        expect(shown).to_have_id(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        assert shown.locator(".scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    for opener in ("#open-characters", "#open-settings", "#bank"):
        page.click("#views [data-to=sessions]")
        page.click(opener)
        assert page.locator("dialog .body").evaluate("box => box.scrollWidth <= box.clientWidth")
        page.keyboard.press("Escape")


def test_a_key_is_asked_for_where_the_server_wants_one(browser: Browser, url: str) -> None:
    page = browser.new_context().new_page()
    sent = list[str]()

    def guarded(route: Route) -> None:
        key = route.request.headers.get("authorization", "")
        sent.append(key)
        if key == "Bearer et_right":
            route.continue_(headers={k: v for k, v in route.request.headers.items() if k != "authorization"})
        else:
            document = {"type": "urn:everthread:unauthorized", "status": 401, "detail": "a key is needed"}
            route.fulfill(status=401, content_type="application/problem+json", body=json.dumps(document))

    page.route("**/api/v1/**", guarded)
    page.goto(f"{url}/#/keys")
    page.get_by_role("textbox", name="Key").fill("et_right")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]")
    expect(page.locator(".welcome")).to_be_visible()
    assert sent[-1] == "Bearer et_right"
    page.context.close()


def test_a_key_for_another_bank_leads_to_that_bank(browser: Browser, url: str) -> None:
    httpx.put(f"{url}/api/v1/banks/theirs").raise_for_status()
    page = browser.new_context().new_page()

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

    page.route("**/api/v1/**", guarded)
    page.goto(url)
    expect(page.get_by_role("textbox", name="Key")).to_be_focused()
    page.keyboard.type("et_theirs")
    page.keyboard.press("Enter")
    expect(page.locator("#bank")).to_have_text("theirs")
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator("#notices")).to_be_empty()
    page.context.close()


def test_the_page_is_small_and_soon_there(page: Page, url: str) -> None:
    names = [each.name for each in FOLDER.iterdir()]
    with httpx.Client(headers={"Accept-Encoding": "gzip"}) as client:
        packed = 0
        for name in names:
            with client.stream("GET", f"{url}/static/{name}") as answer:
                packed += sum(len(part) for part in answer.iter_raw())
    assert packed <= PACKED
    sizes = list[int]()
    page.on(
        "requestfinished",
        lambda request: sizes.append(sum(request.sizes()[k] for k in ("responseBodySize", "responseHeadersSize"))),
    )
    visit(page, url, "small")
    assert sum(sizes) <= TRANSFERRED
    took = [1.0]
    while min(took) > INTERACTIVE and len(took) < 8:  # the best of some: the machine may be busy with other tests
        page.reload()
        page.wait_for_selector("html[data-ready]")
        took.append(page.evaluate("performance.getEntriesByName('interactive')[0].startTime") / 1000)
    assert min(took) <= INTERACTIVE, took


def test_no_file_of_the_page_reads_text_as_markup() -> None:
    for each in FOLDER.iterdir():
        text = each.read_text(encoding="utf-8")
        for banned in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "http://",
            "https://",
        ):
            assert banned not in text.replace("http://www.w3.org/2000/svg", ""), (each.name, banned)
    index = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert " style=" not in index
    assert " on" not in index.replace(" one", "").replace(" only", "").replace(" own", "")
    modules = {each.name for each in FOLDER.glob("*.js")}
    assert all(f"/static/{name}" in index for name in modules)

"""The page in a real Chromium, before a real server over loopback; only the model is a script."""

import json
import re
from pathlib import Path

import pytest
from hardship import web
from playwright.sync_api import Browser, Page, expect

from server.shown import CARD, DESK, HOSTILE, broken, remember, say, tell, visit


def test_a_first_visit_leads_to_a_remembered_answer(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".welcome h2")).to_be_visible()
    page.get_by_label("What should I call you?").fill("Alex")
    page.keyboard.press("Enter")
    expect(page.get_by_label("What should I call you?")).to_have_count(0)
    tell(page, "My sister Mia moved to Lisbon.")
    page.get_by_role("button", name="New chat").click()
    page.get_by_role("button", name="Remember it").click()
    expect(page.locator("#notices")).to_contain_text("Remembered")
    expect(page.locator(".line")).to_have_count(0)
    tell(page, "Where did my sister Mia move?")
    hit = page.locator(".hit", has_text="Mia moved to Lisbon")
    expect(hit).to_be_visible()
    expect(hit.locator(".relevance")).to_contain_text("%")
    expect(page.locator(".from-person .speaker")).to_have_text("Alex")
    hit.get_by_text("Why it was found").click()
    expect(hit.locator(".signals").first).to_contain_text("similar in meaning")
    expect(hit.locator(".signals").first).not_to_contain_text(re.compile("[^0-9]0\\.000"))
    expect(hit.locator(".signals").first).to_contain_text("score")
    hit.locator("a").click()
    expect(page.locator(".line.target")).to_have_count(1)
    expect(page.locator("#lines .transcript-head")).to_be_visible()
    page.get_by_role("button", name="Back to current chat").click()
    expect(page.locator("#lines")).to_contain_text("Where did my sister Mia move?")


def test_a_reload_in_the_middle_of_a_reply_goes_on_with_it(page: Page, url: str) -> None:
    visit(page, url, "reload")
    say(page, "Tell it slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece5")
    page.reload()
    expect(page.locator(".streaming")).to_contain_text("piece5")
    expect(page.locator("#message")).to_have_value("")
    page.fill("#message", "half a thought")
    page.reload()
    expect(page.locator(".streaming")).to_contain_text("piece5")
    expect(page.locator("#send")).to_have_text("Stop")
    expect(page.locator("#message")).to_have_value("half a thought")
    expect(page.locator(".from-character .line-text")).to_contain_text("piece59")
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator(".line")).to_have_count(2)


def test_a_reply_is_stopped_and_what_came_of_it_stays(page: Page, url: str) -> None:
    visit(page, url, "stop")
    say(page, "Tell it slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator(".from-character .line-text")).to_contain_text("piece3")
    expect(page.locator(".from-character .line-text")).not_to_contain_text("piece59")
    expect(page.locator(".from-character .byline")).to_contain_text("stopped")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Tell it slowly.", "stopped"),
        ("It is broken off.", "interrupted"),
        ("Tell it at length.", "length limit"),
    ],
)
def test_why_a_reply_is_not_whole_is_told_also_after_a_reload(page: Page, url: str, asked: str, told: str) -> None:
    visit(page, url, f"cut-{told}")
    say(page, asked)
    if told == "stopped":
        expect(page.locator(".streaming")).to_contain_text("piece3")
        page.click("#send")
    marks = page.locator(".from-character .byline > span:last-child")
    expect(marks).to_have_text(told)
    page.reload()
    expect(marks).to_have_text(told)


def test_a_reply_of_which_it_is_not_known_why_it_is_not_whole_is_cut_short(page: Page, url: str) -> None:
    visit(page, url, "cut-long-ago")
    line = {"text": "I was", "role": "assistant", "speaker": "Thread", "metadata": {"partial": True}}
    web.post(f"{url}/api/v1/banks/cut-long-ago/lines", json=line).raise_for_status()
    page.reload()
    expect(page.locator(".from-character .byline")).to_contain_text("cut short")


def test_nothing_jumps_and_the_reader_is_left_alone_while_a_reply_arrives(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 420})
    visit(page, url, "calm")
    for number in range(3):
        tell(page, f"Something to fill the room, number {number}.")
    say(page, "Tell it slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    first = page.locator(".line").nth(0)
    page.locator("#lines").evaluate("box => (box.scrollTop = 0)")
    before = first.bounding_box()
    expect(page.locator(".streaming")).to_contain_text("piece30")
    assert first.bounding_box() == before
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Send")
    assert first.bounding_box() == before


def test_regenerating_and_editing_leave_swipes_and_other_answers(page: Page, url: str) -> None:
    remember(url, "swipes", "I said that bread rhymes with thread.")
    visit(page, url, "swipes")
    tell(page, "What rhymes with thread?")
    first = page.locator(".from-character .line-text").inner_text()
    page.get_by_label("Regenerate").click()
    expect(page.locator(".count")).to_have_text("2/2")
    assert page.locator(".from-character .line-text").inner_text() != first
    page.locator("#message").press("ArrowLeft")
    expect(page.locator(".from-character .line-text")).to_have_text(first)
    expect(page.locator(".count")).to_have_text("1/2")
    expect(page.locator("#panel")).to_contain_text("tokens of the prompt")
    page.locator("#message").press("ArrowRight")
    expect(page.locator(".count")).to_have_text("2/2")
    page.locator(".from-person").hover()
    page.locator(".from-person").get_by_label("Edit message").click()
    page.locator(".editing textarea").fill("What rhymes with bread?")
    page.keyboard.press("Enter")
    expect(page.locator(".from-character .line-text").last).to_contain_text("rhymes with bread?")
    expect(page.locator(".line")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".line")).to_have_count(0)
    expect(page.locator("#message")).to_have_value("What rhymes with bread?")


def test_going_back_to_a_line_sets_the_rest_aside_until_it_is_brought_back(page: Page, url: str) -> None:
    visit(page, url, "branch")
    tell(page, "The first thing.")
    tell(page, "The second thing.")
    page.locator(".line").nth(1).hover()
    page.locator(".line").nth(1).get_by_label("Continue from here").click()
    expect(page.locator(".line")).to_have_count(2)
    page.get_by_role("button", name="Restore previous version").click()
    expect(page.locator(".line")).to_have_count(4)
    page.locator(".line").first.get_by_label("Edit message").click()
    expect(page.locator(".editing")).to_contain_text("Saving sets aside what came after this message")
    page.locator(".editing textarea").fill("Another first thing.")
    page.keyboard.press("Enter")
    expect(page.locator(".from-character .line-text").last).to_contain_text("Another first thing")
    expect(page.locator(".line")).to_have_count(2)
    page.get_by_role("button", name="Restore previous version").click()
    expect(page.locator(".line .line-text").nth(2)).to_have_text("The second thing.")
    tell(page, "A third thing.")
    expect(page.get_by_role("button", name="Restore previous version")).to_have_count(0)


def test_a_forgotten_memory_is_gone_and_a_receipt_is_shown(page: Page, url: str) -> None:
    remember(url, "forget", "The blue bicycle stands in the cellar.")
    visit(page, url, "forget")
    tell(page, "Where does the blue bicycle stand?")
    hit = page.locator(".hit", has_text="cellar")
    hit.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 message")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".hit")).to_have_count(0)
    page.fill("#query", "quantum entanglement")
    expect(page.locator("#session-list")).to_have_text("No results")
    page.fill("#query", "blue bicycle cellar")
    expect(page.locator("#session-list mark").first).to_have_text("blue")
    expect(page.locator("#session-list")).to_contain_text("results")
    expect(page.locator("#session-list")).not_to_contain_text("cellar.")


def test_whoever_forgets_something_is_told_that_it_stops_the_reply_that_is_coming(page: Page, url: str) -> None:
    remember(url, "stopping", "The blue bicycle stands in the cellar.")
    visit(page, url, "stopping")
    tell(page, "Where does the blue bicycle stand?")
    forget = page.locator(".hit", has_text="cellar").get_by_role("button", name="Forget")
    forget.click()
    expect(page.get_by_role("dialog")).to_contain_text("can't be undone")
    expect(page.get_by_role("dialog")).not_to_contain_text("reply in progress")
    page.get_by_role("button", name="Keep it").click()
    say(page, "Tell me slowly about the blue bicycle in the cellar.")
    expect(page.locator(".streaming")).to_contain_text("piece1")
    forget.click()
    expect(page.get_by_role("dialog")).to_contain_text("It also stops the reply in progress")
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 message")
    page.get_by_role("button", name="Done").click()
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator(".from-character").last).to_contain_text("stopped")


def test_the_last_words_are_in_sight_after_every_turn_however_long_the_talk(page: Page, url: str) -> None:
    visit(page, url, "follow")
    for number in range(10):
        tell(
            page, f"The {number}th thing that I say of the blue bicycle in the cellar.\nIt has a bell.\nAnd two wheels."
        )
        page.wait_for_function(
            "() => { const box = document.getElementById('lines'); "
            "return box.scrollHeight - box.scrollTop - box.clientHeight < 2 }"
        )


def test_whoever_goes_back_up_is_left_there_while_a_reply_comes(page: Page, url: str) -> None:
    visit(page, url, "above")
    for number in range(8):
        tell(
            page, f"The {number}th thing that I say of the blue bicycle in the cellar.\nIt has a bell.\nAnd two wheels."
        )
    box = page.locator("#lines")
    box.hover()
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "() => { const box = document.getElementById('lines'); "
        "return box.scrollHeight - box.scrollTop - box.clientHeight > 300 }"
    )
    at = box.evaluate("box => box.scrollTop")
    remember(url, "above", "Said elsewhere.")
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    page.wait_for_timeout(200)
    assert box.evaluate("box => box.scrollTop") == at


def test_what_was_read_aloud_is_not_left_when_something_is_forgotten(page: Page, url: str) -> None:
    page.add_init_script("const set = setTimeout; window.setTimeout = (act, wait) => wait === 5_000 || set(act, wait)")
    remember(url, "unspoken", "The blue bicycle stands in the cellar.")
    visit(page, url, "unspoken")
    tell(page, "Where does the blue bicycle stand?")
    expect(page.locator("#announcer")).to_contain_text("bicycle")
    page.locator(".hit", has_text="cellar").get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 message")
    expect(page.locator("#announcer")).to_be_empty()


def test_whoever_comes_back_to_a_tab_sees_what_was_said_in_another(page: Page, url: str) -> None:
    visit(page, url, "tabs")
    tell(page, "I say this here.")
    other = page.context.new_page()
    visit(other, url, "tabs")
    tell(other, "I say this in another tab.")
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator(".from-person .line-text").last).to_have_text("I say this in another tab.")
    other.close()


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


def test_a_corrected_memory_is_shown_in_its_old_place(page: Page, url: str) -> None:
    remember(url, "place", "Guess what I bought.", "A blue bicycle it is.", "It stands in the hall.", "Mia oils it.")
    remember(url, "place", "What else is new?", session="after")
    web.patch(f"{url}/api/v1/banks/place/lines/2", json={"text": "A red bicycle it is."}).raise_for_status()
    visit(page, url, "place")
    tell(page, "Which bicycle, red or blue, stands in the hall?")
    hit = page.locator(".hit", has_text="red bicycle")
    expect(hit.locator(".passage p, .passage label")).to_have_text(
        [re.compile(text) for text in ("Guess what", "A red bicycle", "in the hall", "Mia oils")]
    )


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
    left = [line["text"] for line in web.get(f"{url}/api/v1/banks/chosen/lines").json()["items"]]
    assert text not in left
    assert len([line for line in left if line.startswith("The blue")]) == 1


def test_pinned_lines_and_notes_are_seen_and_changed(page: Page, url: str) -> None:
    remember(url, "pins", "The blue bicycle stands in the cellar.")
    visit(page, url, "pins")
    tell(page, "Where does the blue bicycle stand?")
    page.locator(".hit").get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator(".hit").get_by_role("button", name="Pinned")).to_be_visible()
    page.locator(".hit").get_by_role("button", name="Keep in context").click()
    page.get_by_role("tab", name="Pinned").click()
    expect(page.locator(".hit", has_text="cellar")).to_have_count(2)
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#panel")).to_contain_text("Nothing here yet.")
    page.get_by_role("tab", name="Notes").click()
    page.get_by_label("Notes", exact=True).last.fill("Alex has a bicycle.")
    page.get_by_role("button", name="Save notes").click()
    expect(page.locator("#notices")).to_contain_text("saved")
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
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("large.png is 9.0 MB")
    page.evaluate(drop, json.dumps(CARD))
    page.get_by_label("Chat with Ines").click()
    expect(page.locator("#character-name")).to_have_text("Ines")
    tell(page, "Where are we?")
    expect(page.locator(".from-character .speaker")).to_have_text("Ines")
    page.get_by_label("Scene").click()
    page.get_by_role("textbox", name="Your name").fill("Alex")
    page.get_by_role("textbox", name="Location").fill("a chart room")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#location")).to_have_text("a chart room")
    tell(page, "And now?")
    expect(page.locator(".from-person .speaker").last).to_have_text("Alex")


def test_what_was_said_is_text_whatever_it_looks_like(page: Page, url: str) -> None:
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    remember(url, "hostile", HOSTILE)
    visit(page, url, "hostile")
    tell(page, f"What was it with the script and the image? {HOSTILE}")
    expect(page.locator(".from-person .line-text")).to_contain_text("<script>")
    expect(page.locator("#panel .match").first).to_contain_text("![see](http://x.invalid/y.png)")
    page.fill("#query", "script image onerror")
    expect(page.locator("#session-list .preview").first).to_contain_text("<img src=x")
    assert page.locator("main img, aside img, nav img, body script").count() == 0
    assert page.title() != "owned"
    assert all(each.startswith((url, "blob:")) for each in asked)


def test_a_reply_is_formatted_lightly_and_nothing_moves_by_it(page: Page, url: str) -> None:
    visit(page, url, "marked")
    text = "**Well.** *He nods.* Call `open()`, 2 * 3 * 4\n\n- one\n- two [a](b)\n\nThe *end*"
    line = {"text": text, "role": "assistant", "speaker": "Thread", "session": "now"}
    web.post(f"{url}/api/v1/banks/marked/lines", json={"text": "?", "session": "now"}).raise_for_status()
    web.post(f"{url}/api/v1/banks/marked/lines", json=line).raise_for_status()
    page.reload()
    said = page.locator(".from-character .line-text")
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


def test_of_a_very_long_line_the_beginning_is_shown_until_all_of_it_is_asked_for(page: Page, url: str) -> None:
    visit(page, url, "long")
    said = [
        {"text": "Behold. " + "<b>words</b> 🧵 " * 3_000, "session": "now"},
        {"text": "Well. " + "*So* many. " * 1_000, "role": "assistant", "speaker": "Thread", "session": "now"},
        {"text": "x" * 8_000, "session": "now"},
    ]
    web.post(f"{url}/api/v1/banks/long/lines/batch", json={"lines": said}).raise_for_status()
    page.reload()
    expect(page.locator(".line")).to_have_count(3)
    for number in range(2):
        line = page.locator(".line .line-text").nth(number)
        assert len(line.inner_text()) < 5_000
        line.get_by_role("button", name="Show all").scroll_into_view_if_needed()
        before = line.bounding_box()
        line.get_by_role("button", name="Show all:").click()
        expect(line.get_by_role("button")).to_have_count(0)
        after = line.bounding_box()
        assert before is not None
        assert after is not None
        assert (before["x"], before["y"]) == (after["x"], after["y"])
        shown = (line.text_content() or "").strip()
        assert shown == str(said[number]["text"]).replace("*", "").strip()
    first = page.locator(".line").first
    first.get_by_label("Pin message").evaluate("each => each.click()")  # it is drawn anew by that
    expect(first.get_by_label("Unpin message")).to_have_count(1)
    assert len(first.locator(".line-text").inner_text()) > 40_000
    assert len(page.locator(".line .line-text").nth(2).inner_text()) == 8_000


def test_a_very_long_line_stands_the_right_way_and_is_laid_out_as_one_text(page: Page, url: str) -> None:
    visit(page, url, "longest")
    said = [
        {"text": "أختي انتقلت إلى لشبونة. " * 1_000, "session": "now"},
        {"text": "أختي *انتقلت* إلى لشبونة. " * 1_000, "role": "assistant", "speaker": "Thread", "session": "now"},
        {"text": "أختي انتقلت إلى لشبونة.", "session": "now"},
    ]
    web.post(f"{url}/api/v1/banks/longest/lines/batch", json={"lines": said}).raise_for_status()
    page.reload()
    looks = "boxes => boxes.map(each => getComputedStyle(each)).map(each => `${each.direction} ${each.unicodeBidi}`)"
    texts = page.locator(".from-person .line-text, .from-character .line-text p[dir=auto]")
    expect(texts).to_have_count(3)
    assert texts.evaluate_all(looks) == ["rtl isolate", "rtl isolate", "rtl plaintext"]
    for _ in range(2):
        page.get_by_role("button", name="Show all:").first.click()
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
    assert texts.evaluate_all(looks) == ["rtl isolate", "rtl isolate", "rtl plaintext"]


def test_of_two_who_talked_the_person_is_the_one_on_the_right(page: Page, url: str) -> None:
    of = f"{url}/api/v1/banks/imported"
    said = [
        {"text": "Hi.", "speaker": name, "said_at": f"2024-03-0{day}T18:20:00+00:00", "session": "two"}
        for day, name in enumerate(["Alex", "Bo", "Alex"], 1)
    ]
    visit(page, url, "imported")
    web.post(f"{of}/lines/batch", json={"lines": said}).raise_for_status()
    web.patch(f"{of}/character", json={"person": "Bo"}).raise_for_status()
    page.goto(f"{url}/#/imported/read/two")
    page.reload()
    expect(page.locator(".from-person .speaker")).to_have_text("Bo")
    expect(page.locator(".from-character .speaker")).to_have_text(["Alex", "Alex"])
    expect(page.locator(".date")).to_have_text(["2 March 2024", "3 March 2024"])


def test_right_to_left_and_chinese_stand_the_right_way(page: Page, url: str) -> None:
    visit(page, url, "scripts")
    tell(page, "أختي انتقلت إلى لشبونة")
    said = page.locator(".from-person .line-text")
    assert said.evaluate("each => getComputedStyle(each).direction") == "rtl"
    tell(page, "我的妹妹搬到里斯本了。")
    page.fill("#query", "里斯本")
    expect(page.locator("#session-list")).to_contain_text("我的妹妹搬到里斯本了。")


def test_an_unanswered_line_is_answered_and_a_problem_is_told_calmly(page: Page, url: str, browser: Browser) -> None:
    visit(page, url, "unwell")
    page.route("**/reply", lambda route: broken(route))
    say(page, "A thought I typed.")
    expect(page.locator("#notices")).to_contain_text("Nothing you typed is lost")
    expect(page.locator("#message")).to_have_value("A thought I typed.")
    page.unroute("**/reply")
    post = {"text": "Are you there?", "role": "user", "session": "now"}
    web.post(f"{url}/api/v1/banks/unanswered/lines", json=post).raise_for_status()
    visit(page, url, "unanswered")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".from-character .line-text")).to_contain_text("Are you there?")


def test_a_server_that_comes_back_is_found_again(browser: Browser, url: str) -> None:
    page = browser.new_page(viewport=DESK)  # type: ignore[arg-type]  # whose console tells of the refusals
    visit(page, url, "away")
    tell(page, "Is anyone there?")
    page.route("**/api/v1/**", lambda route: route.abort("connectionrefused"))
    say(page, "And now?")
    expect(page.locator("#notices")).to_contain_text("can't be reached")
    expect(page.locator(".from-character .line-text")).to_contain_text("Is anyone there?")
    expect(page.locator("#message")).to_have_value("And now?")
    page.unroute("**/api/v1/**")
    expect(page.locator("#notices")).to_be_empty()
    page.route("**/chat/current", lambda route: route.abort("connectionrefused"))  # gone as soon as it has replied
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_contain_text("can't be reached")
    expect(page.locator(".from-character .line-text").last).to_contain_text("And now?")
    page.close()


def test_a_bank_that_was_forgotten_elsewhere_is_talked_in_again(browser: Browser, url: str) -> None:
    page = browser.new_page()  # whose console tells that it is gone
    visit(page, url, "elsewhere")
    web.delete(f"{url}/api/v1/banks/elsewhere").raise_for_status()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#notices")).to_be_empty()
    tell(page, "Hello again.")
    page.close()


def test_incognito_that_was_lost_is_told_before_anything_is_written(browser: Browser, url: str) -> None:
    page = browser.new_page()  # whose console tells of the refusal
    visit(page, url, "unmasked")
    page.get_by_label("Incognito").click()
    expect(page.locator("#incognito")).to_be_visible()
    of = f"{url}/api/v1/banks/unmasked"
    web.post(f"{of}/chat/current/incognito", json={"on": False}).raise_for_status()  # as a restart would
    say(page, "My word is periwinkle.")
    expect(page.locator("#notices")).to_contain_text("not in incognito any more")
    expect(page.locator("#incognito")).to_contain_text("Incognito has ended")
    expect(page.locator("#message")).to_have_value("My word is periwinkle.")
    assert web.get(f"{of}/lines").json()["items"] == []
    page.close()


def test_incognito_writes_nothing_down(page: Page, url: str) -> None:
    visit(page, url, "private")
    page.get_by_label("Incognito").click()
    expect(page.locator("#incognito")).to_be_visible()
    tell(page, "A secret about the surprise.")
    assert web.get(f"{url}/api/v1/banks/private").json()["lines"] == 0
    expect(page.locator(".unsaved")).to_have_count(2)
    page.get_by_label("Incognito").click()
    expect(page.locator(".line")).to_have_count(0)
    expect(page.locator("#notices")).to_contain_text("is gone")


def test_a_file_that_holds_nothing_to_take_is_told_with_its_name_and_what_is_taken(
    browser: Browser, url: str, tmp_path: Path
) -> None:
    page = browser.new_page()  # whose console tells of the refusal
    visit(page, url, "strange")
    file = tmp_path / "recipes.json"
    file.write_text(json.dumps({"soups": [], "cakes": []}))
    page.click("#open-settings")
    page.locator("input[type=file]").last.set_input_files(file)
    told = page.get_by_role("dialog").get_by_role("alert")
    for words in ("recipes.json is JSON of an unknown kind", "an object with 'soups', 'cakes'", "Taken are", "cards"):
        expect(told).to_contain_text(words)
    expect(told).not_to_contain_text("format=")
    expect(page.locator("#notices")).to_be_empty()  # it is not being read any more
    page.close()


def test_everything_is_exported_imported_and_deleted_with_a_receipt(page: Page, url: str, tmp_path: Path) -> None:
    remember(url, "whole", "The first of all lines.", "The second of all lines.")
    visit(page, url, "whole")
    page.get_by_role("tab", name="Timeline").click()
    expect(page.locator("svg.timeline rect")).to_have_count(1)
    expect(
        page.locator("svg.timeline").get_by_role("listitem", name="March 2024: 2 messages in 1 chat")
    ).to_be_visible()
    expect(page.locator("svg.timeline title")).to_have_text("March 2024: 2 messages in 1 chat")
    expect(page.locator("#panel table")).to_contain_text("March 2024")
    page.click("#open-settings")
    with page.expect_download() as found:
        page.get_by_role("button", name="Export all").click()
    found.value.save_as(tmp_path / "whole.jsonl")
    page.get_by_role("button", name="Delete everything").click()
    page.get_by_label("The bank's name").fill("whole")
    page.get_by_role("dialog").last.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_role("dialog").last).to_contain_text("2 messages: everything in this bank")
    page.get_by_role("button", name="Done").click()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#session-list .session")).to_have_count(1)
    page.click("#open-settings")
    page.locator("input[type=file]").last.set_input_files(tmp_path / "whole.jsonl")
    expect(page.locator("#notices")).to_contain_text("Added 2 messages")
    expect(page.locator("#session-list .session")).to_have_count(2)


def test_another_bank_is_made_and_knows_nothing_of_the_first(page: Page, url: str) -> None:
    remember(url, "one", "The blue bicycle stands in the cellar.")
    web.put(f"{url}/api/v1/banks/one/pins/1").raise_for_status()
    visit(page, url, "one")
    page.get_by_role("tab", name="Pinned").click()
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)
    page.click("#bank")
    page.get_by_label("Name of the new bank").fill("an/other bank")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#bank")).to_have_text("an/other bank")
    expect(page.locator(".welcome h2")).to_be_visible()
    expect(page.locator("#session-list .session")).to_have_count(1)
    expect(page.locator(".hit")).to_have_count(0)
    page.go_back()
    expect(page.locator("#session-list .session")).to_have_count(2)
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)

"""The chat in a real Chromium, with a real server over loopback; only the model is a script."""

from pathlib import Path

import pytest
from hardship import web
from playwright.sync_api import Page, expect

from everthread.chat import character_library
from everthread.chat.character import Character
from server.page_helpers import HOSTILE, HeldRoute, add_past_lines, fail_reply, say, say_and_wait, visit


def test_a_reload_during_a_reply_resumes_it(page: Page, url: str) -> None:
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


def test_a_screen_reader_reads_that_a_reply_is_coming_and_then_the_reply(page: Page, url: str) -> None:
    visit(page, url, "announced")
    say(page, "Tell it slowly.")
    announcer = page.locator("#announcer")
    expect(announcer).to_have_text("Ever is replying …")
    expect(announcer).to_contain_text("piece59")


def test_a_stopped_reply_keeps_what_has_arrived(page: Page, url: str) -> None:
    visit(page, url, "stop")
    say(page, "Tell it slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    page.fill("#message", "And then?")
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator("#message")).to_have_value("And then?")
    expect(page.locator(".from-character .line-text")).to_contain_text("piece3")
    expect(page.locator(".from-character .line-text")).not_to_contain_text("piece59")
    expect(page.locator(".from-character .byline")).to_contain_text("stopped")


def test_the_second_click_of_a_double_click_on_send_does_not_stop_the_reply(page: Page, url: str) -> None:
    visit(page, url, "double-click")
    page.fill("#message", "Tell it slowly.")
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Stop")
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    expect(page.locator(".streaming")).to_contain_text("piece3")
    expect(page.locator("#send")).to_have_text("Stop")
    page.click("#send")
    expect(page.locator(".from-character .byline")).to_contain_text("stopped")


def test_an_enter_that_confirms_a_conversion_in_safari_sends_nothing(page: Page, url: str) -> None:
    confirm = (
        "field => field.dispatchEvent(new KeyboardEvent('keydown', "
        "{ key: 'Enter', keyCode: 229, isComposing: false, bubbles: true, cancelable: true }))"
    )
    held = HeldRoute(page, "**/static/*/app.js")
    page.goto(f"{url}/#/conversion", wait_until="commit")
    page.fill("#message", "漢字")
    page.locator("#message").evaluate(confirm)
    expect(page.locator("#message")).to_have_value("漢字")
    held.release()
    page.wait_for_selector("html[data-ready]")
    page.locator("#message").evaluate(confirm)
    expect(page.locator("#message")).to_have_value("漢字")
    page.keyboard.press("Enter")
    sent = page.locator(".from-person")
    expect(sent.locator(".line-text")).to_have_text(["漢字"])
    expect(page.locator("#send")).to_have_text("Send")
    sent.get_by_role("button", name="Edit").click()
    sent.locator("textarea").fill("感じ")
    sent.locator("textarea").evaluate(confirm)
    expect(sent.locator("textarea")).to_have_value("感じ")


def test_a_message_that_is_sent_while_a_reply_arrives_waits_for_it(page: Page, url: str) -> None:
    visit(page, url, "in-turn")
    say(page, "Tell it slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    say(page, "And then?")
    expect(page.locator("#notices")).to_contain_text("Your message will be sent when the reply is complete.")
    expect(page.locator("#lines > .line").last).to_contain_text("And then?")
    say(page, "And after that?")
    expect(page.locator("#notices")).to_contain_text("Your last message is still waiting to be sent.")
    expect(page.locator("#message")).to_have_value("And after that?")
    page.click("#send")
    expect(page.locator(".from-character .line-text").last).to_contain_text("And then?")
    expect(page.locator(".from-person .line-text")).to_have_text(["Tell it slowly.", "And then?"])
    expect(page.locator(".from-character .byline").first).to_contain_text("stopped")
    expect(page.locator("#message")).to_have_value("And after that?")


def test_a_message_that_waits_for_a_reply_survives_a_reload(page: Page, url: str) -> None:
    visit(page, url, "in-turn-reloaded")
    say(page, "Tell it slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    say(page, "And then?")
    page.locator("#message").type("And after that?")
    page.reload()
    expect(page.locator("#message")).to_have_value("And then?\nAnd after that?")
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Send")


def test_a_message_that_is_sent_before_the_reply_is_saved_is_answered(page: Page, url: str) -> None:
    visit(page, url, "before-saved")
    held = HeldRoute(page, "**/banks/before-saved/chat/current?**")  # the chat is read again after the reply
    say(page, "What is the first thing?")
    expect(page.locator(".streaming")).to_contain_text("first thing?")
    say(page, "And the second?")
    held.release()
    expect(page.locator(".from-character .line-text").last).to_contain_text("And the second?")
    expect(page.locator(".line")).to_have_count(4)


def test_a_reply_that_is_left_after_a_reload_blocks_no_other_chat(page: Page, url: str) -> None:
    visit(page, url, "left-behind")
    say(page, "Tell it slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    page.reload()
    expect(page.locator(".streaming")).to_contain_text("piece3")
    page.get_by_role("button", name="New chat").click()
    expect(page.locator("#send")).to_have_text("Send")
    say_and_wait(page, "What is the first thing?")
    expect(page.locator(".from-character .line-text")).to_contain_text("What is the first thing?")


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ("Tell it slowly.", "stopped"),
        ("It is broken off.", "interrupted"),
        ("Tell it at length.", "length limit"),
    ],
)
def test_an_incomplete_reply_shows_the_reason_even_after_a_reload(page: Page, url: str, asked: str, label: str) -> None:
    visit(page, url, f"cut-{label}")
    say(page, asked)
    if label == "stopped":
        expect(page.locator(".streaming")).to_contain_text("piece3")
        page.click("#send")
    marks = page.locator(".from-character .byline > span:last-child")
    expect(marks).to_have_text(label)
    page.reload()
    expect(marks).to_have_text(label)


def test_an_incomplete_reply_without_a_recorded_reason_is_shown_as_cut_short(page: Page, url: str) -> None:
    visit(page, url, "cut-long-ago")
    line = {"text": "I was", "role": "assistant", "speaker": "Thread", "metadata": {"partial": True}}
    web.post(f"{url}/api/v1/banks/cut-long-ago/lines", json=line).raise_for_status()
    page.reload()
    expect(page.locator(".from-character .byline")).to_contain_text("cut short")


def test_an_arriving_reply_does_not_move_what_the_reader_has_scrolled_to(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 420})
    visit(page, url, "calm")
    for number in range(3):
        say_and_wait(page, f"Something to fill the room, number {number}.")
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


def test_regenerating_and_editing_create_versions_and_new_answers(page: Page, url: str) -> None:
    add_past_lines(url, "swipes", "I said that bread rhymes with thread.")
    visit(page, url, "swipes")
    say_and_wait(page, "What rhymes with thread?")
    first = page.locator(".from-character .line-text").inner_text()
    page.get_by_label("Regenerate").click()
    expect(page.locator(".count")).to_have_text("2/2")
    assert page.locator(".from-character .line-text").inner_text() != first
    page.locator("#message").press("ArrowLeft")
    expect(page.locator(".from-character .line-text")).to_have_text(first)
    expect(page.locator(".count")).to_have_text("1/2")
    expect(page.locator("#panel")).to_contain_text("1 memory")
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


def test_continuing_from_a_line_sets_later_ones_aside_until_they_are_restored(page: Page, url: str) -> None:
    visit(page, url, "branch")
    say_and_wait(page, "The first thing.")
    say_and_wait(page, "The second thing.")
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
    say_and_wait(page, "A third thing.")
    expect(page.get_by_role("button", name="Restore previous version")).to_have_count(0)


def test_the_end_is_visible_after_every_turn_of_a_long_chat(page: Page, url: str) -> None:
    visit(page, url, "follow")
    for number in range(10):
        say_and_wait(
            page, f"The {number}th thing that I say of the blue bicycle in the cellar.\nIt has a bell.\nAnd two wheels."
        )
        page.wait_for_function(
            "() => { const box = document.getElementById('lines'); "
            "return box.scrollHeight - box.scrollTop - box.clientHeight < 2 }"
        )


def test_a_reader_who_has_scrolled_up_is_left_there(page: Page, url: str) -> None:
    visit(page, url, "above")
    for number in range(8):
        say_and_wait(
            page, f"The {number}th thing that I say of the blue bicycle in the cellar.\nIt has a bell.\nAnd two wheels."
        )
    box = page.locator("#lines")
    box.hover()
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "() => { const box = document.getElementById('lines'); "
        "return box.scrollHeight - box.scrollTop - box.clientHeight > 300 }"
    )
    position = box.evaluate("box => box.scrollTop")
    add_past_lines(url, "above", "Said elsewhere.")
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    page.wait_for_timeout(200)
    assert box.evaluate("box => box.scrollTop") == position


def test_an_edit_that_could_not_be_saved_stays_in_its_field(tab: Page, url: str) -> None:
    visit(tab, url, "kept-edits")
    say_and_wait(tab, "My first words.")
    field, notices = tab.locator(".editing textarea"), tab.locator("#notices")
    tab.route("**/edit", lambda route: route.abort(), times=1)
    tab.get_by_role("button", name="Edit message: My first words.").click()
    field.fill("My second words.")
    field.press("Enter")
    expect(notices).to_contain_text("Nothing you typed is lost")
    expect(field).to_have_value("My second words.")
    expect(field).to_be_focused()
    expect(notices).to_have_text("")  # once the server is back
    expect(field).to_have_value("My second words.")
    field.press("Enter")
    expect(tab.locator(".from-character .line-text")).to_contain_text(["My second words."])
    tab.get_by_role("button", name="Edit message: My second words.").click()
    field.fill("My third words.")
    web.post(f"{url}/api/v1/banks/kept-edits/lines/forget", json={"seqs": [[1, 99]]}).raise_for_status()
    field.press("Enter")
    expect(notices).to_contain_text("It is no longer there.")
    expect(tab.locator(".from-person")).to_have_count(0)
    expect(tab.locator("#message")).to_have_value("My third words.")


def test_a_tab_that_gets_the_focus_shows_what_was_said_in_another(page: Page, url: str) -> None:
    visit(page, url, "tabs")
    say_and_wait(page, "I say this here.")
    other = page.context.new_page()
    visit(other, url, "tabs")
    say_and_wait(other, "I say this in another tab.")
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator(".from-person .line-text").last).to_have_text("I say this in another tab.")
    other.close()


@pytest.mark.parametrize("change", ["Undo", "Regenerate"])
def test_a_window_changes_no_messages_that_it_does_not_show(tab: Page, url: str, change: str) -> None:
    bank = f"stale-{change}"
    visit(tab, url, bank)
    say_and_wait(tab, "I say this here.")
    other = tab.context.new_page()
    visit(other, url, bank)
    say_and_wait(other, "I say this in another window.")
    tab.get_by_role("button", name=change, exact=True).click()
    expect(tab.locator("#notices")).to_contain_text("so nothing was changed")
    said = ["I say this here.", "I say this in another window."]
    expect(tab.locator(".from-person .line-text")).to_have_text(said)
    expect(tab.locator(".swipes")).to_have_count(0)
    expect(tab.locator("#message")).to_have_value("")
    tab.get_by_role("button", name=change, exact=True).click()
    if change == "Undo":
        expect(tab.locator(".from-person .line-text")).to_have_text(said[:1])
    else:
        expect(tab.locator(".swipes")).to_contain_text("2/2")
    other.close()


def test_texts_are_shown_as_text_in_every_place(
    page: Page, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))  # no pictures of characters that other tests saved
    requested_urls = list[str]()
    page.on("request", lambda request: requested_urls.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    character_library.save(Character("Mallory", description=HOSTILE, examples=HOSTILE), force=True)
    add_past_lines(url, "hostile", HOSTILE, "a_" * 100_000)
    visit(page, url, "hostile")
    bank = f"{url}/api/v1/banks/hostile"
    persona = {"name": "<b>Eve</b>", "greeting": HOSTILE, "person": "<i>Al</i>", "location": HOSTILE}
    web.patch(f"{bank}/character", json=persona).raise_for_status()
    web.patch(f"{bank}/sessions/before", json={"title": HOSTILE, "metadata": {"tags": [HOSTILE]}}).raise_for_status()

    def expect_text(*places: str) -> None:
        """Expect the text in these places, and that it did nothing in any."""
        for place in places:
            expect(page.locator(place).first).to_contain_text("onerror=")
        assert page.locator(":is(.column, dialog) :is(img, script, [onerror], a[href^='javascript:'])").count() == 0
        assert page.title() != "owned"

    page.reload()
    expect_text("#location", ".greeting", "#session-list .preview", "#session-list .tag")
    expect(page.locator("#character-name")).to_have_text("<b>Eve</b>")
    say_and_wait(page, f"What was it with the script and the image? {HOSTILE}")
    expect_text(".from-person .line-text", ".from-character .line-text", "#panel .match")
    page.locator("#panel").get_by_role("button", name="Pin", exact=True).first.click()
    page.locator("#panel").get_by_role("button", name="Forget").first.click()
    expect_text("dialog")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Pinned").click()
    expect_text("#panel .passage")
    page.click("#open-characters")
    expect_text('.tile:has([aria-label="Edit Mallory"]) .told')
    page.get_by_label("Edit Mallory").click()
    page.locator("dialog summary").first.click()
    expect_text("dialog .dialogue")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.fill("#query", "script image onerror")
    expect_text("#session-list a:has(mark)")
    page.goto(f"{url}/#/hostile/read/before")
    expect_text(".line .line-text")
    page.click("#open-settings")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import chats").click()
    file = {"name": "<img src=x onerror=alert(1)>.jsonl", "mimeType": "text/plain", "buffer": b'{"text": "Hi."}'}
    chooser.value.set_files(file)  # type: ignore[arg-type]
    expect_text("dialog[open]")
    assert page.locator("dialog :is(img, script)").count() == 0
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Forget this chat").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("button", name="Done")).to_be_visible()
    assert page.locator("dialog :is(img, script)").count() == 0
    assert all(requested.startswith((url, "blob:")) for requested in requested_urls)


def test_a_very_long_line_is_folded_until_all_of_it_is_requested(page: Page, url: str) -> None:
    visit(page, url, "long")
    said = [
        {"text": "Behold. " + "<b>words</b> 🧵 " * 3_000, "session": "now"},
        {"text": "Well. " + "*So* many. " * 1_000, "role": "assistant", "speaker": "Thread", "session": "now"},
        {"text": "x" * 8_000, "session": "now"},
    ]
    web.post(f"{url}/api/v1/banks/long/lines/batch", json={"lines": said}).raise_for_status()
    page.reload()
    expect(page.locator(".from-character em").first).to_be_attached()  # the Markdown is drawn
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
    first.get_by_label("Pin message").evaluate("each => each.click()")  # the line is drawn again
    expect(first.get_by_role("button", name="Pin message", pressed=True)).to_have_attribute("title", "Unpin message")
    assert len(first.locator(".line-text").inner_text()) > 40_000
    assert len(page.locator(".line .line-text").nth(2).inner_text()) == 8_000


def test_a_very_long_line_has_the_right_direction_and_is_laid_out_as_one_text(page: Page, url: str) -> None:
    visit(page, url, "longest")
    said = [
        {"text": "أختي انتقلت إلى لشبونة. " * 1_000, "session": "now"},
        {"text": "أختي *انتقلت* إلى لشبونة. " * 1_000, "role": "assistant", "speaker": "Thread", "session": "now"},
        {"text": "أختي انتقلت إلى لشبونة.", "session": "now"},
    ]
    web.post(f"{url}/api/v1/banks/longest/lines/batch", json={"lines": said}).raise_for_status()
    page.reload()
    expect(page.locator(".from-character em").first).to_be_attached()  # the Markdown is drawn
    looks = "boxes => boxes.map(each => getComputedStyle(each)).map(each => `${each.direction} ${each.unicodeBidi}`)"
    texts = page.locator(".from-person .line-text, .from-character .line-text p[dir=auto]")
    expect(texts).to_have_count(3)
    page.wait_for_load_state("networkidle")  # the other lines are drawn as Markdown as well
    assert texts.evaluate_all(looks) == ["rtl isolate", "rtl isolate", "rtl plaintext"]
    for _ in range(2):
        page.get_by_role("button", name="Show all:").first.click()
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
    assert texts.evaluate_all(looks) == ["rtl isolate", "rtl isolate", "rtl plaintext"]


def test_of_two_people_in_an_imported_chat_the_person_is_on_the_right(page: Page, url: str) -> None:
    bank = f"{url}/api/v1/banks/imported"
    said = [
        {"text": "Hi.", "speaker": name, "said_at": f"2024-03-0{day}T18:20:00+00:00", "session": "two"}
        for day, name in enumerate(["Alex", "Bo", "Alex"], 1)
    ]
    visit(page, url, "imported")
    web.post(f"{bank}/lines/batch", json={"lines": said}).raise_for_status()
    web.patch(f"{bank}/character", json={"person": "Bo"}).raise_for_status()
    page.goto(f"{url}/#/imported/read/two")
    page.reload()
    expect(page.locator(".from-person .speaker")).to_have_text("Bo")
    expect(page.locator(".from-character .speaker")).to_have_text(["Alex", "Alex"])
    expect(page.locator(".date")).to_have_text(["2 March 2024", "3 March 2024"])


def test_what_was_said_under_an_earlier_name_is_still_the_persons(page: Page, url_without_model: str) -> None:
    character = f"{url_without_model}/api/v1/banks/renamed/character"
    visit(page, url_without_model, "renamed")
    add_past_lines(url_without_model, "renamed", "I keep the bread knife in the drawer.", session="two")
    answer = {"text": "I have one, too.", "speaker": "Bo", "session": "two", "said_at": "2024-03-02T18:20:00+00:00"}
    web.post(f"{url_without_model}/api/v1/banks/renamed/lines", json=answer).raise_for_status()
    web.patch(character, json={"person": "Alex"}).raise_for_status()
    page.reload()
    say(page, "Good morning.")
    expect(page.locator(".from-character")).to_be_visible()
    web.patch(character, json={"person": "Alexandra"}).raise_for_status()
    page.reload()
    say(page, "I keep the bread knife in which drawer?")
    expect(page.locator(".recalled .source")).to_contain_text("On 1 March 2024 you told me:")
    page.goto(f"{url_without_model}/#/renamed/read/two")
    expect(page.locator(".from-person .speaker")).to_have_text(["Alex"])
    expect(page.locator(".from-character .speaker")).to_have_text(["Bo"])


def test_an_undated_line_is_shown_without_the_time_at_which_it_was_stored(page: Page, url: str) -> None:
    said = [
        {"text": "Hi.", "session": "old", "undated": True},
        {"text": "Hello!", "role": "assistant", "said_at": "2024-03-05T12:00:00+00:00", "session": "old"},
    ]
    visit(page, url, "undated")
    web.post(f"{url}/api/v1/banks/undated/lines/batch", json={"lines": said}).raise_for_status()
    page.goto(f"{url}/#/undated/read/old")
    page.reload()
    expect(page.locator(".line time")).to_have_text(["unknown date", "12:00"])
    expect(page.locator(".date")).to_have_text(["5 March 2024"])
    expect(page.get_by_text("Chat from unknown date")).to_be_visible()


def test_right_to_left_and_chinese_text_is_shown_correctly(page: Page, url: str) -> None:
    visit(page, url, "scripts")
    say_and_wait(page, "أختي انتقلت إلى لشبونة")
    said = page.locator(".from-person .line-text")
    assert said.evaluate("each => getComputedStyle(each).direction") == "rtl"
    say_and_wait(page, "我的妹妹搬到里斯本了。")
    page.fill("#query", "里斯本")
    expect(page.locator("#session-list")).to_contain_text("我的妹妹搬到里斯本了。")


def test_an_unanswered_line_is_answered_and_a_problem_loses_nothing(page: Page, url: str) -> None:
    visit(page, url, "unwell")
    page.route("**/reply", lambda route: fail_reply(route))
    say(page, "A thought I typed.")
    expect(page.locator("#notices")).to_contain_text("Nothing you typed is lost")
    expect(page.locator("#message")).to_have_value("A thought I typed.")
    page.unroute("**/reply")
    post = {"text": "Are you there?", "role": "user", "session": "now"}
    web.post(f"{url}/api/v1/banks/unanswered/lines", json=post).raise_for_status()
    visit(page, url, "unanswered")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".from-character .line-text")).to_contain_text("Are you there?")


def test_the_page_notices_when_the_server_is_back(tab: Page, url: str) -> None:
    visit(tab, url, "away")
    say_and_wait(tab, "Is anyone there?")
    tab.route("**/api/v1/**", lambda route: route.abort("connectionrefused"))
    say(tab, "And now?")
    expect(tab.locator("#notices")).to_contain_text("can't be reached")
    expect(tab.locator(".from-character .line-text")).to_contain_text("Is anyone there?")
    expect(tab.locator("#message")).to_have_value("And now?")
    tab.locator("#query").fill("anyone")
    expect(tab.locator("#notices")).to_contain_text("can't be reached")
    tab.unroute("**/api/v1/**")
    expect(tab.locator("#notices")).to_be_empty()
    expect(tab.locator("#session-list")).to_contain_text("With these words: ")
    tab.locator("#query").press("Escape")
    tab.locator("#message").focus()
    tab.route(
        "**/chat/current?last=*", lambda route: route.abort("connectionrefused")
    )  # gone as soon as it has replied
    tab.keyboard.press("Enter")
    expect(tab.locator("#notices")).to_contain_text("can't be reached")
    expect(tab.locator(".from-character .line-text").last).to_contain_text("And now?")

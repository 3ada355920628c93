"""Dialogs of the page: the characters and their banks, the scene, forgetting and the end of a chat."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path

import png
import pytest
from hardship import web
from playwright.sync_api import Page, expect

from everthread.chat import character_library
from everthread.chat.character import Character
from server.page_helpers import CARD, HeldRoute, add_past_lines, check_accessibility, say, say_and_wait, visit


@pytest.fixture
def vey() -> None:
    """Add a character to the gallery."""
    character_library.save(Character("Captain Vey", description="A sailor."), force=True)


def choose_vey(page: Page) -> None:
    page.click("#open-characters")
    page.get_by_label("Chat with Captain Vey").click()


def character_name(url: str, bank: str) -> str:
    """Return the name of a bank's character."""
    segment = bank.replace("/", "%2F")
    return str(web.get(f"{url}/api/v1/banks/{segment}/character").raise_for_status().json()["name"])


def stored_texts(url: str, bank: str) -> list[str]:
    segment = bank.replace("/", "%2F")
    return [line["text"] for line in web.get(f"{url}/api/v1/banks/{segment}/lines").raise_for_status().json()["items"]]


# ---------------------------------------------------------------------- which bank


@pytest.mark.usefixtures("vey")
def test_each_character_has_its_own_chats_and_is_met_there_again(page: Page, url: str) -> None:
    visit(page, url, "laura")
    web.patch(f"{url}/api/v1/banks/laura/character", json={"person": "Laura"}).raise_for_status()
    page.reload()
    say_and_wait(page, "I hid the gold in the barn.")
    choose_vey(page)
    expect(page.locator("#character-name")).to_have_text("Captain Vey")
    expect(page.locator("#bank")).to_have_text("Captain Vey with Laura")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator(".welcome")).to_have_text("New chat with Captain Vey.")
    page.click("#bank")
    expect(page.locator(".banks button[aria-current]")).to_contain_text(
        "Captain Vey with Laura"
    )  # nothing was said yet
    page.keyboard.press("Escape")
    with page.expect_response(lambda response: response.request.method == "DELETE"):  # the bank is removed
        page.click("#open-characters")
        page.get_by_label("Chat with Ever").click()
    expect(page.locator("#bank")).to_have_text("Ever with Laura")
    assert web.get(f"{url}/api/v1/banks/laura%2Fcaptain-vey").status_code == 404
    page.go_back()
    expect(page.locator("#bank")).to_have_text("Captain Vey with Laura")
    say_and_wait(page, "Where is the gold?")
    expect(page.locator("#panel")).not_to_contain_text("barn")
    page.click("#open-characters")
    page.get_by_label("Chat with Ever").click()
    expect(page.locator("#bank")).to_have_text("Ever with Laura")
    expect(page.locator(".from-person .line-text")).to_have_text("I hid the gold in the barn.")
    choose_vey(page)
    expect(page.locator(".from-person .line-text")).to_have_text("Where is the gold?")
    assert [character_name(url, bank) for bank in ("laura", "laura/captain-vey")] == ["Ever", "Captain Vey"]


@pytest.mark.usefixtures("vey")
def test_an_edit_of_a_character_changes_the_chats_with_it_except_for_what_was_changed_there(
    page: Page, url: str
) -> None:
    visit(page, url, "ines")
    web.patch(f"{url}/api/v1/banks/ines/character", json={"person": "Ines"}).raise_for_status()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    choose_vey(page)
    expect(page.locator("#character-name")).to_have_text("Captain Vey")
    expect(page.locator("dialog")).to_have_count(0)
    say_and_wait(page, "Ahoy.")
    page.get_by_role("button", name="Scene").click()
    page.get_by_role("textbox", name="Location").fill("At anchor")
    page.get_by_role("button", name="Save", exact=True).click()
    page.click("#open-characters")
    page.get_by_label("Edit Captain Vey").click()
    editor = page.get_by_role("dialog", name="Edit Captain Vey")
    editor.get_by_role("textbox", name="Description").fill("A pirate who knows {{user}}.")
    editor.get_by_role("textbox", name="Location").fill("In port")
    editor.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".dialog-notice:visible")).to_have_text(
        "Saved. Your chats with Captain Vey follow, except for what you changed in them."
    )
    tile = page.locator(".tile", has=page.get_by_role("heading", name="Captain Vey"))
    expect(tile.locator(".told")).to_have_text("A pirate who knows Ines.")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Scene").click()
    expect(page.get_by_role("textbox", name="Description")).to_have_value("A pirate who knows {{user}}.")
    expect(page.get_by_role("textbox", name="Location")).to_have_value("At anchor")


@pytest.mark.usefixtures("vey")
def test_a_character_draws_on_the_chats_of_another_only_if_they_are_shared(page: Page, url: str) -> None:
    add_past_lines(url, "ruth", "I hid the gold in the barn.")
    add_past_lines(url, "ruth%2Fcaptain-vey", "We sailed to Ghent.")
    web.put(f"{url}/api/v1/banks/ruth%2Fcaptain-vey/character", json={"name": "Captain Vey"}).raise_for_status()
    visit(page, url, "ruth%2Fcaptain-vey")
    expect(page.locator("#bank")).to_have_text("Captain Vey in ruth")
    for shared in (True, False):
        page.click("#open-characters")
        page.get_by_label("What Captain Vey remembers").click()
        dialog = page.get_by_role("dialog", name="What Captain Vey remembers")
        expect(dialog).to_contain_text("Nothing you tell Captain Vey is added to those chats")
        check_accessibility(page)
        dialog.get_by_label("Your chats with Ever").set_checked(shared)
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(dialog).to_have_count(0)
        page.keyboard.press("Escape")
        say_and_wait(page, "Where is the gold that I hid?")
        assert page.locator("#panel").filter(has_text="in the barn").count() == shared
        if shared:
            page.reload()
            page.get_by_role("button", name="1 memory").click()
            expect(page.locator("#panel")).to_contain_text("From your chats with Ever")
            expect(page.locator("#panel")).to_contain_text("I hid the gold in the barn.")
            expect(page.locator("#panel .hit a")).to_have_attribute("href", "#/ruth/read/before/1")
    page.get_by_role("button", name="1 memory").click()  # of the reply when it was shared
    expect(page.locator("#panel")).to_contain_text("1 memory from ruth, which is no longer shared")
    expect(page.locator("#panel")).not_to_contain_text("in the barn")


def test_a_dropped_card_becomes_a_character_to_chat_with(page: Page, url: str, tmp_path: Path) -> None:
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
    with (tmp_path / "large.png").open("wb") as large:
        large.truncate(9 << 20)
    file.set_input_files(tmp_path / "large.png")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("large.png: It has 9.0 MB")
    page.evaluate(drop, json.dumps(CARD))
    page.get_by_label("Chat with Ines").click()
    expect(page.locator("#character-name")).to_have_text("Ines")
    say_and_wait(page, "Where are we?")
    expect(page.locator(".from-character .speaker")).to_have_text("Ines")
    page.get_by_label("Scene").click()
    expect(page.get_by_role("dialog")).to_contain_text("{{user}} for yours")
    page.get_by_role("textbox", name="Your name").fill("Alex")
    page.get_by_role("textbox", name="Location").fill("a chart room")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#location")).to_have_text("a chart room")
    say_and_wait(page, "And now?")
    expect(page.locator(".from-person .speaker").last).to_have_text("Alex")


def test_a_character_is_edited_with_a_cropped_picture_and_a_preview(page: Page, url: str) -> None:
    character_library.save(Character("Ilse", examples="<START>\n{{user}}: Hi.\n{{char}}: Hello."), force=True)
    visit(page, url, "editing")
    page.click("#open-characters")
    page.get_by_label("Edit Ilse").click()
    editor = page.get_by_role("dialog", name="Edit Ilse")
    name = editor.get_by_role("textbox", name="Name", exact=True)
    expect(name).not_to_be_editable()
    expect(name).to_have_accessible_description(re.compile("The name stays as it is"))
    picture = editor.locator("input[type=file]")
    picture.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"no picture"})
    expect(editor.get_by_role("alert")).to_contain_text("a.png isn't a picture that this browser can read")
    wide = BytesIO()
    png.Writer(300, 100, greyscale=True).write(wide, [[0] * 100 + [200] * 200] * 100)
    picture.set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": wide.getvalue()})
    crop = editor.get_by_label("The picture. Drag it")
    for _ in range(30):
        crop.press("ArrowLeft")  # until the left edge of the picture is at that of the frame
    greeting = editor.get_by_role("textbox", name="First message")
    greeting.fill("Come in, !")
    page.mouse.click(5, 5)  # outside, which closes only a dialog in which nothing was written
    greeting.press("ArrowLeft")
    editor.get_by_label("Insert into First message").get_by_role("button", name="{{user}}").click()
    editor.get_by_text("Lorebook").press("Enter")
    for number, (keys, text) in enumerate((("pier，码头", "It has three steps."), ("", "")), 1):
        editor.get_by_role("button", name="Add entry").press("Enter")
        editor.get_by_label(f"Keywords of entry {number}").fill(keys)
        editor.get_by_label(f"Text of entry {number}").fill(text)
    editor.get_by_text("Preview of").click()
    expect(editor.locator(".dialogue")).to_have_text(["IlseCome in, you!", "YouHi.IlseHello."])
    check_accessibility(page)
    editor.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(editor).to_have_count(0)
    expect(page.locator(".tile", has_text="Ilse").locator("img")).to_be_visible()
    saved = character_library.load("Ilse")
    assert saved.greeting == "Come in, {{user}}!"
    entry = {"keys": ["pier", "码头"], "content": "It has three steps.", "enabled": True, "insertion_order": 0}
    assert saved.card["data"]["character_book"]["entries"] == [{**entry, "extensions": {}}]  # type: ignore[call-overload,index]
    width, height, rows, info = png.Reader(bytes=character_library.read_picture("Ilse")).read()
    middle = list(rows)[height // 2]
    assert (width, height, middle[0], middle[-info["planes"]]) == (600, 720, 0, 0)


def test_a_card_of_a_known_character_replaces_it_or_is_kept_beside_it(tab: Page, url: str) -> None:
    visit(tab, url, "known cards")
    tab.click("#open-characters")
    gallery = tab.get_by_role("dialog", name="Characters")
    question = tab.get_by_role("dialog", name="Replace this character?")
    file = gallery.locator("input[type=file]").first
    for description, choice, names in (
        ("A sailor.", None, ["Tess"]),
        ("A pilot.", "Keep both", ["Tess", "Tess 2"]),
        ("A smith.", "Replace", ["Tess", "Tess 2"]),
        ("A baker.", "Cancel", ["Tess", "Tess 2"]),
    ):
        card = CARD | {"data": {"name": "Tess", "description": description}}
        file.set_input_files({"name": "tess.json", "mimeType": "", "buffer": json.dumps(card).encode()})
        if choice:
            question.get_by_role("button", name=choice).click()
            expect(question).to_have_count(0)
        expect(gallery.locator("h3", has_text="Tess")).to_have_text(names)
    expect(gallery.locator(".tile", has_text="Tess")).to_contain_text(["A smith.", "A pilot."])


# ------------------------------------------------------------------------ the scene


@pytest.mark.usefixtures("vey")
def test_the_characters_name_is_changed_in_the_scene(page: Page, url: str) -> None:
    visit(page, url, "names")
    say_and_wait(page, "Hello.")
    page.get_by_label("Scene").click()
    page.get_by_label("Character's name").fill("Ondine")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#character-name")).to_have_text("Ondine")
    say_and_wait(page, "And who are you now?")
    expect(page.locator(".from-character .speaker")).to_have_text(["Ever", "Ondine"])
    assert character_name(url, "names") == "Ondine"


def test_the_scene_edits_the_nickname_if_that_is_what_is_shown(page: Page, url: str) -> None:
    visit(page, url, "nicknames")
    web.patch(f"{url}/api/v1/banks/nicknames/character", json={"nickname": "Evie"}).raise_for_status()
    page.reload()
    expect(page.locator("#character-name")).to_have_text("Evie")
    page.get_by_label("Scene").click()
    page.get_by_label("Character's name").fill("Eve")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#character-name")).to_have_text("Eve")
    assert character_name(url, "nicknames") == "Ever"


# ------------------------------------------------------------------------- forgetting


def test_ending_a_chat_forgets_it_only_after_a_second_question(page: Page, url: str) -> None:
    visit(page, url, "ending")
    say_and_wait(page, "A secret.")
    page.get_by_role("button", name="End chat").click()
    page.get_by_role("button", name="Forget all of it").click()
    page.get_by_role("dialog", name="Forget this chat?").get_by_role("button", name="Keep it").click()
    expect(page.locator(".line")).to_have_count(2)
    assert "A secret." in stored_texts(url, "ending")
    page.get_by_role("button", name="End chat").click()
    page.get_by_role("button", name="Forget all of it").click()
    page.get_by_role("button", name="Forget it all").click()
    expect(page.get_by_role("dialog", name="Forgotten")).to_contain_text("2 messages")
    page.get_by_role("button", name="Done").click()
    assert stored_texts(url, "ending") == []


# ---------------------------------------------------------------------------- goodbyes


def say_goodbye(page: Page, url: str, bank: str) -> None:
    """Say goodbye in a bank that asks whether to remember the chat."""
    visit(page, url, bank)
    web.patch(f"{url}/api/v1/banks/{bank}/settings", json={"remember": "ask"}).raise_for_status()
    say_and_wait(page, "I planted ferns.")
    say(page, "ok bye then!")
    expect(page.get_by_label("A question to you")).to_contain_text("Shall I remember this conversation?")
    expect(page.locator("#message")).to_have_value("")


def test_a_goodbye_leads_to_the_question_which_a_button_answers(page: Page, url: str) -> None:
    say_goodbye(page, url, "parting")
    page.reload()
    page.get_by_role("button", name="Remember it").click()
    expect(page.locator("#notices")).to_contain_text("Remembered.")
    expect(page.get_by_label("A question to you")).to_have_count(0)
    assert [text for text in stored_texts(url, "parting") if "Answer" not in text] == [
        "I planted ferns.",
        "ok bye then!",
    ]


def test_the_question_can_be_answered_by_typing_and_is_repeated_after_an_unclear_answer(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 375, "height": 667})
    say_goodbye(page, url, "typing")
    say(page, "Not now")
    expect(page.get_by_label("A question to you")).to_contain_text("Please answer yes or no")
    page.get_by_role("button", name="Forget all of it").click()  # nothing covers it
    page.get_by_role("dialog", name="Forget this chat?").get_by_role("button", name="Keep it").click()
    assert "ok bye then!" in stored_texts(url, "typing")
    say(page, "no")
    expect(page.get_by_role("dialog", name="Forget this chat?")).to_be_visible()
    assert "ok bye then!" in stored_texts(url, "typing")
    page.get_by_role("button", name="Forget it all").click()
    expect(page.get_by_role("dialog", name="Forgotten")).to_contain_text("3 messages")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".line")).to_have_count(0)
    assert stored_texts(url, "typing") == []


def test_another_subject_instead_of_an_answer_continues_the_chat(page: Page, url: str) -> None:
    say_goodbye(page, url, "going on")
    say_and_wait(page, "One more thing: I bought a spade.")
    expect(page.get_by_label("A question to you")).to_have_count(0)
    assert "ok bye then!" in stored_texts(url, "going on")


def test_a_message_that_was_sent_before_the_question_came_does_not_answer_it(page: Page, url: str) -> None:
    visit(page, url, "asked meanwhile")
    web.patch(f"{url}/api/v1/banks/asked%20meanwhile/settings", json={"remember": "ask"}).raise_for_status()
    say_and_wait(page, "I planted ferns.")
    expect(page.locator("#send")).to_have_text("Send")
    held = HeldRoute(page, "**/banks/asked%20meanwhile/chat/current?**")
    say(page, "ok bye then!")
    expect(page.locator("#send")).to_have_text("Stop")
    say(page, "No, one more thing.")
    held.release()
    expect(page.get_by_label("A question to you")).to_be_visible()
    expect(page.locator("#message")).to_have_value("No, one more thing.")


# ------------------------------------------------------------------------- its place


@pytest.mark.parametrize("height", [844, 1800])
def test_the_button_that_closes_the_settings_stays_in_place_while_their_contents_arrive(
    page: Page, url_without_model: str, height: int
) -> None:
    page.set_viewport_size({"width": 390, "height": height})
    visit(page, url_without_model, "placed")
    recipes = HeldRoute(page, "**/api/v1/recipes")
    page.locator("#views button").first.click()
    page.click("#open-settings")
    button = page.get_by_role("dialog").get_by_label("Close")
    expect(button).to_be_visible()
    before = button.bounding_box()
    recipes.release()
    expect(page.get_by_label("Recipe")).to_be_visible()
    assert button.bounding_box() == before

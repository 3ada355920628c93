"""Chats with several characters in the page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hardship import web
from playwright.sync_api import Page, Route, expect

from everthread.chat import character_library
from everthread.chat.character import Character
from server.page_helpers import add_past_lines, check_accessibility, say, visit

CAPTAIN, COOK = "nora%2Fcaptain", "nora%2Fcook"


@pytest.fixture
def crew() -> None:
    """Add characters to the gallery."""
    for name in ("Captain", "Cook", "Jean-Luc"):
        character_library.save(Character(name, description="Sails."), force=True)


def lines(url: str, bank: str) -> list[tuple[str, str]]:
    items = web.get(f"{url}/api/v1/banks/{bank}/lines").raise_for_status().json()["items"]
    return [(line["speaker"], line["text"]) for line in items]


def session(url: str, bank: str) -> dict[str, Any]:
    found: dict[str, Any] = web.get(f"{url}/api/v1/banks/{bank}/sessions").raise_for_status().json()["items"][0]
    return found


def expect_stored(page: Page) -> None:
    """Wait until the reply that arrives is stored."""
    expect(page.locator(".streaming")).to_have_count(0)


def begin_group(url: str, home: str, text: str, session: str = "deck") -> None:
    """Begin a group chat of two characters, over REST: the cook answers."""
    for name in ("captain", "cook"):
        web.put(f"{url}/api/v1/banks/{home}%2F{name}").raise_for_status()
        web.put(f"{url}/api/v1/banks/{home}%2F{name}/character", json={"name": name.title()}).raise_for_status()
    asked = {"text": text, "options": {"group": [f"{home}/captain", f"{home}/cook"]}}
    web.post(f"{url}/api/v1/banks/{home}%2Fcook/chat/{session}/reply", json=asked).raise_for_status()


def pins(url: str, bank: str) -> list[str]:
    items = web.get(f"{url}/api/v1/banks/{bank}/pins").raise_for_status().json()["items"]
    return [line["text"] for line in items]


@pytest.mark.usefixtures("crew")
def test_several_characters_talk_in_one_chat_and_each_remembers_what_it_heard(page: Page, url: str) -> None:
    visit(page, url, "nora")
    page.click("#open-characters")
    page.get_by_role("button", name="Group chat").click()
    dialog = page.get_by_role("dialog", name="Group chat")
    dialog.get_by_role("checkbox", name="Captain", exact=True).check()
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("alert")).to_have_text("Choose at least two characters.")
    dialog.get_by_role("checkbox", name="Cook", exact=True).check()
    check_accessibility(page)
    dialog.get_by_role("button", name="Start").click()
    expect(page.locator("#character-name")).to_have_text("Captain and Cook")
    expect(page.locator(".welcome")).to_contain_text("Each character remembers what is said while it takes part")
    page.reload()
    expect(page.locator("#character-name")).to_have_text("Captain and Cook")

    speakers = page.locator(".from-character .speaker")
    page.locator("#message").press_sequentially("@coo")
    page.keyboard.press("Tab")
    expect(page.locator("#message")).to_have_value("@Cook ")
    expect(page.locator("#group .next")).to_have_text("CCook")  # with the letter of its portrait
    page.keyboard.type("what is for dinner?")
    page.keyboard.press("Enter")
    expect(speakers).to_have_text(["Cook"])
    expect(page.locator("#announcer")).to_contain_text("Cook: ")
    chip = page.locator("#group").get_by_role("button", name="Cook", exact=True)
    chip.focus()
    page.keyboard.press("Enter")
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(chip).to_be_focused()
    say(page, "Does the Captain like it?")
    expect(speakers).to_have_text(["Cook", "Cook"])
    expect(chip).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Let Captain answer").click()
    expect(speakers).to_have_text(["Cook", "Cook", "Captain"])
    expect(page.locator(".from-character .avatar")).to_have_count(3)
    expect_stored(page)
    expect(page.get_by_role("button", name="End chat")).to_have_count(0)
    check_accessibility(page)
    assert lines(url, CAPTAIN) == lines(url, COOK)
    assert [speaker for speaker, _ in lines(url, COOK)] == ["user", "Cook", "user", "Cook", "Captain"]
    page.reload()
    expect(speakers).to_have_text(["Cook", "Cook", "Captain"])

    page.get_by_label("Characters in this chat").click()
    page.get_by_role("dialog").get_by_label("Another character").select_option("Jean-Luc")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#character-name")).to_have_text("Captain, Cook and Jean-Luc")
    page.get_by_label("Characters in this chat").click()
    check_accessibility(page)
    page.get_by_role("dialog").get_by_label("Remove Cook").click()
    expect(page.locator("#character-name")).to_have_text("Captain and Jean-Luc")
    say(page, "Jean-Luc, to the sails!")
    expect(speakers.last).to_have_text("Jean-Luc")
    expect_stored(page)
    expect(page.locator("#session-list .portraits").first).to_have_attribute("aria-label", "Captain, Jean-Luc")
    assert [speaker for speaker, _ in lines(url, "nora%2Fjean-luc")] == ["user", "Jean-Luc"]
    assert len(lines(url, COOK)) == 5
    assert "group" not in session(url, COOK)["metadata"]


def test_what_is_edited_regenerated_and_undone_changes_in_the_bank_of_each_character(page: Page, url: str) -> None:
    begin_group(url, "una", "Is there soup?")
    page.goto(f"{url}/#/una%2Fcaptain/talk/deck")
    speakers, texts = page.locator(".from-character .speaker"), page.locator("#lines .line-text")
    first = texts.last.inner_text()
    page.get_by_role("button", name="Regenerate").click()
    expect(page.locator(".swipes .count")).to_have_text("2/2")
    expect_stored(page)
    assert texts.last.inner_text() != first
    expect(speakers).to_have_text(["Cook"])
    page.locator(".swipes").get_by_role("button", name="Previous reply").click()
    expect(texts.last).to_have_text(first)
    assert lines(url, "una%2Fcaptain") == lines(url, "una%2Fcook") == [("user", "Is there soup?"), ("Cook", first)]

    page.get_by_role("button", name="Edit message: Is there soup?").click()
    page.locator(".editing textarea").fill("Is there stew?")
    page.keyboard.press("Enter")
    expect(texts.last).to_contain_text("Is there stew?")
    expect(speakers).to_have_text(["Cook"])  # who answered it before
    expect_stored(page)
    page.locator("#message").press("ArrowUp")
    page.locator(".editing textarea").fill("Captain, is there stew?")
    page.keyboard.press("Enter")
    expect(speakers).to_have_text(["Captain"])
    expect_stored(page)
    assert lines(url, "una%2Fcaptain") == lines(url, "una%2Fcook")
    assert len(lines(url, "una%2Fcook")) == 2
    page.get_by_role("button", name="Undo").click()
    expect(texts).to_have_count(0)
    assert lines(url, "una%2Fcaptain") == lines(url, "una%2Fcook") == []
    page.get_by_role("button", name="Restore").click()
    expect(speakers).to_have_text(["Captain"])
    assert lines(url, "una%2Fcaptain") == lines(url, "una%2Fcook")


def test_a_copy_that_could_not_be_changed_is_named_and_tried_again_alone(tab: Page, url: str) -> None:
    begin_group(url, "eva", "The gold is in the barn.")
    requests = list[str]()
    failing = {"PATCH": 1, "DELETE": 2}  # requests of each kind

    def answer(route: Route) -> None:
        method = route.request.method
        requests.append(method)
        failing[method] = failing.get(method, 0) - 1
        if failing[method] < 0:
            return route.continue_()
        return route.fulfill(status=503, json={"status": 503, "detail": "The disk is full."})

    tab.route("**/banks/eva%2Fcook/lines/*", answer)
    tab.goto(f"{url}/#/eva%2Fcaptain/read/deck")
    tab.get_by_role("button", name="Correct message: The gold is in the barn.").click()
    tab.get_by_role("dialog").get_by_role("textbox").fill("The gold is in the well.")
    tab.get_by_role("button", name="Save").click()
    remaining = tab.get_by_role("dialog", name="Not everywhere yet")
    expect(remaining).to_contain_text("Corrected for Captain. Not corrected for Cook: The disk is full.")
    remaining.get_by_role("button", name="Retry").click()
    expect(tab.locator("#notices")).to_contain_text("Corrected")
    assert [lines(url, bank)[-1][1] for bank in ("eva%2Fcaptain", "eva%2Fcook")] == ["The gold is in the well."] * 2

    tab.get_by_role("button", name="Forget message: The gold is in the well.").click()
    tab.get_by_role("button", name="Forget it").click()
    expect(remaining).to_contain_text("Forgotten by Captain. Not forgotten by Cook: The disk is full.")
    check_accessibility(tab)
    remaining.get_by_role("button", name="Retry").click()
    expect(remaining).to_contain_text("The disk is full.")
    assert [len(lines(url, bank)) for bank in ("eva%2Fcaptain", "eva%2Fcook")] == [1, 2]
    remaining.get_by_role("button", name="Retry").click()
    tab.get_by_role("button", name="Done").click()
    assert [len(lines(url, bank)) for bank in ("eva%2Fcaptain", "eva%2Fcook")] == [1, 1]
    assert requests == ["PATCH", "PATCH", "DELETE", "DELETE", "DELETE"]
    tab.close()


@pytest.mark.usefixtures("crew")
def test_a_line_of_a_group_is_forgotten_by_all_who_heard_it(page: Page, url: str) -> None:
    begin_group(url, "ida", "The gold is in the barn.")
    page.goto(f"{url}/#/ida%2Fcaptain/talk/deck")
    page.get_by_label("Forget message: The gold is in the barn.").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Cook will forget it, too.")
    dialog.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Done").click()
    for bank in ("ida%2Fcaptain", "ida%2Fcook"):
        assert [speaker for speaker, _ in lines(url, bank)] == ["Cook"]
    page.goto(f"{url}/#/ida%2Fcaptain/talk/bridge")
    page.get_by_label("Options for chat").first.click()
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("dialog", name="Forget this chat?")).to_contain_text("Cook will forget it, too.")
    page.get_by_role("button", name="Forget it all").click()
    page.get_by_role("button", name="Done").click()
    assert [lines(url, bank) for bank in ("ida%2Fcaptain", "ida%2Fcook")] == [[], []]


@pytest.mark.usefixtures("crew")
def test_a_fact_is_forgotten_with_the_copies_of_its_line_in_a_group(page: Page, url: str) -> None:
    begin_group(url, "uma", "I live in Leeds.")
    page.goto(f"{url}/#/uma%2Fcook/talk/deck")
    page.get_by_role("tab", name="Facts").click()
    row = page.locator("#panel .known-fact", has_text="Leeds")
    row.locator("summary").click()
    row.get_by_role("button", name="Forget", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("If you forget its messages too, Captain will forget them as well.")
    dialog.get_by_role("button", name="Forget it with 1 message").click()
    expect(page.get_by_role("dialog", name="Forgotten")).to_contain_text("1 message")
    page.get_by_role("button", name="Done").click()
    expect(row).to_have_count(0)
    for bank in ("uma%2Fcaptain", "uma%2Fcook"):
        assert [speaker for speaker, _ in lines(url, bank)] == ["Cook"]


def test_a_reload_follows_the_reply_of_another_character_which_can_be_stopped(page: Page, url: str) -> None:
    begin_group(url, "ole", "Hello.")
    page.goto(f"{url}/#/ole%2Fcaptain/talk/deck")
    say(page, "Cook, tell it slowly")
    expect(page.locator(".streaming")).to_contain_text("piece2")
    page.reload()
    expect(page.locator(".streaming")).to_contain_text("piece2")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".from-character .speaker")).to_have_text(["Cook", "Cook"])
    expect(page.locator(".streaming")).to_have_count(0)
    assert lines(url, "ole%2Fcaptain") == lines(url, "ole%2Fcook")
    page.get_by_role("button", name="Memories").last.click()
    expect(page.locator("#panel")).to_be_visible()


def test_without_a_model_a_character_of_a_group_answers_from_its_memory(page: Page, url_without_model: str) -> None:
    url = url_without_model
    begin_group(url, "per", "The gold is in the barn.")
    page.goto(f"{url}/#/per%2Fcaptain/talk/deck")
    say(page, "Cook, where is the gold?")
    expect(page.locator(".from-character").last).to_contain_text("The gold is in the barn.")
    assert [text for _, text in lines(url, "per%2Fcaptain")] == ["The gold is in the barn.", "Cook, where is the gold?"]


def test_the_memories_of_a_reply_in_a_group_are_those_of_its_speaker_with_all_that_one_chat_shows(
    page: Page, url: str
) -> None:
    begin_group(url, "gus", "Hello all.")
    add_past_lines(url, "gus%2Fcook", "The blue bicycle stands in the cellar.", "It has a bell.")
    add_past_lines(url, "gus%2Fcaptain", "The blue bicycle is the admiral's.")
    page.goto(f"{url}/#/gus%2Fcaptain/talk/deck")
    page.wait_for_selector("html[data-ready]")
    say(page, "Cook, where does the blue bicycle stand?")
    panel, buttons = page.locator("#panel"), page.locator(".recall-link")
    hit = panel.locator(".hit", has_text="cellar")
    for reloads in (False, True):
        if reloads:
            page.reload()
        else:
            expect(buttons).to_have_count(2)
            expect_stored(page)
        expect(panel.locator("h2").first).to_have_text("From your chats with Cook")
        expect(panel).to_contain_text("1 memory")
        expect(panel).not_to_contain_text("admiral")
        expect(hit.locator(".why")).to_contain_text("both mention “bicycle” and “stand”")
        expect(hit.get_by_role("toolbar").get_by_role("button")).to_have_text(["Pin", "Correct", "Forget"])
        hit.get_by_text("1 message around it").click()
        expect(hit).to_contain_text("It has a bell.")
        expect(hit.get_by_text("Details")).to_be_visible()
        expect(panel.locator(".prompt")).to_contain_text("tokens: everything the model was given")
        panel.locator("summary", has_text="Your message").click()
        expect(panel.locator(".part-words").last).to_contain_text("Cook, where does the blue bicycle stand?")
        expect(buttons.last).to_have_attribute("title", "What this reply was given from memory")
        expect(buttons.last).to_have_attribute("aria-pressed", "true")
    check_accessibility(page)
    page.goto(f"{url}/#/gus%2Fcaptain/read/deck")
    expect(buttons).to_have_count(2)
    buttons.first.click()
    expect(panel).to_contain_text("No memories were used for this reply.")
    buttons.last.click()
    hit.get_by_role("link").click()
    expect(page.locator(".line.target")).to_contain_text("stands in the cellar.")
    assert "gus%2Fcook" in page.url
    expect(page.locator("#bank")).to_have_text("Cook in gus")
    expect(hit).to_be_visible()  # it is of this bank
    page.go_back()
    expect(page.locator("#bank")).to_have_text("Captain in gus")
    expect(panel.locator(".hit")).to_have_count(0)


def test_without_a_model_the_answer_of_each_character_stays_in_a_group(page: Page, url_without_model: str) -> None:
    url = url_without_model
    begin_group(url, "ivo", "Hello all.")
    add_past_lines(url, "ivo%2Fcook", "The blue bicycle stands in the cellar.")
    page.goto(f"{url}/#/ivo%2Fcaptain/talk/deck")
    page.wait_for_selector("html[data-ready]")
    say(page, "Cook, where does the blue bicycle stand?")
    answers = page.locator(".from-person + .from-character")
    expect(answers.last.locator("blockquote")).to_have_text("The blue bicycle stands in the cellar.")
    say(page, "Captain, do I have a dog?")
    expect(page.locator(".from-person")).to_have_count(3)
    page.reload()
    expect(page.locator(".from-person")).to_have_count(3)
    expect(answers.locator(".speaker")).to_have_text(["Cook", "Cook", "Captain"])
    expect(answers.nth(1).locator("blockquote")).to_have_text("The blue bicycle stands in the cellar.")
    expect(answers.last).to_contain_text("I remember nothing about that yet.")


def test_the_memories_of_another_character_are_pinned_corrected_and_forgotten_where_they_are_stored(
    page: Page, url: str
) -> None:
    captain, cook = "kai%2Fcaptain", "kai%2Fcook"
    add_past_lines(url, captain, *(f"Day {number} at sea." for number in range(1, 6)))  # other numbers of lines
    begin_group(url, "kai", "The gold is in the barn.", "bridge")
    add_past_lines(url, cook, "The gold is a crown, in the attic.")
    begin_group(url, "kai", "Cook, where is the gold?")
    page.goto(f"{url}/#/{captain}/talk/deck")
    hits = page.locator("#panel .hit")
    barn, crown = (
        hits.filter(has=page.get_by_text(re.compile(f"^The gold is {place}"))) for place in ("in", "a crown")
    )
    crown.get_by_role("button", name="Pin", exact=True).click()
    expect(crown.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    assert (pins(url, cook), pins(url, captain)) == (["The gold is a crown, in the attic."], [])
    page.reload()
    crown.get_by_role("button", name="Pinned").click()
    expect(crown.get_by_role("button", name="Pin", exact=True)).to_have_attribute("aria-pressed", "false")
    assert pins(url, cook) == []

    barn.get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("The gold is in the well.")
    page.get_by_role("button", name="Save").click()
    expect(barn).to_contain_text("Corrected since: The gold is in the well.")
    crown.get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("The gold is a ring.")
    page.get_by_role("button", name="Save").click()
    expect(crown).to_contain_text("Corrected since: The gold is a ring.")
    for bank in (captain, cook):
        assert ("user", "The gold is in the well.") in lines(url, bank)
    assert ("Alex", "The gold is a ring.") in lines(url, cook)

    barn.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Captain will forget it, too.")
    dialog.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Done").click()
    expect(barn).to_have_count(0)
    expect(page.locator("#panel")).to_contain_text("2 memories · 1 memory forgotten since")
    crown.get_by_role("button", name="Forget").click()
    expect(dialog).to_contain_text("The gold is a ring.")
    expect(dialog).not_to_contain_text("will forget it, too.")
    dialog.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Done").click()
    expect(crown).to_have_count(0)
    expect(hits).to_have_count(1)  # the cook's own answer
    for bank in (captain, cook):
        assert not [text for _, text in lines(url, bank) if "well" in text or "ring" in text]
    assert len([text for _, text in lines(url, captain) if "at sea" in text]) == 5

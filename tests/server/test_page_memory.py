"""The memory column, search, banks, import and export, in a real Chromium."""

import re
import zipfile
from pathlib import Path
from typing import Literal

import pytest
from hardship import web
from playwright.sync_api import Page, expect

from everthread.recall import time_overview
from everthread.recall.features import SIGNALS
from everthread.recipes.default import Default
from server.page_helpers import (
    PHONE,
    HeldRoute,
    add_past_lines,
    check_accessibility,
    module,
    say,
    say_and_wait,
    visit,
)


def test_a_first_visit_leads_to_a_remembered_answer(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".welcome h2")).to_be_visible()
    page.get_by_label("What should I call you?").fill("Alex")
    page.keyboard.press("Enter")
    expect(page.get_by_label("What should I call you?")).to_have_count(0)
    say_and_wait(page, "My sister Mia moved to Lisbon.")
    page.get_by_role("button", name="End chat").click()
    page.get_by_role("button", name="Remember it").click()
    expect(page.locator("#notices")).to_contain_text("Remembered")
    expect(page.locator(".line")).to_have_count(0)
    say_and_wait(page, "Where did my sister Mia move?")
    hit = page.locator(".hit", has_text="Mia moved to Lisbon")
    expect(hit).to_be_visible()
    expect(hit.locator(".why")).to_have_text(re.compile("^Alex said it · close .* · both mention “sister” and “move”"))
    expect(page.locator(".from-person .speaker")).to_have_text("Alex")
    expect(page.get_by_role("button", name="1 memory")).to_have_attribute("aria-pressed", "true")
    hit.get_by_text("Details").click()
    expect(hit.locator(".signals").first).to_contain_text("similar in meaning")
    expect(hit.locator(".signals").first).not_to_contain_text(re.compile("[^0-9]0\\.000"))
    expect(hit.locator(".signals").first).to_contain_text("score")
    hit.locator("a").click()
    expect(page.locator(".line.target")).to_have_count(1)
    expect(page.locator("#lines .transcript-head")).to_be_visible()
    page.get_by_role("button", name="Back to current chat").click()
    expect(page.locator("#lines")).to_contain_text("Where did my sister Mia move?")


def test_an_earlier_chat_empties_the_memory_column_until_the_reader_is_back(page: Page, url: str) -> None:
    add_past_lines(url, "emptied", "The blue bicycle stands in the cellar.")
    visit(page, url, "emptied")
    say_and_wait(page, "Where does the blue bicycle stand?")
    say_and_wait(page, "Thanks.")
    page.get_by_role("button", name="1 memory").click()
    hit = page.locator(".hit", has_text="cellar")
    expect(hit).to_be_visible()
    page.locator("#session-list a", has_text="The blue bicycle").last.click()
    expect(page.locator(".transcript-head")).to_be_visible()
    expect(hit).to_have_count(0)
    page.go_back()
    expect(hit).to_be_visible()
    hit.locator("a").click()
    expect(page.locator(".line.target")).to_contain_text("cellar")
    expect(hit).to_be_visible()  # the reader follows it
    page.go_back()
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.click("#views [data-to=memory]")
    hit.locator("a").click()
    expect(page.locator(".transcript-head")).to_be_visible()
    page.go_back()
    expect(page.locator(".column:visible")).to_have_id("memory")
    expect(hit).to_be_visible()


def test_the_memories_of_a_reply_that_arrives_are_not_shown_beside_an_earlier_chat(page: Page, url: str) -> None:
    add_past_lines(url, "arrives", "The blue bicycle stands in the cellar.")
    visit(page, url, "arrives")
    say(page, "Where does the blue bicycle stand? Tell me slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    hit = page.locator(".hit", has_text="cellar")
    expect(hit).to_be_visible()
    page.locator("#session-list a", has_text="The blue bicycle").last.click()
    expect(hit).to_have_count(0)
    expect(page.locator("#send")).to_have_text("Send")  # the reply is complete
    expect(hit).to_have_count(0)
    page.go_back()
    expect(hit).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_percentage_of_a_memory_is_explained(page: Page, url: str, scheme: Literal["light", "dark"]) -> None:
    bank = f"explained-{scheme}"
    page.emulate_media(color_scheme=scheme)
    add_past_lines(url, bank, "The blue bicycle stands in the cellar.")
    visit(page, url, bank)
    say_and_wait(page, "Where does the blue bicycle stand?")
    hit = page.locator(".hit", has_text="cellar")
    expect(hit.locator(".why")).to_contain_text(
        re.compile("Alex said it · .* · both mention “bicycle” and “stand” · .*ago")
    )
    hit.get_by_text("Details").focus()
    page.keyboard.press("Enter")
    explanation = hit.locator("details.figures")
    expect(explanation).to_contain_text(
        re.compile(r"\d+% is the estimated probability that this memory is relevant to what you said")
    )
    expect(explanation.locator("dl")).to_contain_text("Raised by")
    expect(explanation.locator("dd").first).to_contain_text("similar in meaning, words in common")
    expect(explanation.get_by_role("table", name="All measurements")).to_be_visible()
    check_accessibility(page)


def test_memories_that_are_much_less_relevant_than_the_best_one_are_folded(page: Page, url: str) -> None:
    said = ["My sister Mia moved to Lisbon.", "Mia has a cat.", "Mia likes nuts.", "I live on rooibos.", "I ski."]
    for number, text in enumerate(said):
        add_past_lines(url, "folded", text, session=f"session {number}")
    visit(page, url, "folded")
    say_and_wait(page, "Where does Mia live?")
    reply = web.get(f"{url}/api/v1/banks/folded/chat/current").json()["lines"][-1]["seq"]
    hits = web.get(f"{url}/api/v1/banks/folded/lines/{reply}/evidence").json()["hits"]
    weak = [hit["line"]["text"] for hit in hits if hit["relevance"] < 0.25 * hits[0]["relevance"]]
    assert 0 < len(weak) < len(hits)
    folded = page.locator("#panel details", has_text="less relevant memor").locator(".match")
    expect(folded).to_have_text(weak)
    expect(folded.first).to_be_hidden()
    page.get_by_text(re.compile(f"^{len(weak)} less relevant memor")).click()
    expect(folded.first).to_be_visible()
    expect(page.locator(".hit .match")).to_have_text([hit["line"]["text"] for hit in hits])


def test_a_percentage_that_is_no_probability_is_explained_as_what_it_is(page: Page, url: str) -> None:
    add_past_lines(url, "cosines", "The blue bicycle stands in the cellar.", "It has a bell.")
    web.put(f"{url}/api/v1/banks/cosines/recipe", json={"name": "membot"}).raise_for_status()
    visit(page, url, "cosines")
    say_and_wait(page, "Where does the blue bicycle stand in the cellar?")
    hit = page.locator(".hit", has_text="cellar")
    hit.get_by_text("Details").click()
    expect(hit.locator("details.figures")).to_contain_text(
        "is how similar in meaning it is to what you said. It is not a probab"
    )
    expect(hit.locator("dl")).to_have_count(0)


def test_a_question_about_a_time_alone_is_explained_as_one(page: Page, url: str) -> None:
    add_past_lines(url, "times", "The blue bicycle stands in the cellar.")
    visit(page, url, "times")
    say_and_wait(page, "What did we talk about in March 2024?")
    hit = page.locator(".hit", has_text="cellar")
    hit.get_by_text("Details").click()
    expect(hit.locator("details.figures")).to_contain_text(f"{time_overview.OVERVIEW_RELEVANCE:.0%} is a fixed value")
    expect(hit.locator("details.figures")).to_contain_text("you asked about a time, and this was said then")
    expect(hit.locator("dl")).to_have_count(0)


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("What is the name of my sister?", "sister|name"),
        ("Wo wohnt meine Schwester?", "schwester|wohnt|wo"),
        ("¿Dónde vive mi hermana?", "hermana|vive|mi"),
        ("who are you", "who|are|you"),  # there is nothing else
    ],
)
def test_common_words_of_a_search_are_not_marked(page: Page, url: str, query: str, marked: str) -> None:
    visit(page, url, "marked")
    script = f"async query => {module('searchresults.js', 'columns.js')}.searchPattern(query).source"
    assert page.evaluate(script, query) == marked


def test_reasons_agree_with_the_weights_of_the_default_recipe(page: Page, url: str) -> None:
    visit(page, url, "weights")
    neutral = dict.fromkeys((*SIGNALS, "standing"), 0.0) | {"cosine": 0.2, "person": 1.0}
    script = f"async signals => {module('relevance.js', 'columns.js')}.reasonsOf(signals)"
    assert page.evaluate(script, neutral) == {"raised": [], "lowered": []}
    profiles = (Default().friends, Default().assistant, Default().words, Default().characters)
    for signal in ("cosine", "bm25_window", "day", "month", "standing", "asks", "empty", "person"):
        reasons = {change: page.evaluate(script, neutral | {signal: neutral[signal] + change}) for change in (-1, 1)}
        assert any(each["raised"] + each["lowered"] for each in reasons.values()), signal
        for change, reason in reasons.items():
            effects = [change * profile.weights.get(signal, 0) for profile in profiles]
            assert all(effect >= 0 for effect in effects) or not reason["raised"], signal
            assert all(effect <= 0 for effect in effects) or not reason["lowered"], signal


def test_a_forgotten_memory_is_gone_and_a_receipt_is_shown(page: Page, url: str) -> None:
    add_past_lines(url, "forget", "The blue bicycle stands in the cellar.")
    visit(page, url, "forget")
    say_and_wait(page, "Where does the blue bicycle stand?")
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
    expect(page.locator("#session-list")).not_to_contain_text("cellar.")


def test_forgetting_warns_that_it_stops_the_reply_in_progress(page: Page, url: str) -> None:
    add_past_lines(url, "stopping", "The blue bicycle stands in the cellar.")
    visit(page, url, "stopping")
    say_and_wait(page, "Where does the blue bicycle stand?")
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


def test_forgetting_clears_what_was_announced_to_screen_readers(page: Page, url: str) -> None:
    page.add_init_script("const set = setTimeout; window.setTimeout = (act, wait) => wait === 5_000 || set(act, wait)")
    add_past_lines(url, "unspoken", "The blue bicycle stands in the cellar.")
    visit(page, url, "unspoken")
    say_and_wait(page, "Where does the blue bicycle stand?")
    expect(page.locator("#announcer")).to_contain_text("bicycle")
    page.locator(".hit", has_text="cellar").get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 message")
    expect(page.locator("#announcer")).to_be_empty()


def test_the_memories_of_a_reply_are_shown_as_they_were_with_later_changes_marked(page: Page, url: str) -> None:
    add_past_lines(url, "kept", "Guess what I bought.", "A blue bicycle it is, for the hall.", session="bicycle")
    add_past_lines(url, "kept", "Mia oils the blue bicycle in the hall.", session="oil")
    visit(page, url, "kept")
    say_and_wait(page, "What stands in the hall, is it a blue bicycle?")
    why = page.locator(".hit .why").all_inner_texts()
    bought = page.locator(".hit", has=page.locator(".match", has_text="it is"))
    bought.get_by_text("1 message around it").click()
    expect(bought.locator(".passage p").first).to_contain_text("Guess what")
    bought.get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").locator("textarea").fill("A red bicycle it is, for the hall.")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(bought.locator(".changed")).to_have_text("Corrected since: A red bicycle it is, for the hall.")
    oils = page.locator(".hit", has=page.locator(".match", has_text="Mia oils"))
    oils.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Done").click()
    expect(oils).to_have_count(0)
    expect(page.locator("#panel")).to_contain_text("1 memory forgotten since")
    page.reload()  # the memories of the last reply are shown again
    expect(bought.locator(".match")).to_have_text("A blue bicycle it is, for the hall.")
    expect(bought.locator(".changed")).to_have_text("Corrected since: A red bicycle it is, for the hall.")
    expect(page.locator("#panel")).to_contain_text("1 memory forgotten since")
    assert set(page.locator(".hit .why").all_inner_texts()) <= set(why)
    expect(oils).to_have_count(0)
    prompt = page.get_by_role("region", name="The whole prompt")
    expect(prompt).to_contain_text("everything the model was given for this reply")
    parts = prompt.locator("summary")
    names = ["Instructions", "Character", "Memories", "Something to bring up", "Time and place", "Your message"]
    expect(parts).to_have_text([re.compile(rf"^{name} [\d,]+ tokens, \d+%$") for name in names])
    parts.last.focus()
    page.keyboard.press("Enter")
    expect(prompt.locator(".part-text").last).to_contain_text("What stands in the hall, is it a blue bicycle?")
    prompt.locator(".prompt-bar .memories").click()
    expect(prompt.locator(".part-text").nth(2)).to_contain_text("A blue bicycle it is, for the hall.")
    expect(prompt).not_to_contain_text("Mia oils")
    bought.get_by_role("button", name="Pin", exact=True).click()  # pins the correction
    expect(bought.get_by_role("button", name="Pinned")).to_be_visible()
    check_accessibility(page)


def test_a_reply_of_an_earlier_version_is_recalled_again_and_says_so(page: Page, url: str) -> None:
    add_past_lines(url, "older", "The blue bicycle stands in the cellar.")
    lines = [
        {"text": "Where does the blue bicycle stand?", "session": "older"},
        {"text": "In the cellar.", "session": "older", "role": "assistant", "parent": 2},
    ]
    web.post(f"{url}/api/v1/banks/older/lines/batch", json={"lines": lines}).raise_for_status()
    visit(page, url, "older")
    page.get_by_role("button", name="Memories").click()
    expect(page.locator("#panel")).to_contain_text("stored by a version that did not save its memories")
    expect(page.locator(".hit .match")).to_have_text("The blue bicycle stands in the cellar.")
    say_and_wait(page, "Thanks!")
    expect(page.locator(".recall-link")).to_have_count(1)  # nothing was recalled for the thanks


@pytest.mark.parametrize("is_earlier", [False, True])
def test_an_answer_without_a_model_follows_what_becomes_of_the_line_that_it_quotes(
    page: Page, url_without_model: str, is_earlier: bool
) -> None:
    bank = f"quoted-{is_earlier}"
    add_past_lines(url_without_model, bank, "The blue bicycle stands in the cellar.")
    visit(page, url_without_model, bank)
    say(page, "Where does the blue bicycle stand?")
    answer = page.locator(".from-person + .from-character")
    expect(answer.locator("blockquote")).to_have_text("The blue bicycle stands in the cellar.")
    if is_earlier:
        session = web.get(f"{url_without_model}/api/v1/banks/{bank}/chat/current").json()["session"]
        page.goto(f"{url_without_model}/#/{bank}/read/{session}")
        expect(page.locator(".transcript-head")).to_be_visible()
        expect(answer.locator("blockquote")).to_have_text("The blue bicycle stands in the cellar.")
        answer.get_by_role("button", name="1 memory").click()
    page.locator(".hit").get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").locator("textarea").fill("The blue bicycle stands in the garage.")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(answer.locator("blockquote")).to_have_text("The blue bicycle stands in the garage.")
    expect(answer).to_contain_text("You have corrected this.")
    card = page.locator("#panel .hit")
    expect(card).to_contain_text("cellar")
    expect(card).to_contain_text("garage")
    card.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Done").click()
    expect(answer).to_contain_text("This answer quoted a message that is no longer remembered.")
    expect(answer.locator("blockquote")).to_have_count(0)
    expect(card).to_have_count(0)  # with both versions
    expect(page.locator("#panel")).to_contain_text("1 memory forgotten since")


def test_pinned_lines_and_notes_are_shown_and_changed(page: Page, url: str) -> None:
    add_past_lines(url, "pins", "The blue bicycle stands in the cellar.")
    visit(page, url, "pins")
    say_and_wait(page, "Where does the blue bicycle stand?")
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
    for tab in ("Pinned", "Notes", "Notes"):
        page.get_by_role("tab", name=tab).click()
    page.get_by_role("button", name="Save notes").click()
    expect(page.locator("#notices")).to_contain_text("saved")
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    expect(page.locator("textarea.notes")).to_have_value("Alex has a bicycle.")
    for answer, left in (("Cancel", "Alex has a bicycle."), ("Delete the notes", "")):
        page.locator("textarea.notes").fill(" ")
        page.get_by_role("button", name="Save notes").click()
        page.get_by_role("dialog", name="Delete the notes?").get_by_role("button", name=answer).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator("#notices")).to_contain_text("" if left else "saved")
        assert web.get(f"{url}/api/v1/banks/pins/notes").json()["text"] == left


def test_all_that_is_remembered_is_listed_by_month_and_can_be_changed(page: Page, url: str) -> None:
    bank_url = f"{url}/api/v1/banks/listed"
    said = [
        {
            "text": f"Walk {day} by the river.",
            "speaker": "Alex",
            "said_at": f"2024-0{1 + day // 20}-{1 + day % 20:02}T18:00Z",
        }
        for day in range(70)
    ]
    reply = {"text": "The river is high.", "role": "assistant", "speaker": "Mia", "said_at": "2024-04-20T18:00Z"}
    web.post(f"{bank_url}/lines/batch", json={"lines": [*said, reply]}).raise_for_status()
    visit(page, url, "listed")
    web.put(f"{bank_url}/notes", json={"text": "Alex likes rivers."}).raise_for_status()
    page.get_by_role("tab", name="All").click()
    panel, cards = page.locator("#panel"), page.locator("#panel .hit:visible")
    expect(panel.get_by_role("status")).to_have_text("71 messages · 1 note or summary")
    expect(cards.nth(0)).to_contain_text("Alex likes rivers.")  # noted after the last message
    expect(cards.nth(1)).to_contain_text("Walk 69")
    expect(panel).not_to_contain_text("The river is high.")
    expect(cards).to_have_count(51)
    cards.last.scroll_into_view_if_needed()
    expect(cards).to_have_count(71)
    expect(panel.locator("h2")).to_have_text(["April 2024", "March 2024", "February 2024", "January 2024"])
    check_accessibility(page)
    panel.get_by_role("combobox").select_option("Everyone")
    expect(cards.nth(1)).to_contain_text("The river is high.")
    panel.get_by_role("searchbox").fill("RÍVER high.")
    expect(cards).to_have_count(1)
    panel.get_by_role("searchbox").fill("alex likes")
    expect(cards).to_have_text([re.compile("Alex likes rivers.")])
    panel.get_by_role("searchbox").fill("nothing of the kind")
    expect(panel).to_contain_text("No results")
    panel.get_by_role("searchbox").fill("")
    panel.get_by_role("combobox").select_option("You")
    cards.nth(9).get_by_role("button", name="Pin", exact=True).click()
    expect(panel.locator("h2").first).to_have_text("Pinned")
    expect(cards.first).to_contain_text("Walk 61")
    expect(cards).to_have_count(51)
    cards.nth(20).get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("A walk by the sea.")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    walk = cards.filter(has_text="by the sea")
    walk.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 messages")
    page.get_by_role("button", name="Done").click()
    expect(walk).to_have_count(0)
    next_walk = cards.filter(has_text="Walk 49")
    expect(next_walk.get_by_role("button", name="Forget")).to_be_focused()  # it is now in that place
    expect(panel.get_by_role("status")).to_contain_text("70 messages")
    note = cards.filter(has_text="Note")
    note.get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("Alex likes the sea.")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(note).to_contain_text("Alex likes the sea.")
    note.get_by_role("button", name="April").click()
    expect(page.locator(".line.target")).to_contain_text("The river is high.")
    note.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    receipt = page.get_by_role("dialog", name="Forgotten")
    expect(receipt).to_contain_text("Note")
    expect(receipt).to_contain_text("2, 1")  # with the version that was corrected
    receipt.get_by_role("button", name="Done").click()
    expect(panel.get_by_role("status")).to_have_text("70 messages · 0 notes and summaries")
    assert web.get(f"{bank_url}/notes").json()["text"] == ""


def test_a_bank_that_was_deleted_elsewhere_is_created_again(tab: Page, url: str) -> None:
    visit(tab, url, "elsewhere")
    web.delete(f"{url}/api/v1/banks/elsewhere").raise_for_status()
    tab.reload()
    tab.wait_for_selector("html[data-ready]")
    expect(tab.locator("#notices")).to_be_empty()
    say_and_wait(tab, "Hello again.")


def test_a_receipt_names_the_backups_that_still_hold_what_was_forgotten(page: Page, url: str) -> None:
    visit(page, url, "receipts")
    proof = {"seqs": [[1, 1]], "lines": 1, "scope": "line", "bank": "abc", "forgotten_at": "2026-05-06T10:00:00Z"}
    show = f"async proof => {{ {module('dialogs.js', 'overlays.js')}.showReceipt(proof) }}"
    for backups in ([], ["monday", "tuesday"]):
        page.evaluate(show, proof | {"backups": backups, "cleared_backups": len(backups) + 1})
        receipt = page.get_by_role("dialog", name="Forgotten")
        expect(receipt.get_by_text("Still in backups")).to_have_count(len(backups) // 2)
        expect(receipt.get_by_text("monday, tuesday")).to_have_count(len(backups) // 2)
        expect(receipt).to_contain_text(f"Removed from backups as well{len(backups) + 1}")
        receipt.get_by_role("button", name="Done").click()


def test_everything_is_exported_imported_and_deleted_with_a_receipt(page: Page, url: str, tmp_path: Path) -> None:
    add_past_lines(url, "whole", "The first of all lines.", "The second of all lines.")
    visit(page, url, "whole")
    page.get_by_role("tab", name="Timeline").click()
    expect(page.locator("svg.timeline rect")).to_have_count(1)
    expect(
        page.locator("svg.timeline").get_by_role("listitem", name="March 2024: 2 messages in 1 chat")
    ).to_be_visible()
    expect(page.locator("svg.timeline title")).to_have_text("March 2024: 2 messages in 1 chat")
    expect(page.locator("#panel table")).to_contain_text("March 2024")
    page.click("#open-settings")
    for form, suffix in (("A page to read", "html"), ("SillyTavern", "zip"), ("Everything", "jsonl")):
        page.get_by_role("button", name="Export all").click()
        dialog = page.get_by_role("dialog", name="Export this bank")
        if suffix == "html":
            check_accessibility(page)
        dialog.get_by_role("radio", name=form).check()
        with page.expect_download() as download:
            dialog.get_by_role("button", name="Save").click()
        assert download.value.suggested_filename == f"whole.{suffix}"
        expect(dialog).to_have_count(0)
        download.value.save_as(tmp_path / f"whole.{suffix}")
    assert "The second of all lines." in (tmp_path / "whole.html").read_text(encoding="utf-8")
    assert zipfile.is_zipfile(tmp_path / "whole.zip")
    page.get_by_role("button", name="Delete everything").click()
    page.get_by_label("The bank's name").fill("whole")
    page.get_by_role("dialog").last.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_role("dialog").last).to_contain_text("2 messages: everything in this bank")
    page.get_by_role("button", name="Done").click()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#session-list .session")).to_have_count(1)
    page.click("#open-settings")
    page.locator("input[type=file]").last.set_input_files(tmp_path / "whole.jsonl")
    page.get_by_role("button", name="Import 2 messages").click()
    dialog = page.get_by_role("dialog", name="Import your chats")
    expect(dialog).to_contain_text("2 messages imported.")
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.locator("#session-list .session")).to_have_count(2)


def test_a_new_bank_knows_nothing_of_the_first(page: Page, url: str) -> None:
    add_past_lines(url, "one", "The blue bicycle stands in the cellar.")
    web.put(f"{url}/api/v1/banks/one/pins/1").raise_for_status()
    visit(page, url, "one")
    page.get_by_role("tab", name="Pinned").click()
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)
    page.click("#bank")
    page.get_by_label("Name of the new bank").fill("an/other bank")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#bank")).to_have_text("Ever in an/other bank")
    expect(page.locator(".welcome h2")).to_be_visible()
    expect(page.locator("#session-list .session")).to_have_count(1)
    expect(page.locator(".hit")).to_have_count(0)
    page.go_back()
    expect(page.locator("#session-list .session")).to_have_count(2)
    expect(page.locator(".hit", has_text="cellar")).to_have_count(1)


def test_a_transcript_shows_nothing_of_the_bank_that_was_left(page: Page, url: str) -> None:
    for bank in ("red", "blue"):
        bank_url = f"{url}/api/v1/banks/{bank}"
        add_past_lines(url, bank, f"The bicycle is {bank}.")
        web.put(f"{bank_url}/character", json={"name": bank.title()}).raise_for_status()
        web.put(f"{bank_url}/notes", json={"text": f"A {bank} note."}).raise_for_status()
        asked = {"text": "Which colour is the bicycle?"}
        web.post(f"{bank_url}/chat/deck/reply", json=asked).raise_for_status()
    page.goto(f"{url}/#/red/talk/deck")
    hits = page.locator("#panel .hit")
    expect(hits).to_contain_text("The bicycle is red.")
    page.get_by_role("tab", name="Notes").click()
    page.get_by_role("textbox", name="notes").fill("A red note that is not saved.")
    page.goto(f"{url}/#/blue/read/deck")
    expect(page.locator("#bank")).to_have_text("Blue in blue")
    expect(page.locator("#character-name")).to_have_text("Blue")
    expect(page).to_have_title("Blue · Everthread")
    expect(page.get_by_role("textbox", name="notes")).to_have_value("A blue note.")
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator("#panel")).to_contain_text("appear here")
    page.get_by_role("button", name="1 memory").click()
    expect(hits).to_contain_text("The bicycle is blue.")
    page.go_back()
    expect(hits).to_contain_text("The bicycle is red.")


@pytest.mark.parametrize("view", ["talk", "read"])
def test_no_line_of_a_bank_that_was_left_is_shown_while_the_next_one_loads(page: Page, url: str, view: str) -> None:
    left, next_one = f"left-to-{view}", f"next-to-{view}"
    for bank in (left, next_one):
        add_past_lines(url, bank, f"The bicycle was bought in {bank}.")
        asked = {"text": f"Where was the bicycle bought, {bank}?"}
        web.post(f"{url}/api/v1/banks/{bank}/chat/deck/reply", json=asked).raise_for_status()
    page.goto(f"{url}/#/{left}/talk/deck")
    reply = page.get_by_role("button", name="1 memory")
    reply.click()
    expect(reply).to_have_attribute("aria-pressed", "true")
    held = [HeldRoute(page, f"**/api/v1/banks/{next_one}/{part}**") for part in ("chat", "lines")]
    page.goto(f"{url}/#/{next_one}/{view}/deck")
    expect(page.locator("#session-list")).to_contain_text(f"bought in {next_one}")
    expect(page.locator("#lines .line")).to_have_count(0)
    for requests in held:
        requests.release()
    expect(page.locator("#lines")).to_contain_text(f"bought, {next_one}?")
    if view == "read":  # where no reply is chosen yet, least of all by the number of the one left
        expect(reply).to_have_attribute("aria-pressed", "false")


def test_what_a_chat_keeps_in_context_follows_the_bank(page: Page, url: str) -> None:
    for bank in ("north", "south"):
        bank_url = f"{url}/api/v1/banks/{bank}"
        add_past_lines(url, bank, f"The wind is from the {bank}.")
        web.post(f"{bank_url}/chat/deck/reply", json={"text": "Hello."}).raise_for_status()
        web.put(f"{bank_url}/sessions/deck/buffer", json={"spans": [[1, 1]]}).raise_for_status()
    page.goto(f"{url}/#/north/talk/deck")
    page.get_by_role("tab", name="Pinned").click()
    expect(page.locator("#panel .hit")).to_contain_text("from the north.")
    page.goto(f"{url}/#/south/talk/deck")
    expect(page.locator("#panel .hit")).to_contain_text("from the south.")

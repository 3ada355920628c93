"""The facts in the memory column, in a real Chromium."""

from __future__ import annotations

import re
from datetime import date

from hardship import web
from playwright.sync_api import Locator, Page, expect

from server.page_helpers import DESKTOP, PHONE, check_accessibility, say, visit

SAID = ("I live in Leeds.", "My sister Mia lives in Porto.", "I'm allergic to peanuts.", "We moved to York.")


def visit_nora(page: Page, url: str, bank: str) -> None:
    """Open the facts of a bank in which Nora has talked of herself and her sister."""
    for number, text in enumerate(SAID):
        line = {"text": text, "speaker": "Nora", "session": f"s{number}"}
        web.post(f"{url}/api/v1/banks/{bank}/lines", json=line).raise_for_status()
    visit(page, url, bank)
    page.get_by_role("tab", name="Facts").click()
    expect(page.locator("#panel .known-fact").first).to_be_visible()


def fact(page: Page, text: str) -> Locator:
    return page.locator("#panel .known-fact", has_text=text)


def act(page: Page, text: str, action: str) -> None:
    """Unfold a fact, and press one of its buttons."""
    row = fact(page, text).first
    row.locator("summary").click()
    row.get_by_role("button", name=action, exact=True).click()


def test_an_empty_bank_says_what_appears_here(page: Page, url: str) -> None:
    visit(page, url, "facts-none")
    page.get_by_role("tab", name="Facts").click()
    expect(page.locator("#panel")).to_contain_text("Nothing is known yet.")


def test_a_tab_that_cannot_be_read_does_not_show_what_another_one_has_shown(tab: Page, url: str) -> None:
    visit_nora(tab, url, "facts-unread")
    tab.route("**/api/v1/**", lambda route: route.abort("connectionrefused"))
    tab.get_by_role("tab", name="Timeline").click()
    expect(tab.locator("#panel")).to_be_empty()
    tab.unroute("**/api/v1/**")


def test_facts_are_grouped_by_their_subject_and_lead_to_their_message(page: Page, url: str) -> None:
    visit_nora(page, url, "facts-read")
    headings = page.locator("#panel section h2")
    expect(headings.first).to_have_text("Nora · you")
    expect(headings.nth(1)).to_have_text("Mia · Nora's sister")
    expect(page.locator("#panel section").first.locator(".known-fact").first).to_contain_text("Lives in York")
    expect(page.locator("#panel .known").first).to_contain_text("Nora · lives in: York (before: Leeds)")
    page.get_by_text("1 fact that no longer holds").click()
    row = fact(page, "Lives in Leeds")
    row.locator("summary").click()
    expect(row).to_contain_text(re.compile("until .* · then: York"))
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        check_accessibility(page)
    fact(page, "Porto").get_by_role("button", name="Open the chat at this message").click()
    expect(page.locator(".line.target")).to_contain_text("My sister Mia lives in Porto.")


def test_what_was_said_at_an_unknown_time_shows_no_date(page: Page, url: str) -> None:
    for text in ("I moved to Graz in January.", "We moved to Linz."):
        line = {"text": text, "speaker": "Nora", "undated": True}
        web.post(f"{url}/api/v1/banks/facts-undated/lines", json=line).raise_for_status()
    visit(page, url, "facts-undated")
    page.get_by_role("tab", name="Facts").click()
    expect(fact(page, "Lives in Linz")).to_contain_text("unknown date")
    expect(page.get_by_text("Changed lately")).to_have_count(0)
    page.get_by_text("1 fact that no longer holds").click()
    row = fact(page, "Lives in Graz")
    row.locator("summary").click()
    expect(row).to_contain_text("then: Linz")
    expect(row).not_to_contain_text("until")
    expect(page.locator("#panel")).not_to_contain_text(re.compile(r"\d{4}"))


def test_a_fact_is_confirmed_corrected_ended_and_resumed(page: Page, url: str) -> None:
    visit_nora(page, url, "facts-changed")
    act(page, "peanuts", "That's right")
    expect(fact(page, "peanuts")).to_contain_text("confirmed by you")
    act(page, "Porto", "Correct")
    expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("Mia · Lives in")
    expect(page.get_by_role("dialog").locator(".quote")).to_have_count(0)  # a fact has neither a speaker nor a date
    page.get_by_role("dialog").get_by_role("textbox").fill("Lisbon")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(fact(page, "Lives in Lisbon")).to_be_visible()
    act(page, "Lives in York", "No longer true")
    expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("Nora · Lives in: York")
    page.get_by_role("dialog").get_by_label("True until").fill(date.today().isoformat())
    page.get_by_role("dialog").get_by_role("button", name="No longer true").click()
    expect(page.get_by_text("2 facts that no longer hold")).to_be_visible()
    facts = f"{url}/api/v1/banks/facts-changed/facts"
    assert [each["value"] for each in web.get(facts).json()["items"]] == ["Mia", "Lisbon", "peanuts"]
    page.get_by_text("2 facts that no longer hold").click()
    fact(page, "Lives in York").get_by_role("button", name="Still true").click()  # it is still unfolded
    expect(page.get_by_text("1 fact that no longer holds")).to_be_visible()
    assert [each["value"] for each in web.get(facts).json()["items"]] == ["Mia", "Lisbon", "peanuts", "York"]


def test_a_correction_that_could_not_be_saved_stays_in_its_dialog(tab: Page, url: str) -> None:
    visit_nora(tab, url, "facts-kept")
    act(tab, "Porto", "Correct")
    dialog = tab.get_by_role("dialog")
    tab.route("**/facts/*", lambda route: route.abort(), times=1)
    for problem in ("The server can't be reached.", None):
        dialog.get_by_role("textbox").fill("Lisbon")
        dialog.get_by_role("button", name="Save").click()
        if problem:
            expect(dialog.get_by_role("alert")).to_contain_text(problem)
            expect(dialog.get_by_role("textbox")).to_have_value("Lisbon")
    expect(fact(tab, "Lives in Lisbon")).to_be_visible()
    expect(dialog).to_have_count(0)


def test_a_fact_does_not_end_before_it_began(tab: Page, url: str) -> None:
    visit_nora(tab, url, "facts-begun")
    act(tab, "Lives in York", "No longer true")
    tab.get_by_role("dialog").get_by_label("True until").fill("2024-06-30")
    tab.get_by_role("dialog").get_by_role("button", name="No longer true").click()
    expect(tab.locator("#notices")).to_contain_text("2024-06-30 is before this fact began")
    expect(tab.get_by_text("1 fact that no longer holds")).to_be_visible()


def test_what_ended_without_a_statement_of_its_own_is_not_offered_as_still_true(page: Page, url: str) -> None:
    bank = f"{url}/api/v1/banks/facts-past"
    for text in ("I live in Leeds.", "I moved to Bonn in 2010.", "I sold my bike."):
        web.post(f"{bank}/lines", json={"text": text, "speaker": "Nora"}).raise_for_status()
    visit(page, url, "facts-past")
    page.get_by_role("tab", name="Facts").click()
    page.get_by_text("2 facts that no longer hold").click()
    for text, count in (("Bonn", 0), ("bike", 1)):
        row = fact(page, text)
        row.locator("summary").click()
        expect(row.get_by_role("button", name="Forget", exact=True)).to_be_visible()
        expect(row.get_by_role("button", name="Still true")).to_have_count(count)


def test_a_fact_is_forgotten_alone_or_with_its_message(page: Page, url: str) -> None:
    visit_nora(page, url, "facts-forgotten")
    act(page, "peanuts", "Forget")
    page.get_by_role("dialog").get_by_role("button", name="Forget the fact").click()
    expect(fact(page, "peanuts")).to_have_count(0)
    bank = f"{url}/api/v1/banks/facts-forgotten"
    assert web.get(f"{bank}/lines/3").status_code == 200
    act(page, "Porto", "Forget")
    page.get_by_role("dialog").get_by_role("button", name="Forget it with 1 message").click()
    receipt = page.get_by_role("dialog", name="Forgotten")
    expect(receipt).to_contain_text("1 message")
    receipt.get_by_role("button", name="Done").click()
    expect(fact(page, "Porto")).to_have_count(0)
    expect(page.locator("#session-list .session")).to_have_count(3)
    assert web.get(f"{bank}/lines/2").status_code == 404


def test_a_fact_of_several_messages_is_forgotten_with_all_of_them_and_one_receipt(page: Page, url: str) -> None:
    bank = f"{url}/api/v1/banks/facts-repeated"
    for text in ("I like jazz.", "I live in Leeds.", "I like jazz."):
        web.post(f"{bank}/lines", json={"text": text, "speaker": "Nora", "session": "s"}).raise_for_status()
    visit(page, url, "facts-repeated")
    page.get_by_role("tab", name="Facts").click()
    act(page, "jazz", "Forget")
    page.get_by_role("dialog").get_by_role("button", name="Forget it with 2 messages").click()
    receipt = page.get_by_role("dialog", name="Forgotten")
    expect(receipt).to_contain_text("2 messages")
    expect(receipt).to_contain_text("1, 3")
    receipt.get_by_role("button", name="Done").click()
    expect(fact(page, "jazz")).to_have_count(0)
    assert [line["seq"] for line in web.get(f"{bank}/lines").json()["items"]] == [2]


def test_a_fact_whose_messages_could_not_all_be_forgotten_is_kept_and_forgotten_at_another_try(
    tab: Page, url: str
) -> None:
    bank = f"{url}/api/v1/banks/facts-half-forgotten"
    for text in ("I live in Leeds.", "We moved to York.", "I live in Leeds.", "I like jazz."):
        web.post(f"{bank}/lines", json={"text": text, "speaker": "Nora", "session": "s"}).raise_for_status()
    visit(tab, url, "facts-half-forgotten")
    tab.get_by_role("tab", name="Facts").click()
    expect(fact(tab, "Lives in Leeds")).to_have_count(2)  # until Nora moved, and now
    tab.route("**/lines/3", lambda route: route.abort())
    act(tab, "Lives in Leeds", "Forget")
    tab.get_by_role("dialog").get_by_role("button", name="Forget it with 2 messages").click()
    expect(fact(tab, "Lives in Leeds")).to_have_count(1)
    assert [line["seq"] for line in web.get(f"{bank}/lines").json()["items"]] == [2, 3, 4]
    tab.unroute("**/lines/3")
    fact(tab, "Lives in Leeds").get_by_role("button", name="Forget", exact=True).click()  # it is still unfolded
    tab.get_by_role("dialog").get_by_role("button", name="Forget it with 1 message").click()
    tab.get_by_role("dialog", name="Forgotten").get_by_role("button", name="Done").click()
    expect(fact(tab, "Lives in Leeds")).to_have_count(0)
    assert [line["seq"] for line in web.get(f"{bank}/lines").json()["items"]] == [2, 4]


def test_what_is_said_and_forgotten_in_the_chat_changes_the_facts(page: Page, url: str) -> None:
    visit_nora(page, url, "facts-followed")
    page.fill("#message", "I play the cello.")
    page.press("#message", "Enter")
    expect(fact(page, "Plays cello")).to_be_visible()
    expect(page.locator("#panel section h2", has_text=re.compile("^You$"))).to_be_visible()
    page.get_by_role("button", name="Forget message: I play the cello.").click()
    page.get_by_role("button", name="Forget it").click()
    expect(fact(page, "Plays cello")).to_have_count(0)


def test_the_facts_of_a_bank_that_the_address_creates_are_read_once_it_exists(page: Page, url: str) -> None:
    visit_nora(page, url, "facts-left")
    with page.expect_response(lambda response: "/banks/facts-typed/facts" in response.url) as read:
        page.goto(f"{url}/#/facts-typed")
    assert read.value.ok
    expect(page.locator("#panel")).to_contain_text("Nothing is known yet.")
    expect(page.locator("#notices")).to_be_empty()
    page.go_back()
    expect(fact(page, "Lives in York")).to_be_visible()


def test_a_chat_without_a_model_lists_what_is_known_with_its_messages(page: Page, url_without_model: str) -> None:
    bank = "facts-listed"
    for number, text in enumerate(SAID):
        line = {"text": text, "speaker": "user", "session": f"s{number}"}
        web.post(f"{url_without_model}/api/v1/banks/{bank}/lines", json=line).raise_for_status()
    visit(page, url_without_model, bank)
    say(page, "What do you know about me?")
    answer = page.locator(".from-person + .from-character")
    rows = answer.locator("li")
    expect(rows).to_have_count(3)
    expect(rows.first).to_have_text(
        re.compile("^You live in York .*before: Leeds.* Today you told me: “We moved to York.”$")
    )
    check_accessibility(page)
    answer.get_by_role("button", name="3 memories").click()
    page.locator("#panel .hit", has_text="peanuts").get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(rows).to_have_count(2)
    page.reload()
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("Mia is your sister.")

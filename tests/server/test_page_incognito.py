"""Incognito on the page: every tab shows its state, and it never ends unnoticed."""

import pytest
from hardship import llm, web
from hardship.loopback import serve_app
from playwright.sync_api import Page, Route, expect

from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from server.page_helpers import HeldRoute, Model, add_past_lines, check_accessibility, say, say_and_wait, visit

SECRET = "My word is periwinkle."
FOCUS = "window.dispatchEvent(new Event('focus'))"


def lines(url: str, bank: str) -> list[str]:
    """Return the texts stored in a bank."""
    return [line["text"] for line in web.get(f"{url}/api/v1/banks/{bank}/lines").raise_for_status().json()["items"]]


def end_elsewhere(url: str, bank: str) -> None:
    """End incognito as a restart or another tab does."""
    path = f"{url}/api/v1/banks/{bank}/chat/current/incognito"
    web.post(path, json={"on": False}).raise_for_status()


def enter_incognito(page: Page, url: str, bank: str) -> None:
    """Visit a bank, turn incognito on, and say something."""
    visit(page, url, bank)
    page.get_by_label("Incognito").click()
    expect(page.locator("#incognito")).to_contain_text("nothing you say now is saved")
    say_and_wait(page, "A secret about the surprise.")


@pytest.mark.parametrize("chosen", ["Continue without incognito", "Turn incognito back on"])
def test_text_typed_in_incognito_is_not_sent_after_its_end_until_the_person_chooses(
    tab: Page, url: str, chosen: str
) -> None:
    bank = "openly" if chosen == "Continue without incognito" else "again"
    enter_incognito(tab, url, bank)
    tab.fill("#message", SECRET)
    end_elsewhere(url, bank)
    tab.evaluate(FOCUS)
    expect(tab.locator("#incognito")).to_contain_text("Incognito has ended")
    expect(tab.locator("#incognito")).to_contain_text("What was said in it is gone")
    expect(tab.locator(".line")).to_have_count(0)
    check_accessibility(tab)
    tab.locator("#message").press("Enter")
    expect(tab.locator("#notices")).to_contain_text("no longer in incognito")
    expect(tab.locator("#message")).to_have_value(SECRET)
    tab.locator("#notices").get_by_label("Dismiss").click()
    tab.reload()  # without effect on incognito
    tab.wait_for_selector("html[data-ready]")
    expect(tab.locator("#incognito")).to_contain_text("Incognito has ended")
    tab.locator("#message").press("Enter")
    expect(tab.locator("#notices")).to_contain_text("no longer in incognito")
    expect(tab.locator("#message")).to_have_value(SECRET)
    assert lines(url, bank) == []
    tab.get_by_role("button", name=chosen).click()
    expect(tab.locator("#message")).to_be_focused()
    expect(tab.locator("#incognito")).to_be_visible(visible=chosen == "Turn incognito back on")
    tab.locator("#message").press("Enter")
    expect(tab.locator(".from-character .line-text")).to_contain_text(SECRET)
    assert (SECRET in lines(url, bank)) == (chosen == "Continue without incognito")


def test_a_restarted_server_accepts_nothing_that_was_typed_in_incognito(
    tab: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = SQLiteStore(tmp_path_factory.mktemp("banks"))
    with llm.llm_server(Model()) as model:

        def build_services() -> Services:
            return Services(store, HashEmbedder(64), OpenAICompatible(model.url, "m"), Default())

        with serve_app(create_app(build_services())) as first, serve_app(create_app(build_services())) as second:
            enter_incognito(tab, first, "restarted")
            tab.fill("#message", SECRET)

            def redirect(route: Route) -> None:
                headers = {
                    name: value for name, value in route.request.headers.items() if name not in ("origin", "referer")
                }
                route.fulfill(response=route.fetch(url=route.request.url.replace(first, second), headers=headers))

            tab.route("**/api/v1/**", redirect)
            tab.evaluate(FOCUS)
            expect(tab.locator("#incognito")).to_contain_text("Incognito has ended")
            tab.locator("#message").press("Enter")
            expect(tab.locator("#notices")).to_contain_text("no longer in incognito")
            assert lines(second, "restarted") == []
            tab.unroute_all(behavior="wait")
    store.close()


def test_turning_incognito_off_asks_nothing(page: Page, url: str) -> None:
    enter_incognito(page, url, "off")
    page.get_by_label("Incognito").click()
    expect(page.locator("#incognito")).to_be_hidden()
    page.evaluate(FOCUS)
    say_and_wait(page, "Said openly.")
    expect(page.locator("#incognito")).to_be_hidden()
    assert "Said openly." in lines(url, "off")


def test_an_answer_without_a_model_leaves_with_incognito(page: Page, url_without_model: str) -> None:
    add_past_lines(url_without_model, "leaves", "The blue bicycle stands in the cellar.")
    visit(page, url_without_model, "leaves")
    page.get_by_label("Incognito").click()
    say(page, "Where does the blue bicycle stand?")
    expect(page.locator(".recalled")).to_contain_text("cellar")
    expect(page.locator(".hit")).to_contain_text("cellar")
    expect(page.locator("#send")).to_have_text("Send")
    page.get_by_label("Incognito").click()
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator(".line")).to_have_count(0)
    expect(page.locator(".hit")).to_have_count(0)


def say_while_turning_on(page: Page, url: str, bank: str) -> HeldRoute:
    """Visit a bank, and send a message while the request to turn incognito on is held back."""
    visit(page, url, bank)
    turning_on = HeldRoute(page, "**/incognito")
    page.get_by_label("Incognito").click()
    say(page, SECRET)
    expect(page.locator(".sending")).to_be_visible()
    return turning_on


def test_a_message_sent_while_incognito_is_turned_on_is_not_saved(page: Page, url: str) -> None:
    say_while_turning_on(page, url, "quickly").release()
    expect(page.locator(".unsaved")).to_have_count(2)
    assert lines(url, "quickly") == []


def test_a_message_is_not_sent_if_incognito_can_not_be_turned_on(tab: Page, url: str) -> None:
    turning_on = say_while_turning_on(tab, url, "failing")
    turning_on.routes[0].fulfill(status=503, json={"status": 503, "detail": "The disk is full."})
    expect(tab.locator("#message")).to_have_value(SECRET)
    expect(tab.locator("#notices")).to_contain_text("The disk is full.")
    expect(tab.locator(".line")).to_have_count(0)
    assert lines(url, "failing") == []
    tab.keyboard.press("Enter")
    expect(tab.locator(".from-person")).to_contain_text(SECRET)
    expect(tab.locator("#notices")).to_be_empty()


def test_incognito_of_one_chat_leaves_others_unaffected(page: Page, url: str) -> None:
    visit(page, url, "both")
    say_and_wait(page, "Said openly.")
    session = web.get(f"{url}/api/v1/banks/both/sessions").json()["items"][0]["id"]
    web.post(f"{url}/api/v1/banks/both/chat/{session}/end", json={"remember": True}).raise_for_status()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Incognito").click()
    say_and_wait(page, "A secret about the surprise.")
    page.evaluate(f"location.hash = '#/both/talk/{session}'")
    expect(page.locator("#incognito")).to_be_hidden()
    page.go_back()
    expect(page.locator("#incognito")).to_contain_text("nothing you say now is saved")
    expect(page.locator(".unsaved")).to_have_count(2)


def test_the_chat_stays_visible_while_a_reply_arrives_in_incognito(page: Page, url: str) -> None:
    enter_incognito(page, url, "stays")
    page.evaluate(
        "window.fewest = 9; const box = document.getElementById('lines'); new MutationObserver(() =>"
        "fewest = Math.min(fewest, box.querySelectorAll('.unsaved').length)).observe(box, { childList: true })"
    )
    said = ["A secret about the surprise.", "Tell me slowly."]
    say(page, said[1])
    expect(page.locator(".streaming")).to_contain_text("piece3")
    expect(page.locator(".from-person .line-text")).to_have_text(said)
    expect(page.locator(".line")).to_have_count(4)
    page.click("#send")  # stops the reply
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator(".line")).to_have_count(4)
    assert page.evaluate("fewest") == 2
    page.locator(".from-person").first.get_by_label("Edit message").evaluate("each => each.click()")
    page.get_by_label("Message text").fill("Tell me otherwise, and slowly.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".streaming")).to_contain_text("piece3")
    expect(page.locator(".from-person .line-text")).to_have_text(["Tell me otherwise, and slowly."])
    expect(page.locator(".line")).to_have_count(2)
    page.click("#send")
    expect(page.locator("#send")).to_have_text("Send")


def test_two_tabs_agree_about_incognito(page: Page, url: str) -> None:
    visit(page, url, "agree")
    other = page.context.new_page()
    visit(other, url, "agree")
    page.get_by_label("Incognito").click()
    expect(page.locator("#incognito")).to_be_visible()
    other.evaluate(FOCUS)
    expect(other.locator("#incognito")).to_contain_text("nothing you say now is saved")
    expect(other.get_by_label("Incognito")).to_have_attribute("aria-pressed", "true")
    other.get_by_label("Incognito").click()
    expect(other.locator("#incognito")).to_be_hidden()
    page.evaluate(FOCUS)
    expect(page.locator("#incognito")).to_contain_text("Incognito has ended")
    page.get_by_role("button", name="Continue without incognito").click()
    expect(page.locator("#incognito")).to_be_hidden()
    other.close()


def test_reading_an_earlier_chat_while_a_reply_arrives_stays_in_incognito(page: Page, url: str) -> None:
    add_past_lines(url, "reads", "The blue bicycle stands in the cellar.")
    enter_incognito(page, url, "reads")
    say(page, "Tell me slowly.")
    expect(page.locator(".streaming")).to_contain_text("piece3")
    page.evaluate("location.hash = '#/reads/read/before/1'")
    expect(page.locator(".transcript-head")).to_be_visible()
    expect(page.locator("#send")).to_have_text("Send")
    expect(page.locator("#incognito")).to_contain_text("nothing you say now is saved")
    page.get_by_role("button", name="Back to current chat").click()
    expect(page.locator(".unsaved")).to_have_count(4)
    assert lines(url, "reads") == ["The blue bicycle stands in the cellar."]


def test_a_lost_incognito_is_reported_before_anything_is_saved(tab: Page, url: str) -> None:
    visit(tab, url, "unmasked")
    tab.get_by_label("Incognito").click()
    expect(tab.locator("#incognito")).to_be_visible()
    end_elsewhere(url, "unmasked")
    say(tab, "My word is periwinkle.")
    expect(tab.locator("#notices")).to_contain_text("no longer in incognito")
    expect(tab.locator("#incognito")).to_contain_text("Incognito has ended")
    expect(tab.locator("#message")).to_have_value("My word is periwinkle.")
    assert lines(url, "unmasked") == []


def test_incognito_saves_nothing(page: Page, url: str) -> None:
    visit(page, url, "private")
    page.get_by_label("Incognito").click()
    expect(page.locator("#incognito")).to_be_visible()
    say_and_wait(page, "A secret about the surprise.")
    assert web.get(f"{url}/api/v1/banks/private").json()["lines"] == 0
    expect(page.locator(".unsaved")).to_have_count(2)
    page.get_by_text("Instructions").click()
    expect(page.locator(".prompt")).to_contain_text("Nothing said in incognito is saved, so only the size is known.")
    columns = HeldRoute(page, "**/static/*/columns.js")
    page.reload()
    page.locator(".from-character").get_by_role("button", name="What this reply was given").click()
    columns.release()
    expect(page.locator("#panel")).to_contain_text("known only until the page is reloaded")
    page.get_by_label("Incognito").click()
    expect(page.locator(".line")).to_have_count(0)
    expect(page.locator("#notices")).to_contain_text("is gone")

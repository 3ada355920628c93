"""The recipe of a bank and its options in the page's settings, in a real Chromium."""

import re
from typing import Any

from hardship import web
from playwright.sync_api import Page, expect

from everthread.server.page_languages import COOKIE
from server.page_helpers import check_accessibility, say, visit


def stored_recipe(url: str, bank: str) -> dict[str, Any]:
    recipe = web.get(f"{url}/api/v1/banks/{bank}/recipe").json()
    options = recipe["options"]
    changed = {option["name"]: option["value"] for option in options if option["value"] != option["usual"]}
    return {"name": recipe["name"], "kept": recipe["kept"], "changed": changed}


def test_the_bank_stores_the_chosen_recipe_and_replies_by_it(page: Page, url: str) -> None:
    visit(page, url, "chosen")
    page.click("#open-settings")
    names = page.get_by_label("Recipe").locator("option")
    expect(names.first).to_have_text("Server default: default")
    expect(names.nth(2)).to_have_text(re.compile("^membot: .*nearest in meaning"))
    page.get_by_label("Recipe").select_option("membot")
    expect(page.get_by_text("Options of the recipe membot")).to_be_visible()
    assert stored_recipe(url, "chosen") == {"name": "membot", "kept": True, "changed": {}}
    page.keyboard.press("Escape")
    say(page, "Hello.")
    expect(page.locator(".from-person ~ .from-character[data-seq]")).to_have_count(1)
    assert web.get(f"{url}/api/v1/banks/chosen/chat/current").json()["recipe"] == "membot"
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.click("#open-settings")
    expect(page.get_by_label("Recipe")).to_have_value("membot")
    page.get_by_label("Recipe").select_option("")
    expect(page.get_by_text("Options of the recipe default")).to_be_visible()
    assert stored_recipe(url, "chosen") == {"name": "default", "kept": False, "changed": {}}


def test_an_option_is_saved_at_once_and_errors_appear_next_to_its_field(page: Page, url: str) -> None:
    visit(page, url, "options")
    page.click("#open-settings")
    page.get_by_label("Recipe").select_option("packabby")
    page.get_by_text("Options of the recipe packabby").click()
    threshold = page.get_by_label("Minimum similarity", exact=True)
    field = page.locator(".option", has=threshold)
    expect(field).to_contain_text("Minimum cosine of a recalled summary. From -1 to 1.")
    threshold.fill("0.3")
    threshold.press("Tab")
    expect(page.get_by_label("Reset Minimum similarity")).to_be_visible()
    assert stored_recipe(url, "options")["changed"] == {"threshold": 0.3}
    page.get_by_label("Generic texts", exact=True).fill("They met.\nThey left.")
    page.get_by_label("Generic texts", exact=True).press("Tab")
    expect(page.get_by_label("Reset Generic texts")).to_be_visible()
    assert stored_recipe(url, "options")["changed"] == {"threshold": 0.3, "decoys": ["They met.", "They left."]}
    threshold.fill("5")
    threshold.press("Tab")
    expect(field.get_by_role("alert")).to_contain_text("less than or equal to 1. From -1 to 1.")
    assert stored_recipe(url, "options")["changed"]["threshold"] == 0.3
    check_accessibility(page)
    page.get_by_label("Reset Minimum similarity").click()
    expect(threshold).to_have_value("")
    expect(field.get_by_role("alert")).to_be_empty()
    assert stored_recipe(url, "options")["changed"] == {"decoys": ["They met.", "They left."]}


def test_options_have_the_names_and_meanings_of_the_pages_language(page: Page, url: str) -> None:
    visit(page, url, "named")
    page.context.add_cookies([{"name": COOKIE, "value": "de", "url": url}])
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.click("#open-settings")
    page.get_by_label("Rezept").select_option("goodai")
    page.get_by_text("Optionen des Rezepts goodai").click()
    unit = page.get_by_role("combobox", name="Erweiterung")
    expect(unit.locator("option")).to_have_text(["Satz", "Nachricht", "Absatz", "Abschnitt", "keine"])
    expect(page.locator(".option", has=unit)).to_contain_text("Einheit des Textes, zu der ein gefundenes Stück")
    unit.select_option("section")
    expect(page.get_by_label("Erweiterung zurücksetzen")).to_be_visible()
    assert stored_recipe(url, "named")["changed"] == {"expansion": "section"}


def test_a_box_can_be_ticked_and_a_missing_number_is_refused(page: Page, url: str) -> None:
    visit(page, url, "boxes")
    page.click("#open-settings")
    page.get_by_label("Recipe").select_option("emi")
    page.get_by_text("Options of the recipe emi").click()
    page.get_by_label("Person's lines, too", exact=True).check()
    expect(page.get_by_label("Reset Person's lines, too")).to_be_visible()
    top = page.get_by_label("Keywords of a text", exact=True)
    one, other = (box.bounding_box() for box in (page.get_by_label("Person's lines, too", exact=True), top))
    assert one is not None
    assert other is not None
    assert abs(one["x"] - other["x"]) < 10
    top.fill("")
    top.press("Tab")
    expect(page.locator(".option", has=top).get_by_role("alert")).to_contain_text("fill out this field. At least 1.")
    assert stored_recipe(url, "boxes")["changed"] == {"include_user": True}


def test_an_error_of_the_server_is_shown_next_to_the_field(tab: Page, url: str) -> None:
    visit(tab, url, "refused")
    web.put(f"{url}/api/v1/banks/refused/recipe", json={"name": "character"}).raise_for_status()
    text = "The overlap must be less than the lines that leave, and these less than the full window."
    tab.click("#open-settings")
    tab.get_by_text("Options of the recipe character").click()
    full = tab.get_by_label("Full window", exact=True)
    full.fill("2")
    full.press("Tab")
    expect(tab.locator(".option", has=full).get_by_role("alert")).to_contain_text(text)


def test_settings_opened_while_the_server_is_away_say_so_and_fail_nowhere_else(tab: Page, url: str) -> None:
    visit(tab, url, "recipe-away")
    errors = list[str]()
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.route("**/api/**", lambda route: route.abort("connectionrefused"))
    tab.click("#open-settings")
    expect(tab.get_by_role("dialog").get_by_role("alert")).to_contain_text("can't be reached")
    tab.evaluate("0")  # by then every error has been reported
    assert errors == []


def test_the_model_of_notes_and_summaries_is_chosen_in_the_settings_and_saved_with_the_bank(
    page: Page, url: str
) -> None:
    settings = f"{url}/api/v1/banks/scribes/settings"
    visit(page, url, "scribes")
    for value in ("none", "m", ""):
        page.click("#open-settings")
        box = page.get_by_label("Notes written by")
        expect(box.locator("option")).to_have_text(["Server default", "No model: key sentences only", "m"])
        with page.expect_response(settings) as saved:
            box.select_option(value)
        assert saved.value.ok
        assert web.get(settings).json().get("scribe", "") == value
        page.reload()
        page.wait_for_selector("html[data-ready]")
        page.click("#open-settings")
        expect(page.get_by_label("Notes written by")).to_have_value(value)
        page.keyboard.press("Escape")

"""The page's language model: connected, changed, downloaded and disconnected in the header."""

from __future__ import annotations

from urllib.parse import quote

from hardship import PATIENCE, llm, web
from playwright.sync_api import Locator, Page, Route, expect

from everthread.server.page_languages import COOKIE
from server.page_helpers import PHONE, check_accessibility, say, say_and_wait, visit

KEY = "sk-very-secret"
ONLY_NAME = "Type only the name, in at most 40 characters, such as: Nora"
HALF: list[dict[str, object] | None] = [{"status": "pulling a", "digest": "a", "total": 2 * 10**9, "completed": 10**9}]


def test_ollamas_models_are_found_downloaded_connected_and_disconnected(
    page: Page, url_without_model: str, ollama: llm.Server
) -> None:
    visit(page, url_without_model, "ollama")
    dialog, header = page.get_by_role("dialog"), page.locator("#model")
    expect(header).to_have_text("No model")
    page.click("#open-settings")
    expect(dialog.get_by_label("Memory budget:")).to_be_visible()
    expect(dialog.get_by_label("Temperature:")).to_have_count(0)
    dialog.get_by_role("button", name="Connect a model").click()
    expect(dialog.locator(".banks button")).to_have_text(["llama3.2", "qwen3:8b"])
    check_accessibility(page)
    ollama.download = [*HALF, None]
    dialog.get_by_label("Download another model").fill("mistral")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("progressbar")).to_have_attribute("value", str(10**9))
    expect(dialog.get_by_role("status")).to_have_text("Downloading mistral: 1.0 of 2.0 GB")
    dialog.get_by_role("button", name="Stop").click()
    expect(dialog.get_by_role("progressbar")).to_have_count(0)
    assert ollama.hung_up.wait(PATIENCE)
    ollama.download = HALF
    dialog.get_by_label("Download another model").fill("mistral")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="mistral").click()
    expect(dialog.locator(".current-model")).to_have_text("mistral on this computerDisconnect")
    page.keyboard.press("Escape")
    expect(header).to_have_text("mistral")
    expect(page.locator("#open-settings")).to_be_focused()
    say_and_wait(page, "Hello.")
    expect(page.locator(".from-character .line-text").last).to_have_text("Hello from the model.")
    page.click("#open-settings")
    expect(dialog.get_by_label("Temperature:")).to_be_visible()
    page.keyboard.press("Escape")
    header.focus()
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Disconnect").press("Enter")
    expect(dialog).to_contain_text("No model is connected")
    page.keyboard.press("Escape")
    expect(header).to_have_text("No model")


def test_a_page_from_another_machine_names_the_server_and_says_that_notes_need_a_model(
    tab: Page, url_without_model: str
) -> None:

    def pass_on(route: Route) -> None:
        headers = {name: value for name, value in route.request.headers.items() if name in ("accept", "content-type")}
        address = route.request.url.replace("http://everthread.test", url_without_model)
        route.fulfill(response=route.fetch(url=address, headers=headers))

    tab.route("http://everthread.test/**", pass_on)
    tab.goto("http://everthread.test/#/elsewhere")
    tab.wait_for_selector("html[data-ready]")
    expect(tab.locator(".welcome")).to_contain_text("on this server, for years")
    tab.get_by_role("button", name="Skip").click()
    expect(tab.locator(".beginning")).to_contain_text("Nothing leaves this server.")
    expect(tab.locator(".beginning")).to_contain_text("They can come from ChatGPT, Claude,")
    tab.get_by_role("tab", name="Notes").click()
    expect(tab.locator("#panel")).to_contain_text("A language model writes notes, and none is connected.")
    tab.goto(f"{url_without_model}/#/elsewhere")
    tab.wait_for_selector("html[data-ready]")
    expect(tab.locator(".welcome")).to_contain_text("on this machine, for years")


def test_another_server_is_tested_and_connected_with_a_key_that_never_comes_back(
    tab: Page, url_without_model: str
) -> None:
    tab.set_viewport_size(PHONE)  # type: ignore[arg-type]
    visit(tab, url_without_model, "another")
    tab.click("#model")
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("Ollama runs models for free")
    with llm.llm_server(llm.Status(401), "Hello.", models=["m", "large"]) as server:
        dialog.get_by_label("Address").fill(server.host.removeprefix("http://"))
        dialog.get_by_label("Key, if it needs one").fill(KEY)
        dialog.get_by_role("button", name="Test").click()
        expect(dialog.get_by_role("status").last).to_have_text("It works. Choose one of its 2 models.")
        dialog.get_by_role("button", name="m", exact=True).click()
        expect(dialog.get_by_label("Model")).to_have_value("m")
        dialog.get_by_label("Model").press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("refused the key; copy it again")
        dialog.get_by_role("button", name="Connect", exact=True).click()
        expect(dialog.locator(".current-model")).to_contain_text(f"m at {server.url}")
        assert KEY not in tab.content()
        expect(dialog.get_by_label("Key, if it needs one")).to_have_value("")
        dialog.get_by_label("Model").fill("large")
        dialog.get_by_role("button", name="Connect", exact=True).click()
        expect(dialog.locator(".current-model")).to_contain_text("large at")
        dialog.get_by_label("Address").fill("127.0.0.1:9")
        dialog.get_by_role("button", name="Test").click()
        expect(dialog.get_by_role("alert")).to_contain_text("Nothing answers at this address")
        dialog.get_by_label("Address").fill(server.host)
        dialog.get_by_role("button", name="Test").click()
        expect(dialog.get_by_role("status").last).to_have_text("It works. Choose one of its 2 models.")
        expect(dialog.locator(".dialog-notice")).to_be_hidden()
        assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    web.delete(f"{url_without_model}/api/v1/model").raise_for_status()


def test_a_model_that_is_not_this_persons_to_choose_is_explained(tab: Page, url: str) -> None:
    web.put(f"{url}/api/v1/banks/guest").raise_for_status()
    view = web.get(f"{url}/api/v1/model").raise_for_status().json()
    tab.route("**/api/v1/model", lambda route: route.fulfill(json=view | {"set_by": "EVERTHREAD_LLM_URL"}))
    visit(tab, url, "guest")
    expect(tab.locator("#model")).to_have_text("m")
    tab.click("#model")
    dialog = tab.get_by_role("dialog", name="Language model")
    expect(dialog).to_contain_text("The model is set by EVERTHREAD_LLM_URL.")
    expect(dialog.locator(".body button")).to_have_count(0)
    tab.keyboard.press("Escape")
    tab.route("**/api/v1/model", lambda route: route.fulfill(status=403, json={"status": 403, "detail": "no"}))
    tab.route("**/api/v1/models", lambda route: route.fulfill(json={"items": ["m", "large"], "default": "m"}))
    tab.click("#model")
    dialog.get_by_label("Model for my replies").select_option("large")
    tab.keyboard.press("Escape")
    with tab.expect_request("**/reply") as request:
        say(tab, "Hello.")
    assert (request.value.post_data_json or {})["options"] == {"model": "large"}


# --------------------------------------------------------------------- the first steps


def test_the_first_steps_are_taken_by_keyboard_alone_and_each_is_offered_once(
    page: Page, url_without_model: str, ollama: llm.Server
) -> None:
    visit(page, url_without_model, "beginning")
    card = page.get_by_label("First steps")
    expect(card).to_contain_text("1 of 3")
    card.get_by_label("What should I call you?").focus()
    page.keyboard.type("Alex")
    page.keyboard.press("Enter")
    expect(card).to_contain_text("2 of 3")
    expect(card.get_by_role("button", name="Choose a file")).to_be_focused()
    check_accessibility(page)
    chats = b'{"speaker": "Alex", "text": "Mia moved to Lisbon.", "said_at": "2024-03-01T10:00:00Z"}'
    card.locator("input[type=file]").set_input_files({"name": "old.jsonl", "mimeType": "", "buffer": chats})
    expect(page.get_by_role("button", name="Import 1 message")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Open the latest chat")).to_be_focused()
    page.keyboard.press("Escape")
    expect(card.get_by_role("button", name="llama3.2")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#model")).to_have_text("llama3.2")
    expect(card).to_have_count(0)
    assert (ollama.bodies[-1]["model"], len(ollama.bodies)) == ("llama3.2:latest", 1)
    visit(page, url_without_model, "beginning another")
    expect(page.locator(".chips")).to_be_visible()
    expect(card.get_by_role("heading", name="earlier chats")).to_have_count(0)


def type_name(page: Page, name: str) -> tuple[Locator, Locator]:
    """Type a name into the first of the first steps, and return the steps and the field."""
    card = page.get_by_label("First steps")
    field = card.get_by_label("What should I call you?")
    field.fill(name)
    field.press("Enter")
    return card, field


def read_person(url: str, bank: str) -> str:
    """Return the name of the person who talks in a bank."""
    return str(web.get(f"{url}/api/v1/banks/{quote(bank)}/character").json()["person"])


def test_a_sentence_is_not_taken_for_a_name(page: Page, url_without_model: str) -> None:
    visit(page, url_without_model, "sentence")
    for name in ("Hello, Nora", "N" * 41):
        card, field = type_name(page, name)
        expect(card).to_contain_text("1 of 3")
        expect(field).to_be_focused()
        expect(field).to_have_js_property("validationMessage", ONLY_NAME)
    field.fill(" María del Carmen López ")
    expect(field).to_have_js_property("validationMessage", "")
    field.press("Enter")
    expect(card).to_contain_text("2 of 3")
    assert read_person(url_without_model, "sentence") == "María del Carmen López"


def test_a_name_that_looks_like_a_sentence_is_taken_at_the_second_try(page: Page, url_without_model: str) -> None:
    visit(page, url_without_model, "again a sentence")
    card, field = type_name(page, "Soy Sauce")
    expect(field).to_have_js_property("validationMessage", ONLY_NAME)
    field.press("Enter")
    expect(card).to_contain_text("2 of 3")
    assert read_person(url_without_model, "again a sentence") == "Soy Sauce"


def test_the_name_is_taken_from_the_sentence_that_says_it(page: Page, url_without_model: str) -> None:
    visit(page, url_without_model, "told name")
    card, _ = type_name(page, "hi, im nora")
    expect(card).to_contain_text("2 of 3")
    assert read_person(url_without_model, "told name") == "nora"


def test_a_name_that_is_the_characters_is_refused_in_the_pages_language(tab: Page, url_without_model: str) -> None:
    tab.context.add_cookies([{"name": COOKIE, "value": "de", "url": url_without_model}])
    visit(tab, url_without_model, "same name")
    field = tab.get_by_label("Wie soll ich dich nennen?")
    field.fill("Ever")
    field.press("Enter")
    expect(tab.locator("#notices")).to_contain_text("Die Figur kann nicht heißen wie du: Ever.")


def test_every_first_step_can_be_left_out_for_good(page: Page, url_without_model: str) -> None:
    visit(page, url_without_model, "later")
    card = page.get_by_label("First steps")
    for name in ("Skip", "Start without them", "None for now"):
        card.get_by_role("button", name=name).click()
    expect(card).to_have_count(0)
    page.reload()
    expect(page.locator(".chips")).to_be_visible()
    expect(card).to_have_count(0)
    say(page, "Hello.")
    expect(page.locator(".from-person .speaker")).to_have_text("You")

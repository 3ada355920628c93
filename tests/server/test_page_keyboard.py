"""The page by keyboard alone: every task is done with keys, and the focus is always visible and never lost."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import png
import pytest
from hardship import llm
from playwright.sync_api import Locator, Page, expect

from everthread.chat import character_library
from everthread.chat.character import Character
from server.import_files import whatsapp
from server.page_helpers import PASSWORD, add_past_lines, visit

MAX_STOPS = 60  # of the Tab key, from any control to any other
NAME = """each => {
    const label = (each.labels?.[0] ?? each).cloneNode(true);
    label.querySelectorAll('option, [aria-hidden=true]').forEach(part => part.remove());
    return each.ariaLabel || label.textContent.trim() || each.id;
}"""
FOCUSED = f"""() => {{
    const each = document.activeElement, dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
    const isShown = each.checkVisibility({{ opacityProperty: true, visibilityProperty: true }});
    const isRinged = getComputedStyle(each).outlineStyle === 'solid' || each.id === 'message'; // which has a border
    const hasRing = each.matches(':focus-visible') && isRinged;
    const isPicker = each.type === 'date' && !each.matches(':focus'); // its button has the focus, and a ring of its own
    const isNamed = !each.matches('.icon') || getComputedStyle(each, '::after').content.includes(each.title);
    const isFine = isShown && isNamed && (hasRing || isPicker) && (!dialog || dialog.contains(each));
    return {{ name: ({NAME})(each), isFine, element: each.outerHTML.slice(0, 200) }};
}}"""


class Keyboard:
    """A person without a mouse. The focus is always visible and in the topmost dialog; an icon shows its name."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str, *keys: str) -> None:
        """Type a text, then press keys."""
        self.page.keyboard.type(text)
        self.press(*keys)

    @property
    def focused(self) -> str:
        """The name of the element that has the focus."""
        state = self.page.evaluate(FOCUSED)
        assert state["isFine"], state
        return str(state["name"])

    def expect_at(self, name: str) -> None:
        """Wait until an element whose name begins like this has the focus."""
        begins = f"name => ({NAME})(document.activeElement).startsWith(name)"
        self.page.wait_for_function(begins, arg=name, timeout=15_000)
        assert self.focused

    def go(self, name: str, key: str = "Tab") -> None:
        """Press a key until an element whose name begins like this has the focus."""
        passed = [self.focused]
        while not passed[-1].startswith(name):
            assert len(passed) <= MAX_STOPS, f"{name} can't be reached with {key}: {passed}"
            self.press(key)
            has_left = self.page.evaluate("document.activeElement === document.body")  # for the browser's own controls
            passed.append("" if has_left else self.focused)

    def choose(self, name: str, key: str = "Tab") -> None:
        """Go to a control and press Enter."""
        self.go(name, key)
        self.press("Enter")

    def open(self, name: str, title: str, key: str = "Tab") -> Locator:
        """Open a dialog by its button."""
        self.choose(name, key)
        dialog = self.page.get_by_role("dialog", name=title)
        expect(dialog).to_be_visible()
        assert self.focused
        return dialog

    def close(self, dialog: Locator, opener: str) -> None:
        """Close a dialog with Escape. The focus returns to what opened it."""
        self.press("Escape")
        expect(dialog).to_have_count(0)
        self.expect_at(opener)


@pytest.fixture
def keyboard(page: Page) -> Keyboard:
    return Keyboard(page)


def test_messages_and_their_memories_are_read_changed_and_forgotten(page: Page, url: str, keyboard: Keyboard) -> None:
    add_past_lines(url, "keys", "The blue bicycle stands in the cellar.", "Mia oils it.")
    visit(page, url, "keys")
    keyboard.expect_at("Message")
    keyboard.press("Shift+Enter")
    expect(page.locator("#message")).to_have_value("\n")
    keyboard.press("Backspace")
    keyboard.type("Where does the blue bicycle stand?", "Enter")
    expect(page.locator(".from-character[data-seq]")).to_have_count(1)
    keyboard.expect_at("Message")

    keyboard.go("1 memory", "Shift+Tab")  # the actions of a message are one tab stop
    keyboard.go("Forget message: Answer", "ArrowLeft")
    keyboard.go("Edit message: Answer", "ArrowLeft")
    keyboard.go("1 memory", "Home")
    keyboard.choose("Edit message: Where", "Shift+Tab")
    keyboard.expect_at("Message text")
    keyboard.press("Escape")
    keyboard.expect_at("Edit message: Where")
    keyboard.choose("Pin message", "ArrowRight")
    expect(page.locator(".from-person [aria-pressed=true]")).to_be_focused()

    keyboard.go("Memory")
    keyboard.go("Pinned", "ArrowRight")
    expect(page.locator("#panel .hit")).to_have_count(1)
    keyboard.go("Memory", "ArrowLeft")
    keyboard.choose("Details")
    expect(page.locator("#panel .hit details[open]")).to_contain_text("All measurements")
    keyboard.choose("Instructions")
    expect(page.locator(".prompt details[open]")).to_contain_text("You are Ever")
    keyboard.go("Pin", "Shift+Tab")
    dialog = keyboard.open("Correct", "Correct this memory", "ArrowRight")
    keyboard.close(dialog, "Correct")
    keyboard.press("Enter")
    keyboard.type(" Mine.", "Control+Enter")
    expect(page.locator("#panel .changed")).to_be_visible()
    keyboard.expect_at("Correct")
    dialog = keyboard.open("Forget", "Forget this message?", "ArrowRight")
    keyboard.close(dialog, "Forget")
    keyboard.press("Enter")
    keyboard.choose("Forget it")
    expect(page.get_by_role("button", name="Done")).to_be_visible()  # Tab would go on in the page until then
    keyboard.choose("Done")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#panel :focus")).to_have_count(1)
    assert keyboard.focused
    keyboard.choose("Skip to the message box", "Shift+Tab")
    keyboard.expect_at("Message")
    assert page.url == f"{url}/#/keys"


def test_facts_are_read_changed_and_forgotten(page: Page, url: str, keyboard: Keyboard) -> None:
    add_past_lines(url, "known", "I live in York.", "My sister Mia lives in Porto.", "I'm allergic to peanuts.")
    visit(page, url, "known")
    keyboard.go("Memory")
    keyboard.press("End")
    keyboard.expect_at("Timeline")
    keyboard.press("Home")
    keyboard.choose("Facts", "ArrowRight")
    rows = page.locator("#panel .known-fact")
    expect(rows).to_have_count(4)
    keyboard.choose("Open the chat at this message")
    expect(page.locator(".line.target")).to_contain_text("York")
    page.go_back()
    expect(page.locator(".line.target")).to_have_count(0)

    keyboard.choose("Allergy peanuts")
    keyboard.choose("That's right")
    expect(rows.filter(has_text="peanuts")).to_contain_text("confirmed by you")
    keyboard.expect_at("Correct")
    dialog = keyboard.open("Correct", "Allergy")
    keyboard.close(dialog, "Correct")
    keyboard.press("Enter")
    expect(dialog).to_be_visible()
    keyboard.type(" and nuts", "Control+Enter")
    expect(rows.filter(has_text="peanuts and nuts")).to_have_count(1)
    keyboard.expect_at("Correct")
    dialog = keyboard.open("No longer true", "Allergy: peanuts and nuts", "ArrowRight")
    keyboard.close(dialog, "No longer true")
    keyboard.press("Enter")
    expect(dialog).to_be_visible()
    keyboard.choose("No longer true")
    expect(page.get_by_text("1 fact that no longer holds")).to_be_visible()
    assert keyboard.focused

    keyboard.choose("Lives in Porto")
    keyboard.go("That's right")
    keyboard.open("Forget", "Lives in: Porto", "ArrowRight")
    keyboard.choose("Forget the fact")
    expect(rows.filter(has_text="Porto")).to_have_count(0)
    assert keyboard.focused
    keyboard.choose("Sister Mia", "Shift+Tab")
    keyboard.go("That's right")
    keyboard.open("Forget", "Sister: Mia", "ArrowRight")
    keyboard.choose("Forget it with 1 message")
    expect(rows.filter(has_text="Mia")).to_have_count(0)
    assert keyboard.focused


def test_chats_are_kept_in_order_continued_ended_and_forgotten(page: Page, url: str, keyboard: Keyboard) -> None:
    for session, text in {"one": "The blue bicycle.", "two": "Mia oils it.", "three": "I planted ferns."}.items():
        add_past_lines(url, "order", text, session=session)
    visit(page, url, "order")
    chats = page.locator("#session-list .session-row")
    options = keyboard.open("Options for chat: Mia", "Chat options")
    keyboard.type("Oil", "Tab")
    keyboard.type("bike", "Tab")
    keyboard.press("Space", "Enter")
    expect(options).to_have_count(0)
    expect(page.locator("#session-list h2").first).to_have_text("Pinned")
    keyboard.expect_at("Options for chat: Oil")
    keyboard.press("Enter")
    keyboard.go("Archive")
    keyboard.press("Space", "Enter")
    expect(chats.filter(has_text="Oil")).to_have_count(0)
    keyboard.expect_at("Options for chat: ")
    keyboard.open("Options for chat: The blue", "Chat options")
    question = keyboard.open("Delete", "Forget this chat?")
    keyboard.close(question, "Delete")
    keyboard.press("Enter")
    keyboard.choose("Forget it all")
    expect(page.get_by_role("button", name="Done")).to_be_visible()
    keyboard.choose("Done")
    expect(chats.filter(has_text="The blue")).to_have_count(0)
    keyboard.expect_at("Options for chat: I planted")  # the chat that is now in its place
    keyboard.choose("Filter", "Shift+Tab")
    keyboard.go("Archived")
    keyboard.press("Space")
    expect(chats.filter(has_text="Oil")).to_have_count(1)
    keyboard.choose("Clear")
    keyboard.expect_at("Filter")

    keyboard.choose("I planted ferns")
    page.wait_for_selector(".transcript-head")
    keyboard.choose("Skip to the message box", "Shift+Tab")
    keyboard.expect_at("Messages")
    question = keyboard.open("Forget this chat", "Forget this chat?")
    keyboard.close(question, "Forget this chat")
    keyboard.choose("Continue", "Shift+Tab")
    keyboard.expect_at("Message")
    keyboard.type("Hello.", "Enter")
    expect(page.locator(".from-character[data-seq]")).to_have_count(1)
    keyboard.choose("Undo", "Shift+Tab")
    keyboard.expect_at("Message")
    scene = keyboard.open("Scene", "Scene", "Shift+Tab")
    keyboard.go("Location")
    keyboard.type("A garden", "Enter")
    expect(scene).to_have_count(0)
    keyboard.expect_at("Scene")
    for is_on in (True, False):
        keyboard.choose("Incognito")
        expect(page.locator("#incognito")).to_be_visible(visible=is_on)
        keyboard.expect_at("Incognito")
    keyboard.choose("New chat")
    keyboard.expect_at("Message")
    keyboard.type("I planted roses.", "Enter")
    expect(page.locator(".from-character[data-seq]")).to_have_count(1)
    question = keyboard.open("End chat", "Shall I remember this conversation?", "Shift+Tab")
    keyboard.choose("Remember it")
    expect(question).to_have_count(0)
    keyboard.expect_at("Message")
    keyboard.press("Control+k")
    banks = keyboard.open("Ever in order", "Chats by character", "Shift+Tab")
    keyboard.close(banks, "Ever in order")


def test_characters_are_met_edited_and_brought_together(
    page: Page, url: str, keyboard: Keyboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))  # no characters that other tests saved
    for name in ("Captain Vey", "Ilse"):
        character_library.save(Character(name, description="A sailor."), force=True)
    visit(page, url, "crew")
    gallery = keyboard.open("Characters", "Characters")
    expect(gallery.locator(".tile")).to_have_count(3)
    editor = keyboard.open("Edit Captain Vey", "Edit Captain Vey")
    picture = BytesIO()
    png.Writer(300, 100, greyscale=True).write(picture, [[0] * 100 + [200] * 200] * 100)
    with page.expect_file_chooser() as chooser:
        keyboard.choose("Choose picture")
    chooser.value.set_files({"name": "b.png", "mimeType": "image/png", "buffer": picture.getvalue()})
    expect(editor.locator("canvas")).to_be_visible()
    keyboard.go("The picture", "Shift+Tab")
    keyboard.press("ArrowLeft")
    keyboard.go("Zoom")
    keyboard.press("ArrowRight")
    keyboard.choose("{{user}}")  # shown while its field, or one of its buttons, has the focus
    expect(editor.get_by_role("textbox", name="Description")).to_have_value("A sailor.{{user}}")
    keyboard.choose("Lorebook")
    for number in (1, 2):
        keyboard.choose("Add entry")
        keyboard.expect_at(f"Keywords of entry {number}")
        keyboard.type("pier", "Tab")
        keyboard.type("It has three steps.")
    keyboard.choose("Remove entry 1", "Shift+Tab")
    keyboard.expect_at("Remove entry 2")
    keyboard.press("Enter")
    keyboard.expect_at("Add entry")
    keyboard.choose("Save")
    expect(editor).to_have_count(0)
    keyboard.expect_at("Edit Captain Vey")

    keyboard.open("Group chat", "Group chat")
    for name in ("Captain Vey", "Ilse"):
        keyboard.go(name)
        keyboard.press("Space")
    keyboard.choose("Start")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keyboard.expect_at("Message")
    keyboard.go("Ilse", "Shift+Tab")
    keyboard.press("Space")
    expect(page.get_by_role("button", name="Ilse", pressed=True)).to_be_focused()
    keyboard.go("Message")
    keyboard.type("Hello.", "Enter")
    expect(page.locator(".from-character[data-seq]")).to_have_count(1)
    expect(page.get_by_role("button", name="Let Captain Vey answer")).to_be_enabled()
    keyboard.choose("Let Captain Vey answer", "Shift+Tab")
    expect(page.locator(".from-character[data-seq]")).to_have_count(2)
    people = keyboard.open("Characters in this chat", "Characters in this chat", "Shift+Tab")
    keyboard.choose("Remove Ilse")
    expect(people).to_have_count(0)
    keyboard.expect_at("Scene")  # the button of the participants is gone
    gallery = keyboard.open("Characters", "Characters", "Shift+Tab")
    keyboard.choose("Chat with Ever")
    expect(gallery).to_have_count(0)
    keyboard.expect_at("Message")


def test_every_setting_is_changed_and_a_model_connected(
    page: Page, url_without_model: str, ollama: llm.Server, keyboard: Keyboard
) -> None:
    visit(page, url_without_model, "settings")
    models = keyboard.open("No model", "Language model")
    current = models.locator(".current-model")
    keyboard.choose("llama3.2")
    expect(current).to_be_visible()
    keyboard.expect_at("llama3.2")
    keyboard.choose("Disconnect", "Shift+Tab")
    expect(current).to_have_count(0)
    keyboard.choose("Another server")
    keyboard.go("Address")
    keyboard.type(ollama.url)
    keyboard.choose("Test")
    expect(models.get_by_role("status")).to_contain_text("It works")
    keyboard.expect_at("Test")  # which was disabled meanwhile
    keyboard.go("Model", "Shift+Tab")
    keyboard.type("qwen3:8b", "Enter")
    expect(current).to_contain_text("qwen3:8b")
    assert keyboard.focused
    keyboard.close(models, "Model qwen3:8b")

    settings = keyboard.open("Settings", "Settings")
    keyboard.go("Temperature")
    keyboard.press("ArrowLeft")
    keyboard.choose("Reset")
    keyboard.expect_at("Temperature")
    keyboard.go("Recipe")
    options = settings.locator("summary").element_handle()
    with page.expect_response("**/recipe"):
        keyboard.press("ArrowDown")
    page.wait_for_function("(options) => !options.isConnected", arg=options)  # until they are drawn again
    keyboard.expect_at("Recipe")
    keyboard.choose("Options of")
    keyboard.go("Maximum recalled")
    for label in ("Remember chats", "Notes written by"):
        keyboard.go(label)
        with page.expect_response("**/settings"):
            keyboard.press("ArrowDown")
        keyboard.expect_at(label)
    export = keyboard.open("Export", "Export this bank")
    keyboard.go("Everything")
    keyboard.go("A page to read", "ArrowDown")
    keyboard.go("Include discarded")
    keyboard.press("Space")
    with page.expect_download() as download:
        keyboard.choose("Save")
    assert download.value.suggested_filename == "settings.html"
    expect(export).to_have_count(0)
    keyboard.expect_at("Export")
    question = keyboard.open("Delete", "Delete everything")
    keyboard.close(question, "Delete")
    keyboard.go("Language")
    keyboard.press("ArrowDown", "ArrowDown")  # which passes one language
    keyboard.expect_at("Language")
    expect(settings).to_be_visible()
    keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    expect(page.get_by_role("dialog", name="Réglages")).to_be_visible()
    keyboard.expect_at("Langue")
    keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_history_is_imported_searched_and_read_by_month(page: Page, url: str, keyboard: Keyboard) -> None:
    visit(page, url, "history")
    keyboard.open("Settings", "Settings")
    with page.expect_file_chooser() as chooser:
        keyboard.choose("Import")
    chooser.value.set_files(whatsapp())  # type: ignore[arg-type]
    dialog = page.get_by_role("dialog", name="Import your chats")
    expect(dialog).to_contain_text("1 chat · 2 messages")
    keyboard.go("Who are you?")
    keyboard.press("ArrowDown", "ArrowUp")
    keyboard.choose("Import 2 messages")
    keyboard.expect_at("Open the latest chat")
    keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    page.wait_for_selector(".transcript-head")
    assert keyboard.focused

    text = page.locator(".line-text").first.inner_text()
    keyboard.press("Control+k")
    keyboard.expect_at("Search")
    keyboard.type(text)
    found = page.locator("#session-list a:has(mark)").first
    found.wait_for()
    keyboard.choose(found.evaluate(f"each => ({NAME})(each)"))
    expect(page.locator(".line.target")).to_contain_text(text)
    assert keyboard.focused
    keyboard.press("Control+k")
    keyboard.press("Control+a", "Delete")

    keyboard.go("Memory")
    keyboard.go("Timeline", "ArrowLeft")
    month = page.locator("#panel tbody button").first
    keyboard.choose(month.inner_text())
    expect(page.locator("#session-list .session-row")).to_have_count(1)
    assert keyboard.focused


def test_a_person_signs_in_and_changes_accounts(tab: Page, people_url: str) -> None:
    keyboard = Keyboard(tab)
    tab.goto(people_url)
    keyboard.expect_at("Name")
    keyboard.type("nora", "Tab")
    keyboard.type(PASSWORD, "Enter")
    tab.wait_for_url("**/#/nora")
    tab.wait_for_selector("html[data-ready]")
    keyboard.expect_at("Message")
    keyboard.open("Settings", "Settings")
    keyboard.open("Manage accounts", "People")
    for name in ("Mia", "Zoe"):
        keyboard.go("Name")
        keyboard.type(name, "Tab")
        keyboard.type(PASSWORD, "Enter")
        expect(tab.locator(".people li").filter(has_text=name.lower())).to_have_count(1)
        assert keyboard.focused
    keyboard.choose("Lock", "Shift+Tab")
    keyboard.expect_at("Unlock")
    keyboard.press("Enter")
    keyboard.expect_at("Lock")
    keyboard.open("Remove", "Remove zoe?")
    keyboard.choose("Keep the chats")
    expect(tab.locator(".people li")).to_have_count(2)
    assert keyboard.focused
    keyboard.press("Escape")
    keyboard.expect_at("Manage accounts")
    with tab.expect_event("load"):
        keyboard.choose("Sign out everywhere", "Shift+Tab")
    keyboard.expect_at("Name")


def test_the_demo_is_asked_and_left(page: Page, url: str, keyboard: Keyboard) -> None:
    visit(page, url, "default")
    keyboard.choose("Try it with a sample life")
    keyboard.expect_at("Demo")
    keyboard.choose("Where did I hide")
    expect(page.locator("#demo .lit")).to_be_visible()
    keyboard.expect_at("Where did I hide")
    keyboard.choose("Now forget it")
    expect(page.locator("#demo .receipt")).to_be_visible()
    keyboard.expect_at("Everthread")  # the answer to the same question
    keyboard.go("Your question")
    keyboard.type("What is the plumber called?", "Enter")
    expect(page.locator("#demo .from-person")).to_have_count(3)
    keyboard.expect_at("Your question")
    keyboard.choose("Leave the demo", "Shift+Tab")
    expect(page.locator("#demo")).to_have_count(0)
    keyboard.expect_at("Message")


def test_escape_hides_the_name_of_an_icon_and_keeps_the_focus_on_it(page: Page, url: str) -> None:
    add_past_lines(url, "tooltip", "The blue bicycle stands in the barn.")
    page.goto(f"{url}/#/tooltip/read/before")
    forget = page.get_by_role("button", name="Forget message: The blue bicycle")
    forget.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    content = "each => getComputedStyle(each, '::after').content"
    assert "Forget" in forget.evaluate(content)
    page.keyboard.press("Escape")
    assert forget.evaluate(content) == "none"
    expect(forget).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert "Forget" in forget.evaluate(content)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")  # leaves the transcript, as elsewhere
    page.wait_for_url("**/#/tooltip")

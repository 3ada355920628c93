"""Contact sheets of the page: `python docs/generate_sheets.py` writes docs/images/screens/*.webp.

Each sheet has the main screens at one size in one theme. Two more have a chat in Arabic, from right to left, and in
Chinese; the system needs fonts for them. The conversations are those of `generate_screens`.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from generate_screens import ASKED, IMAGES, filled, serving
from PIL import Image, ImageDraw, ImageFont

from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.server.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desktop": (1280, 800)}
COLUMNS = {"phone": 9, "tablet": 6, "desktop": 4}
HEIGHTS = {"phone": 500, "tablet": 440, "desktop": 290}  # of the small pictures, in pixels
TALK_HEIGHT = 480
THEMES = {"light": "#d8d4cb", "dark": "#111110"}  # with the colour between the pictures
CAPTIONS = {"light": "#5b574f", "dark": "#a8a49a"}
GAP, CAPTION_HEIGHT, QUALITY = 16, 26, 62
EXAMPLE = Path(__file__).parents[1] / "examples" / "talk.txt"
NAME, PASSWORD = "nora", "a long and quiet evening"
HOME = "alex%2Fnora"
PERSONS = {"arabic": "ليلى", "chinese": "小林"}
TALKS = {
    "arabic": ["انتقلت أختي ميّا إلى لشبونة الأسبوع الماضي، ووجدت شقة فوق مخبز.", "فوق مخبز! ستستيقظ على رائحة "
               "الخبز كل صباح. هل هي هناك للعمل؟", "نعم، تخيط الأشرعة في Almada.", "إذن تعبر النهر كل يوم."],
    "chinese": ["我妹妹米娅上周搬到了里斯本，住在一家面包店楼上。",
                "在面包店楼上！她每天早上都会闻着面包香醒来。她去那里工作吗？", "对，她在阿尔马达的船厂缝帆。",
                "那她每天都要过河。"],
}  # fmt: skip


class Screens:
    """The main screens of the page, each of which a method opens."""

    def __init__(self, page: Page, url: str, people_url: str, size: str) -> None:
        self.page, self.url, self.people_url, self.size = page, url, people_url, size

    def names(self) -> list[str]:
        """Return the names of all screens."""
        return [name for name, value in vars(Screens).items() if not name.startswith("_") and name != "names"]

    def _visit(self, bank: str) -> None:
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/#/{bank}")
        self.page.wait_for_selector("html[data-ready]")

    def _show(self, view: str) -> None:
        """Show a column, where the page shows one at a time."""
        choice = self.page.locator(f"#views [data-to={view}]")
        if choice.is_visible():
            choice.click()

    def welcome(self) -> None:
        self._visit(f"fresh-{self.size}")

    def beginning(self) -> None:
        self.page.get_by_placeholder("Your name").fill("Alex")
        self.page.get_by_role("button", name="Save", exact=True).click()

    def chat(self) -> None:
        self._visit(HOME)
        self.page.wait_for_selector(".line.from-character .recall-link")

    def memories(self) -> None:
        self.page.click(".line.from-character .recall-link")
        self.page.wait_for_selector("#panel .hit")

    def facts(self) -> None:
        self.page.get_by_role("tab", name="Facts").click()
        self.page.locator(".known-fact summary").first.click()

    def month(self) -> None:
        self.page.get_by_role("tab", name="Timeline").click()
        self.page.wait_for_selector("svg.timeline")

    def chats(self) -> None:
        self._visit(HOME)
        self._show("sessions")

    def search(self) -> None:
        self.page.fill("#query", "Mia bread")
        self.page.wait_for_selector("#session-list mark")

    def gallery(self) -> None:
        self._visit(HOME)
        self._show("sessions")
        self.page.click("#open-characters")
        self.page.wait_for_selector(".tile img")

    def editor(self) -> None:
        self.page.get_by_label("Edit Nora").click()
        self.page.wait_for_selector("dialog [name=greeting]")

    def group(self) -> None:
        self._visit("alex")
        self._show("sessions")
        self.page.click("#open-characters")
        self.page.get_by_role("button", name="Group chat").click()
        for name in ("Nora", "Ines"):
            self.page.get_by_role("dialog").get_by_role("checkbox", name=name, exact=True).check()

    def group_chat(self) -> None:
        self.page.get_by_role("button", name="Start", exact=True).click()
        self.page.wait_for_selector("#group")

    def settings(self) -> None:
        self._visit(HOME)
        self._show("sessions")
        self.page.click("#open-settings")
        self.page.wait_for_selector("dialog")

    def importing(self) -> None:
        self._visit(f"import-{self.size}")
        self._show("sessions")
        self.page.click("#open-settings")
        with self.page.expect_file_chooser() as chooser:
            self.page.get_by_role("button", name="Import chats").click()
        chooser.value.set_files(EXAMPLE)
        self.page.get_by_role("button", name="Import 21 messages").wait_for()

    def receipt(self) -> None:
        bank = f"{self.url}/api/v1/banks/receipt-{self.size}"
        line = {"text": "The spare key is under the blue flowerpot.", "session": "s"}
        httpx.post(f"{bank}/lines/batch", json={"lines": [line]}).raise_for_status()
        self._visit(f"receipt-{self.size}")
        self.page.locator("[aria-label^='Forget message']").first.click()
        self.page.get_by_role("button", name="Forget it").click()
        self.page.get_by_role("button", name="Done").wait_for()

    def demo(self) -> None:
        self._visit("default")
        self.page.click("text=Try it with a sample life")
        self.page.click("#demo .chip:last-child")
        self.page.wait_for_selector("#demo .lit")

    def sign_in(self) -> None:
        self.page.goto(self.people_url)
        self.page.get_by_label("Name").wait_for()

    def accounts(self) -> None:
        self.page.get_by_label("Name").fill(NAME)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/#/nora")
        self.page.wait_for_selector("html[data-ready]")
        self._show("sessions")
        self.page.click("#open-settings")
        self.page.get_by_role("button", name="Manage accounts").click()
        self.page.wait_for_selector(".people li")


def main() -> None:
    folder = Path(sys.argv[1]) if sys.argv[1:] else IMAGES / "screens"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_CONFIG_HOME"] = home
        os.environ["EVERTHREAD_CONFIG"] = ""
        services = filled(Path(home))
        with serving(services) as url, serving_people(services) as people_url, chromium() as browser:
            ask(browser, url)
            for size in SIZES:
                write_sheets(folder, size, take_pictures(browser, url, people_url, size))
            for language, texts in TALKS.items():
                write_sheets(folder, language, take_talk(browser, url, language, texts))


@contextmanager
def serving_people(services: Services) -> Iterator[str]:
    """Run a server with two accounts."""
    app = create_app(services, Settings(key_required=True))
    people = app.state.authenticator.people
    people.create(NAME, PASSWORD, is_administrator=True)
    people.create("mia", PASSWORD)
    with serving(services, app) as url:
        yield url


@contextmanager
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_page(browser: Browser, width: int, height: int, locale: str = "en-GB") -> Page:
    context = browser.new_context(viewport={"width": width, "height": height}, locale=locale, reduced_motion="reduce")
    return context.new_page()


def ask(browser: Browser, url: str) -> None:
    """Ask what is answered from memory, for the pictures of the chat."""
    page = open_page(browser, *SIZES["desktop"])
    page.goto(f"{url}/#/{HOME}")
    page.wait_for_selector("#character-name:text('Nora')")
    page.fill("#message", ASKED)
    page.keyboard.press("Enter")
    page.wait_for_selector(".line.from-character .recall-link")
    page.context.close()


def take_pictures(browser: Browser, url: str, people_url: str, size: str) -> dict[tuple[str, str], Image.Image]:
    """Return a picture of each screen in each theme."""
    page = open_page(browser, *SIZES[size])
    screens = Screens(page, url, people_url, size)
    taken = {}
    for name in screens.names():
        getattr(screens, name)()
        taken |= shoot(page, name)
    page.context.close()
    return taken


def take_talk(browser: Browser, url: str, language: str, texts: list[str]) -> dict[tuple[str, str], Image.Image]:
    """Return pictures of a chat in a language, at each size."""
    person, bank = PERSONS[language], f"{url}/api/v1/banks/{language}"
    speakers = [(person, "user"), ("Ever", "assistant")] * len(texts)
    lines = [
        {"text": text, "speaker": speaker, "role": role, "session": "s"}
        for text, (speaker, role) in zip(texts, speakers, strict=False)
    ]
    httpx.post(f"{bank}/lines/batch", json={"lines": lines}).raise_for_status()
    httpx.patch(f"{bank}/character", json={"person": person}).raise_for_status()
    taken = {}
    for size, (width, height) in SIZES.items():
        page = open_page(browser, width, height, "zh-CN" if language == "chinese" else "en-GB")
        page.goto(f"{url}/#/{language}")
        page.wait_for_selector(".line")
        if language == "arabic":
            page.evaluate("document.documentElement.dir = 'rtl'")
        taken |= shoot(page, size)
        page.context.close()
    return taken


def shoot(page: Page, name: str) -> dict[tuple[str, str], Image.Image]:
    """Return a picture of what is shown, by theme and name."""
    taken = {}
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.wait_for_timeout(300)
        taken[theme, name] = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    return taken


def write_sheets(folder: Path, size: str, taken: dict[tuple[str, str], Image.Image]) -> None:
    """Write a sheet for each theme."""
    for theme in THEMES:
        pictures = {name: picture for (of, name), picture in taken.items() if of == theme}
        compose(pictures, theme, COLUMNS.get(size, len(SIZES)), HEIGHTS.get(size, TALK_HEIGHT)).save(
            folder / f"{size}-{theme}.webp", quality=QUALITY, method=6
        )


def compose(pictures: dict[str, Image.Image], theme: str, columns: int, height: int) -> Image.Image:
    """Lay out pictures in rows, each below its name."""
    names = list(pictures)
    widths = {name: picture.width * height // picture.height for name, picture in pictures.items()}
    rows = [names[start : start + columns] for start in range(0, len(names), columns)]
    row_height = CAPTION_HEIGHT + height + GAP
    sheet = Image.new(
        "RGB",
        (max(sum(widths[name] + GAP for name in row) for row in rows) + GAP, len(rows) * row_height + GAP),
        THEMES[theme],
    )
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(14)
    for number, row in enumerate(rows):
        x, y = GAP, GAP + number * row_height
        for name in row:
            draw.text((x, y), name.replace("_", " "), fill=CAPTIONS[theme], font=font)
            small = pictures[name].resize((widths[name], height), Image.Resampling.LANCZOS)
            sheet.paste(small, (x, y + CAPTION_HEIGHT))
            x += widths[name] + GAP
    return sheet


if __name__ == "__main__":
    main()

"""Pictures of the page for the documentation: `python docs/generate_screens.py` writes docs/images/web-*.png.

The conversations are invented, the model is a script, and the rest is real: the server, the memory, a Chromium.
"""

from __future__ import annotations

import math
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from everthread.server.services import Services

IMAGES = Path(__file__).parent / "images"
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
LAST = datetime.now(UTC) - timedelta(days=9)

PERSON, KEEPER = "Alex", "Nora"
PAST = [  # days before the last one, and what was said, the person first
    (420, ["My sister Mia moved to Lisbon last week. She found a flat above a bakery.", "Above a bakery! She will wake "
           "to bread every morning. Is she there for work?", "Yes, she builds sails for a boatyard in Almada.", "Then "
           "she crosses the river each day. Send me her first letter when it comes."]),
    (371, ["Mia says the ferry is her favourite part of the day.", "It would be mine. Does she stand outside?",
           "Always. Even in the rain."]),
    (290, ["I finally finished the kitchen shelves. Oak, and only one of them is crooked.", "One crooked shelf is how "
           "a kitchen knows who made it.", "I'll tell Mia you said that."]),
    (201, ["Mia's boatyard lost the race but kept the boat.", "Then it was a good day after all.", "She is allergic to "
           "shellfish, of all things, in Lisbon.", "A sailmaker in Lisbon who can't eat the shrimp. I will remember."]),
    (140, ["Running again. Five kilometres, very slowly.", "Slowly is how one arrives at six."]),
    (65, ["What was the name of that lighthouse book you liked?", "The one with the keeper's daughter. I lent you the "
          "memory of it in spring.", "Right. I bought a copy for Mia's birthday. It's on the third of June."]),
    (0, ["I booked a train to Lisbon for the end of May, to see Mia.", "The night train? Take the left side; the river "
         "comes up with the sun.", "The night train. I'll bring her a loaf of our rye bread."]),
]  # fmt: skip
ASKED = "I leave for Lisbon on Friday. What should I not forget?"
REPLIES = [
    "The rye bread you meant to bring her, first of all. And the lighthouse book: her birthday is on the third of "
    "June, so you will be just early enough to hand it over yourself.\n\nIf you cook for her, no shellfish. Take the "
    "left side of the night train; the river comes up with the sun.",
    "Three things: the loaf of rye, the lighthouse book for the third of June, and an evening with no shrimp in it. "
    "Then stand outside on the ferry with her, even if it rains.",
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        os.environ["EVERTHREAD_CONFIG"] = ""
        with serving(filled(Path(folder))) as url:
            shoot(url)


def filled(folder: Path) -> Services:
    """Open a memory whose bank holds a long conversation."""
    from everthread import factory
    from everthread.chat import character_library
    from everthread.chat.character import Character
    from everthread.memory import Memory
    from everthread.recipes.default import Default
    from everthread.server.services import Services
    from everthread.testing import ScriptedLLM, split_words
    from everthread.types import NewLine

    keeper = Character(
        KEEPER,
        "{{char}} kept a lighthouse for thirty years and now keeps company. She is dry, warm, and forgets nothing.",
        "the kitchen of the old lighthouse, a pot of tea between you",
        greeting="Come in, {{user}}, and mind the step.",
        person=PERSON,
    )
    character_library.save(keeper, picture=painted(folder / "face.png"))
    character_library.save(
        Character("Ines", "A cartographer who answers in distances and directions, and draws on whatever is at hand.")
    )
    store, embedder = factory.open_store(str(folder / "banks")), factory.open_embedder(None)
    with Memory("alex/nora", store, embedder, Default()) as memory:
        memory.set_setting("character", keeper.to_json())
        for days, said in PAST:
            at = LAST - timedelta(days=days)
            who = [(PERSON, "user"), (KEEPER, "assistant")] * 3
            memory.observe_many(
                NewLine(text, name, role, at + timedelta(minutes=2 * place), f"talk-{days}")  # type: ignore[arg-type]
                for place, (text, (name, role)) in enumerate(zip(said, who, strict=False))
            )
            memory.end(f"talk-{days}", at + timedelta(minutes=20))

    def slowly(text: str) -> Iterator[str]:
        for piece in split_words(text):
            time.sleep(0.01)
            yield piece

    return Services(store, embedder, ScriptedLLM(REPLIES, pieces=slowly), Default())


@contextmanager
def serving(engine: Services, app: FastAPI | None = None) -> Iterator[str]:
    """Run a server for a memory, or its app, and yield its address."""
    import uvicorn

    from everthread.server.app import create_app

    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = uvicorn.Server(uvicorn.Config(app or create_app(engine), log_level="warning", lifespan="on"))
        running = threading.Thread(target=server.run, args=([taken],))
        running.start()
        try:
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        finally:
            server.should_exit = True
            running.join()


def painted(path: Path, size: int = 256) -> Path:
    """Draw a lighthouse at dusk."""
    import png

    def colour(x: float, y: float) -> tuple[int, int, int]:
        if abs(x - 0.5) < 0.07 + 0.05 * y and 0.3 < y < 0.8:
            return (244, 236, 224) if int(y * 16) % 2 else (176, 84, 52)
        if math.hypot(x - 0.5, y - 0.25) < 0.055:
            return (255, 226, 150)
        if y > 0.8 - 0.06 * math.cos(5 * (x - 0.5)):
            return (38, 52, 60)
        beam = 0 if abs(y - 0.25) > 0.25 * abs(x - 0.5) else 34
        return int(60 + 150 * y + beam), int(72 + 70 * y + beam), int(98 + 20 * y + beam // 2)

    rows = [[c for x in range(size) for c in colour(x / size, y / size)] for y in range(size)]
    png.from_array(rows, "RGB;8").save(path)
    return path


def shoot(url: str) -> None:
    """Go through the page and take pictures."""
    from playwright.sync_api import sync_playwright

    there = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=there, args=["--no-sandbox"])
        page = browser.new_page(viewport=DESK, color_scheme="light", locale="en-GB")  # type: ignore[arg-type]

        def take_picture(name: str) -> None:
            page.wait_for_timeout(250)
            page.screenshot(path=IMAGES / f"web-{name}.png", animations="disabled")

        page.goto(url)
        page.wait_for_selector("html[data-ready]")
        take_picture("first")
        page.goto(f"{url}/#/alex%2Fnora")
        page.wait_for_selector("#character-name:text('Nora')")
        page.fill("#message", ASKED)
        page.keyboard.press("Enter")
        page.wait_for_selector(".line.from-character .recall-link")
        page.click("[aria-label='Regenerate']")
        page.wait_for_selector(".count:text('2/2')")
        take_picture("talk")
        page.emulate_media(color_scheme="dark")
        take_picture("dark")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        take_picture("phone")
        page.click("#views [data-to=memory]")
        take_picture("phone-memory")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESK)  # type: ignore[arg-type]
        page.click("#tab-3")
        page.fill("#query", "what can Mia not eat?")
        page.click("#session-list .session >> text=shellfish")
        page.wait_for_selector(".line.target")
        take_picture("past")
        page.click("text=Back to current chat")
        page.click("#open-characters")
        page.wait_for_selector(".tile img")
        take_picture("characters")
        page.keyboard.press("Escape")
        page.click("#open-settings")
        take_picture("settings")
        page.keyboard.press("Escape")
        page.goto(f"{url}/#/default")
        page.click("text=Try it with a sample life")
        page.click("#demo .chip:last-child")
        page.wait_for_selector("#demo .lit")
        take_picture("demo")
        browser.close()


if __name__ == "__main__":
    main()

"""What the tests of the page share: a server with a scripted model, and what a visitor does again and again."""

import json
from pathlib import Path

from axe_core_python.sync_playwright import Axe
from hardship import llm, web
from playwright.sync_api import Page, Route, expect

from everthread import server

FOLDER = Path(server.__file__).parent / "static"
TRANSFERRED = 150_000  # bytes at most of all the page is made of
PACKED = 64_000  # bytes of its files, packed: what it is meant to stay below
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
DESK, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
LATE = 120_000  # milliseconds that something may take on a busy machine
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> ![see](http://x.invalid/y.png)"
CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ines", "description": "A cartographer."}}


class Model:
    """Answers with what the person said last, and how many answers it gave; slowly, if it is asked to."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, request: llm.Request) -> llm.Behaviour:
        said = str((request.body or {})["messages"][-1]["content"]).strip().splitlines()[-1]
        self.given += 1
        if "slowly" in said:
            return llm.Reply([f"piece{number} " for number in range(60)], delay=0.05)
        if "broken off" in said:
            return llm.Cut("The beginning of it")
        if "at length" in said:
            return llm.Reply("The beginning of it", finish="length")
        if "fail" in said and self.given % 2:
            return llm.Status(400, "the model is unwell")
        return llm.Reply(f"Answer {self.given} to: {said}")


def visit(page: Page, url: str, bank: str) -> None:
    """Go to a bank whose character doesn't speak first."""
    of = f"{url}/api/v1/banks/{bank}"
    web.put(of).raise_for_status()
    web.patch(f"{of}/character", json={"greeting": ""}).raise_for_status()
    page.goto(f"{url}/#/{bank}")
    page.wait_for_selector("html[data-ready]")


def say(page: Page, text: str) -> None:
    page.fill("#message", text)
    page.keyboard.press("Enter")


def tell(page: Page, text: str) -> None:
    """Say it, and wait for the reply."""
    replies = page.locator(".from-character .recall-link").count()
    say(page, text)
    expect(page.locator(".from-character .recall-link")).to_have_count(replies + 1)


def remember(url: str, bank: str, *texts: str, session: str = "before") -> None:
    """Lines that were said long ago."""
    lines = [
        {"text": text, "speaker": "Alex", "said_at": f"2024-03-{day:02}T18:20:00+00:00", "session": session}
        for day, text in enumerate(texts, 1)
    ]
    web.post(f"{url}/api/v1/banks/{bank}/lines/batch", json={"lines": lines}).raise_for_status()


def broken(route: Route) -> None:
    """As a server that is away, without the browser's own line in the console."""
    document = {"type": "urn:everthread:unreachable", "detail": "The server is away. Nothing you typed is lost."}
    route.fulfill(
        status=200,
        headers={"content-type": "text/event-stream"},
        body=f"event: error\ndata: {json.dumps(document)}\n\n",
    )


def axe(page: Page) -> None:
    """No violation of the rules of WCAG 2.2 A and AA."""
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    found = Axe().run(page, options=rules)["violations"]
    assert not [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]

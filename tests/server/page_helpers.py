"""Helpers of the page's tests: a scripted model, and common actions of a visitor."""

import json
from pathlib import Path
from typing import Any

from axe_core_python.base import AXE_SCRIPT
from hardship import llm, web
from playwright.sync_api import Page, Route, expect

from everthread import server

FOLDER = Path(server.__file__).parent / "static"
FILES = sorted(path for path in FOLDER.iterdir() if path.is_file())  # of the page itself, without those of libraries
MAX_TRANSFERRED_BYTES = 100_000  # of a first visit
MAX_COMPRESSED_BYTES = 101_500  # of all files, without those of libraries
# The first of them takes a quarter less processor time, because it draws no windows.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
VISITOR: Any = {"viewport": DESKTOP, "color_scheme": "light", "locale": "en-GB"}  # options of a context
PASSWORD = "violet harbour"  # of the administrator nora
TIMEOUT_MS = 120_000  # on a busy machine
HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> ![see](http://x.invalid/y.png)"
    " [go](javascript:document.title='owned') \u202eoverridden \x07"
)
CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ines", "description": "A cartographer."}}


class Model:
    """Replies with a count and the person's last message; slowly or incompletely if the message asks for that."""

    def __init__(self) -> None:
        self.replies = 0

    def __call__(self, request: llm.Request) -> llm.Behaviour:
        message = str((request.body or {})["messages"][-1]["content"]).strip().splitlines()[-1]
        self.replies += 1
        if "slowly" in message:
            return llm.Reply([f"piece{number} " for number in range(60)], delay=0.05)
        if "broken off" in message:
            return llm.Cut("The beginning of it")
        if "at length" in message:
            return llm.Reply("The beginning of it", finish="length")
        if "fail" in message and self.replies % 2:
            return llm.Status(400, "the model is unwell")
        return llm.Reply(f"Answer {self.replies} to: {message}")


class HeldRoute:
    """Holds the requests of a page until they are released."""

    def __init__(self, page: Page, pattern: str) -> None:
        self.routes, self.released = list[Route](), False
        page.route(pattern, self.handle)

    def handle(self, route: Route) -> None:
        if self.released:
            route.continue_()
        else:
            self.routes.append(route)

    def release(self) -> None:
        self.released = True
        for route in self.routes:
            route.continue_()


def module(name: str, script: str = "app.js") -> str:
    """Return an expression of JavaScript for a module of the page, which is in a script."""
    start = "document.querySelector('[type=module]').src"
    return f"(await import(new URL('{script}', {start})), (await import({start})).modules['{name}'])"


def visit(page: Page, url: str, bank: str) -> None:
    """Open a bank whose character has no greeting."""
    bank_url = f"{url}/api/v1/banks/{bank}"
    web.put(bank_url).raise_for_status()
    web.patch(f"{bank_url}/character", json={"greeting": ""}).raise_for_status()
    page.goto(f"{url}/#/{bank}")
    page.wait_for_selector("html[data-ready]")


def say(page: Page, text: str) -> None:
    page.fill("#message", text)
    page.keyboard.press("Enter")


def say_and_wait(page: Page, text: str) -> None:
    """Send a message and wait for the reply."""
    replies = page.locator(".from-person ~ .from-character[data-seq]")  # a greeting comes before them
    count = replies.count()
    say(page, text)
    expect(replies).to_have_count(count + 1)


def add_past_lines(url: str, bank: str, *texts: str, session: str = "before") -> None:
    """Add lines that were said in March 2024."""
    lines = [
        {"text": text, "speaker": "Alex", "said_at": f"2024-03-{day:02}T18:20:00+00:00", "session": session}
        for day, text in enumerate(texts, 1)
    ]
    web.post(f"{url}/api/v1/banks/{bank}/lines/batch", json={"lines": lines}).raise_for_status()


def fail_reply(route: Route, kind: str = "unreachable") -> None:
    """Fulfil a request for a reply with an error of a kind, without the browser's own error in the console."""
    document = {"type": f"urn:everthread:{kind}", "detail": "The server is away. Nothing you typed is lost."}
    route.fulfill(
        status=200,
        headers={"content-type": "text/event-stream"},
        body=f"event: error\ndata: {json.dumps(document)}\n\n",
    )


def check_accessibility(page: Page, part: str = "html") -> None:
    """Assert that a part of the page violates no rule of WCAG 2.2, of any level, and no good practice known to axe."""
    rules = ["wcag2a", "wcag2aa", "wcag2aaa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    violations = page.evaluate(
        "([part, options]) => axe.run(part, options).then(results => results.violations)",
        [part, {"runOnly": rules, "resultTypes": ["violations"]}],
    )
    found = [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in violations]
    assert not found, found

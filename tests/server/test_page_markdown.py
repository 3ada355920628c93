"""The Markdown of replies: what is drawn, what is loaded for it, and texts that try to do more."""

from typing import Any

import pytest
from hardship import web
from playwright.sync_api import Page, expect

from server.page_helpers import check_accessibility, module, say_and_wait, visit

TEXT = r"""
# A plan

**Bold**, *italic*, `code`, a [link](https://example.org/a), https://example.org/b,
a second row and 2 * 3 * 4.

### Before Friday

1. bread
   - rye
2. book

- [x] tickets
- [ ] call

> a quote

| Day | Price |
|:--|--:|
| Friday | 89.00 |

```python
def greet(): return "<b>"
```

The area is $A = \pi r^2$; \(x\) costs $5 and $10.

$$
\left(\begin{matrix} a \\ b \\ c \\ d \end{matrix}\right)
$$

![sunset](https://images.example.org/sunset.png)
"""
HOSTILE = [
    "<script>document.title='owned'</script> **x** <img src=x onerror=\"document.title='owned'\">",
    "[a](javascript:document.title='owned') [b](JaVaScRiPt&colon;alert(1)) [c](data:text/html,<script>1</script>)",
    '[d](vbscript:x) [e](/api/v1/banks) [f](//x.invalid/y) <javascript:alert(1)> <https://x.invalid/"onclick=alert(1)>',
    "![p](https://x.invalid/p.png) ![q](data:image/svg+xml,<svg/onload=x>) [![r](https://x.invalid/r)](https://x.invalid)",
    '```"><img/src=x/onerror=alert(1)>\n</code><script>alert(1)</script>\n```',
    r"$\href{javascript:alert(1)}{x}$ $\includegraphics{https://x.invalid/z.png}$ $\htmlStyle{position:fixed}{x}$",
    r"$$\def\a{\a\a}\a$$ $$\rule{9999em}{9999em}$$ $$\kern-500em x$$ $\unknown{$",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |\n\n1. <svg onload=alert(1)>\n\n[x]: javascript:alert(1)\n\n[x]",
    ">" * 5_000 + " deep",
    "- " * 3_000 + "deep",
    "*" * 20_000 + "[" * 20_000,
    r"\(" * 20_000,
    "$$\n" * 9_000 + "`",
    "a_" * 500_000,  # one line of a million characters
]


def add_replies(url: str, bank: str, *texts: str) -> None:
    """Store replies to the same question."""
    for text in texts:
        line = {"text": text, "role": "assistant", "speaker": "Thread", "session": "now"}
        web.post(f"{url}/api/v1/banks/{bank}/lines", json=line).raise_for_status()


def scripts_loaded(page: Page) -> str:
    loaded: str = page.evaluate("performance.getEntriesByType('resource').map(each => each.name).join(' ')")
    return loaded


def test_a_reply_is_set_with_all_of_its_markdown(page: Page, url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.route("https://**", lambda route: pytest.fail(f"requested {route.request.url}"))
    visit(page, url, "marked")
    say_and_wait(page, "A plain question, with a comma.")
    assert "vendor" not in scripts_loaded(page)
    add_replies(url, "marked", TEXT)
    page.reload()
    reply = page.locator(".from-character .markdown").last
    for selector, text in {
        "h2": "A plan",
        "h3.level-3": "Before Friday",
        "strong": "Bold",
        "p em": "italic",
        "p code": "code",
        "ol ul li": "rye",
        "blockquote": "a quote",
        "td.align-right": "89.00",
        "figcaption span": "python",
        "pre .hljs-keyword": "def",
        "pre .hljs-string": '"<b>"',
    }.items():
        expect(reply.locator(selector).first).to_have_text(text)
    expect(reply.locator("p").first).to_contain_text("a second row and 2 * 3 * 4.")
    assert reply.get_by_role("checkbox").evaluate_all("all => all.map(each => each.checked)") == [True, False]
    expect(reply.locator(".katex")).to_have_count(3)
    expect(reply.locator("p", has_text="costs")).to_contain_text("costs $5 and $10.")
    links = reply.locator("a")
    assert links.evaluate_all("all => all.map(each => [each.href, each.rel, each.target])") == [
        [f"https://{target}", "noopener noreferrer nofollow", "_blank"]
        for target in ("example.org/a", "example.org/b", "images.example.org/sunset.png")
    ]
    expect(links.last).to_have_text("sunset (images.example.org)")
    reply.get_by_role("button", name="Copy python code").click()
    expect(reply.get_by_role("button", name="Copy python code")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == 'def greet(): return "<b>"\n'
    page.get_by_role("button", name="Copy message").last.click()
    expect(page.locator("#notices")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == TEXT
    check_accessibility(page)
    assert page.locator("#lines").evaluate("box => box.scrollWidth <= box.clientWidth")


def test_hostile_replies_do_nothing(page: Page, url: str) -> None:
    requested = list[str]()
    page.on("request", lambda request: requested.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    visit(page, url, "hostile")
    add_replies(url, "hostile", *HOSTILE)
    page.reload()
    expect(page.locator(".from-character .markdown")).to_have_count(len(HOSTILE))
    expect(page.locator(".katex").first).to_be_visible()
    page.get_by_role("button", name="Show all").last.click()
    page.wait_for_load_state("networkidle")
    bad: list[Any] = page.locator("#lines").evaluate(
        "box => [...box.querySelectorAll('*')].filter(each => /^(img|script|iframe|style|form)$/i.test(each.tagName)"
        " || [...each.attributes].some(({ name }) => /^on/i.test(name))"
        " || each.href && !/^(https?|mailto):/.test(each.href)).map(each => each.outerHTML)"
    )
    assert bad == []
    sizes: list[float] = page.locator("#lines .markdown").evaluate_all("all => all.map(each => each.clientWidth)")
    assert max(sizes) <= 640
    assert page.title() != "owned"
    assert all(each.startswith((url, "blob:")) for each in requested)
    say_and_wait(page, f"Say this again: {HOSTILE[0]} {HOSTILE[1]}")  # and while it arrives
    assert page.title() != "owned"
    assert page.locator("#lines :is(img, script, a[href^='javascript'])").count() == 0


def test_a_growing_reply_keeps_its_finished_blocks_and_ends_like_a_whole_one(page: Page, url: str) -> None:
    visit(page, url, "growing")
    grown = page.evaluate(
        f"async (text) => {{ const {{ MarkdownStream, renderMarkdown }} = {module('markdown.js')};"
        """
            renderMarkdown("**load** `it`\\n```python\\n1\\n```\\n$x$");
            while (!globalThis.katex) await new Promise((done) => setTimeout(done, 20));
            const stream = new MarkdownStream(), firsts = new Set(), unsettled = [];
            for (const piece of text.repeat(8).match(/[^]{1,7}/g)) {
                stream.appendData(piece);
                stream.draw();
                if (stream.settledChars) firsts.add(stream.element.firstElementChild);
                unsettled.push(stream.data.length - stream.settledChars);
            }
            const prose = new MarkdownStream();
            prose.appendData("One.\\n\\nTw");
            prose.draw();
            const [one] = prose.element.children;
            prose.appendData("o,\\nin two rows.\\n\\nThree **bold**.");
            prose.draw();
            const kept = [...prose.element.children];
            const whole = renderMarkdown(text.repeat(8)), plain = (box) => box.textContent.replace(/\\s+/g, "");
            return [kept[0] === one && kept.map((each) => each.textContent), firsts.size,
                Math.max(...unsettled), plain(stream.element) === plain(whole),
                stream.element.querySelectorAll("td").length, whole.querySelectorAll("td").length];
        }""",
        TEXT,
    )
    prose, first_elements, max_unsettled, same, *cells = grown
    assert prose == ["One.", "Two,\nin two rows.", "Three bold."]
    assert first_elements == 1
    assert max_unsettled < 150  # characters that are drawn again with each piece, of 6,000
    assert same
    assert cells == [16, 16]

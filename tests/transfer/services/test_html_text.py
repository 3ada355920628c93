from __future__ import annotations

import pytest

from everthread.transfer.services.html_text import html_to_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain", "plain"),
        ("<p>Tea &amp; cake &lt;3 caf&#233;</p>", "Tea & cake <3 café"),
        ("<p>One</p>\n<p>Two<br>Three</p>", "One\n\nTwo\nThree"),
        ("<ul>\n <li>one</li>\n <li>two <b>and</b> more</li></ul>", "- one\n- two and more"),
        ("<pre>def f():\n    return 1\n</pre>after", "def f():\n    return 1\n\nafter"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a\tb\nc"),
        ("<head><title>x</title></head><script>alert(1)</script>shown<style>p {}</style>", "shown"),
        ("1 < 2 and <b>unclosed", "1 < 2 and unclosed"),
        ("a <i> b </i> c", "a b c"),
        ("", ""),
    ],
)
def test_html_becomes_the_text_that_a_browser_shows(html: str, text: str) -> None:
    assert html_to_text(html) == text


def test_a_cut_tag_of_any_length_does_not_fail() -> None:
    html = "<p>Hello <a href='x'>you</a> &amp; me</p><pre>x</pre>"
    for end in range(len(html)):
        assert html_to_text(html[:end]) is not None
    assert html_to_text("<div>" * 10_000 + "deep") == "deep"

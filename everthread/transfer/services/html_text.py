"""Turns HTML into plain text, as a browser would show it without styles."""

from __future__ import annotations

from html.parser import HTMLParser

_BLOCKS = frozenset(
    "address article aside blockquote dd div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre "
    "section table tr ul".split()
)
_SPACED = frozenset(("p", "pre", "blockquote", "table", "h1", "h2", "h3", "h4", "h5", "h6"))  # have a blank line around
_HIDDEN = frozenset(("script", "style", "template", "title", "head"))  # their content is not shown


def html_to_text(html: str) -> str:
    """Return the text of HTML: a line for each block, a blank line between paragraphs, "- " before entries of lists."""
    parser = _TextParser()
    parser.feed(html)
    parser.close()
    return parser.text()


class _TextParser(HTMLParser):
    """Collects the shown text. White space is collapsed as in a browser, except in `pre`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._breaks = 0  # line breaks due before the next text
        self._hidden = 0  # open elements whose content is not shown
        self._verbatim = 0  # open `pre` elements

    def text(self) -> str:
        return "".join(self._parts).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        self._verbatim += tag == "pre"
        if tag == "br":
            self._parts.append("\n")
        elif tag in ("td", "th"):
            self._add_space("\t")
        elif tag in _BLOCKS:
            self._break(tag)
        if tag == "li":
            self._add("- ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self._parts.append("\n")
        elif tag in _BLOCKS:
            self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        if tag == "pre":
            self._verbatim = max(0, self._verbatim - 1)
        if tag in _BLOCKS:
            self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._verbatim:
            self._add(data.strip("\n"))
            return
        words = " ".join(data.split())
        if data[:1].isspace():
            self._add_space(" ")
        if words:
            self._add(words)
            if data[-1:].isspace():
                self._parts.append(" ")

    def _break(self, tag: str) -> None:
        self._breaks = max(self._breaks, 2 if tag in _SPACED else 1)

    def _add(self, text: str) -> None:
        if self._breaks and self._parts:
            while self._parts and self._parts[-1] == " ":
                self._parts.pop()
            self._parts.append("\n" * self._breaks)
        self._breaks = 0
        self._parts.append(text)

    def _add_space(self, space: str) -> None:
        if not self._breaks and self._parts and not self._parts[-1].endswith((" ", "\n", "\t")):
            self._parts.append(space)

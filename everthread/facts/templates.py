"""Expands the templates of a grammar into regular expressions, and relaxes them. Pure; `grammar` has the macros."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from everthread.text.word_lists import alternation

MAX_LISTED = 6  # values of one slot
NEVER = "(?!)"  # a regular expression that never matches

Template: TypeAlias = str | Sequence[str]  # a list is an alternation

SLOT = re.compile(r"\{([a-z_]+)(?::([a-z_]+)([*+]?))?\}")
TOKEN = re.compile(
    r"""
    \{(?P<macro>[a-z_]+)(?::(?P<of_slot>[a-z_]+)[*+]?)?\}
    | (?P<quantifier>[?*+]|\{(?:\d*,)?\d*\})[?+]?
    | (?P<condition>\(\?(?:<?[=!]|P=|\(\w+\)))
    | (?P<open>\((?:\?(?:P<\w+>|>|[a-zA-Z-]*:))?)
    | (?P<close>\))
    | (?P<bar>\|)
    | (?P<letters>[^\W\d_]+)
    | \[\^?\]?(?:\\.|[^\]\\])*+\]?
    | \\(?:x..|u....|U........|.)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WRITTEN = {" ": r"(?>\s+)", "'": "['’]?", "’": "['’]"}
_WRITTEN_MARK = re.compile("[ '’]")


class Templates:
    """Expands templates with the same macros.

    Args:
        macros: the template of each macro.
    """

    def __init__(self, macros: Mapping[str, Template]) -> None:
        self.macros = macros
        self._expanded: dict[str, str] = {}

    def expand(self, template: Template) -> str:
        """Return the regular expression of a template."""
        if not isinstance(template, str):
            return alternation(map(self.expand, template)) if template else NEVER
        pieces, end = [], 0
        for match in SLOT.finditer(template):
            pieces += [_write(template[end : match.start()]), self._expand_slot(*match.groups())]
            end = match.end()
        return "".join([*pieces, _write(template[end:])])

    def expand_macro(self, name: str) -> str:
        """Return the regular expression of a macro."""
        if name not in self._expanded:
            self._expanded[name] = f"(?:{self.expand(self.macros[name])})"
        return self._expanded[name]

    def _expand_slot(self, name: str, macro_name: str | None, star: str | None) -> str:
        macro = self.expand_macro(macro_name or name)
        if star:
            between, last = self.expand_macro("separator"), self.expand_macro("last_separator")
            macro = (
                f"{macro}(?:(?:{between}{macro}){{0,{MAX_LISTED - 2}}}{last}{macro})?"
                if star == "*"
                else f"{macro}(?:(?:{last}|{between}){macro}){{0,{MAX_LISTED - 1}}}"
            )
        return f"(?P<{name}>{macro})" if macro_name else macro


def relax(template: Template) -> Template:
    """Return a template without the conditions of another, which matches wherever that one matches.

    Conditions (lookarounds) hold the longest lists of words: relaxed, the forms of English are compiled in a third of
    the time. Without conditions an atomic group may match too much, so that it becomes a common one.
    """
    if isinstance(template, str):
        return "".join(_relax(TOKEN.finditer(template)))
    return ["".join(_relax(TOKEN.finditer(each))) for each in template]


def _relax(tokens: Iterator[re.Match[str]]) -> Iterator[str]:
    depth = 0  # of groups in a condition
    for token in tokens:
        kind, text = token.lastgroup, token[0]
        if depth:
            depth += (kind in ("condition", "open")) - (kind == "close")
        elif text == "(?>" or text.startswith("(?("):
            yield "(?:"
        elif kind == "condition" and text != "(?P=":
            depth = 1
        elif token["of_slot"]:
            yield text.replace("*", "+")  # which is shorter, and allows more
        elif kind == "quantifier" and len(text) > 1:
            yield text.removesuffix("+")
        else:
            yield text


def _write(literal: str) -> str:
    return _WRITTEN_MARK.sub(lambda mark: _WRITTEN[mark[0]], literal)

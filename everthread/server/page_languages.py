"""The words of the page, in a file for each language, and the choice of a language for a request.

The page imports its words as a module whose content depends on the request, so that they arrive with its scripts and
not after them. A person's choice is stored in a cookie; without one, the browser's languages decide.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from everthread.config import LANGUAGES

FOLDER = Path(__file__).parent / "static" / "languages"
DEFAULT_LANGUAGE = "en"
COOKIE = "everthread-language"
PLACEHOLDER = re.compile(r"\{\{([a-z_.]+)\}\}")

Text = str | Mapping[str, str]  # its plural forms, by the categories of Intl.PluralRules


@dataclass(frozen=True, slots=True)
class Language:
    """The words of a language.

    Attributes:
        code: its ISO 639 code.
        texts: by key (`table.name`).
    """

    code: str
    texts: Mapping[str, Text]

    @classmethod
    def read(cls, path: Path) -> Language:
        """Read a file that is named after its language."""
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        texts = {f"{table}.{name}": text for table, names in tables.items() for name, text in names.items()}
        return cls(path.stem, {"language.code": path.stem, **texts})

    def fill(self, template: str, escape: Callable[[str], str]) -> str:
        """Replace each `{{key}}` of a template.

        Args:
            template: HTML or JSON.
            escape: makes a text safe in it.

        Raises:
            KeyError: the language has no such text.
        """
        return PLACEHOLDER.sub(lambda match: escape(str(self.texts[match[1]])), template)

    def on_server(self) -> Language:
        """Return the language with texts that say "on this server" where others say "on this machine"."""
        return replace(self, texts={key: self.texts.get(f"{key}_on_server", text) for key, text in self.texts.items()})

    def module(self, languages: Mapping[str, Language]) -> str:
        """Return the words as a JavaScript module, with the names of all languages."""
        names = {code: other.texts["language.name"] for code, other in languages.items()}
        parts = {"language": self.code, "languages": names, "words": self.texts}
        return "".join(
            f"export const {name} = {json.dumps(part, ensure_ascii=False)};\n" for name, part in parts.items()
        )


def escape_json(text: str) -> str:
    """Return a text as it is written between the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def read_languages() -> dict[str, Language]:
    """Read the page's languages, by their codes in alphabetical order."""
    return {path.stem: Language.read(path) for path in sorted(FOLDER.glob("*.toml"))}


def choose_language(request: Request, codes: Mapping[str, object]) -> str:
    """Return the code of the language that the person chose, else of the first one that the browser accepts."""
    chosen = request.cookies.get(COOKIE, "")
    accepted = parse_accept_language(request.headers.get("accept-language", ""))
    return next((code for code in (chosen, *accepted) if code in codes), DEFAULT_LANGUAGE)


def _choose_for_response(request: Request) -> str:
    """Choose the language of a response's texts for people, as `choose_language` does for the page."""
    return choose_language(request, dict.fromkeys(LANGUAGES))


ResponseLanguage = Annotated[str, Depends(_choose_for_response)]


def parse_accept_language(header: str) -> list[str]:
    """Return the languages of an Accept-Language header without their regions, the preferred ones first."""
    weights = dict[str, float]()
    for item in header.split(","):
        tag, _, weight = item.replace(" ", "").lower().partition(";q=")
        code = tag.partition("-")[0]
        weights[code] = max(_parse_weight(weight), weights.get(code, 0))
    return sorted((code for code, weight in weights.items() if weight > 0), key=lambda code: -weights[code])


def _parse_weight(text: str) -> float:
    """Parse a quality value (RFC 9110); 1 without one, 0 for an invalid one."""
    if not text:
        return 1
    return float(text) if re.fullmatch(r"[01](\.\d{1,3})?", text, re.ASCII) else 0

"""Loads the words of a language, and fills in names, numbers and dates as the language writes them.

All languages have the same texts under the same keys (`table.name`), with the same placeholders. A text that depends on
`number` has a form for one and a form for other numbers, unless the language makes no difference.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from everthread.common.once import once
from everthread.config import LANGUAGES
from everthread.errors import BadInput
from everthread.text.relative_time import measure_distance

Text = str | Mapping[str, str]  # its plural forms, "one" and "other"
FOLDER = Path(__file__).parent
DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language. Calling it returns a text.

        words = load_wording("de")
        words("terminal.lines", number=3)  # "3 Zeilen"

    Attributes:
        language: the language's code.
        texts: the texts of each table, by name.
        months: the names of the months.
        first_day: how the first day of a month is written.
        thousands, decimal: the separators in a number.
        space: what separates two sentences.
        singular: the numbers that need the singular.
    """

    language: str
    texts: Mapping[str, Mapping[str, Text]]
    months: Sequence[str]
    first_day: str
    thousands: str
    decimal: str
    space: str
    singular: Sequence[int]

    def __call__(self, key: str, /, **values: object) -> str:
        """Return a text with its placeholders filled.

        Args:
            key: the table and the name of the text.
            values: what the placeholders stand for. `number` also chooses between singular and plural.

        Raises:
            KeyError: the language has no such text, or a value is missing.
        """
        table, _, name = key.partition(".")
        text, number = self.texts[table][name], values.get("number")
        if not isinstance(text, str):
            text = text["one" if number in self.singular and "one" in text else "other"]
        if isinstance(number, int):
            values["number"] = self.number(number)
        return text.format(**values)

    def number(self, number: float, digits: int = 0) -> str:
        """Write a number with this many digits after the point."""
        separators = {",": self.thousands, ".": self.decimal}
        return "".join(separators.get(char, char) for char in f"{number:,.{digits}f}")

    def date(self, day: date) -> str:
        """Write the date of a day."""
        number = self.first_day if day.day == 1 else str(day.day)
        return self("time.date", day=number, month=self.months[day.month - 1], year=day.year)

    def moment(self, at: datetime) -> str:
        """Write a date and the time of day, on the clock of `at`."""
        return self("time.moment", date=self.date(at), time=f"{at:%H:%M}")

    def join(self, items: Sequence[str]) -> str:
        """Write a list: "a, b and c"."""
        if len(items) < 2:
            return "".join(items)
        return self("time.and", first=self("time.comma").join(items[:-1]), last=items[-1])

    def paragraph(self, *sentences: str) -> str:
        """Write sentences one after another, without the empty ones."""
        return self.space.join(filter(None, sentences))

    def distance(self, then: datetime, now: datetime) -> str:
        """Write how long ago a time was, or how far ahead it is.

        Raises:
            BadInput: one of the two times has no time zone.
        """
        distance = measure_distance(then, now)
        if distance.unit in ("now", "yesterday", "tomorrow"):
            return self(f"time.{distance.unit}")
        duration = self(f"time.{distance.unit}", number=distance.number)
        return self("time.ago" if distance.is_past else "time.ahead", duration=duration)


@once
def load_wording(language: str = DEFAULT_LANGUAGE) -> Wording:
    """Load the words of a language.

    Raises:
        BadInput: the language is unknown.
    """
    if language not in LANGUAGES:
        raise BadInput(f"invalid language: got {language[:20]!r}, expected one of {', '.join(LANGUAGES)}")
    texts: dict[str, Any] = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return Wording(language, texts, **texts.pop("format"))

"""The styles of transcripts in which messages begin in another way than `Name: text`, such as

    2024-05-06 18:05 Ann: hi        Ann (18:05): hi        [18:05] <Ann> hi
    **Ann:** hi                     ## Prompt:             You said:

The first messages of a file show its style. A style rewrites the beginning of a message as `[time] Name: text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from everthread.transfer.dates import looks_like_date, parse_moment
from everthread.types import Role

Style = Callable[[str], str | None]  # returns the line as `[time] Name: text`; None for one that begins no message

PERSONS = frozenset(("you", "user", "human", "me"))
ASSISTANTS = frozenset(("assistant", "ai", "ai assistant", "bot", "chatbot", "chatgpt"))  # in any transcript
SERVICES = frozenset(("claude", "gemini", "grok", "copilot", "deepseek", "perplexity", "le chat"))
ROLE_OF = {"prompt": "User", "response": "Assistant", "question": "User", "answer": "Assistant"}  # names in headings
MAX_HEAD_LINES = 200  # with words, in which the first message is looked for

_NAME = r"(?P<name>[^:：\[\]<>()*#]{1,40}?)"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?(?:Z|[+-]\d{2}:?\d{2})?"
_STAMP_BEFORE = re.compile(
    rf"\(?(?P<stamp>[\d./-]{{8,10}}(?:T|,?\s){_CLOCK})\)?,?\s(?:[-–|]\s)?{_NAME}:\s+(?P<text>\S.*)", re.IGNORECASE
)
_STAMP_AFTER = re.compile(
    rf"{_NAME}\s[\[(](?P<stamp>(?:[\d./-]{{8,10}}(?:T|,?\s))?{_CLOCK})[\])]:?\s*(?P<text>.*)", re.IGNORECASE
)
_ANGLE = re.compile(r"(?:\[(?P<stamp>[^\]]{3,60})\]\s?)?<[ @+%&~]?(?P<name>[^<>\s]{1,40})>\s(?P<text>.*)")
_BOLD = re.compile(rf"(?P<mark>\*\*|__){_NAME}(?::(?P=mark)|(?P=mark):)\s*(?P<text>.*)")
_HEADING = re.compile(rf"#{{1,6}}\s+(?:\*\*)?{_NAME}:?(?:\*\*)?:?")
_SAID = re.compile(rf"(?:#{{1,6}}\s+)?{_NAME} said:?")


def find_style(lines: Iterable[str]) -> Style | None:
    """Return the style of a transcript; None for another text.

    Args:
        lines: its first lines with words.
    """
    head = list(lines)
    for style in (rewrite_heading, rewrite_said):
        if any(map(style, head)):
            return style
    for line in head:
        for style in (rewrite_stamp_before, rewrite_stamp_after, rewrite_angle):
            if style(line):
                return style
    return _find_bold(head)


def find_role(name: str, in_style: bool) -> Role:
    """Return the role of a speaker with the name of a role or, in a style of services, with that of a service."""
    known = name.casefold()
    is_assistant = known in ASSISTANTS or (in_style and known in SERVICES)
    return "assistant" if is_assistant else "system" if known == "system" else "user"


def rewrite_stamp_before(line: str) -> str | None:
    """Rewrite `2024-05-06 18:05 Ann: hi`."""
    match = _STAMP_BEFORE.fullmatch(line)
    return _join(match) if match and _is_date(match["stamp"]) else None


def rewrite_stamp_after(line: str) -> str | None:
    """Rewrite `Ann (18:05): hi`."""
    match = _STAMP_AFTER.fullmatch(line)
    return _join(match) if match else None


def rewrite_angle(line: str) -> str | None:
    """Rewrite `[18:05] <Ann> hi`."""
    match = _ANGLE.fullmatch(line)
    return _join(match) if match else None


def rewrite_heading(line: str) -> str | None:
    """Rewrite `## Prompt:`, as tools that save the pages of services write it."""
    match = _HEADING.fullmatch(line)
    name = ROLE_OF.get(match["name"].casefold(), match["name"]) if match else ""
    return f"{name}:" if _is_role(name) else None


def rewrite_said(line: str) -> str | None:
    """Rewrite `You said:`, which is in the copied text of a service's page."""
    match = _SAID.fullmatch(line)
    return f"{match['name']}:" if match and _is_role(match["name"]) else None


def _find_bold(head: Sequence[str]) -> Style | None:
    """Return the style of `**Ann:** hi`, in which the first two names are the speakers; None without them."""
    names = [match["name"] for line in head if (match := _BOLD.fullmatch(line))]
    roles = [name for name in names if _is_role(name)]
    speakers = set(roles or list(dict.fromkeys(names))[:2])

    def rewrite_bold(line: str) -> str | None:
        match = _BOLD.fullmatch(line)
        return f"{match['name']}: {match['text']}" if match and match["name"] in speakers else None

    return rewrite_bold if speakers else None


def _is_role(name: str) -> bool:
    return name.casefold() in PERSONS | ASSISTANTS | SERVICES


def _is_date(stamp: str) -> bool:
    """Return whether a stamp is a date; also an ambiguous one, which is refused when it is read."""
    try:
        parse_moment(stamp)
    except ValueError:
        return looks_like_date(stamp)
    return True


def _join(match: re.Match[str]) -> str:
    stamp = f"[{match['stamp']}] " if match["stamp"] else ""
    return f"{stamp}{match['name']}: {match['text']}"

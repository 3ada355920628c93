"""The styles of transcripts in which messages begin in another way than `Name: text`, such as

    2024-05-06 18:05 Ann: hi        Ann (18:05): hi        [18:05] <Ann> hi
    **Ann:** hi                     ## Prompt:             You said:

The first messages of a file show its style. A style rewrites the beginning of a message as `[time] Name: text`. Of a
reply in a copied page, `remove_furniture` leaves out what the page shows around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import dropwhile

from everthread.transfer.dates import looks_like_date, parse_moment
from everthread.types import Role

Style = Callable[[str], str | None]  # returns the line as `[time] Name: text`; None for one that begins no message

PERSONS = frozenset(("you", "user", "human", "me", "prompt", "question"))
ASSISTANTS = frozenset(("assistant", "ai", "ai assistant", "bot", "chatbot", "chatgpt"))  # in any transcript
SERVICES = frozenset(("claude", "gemini", "grok", "copilot", "deepseek", "perplexity", "le chat", "response", "answer"))
NAMES = {"prompt": "User", "question": "User", "response": "Assistant", "answer": "Assistant"}
MAX_HEAD_LINES = 200  # with words, in which the first message is looked for

_NAME = r"(?P<name>[^:：\[\]<>()*#]{1,40}?)"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?(?:Z|[+-]\d{2}:?\d{2})?"
_STAMP_BEFORE = re.compile(
    rf"\(?(?P<stamp>[\d./-]{{8,10}}(?:T|,?\s){_CLOCK})\)?,?\s(?:[-–|]\s)?{_NAME}:\s+(?P<text>\S.*)", re.IGNORECASE
)
_STAMP_AFTER = re.compile(
    rf"{_NAME},?\s[\[(](?P<stamp>(?:[\d./-]{{8,10}}(?:T|,?\s))?{_CLOCK})[\])]:?\s*(?P<text>.*)", re.IGNORECASE
)
_ANGLE = re.compile(r"(?:\[(?P<stamp>[^\]]{3,60})\]\s?)?<[ @+%&~]?(?P<name>[^<>\s]{1,40})>\s(?P<text>.*)")
_BOLD = re.compile(rf"(?P<mark>\*\*|__){_NAME}(?::(?P=mark)|(?P=mark):)\s*(?P<text>.*)")
_HEADING = re.compile(rf"#{{1,6}}\s+(?:\*\*)?{_NAME}:?(?:\*\*)?:?(?P<text>)")
_NO_QUOTE = r"[^\s\"“„«]"  # because a quotation after "You said:" is part of a reply
_SAID = re.compile(rf"(?:#{{1,6}}\s+)?{_NAME} said(?::\s*(?P<text>{_NO_QUOTE}.*)?)?")
_WITH_NAMES = (_BOLD, _HEADING, _SAID)
_TIME_UNIT = r"(?:s|m|h|seconds?|minutes?|hours?)"
_THOUGHT = re.compile(
    rf"(?:Thought|Reasoned) for (?:a few|a couple of|(?:less than )?an?|\d+) ?{_TIME_UNIT}(?: \d+ ?{_TIME_UNIT})*"
)
_NOTICE = re.compile(r" (?:is AI and )?can make mistakes\b.{0,100}")  # after the assistant's name
_MIN_LINES = 2  # in a style, in a file with another beginning, such as a title


def find_style(lines: Iterable[str]) -> Style | None:
    """Return the style of a transcript; None for another text.

    Args:
        lines: its first lines with words.
    """
    head = list(lines)
    for style in STYLES_WITH_TIME:
        if any(map(style, head[:1])) or sum(style(line) is not None for line in head) >= _MIN_LINES:
            return style
    speakers = [(pattern, _find_roles(pattern, head)) for pattern in _WITH_NAMES]
    speakers.append((_BOLD, _list_names(_BOLD, head)[:2]))
    return next((partial(rewrite_name, pattern, names) for pattern, names in speakers if len(names) > 1), None)


def find_role(name: str, in_style: bool) -> Role:
    """Return the role of a speaker with the name of a role or, in a style of services, with that of a service."""
    known = name.casefold()
    is_assistant = known in ASSISTANTS or (in_style and known in SERVICES)
    return "assistant" if is_assistant else "system" if known == "system" else "user"


def is_person(name: str) -> bool:
    """Return whether a speaker is called like the person whose chat it is, such as "You" or "Prompt"."""
    return name.casefold() in PERSONS


def remove_furniture(name: str, reply: str) -> str:
    """Return a reply without what a copied page shows around it; a reply that is nothing else is returned as it is.

    That is the assistant's name and how long it thought, at the beginning, and at the end the notice that it can make
    mistakes.
    """
    lines = list(dropwhile(lambda line: line == name or _THOUGHT.fullmatch(line), reply.split("\n")))
    if lines and _NOTICE.fullmatch(lines[-1].removeprefix(name)):
        lines.pop()
    return "\n".join(lines) or reply


def rewrite_stamp_before(line: str) -> str | None:
    """Rewrite `2024-05-06 18:05 Ann: hi`."""
    match = _STAMP_BEFORE.fullmatch(line)
    return _join(match) if match and _is_date(match["stamp"]) else None


def rewrite_stamp_after(line: str) -> str | None:
    """Rewrite `Ann (18:05): hi`, or `Ann, [06.05.2024 18:05]` above what she said, as Telegram copies messages."""
    match = _STAMP_AFTER.fullmatch(line)
    return _join(match) if match else None


def rewrite_angle(line: str) -> str | None:
    """Rewrite `[18:05] <Ann> hi`."""
    match = _ANGLE.fullmatch(line)
    return _join(match) if match else None


STYLES_WITH_TIME: tuple[Style, ...] = (rewrite_stamp_before, rewrite_stamp_after, rewrite_angle)


def rewrite_name(pattern: re.Pattern[str], speakers: Collection[str], line: str) -> str | None:
    """Rewrite `**Ann:** hi`, `## Prompt:` or `You said:`.

    Args:
        pattern: of such a line.
        speakers: the names; others are part of a message.
        line: the line.
    """
    match = pattern.fullmatch(line)
    if match is None or match["name"] not in speakers:
        return None
    return f"{NAMES.get(match['name'].casefold(), match['name'])}: {match['text'] or ''}"


def _find_roles(pattern: re.Pattern[str], head: Sequence[str]) -> list[str]:
    """Return the first names of a person and of an assistant; a later one, such as "Answer", is part of a message."""
    names = _list_names(pattern, head)
    first = (next((name for name in names if name.casefold() in role), "") for role in (PERSONS, ASSISTANTS | SERVICES))
    return [name for name in first if name]


def _list_names(pattern: re.Pattern[str], head: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(match["name"] for line in head if (match := pattern.fullmatch(line))))


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

"""Recognises words of dates and times, and messages that WhatsApp writes in a person's name, as for media left out.

`whatsapp_phrases.toml` lists the phrases by language. Any other message is the person's own, even in angle brackets or
after a mark of direction, which phones also put before numbers.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from everthread.common.once import once

LTR_MARK = "\u200e"  # left-to-right mark, which iPhones put before the messages of WhatsApp
MARKS = LTR_MARK + "\u200f"  # in languages that are written from right to left, the right-to-left mark
MARK = f"[{MARKS}]"  # a pattern

_PHRASES = tomllib.loads(Path(__file__).with_name("whatsapp_phrases.toml").read_text(encoding="utf-8")).values()


def _join_phrases(kind: str) -> str:
    return "|".join(phrase for language in _PHRASES for phrase in language.get(kind, ()))


DAY_PERIOD = f"(?:{_join_phrases('am')}|{_join_phrases('pm')})"  # a pattern
BEFORE_TIME = f"(?:{_join_phrases('before_time')})"  # a pattern, of words between a date and a time
AFTER_DATE = f"(?:{_join_phrases('after_date')})"  # a pattern
AFTER_TIME = f"(?:{_join_phrases('after_time')})"  # a pattern
_MORNING = re.compile(_join_phrases("am"), re.IGNORECASE)
_IPHONE_FILE = r"<[^<>:\n]{1,40}:\s(?P<iphone>\d{8}-[^<>\n]{1,200})>"  # "<attached: 00000012-PHOTO.jpg>"
_ANDROID_FILE = (  # "IMG-20240605-WA0001.jpg (file attached)", or a document under its own name
    r"(?:(?P<android>[A-Z]{3}-\d{8}-WA\d{1,9}\.\w{1,9}) \([^()\n]{1,40}\)|"
    rf"(?P<document>[^\n{MARKS}]{{1,200}}\.\w{{1,9}}) \((?:{_join_phrases('attached')})\))"
)
_FILE = rf"(?:{_IPHONE_FILE}|{_ANDROID_FILE})"
_FILES = re.compile(_FILE, re.IGNORECASE)
_OMITTED = rf"<{MARK}?(?:{_join_phrases('omitted')})>"
_LEFT_OUT = rf"(?:{_join_phrases('left_out')})"
_EDIT_MARK = re.compile(rf"<(?:{_join_phrases('edited')})\.?>", re.IGNORECASE)
_NOTE_BEFORE = re.compile(rf"{MARK}?(?:{_OMITTED}|{_FILE}){MARK}?\n", re.IGNORECASE)  # before a caption
_NOTE_AFTER = re.compile(rf"{MARK}(?:{_LEFT_OUT}|{_IPHONE_FILE})", re.IGNORECASE)


def is_morning(day_period: str) -> bool:
    """Return whether a text that `DAY_PERIOD` matches is a time before noon."""
    return _MORNING.fullmatch(day_period) is not None


def is_system_message(text: str) -> bool:
    """Return whether WhatsApp wrote the message, not the person."""
    return any(pattern.fullmatch(text) for pattern in _compile_system_messages())


def find_files(text: str) -> list[str]:
    """Return the names of the files that were exported with a message."""
    if "<" not in text and " (" not in text:  # for speed
        return []
    return [match["iphone"] or match["android"] or match["document"] for match in _FILES.finditer(text)]


def strip_media_note(text: str) -> str:
    """Return the caption of a picture or a file without the note that names it, or that says it was left out."""
    before = _NOTE_BEFORE.match(text)
    text = text[before.end() :] if before else text
    mark = max(map(text.rfind, MARKS))
    return text[:mark].rstrip() if mark > 0 and _NOTE_AFTER.fullmatch(text, mark) else text


def strip_edit_mark(text: str) -> str:
    """Return the message without the mark of an edited message."""
    begin = text.rfind("<")
    if begin < 0 or not _EDIT_MARK.fullmatch(text, begin):
        return text
    return text[:begin].rstrip().rstrip(MARKS).rstrip()


@once
def _compile_system_messages() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of what WhatsApp writes. Most servers start without ever needing them."""
    return (
        re.compile(
            rf"{MARK}?(?:{_FILE}|{_OMITTED}|{_LEFT_OUT}|(?:{_join_phrases('deleted')})[.。]?)|null|",
            re.IGNORECASE,
        ),
        re.compile(  # only after the mark, because a person may write the same
            rf"{MARK}(?:(?:{_join_phrases('notices')}).*|[^\n]{{1,200}}{MARK}(?:{_LEFT_OUT}|{_FILE}))",
            re.IGNORECASE | re.DOTALL,
        ),
        re.compile(  # "Lease.pdf • 3 pages document omitted", with marks of direction before the numbers and words
            rf"[^\n]{{1,200}}\.\w{{1,9}}(?: • [^\n]{{1,40}})? ?{MARK}(?:{_LEFT_OUT}|{_IPHONE_FILE})", re.IGNORECASE
        ),
    )

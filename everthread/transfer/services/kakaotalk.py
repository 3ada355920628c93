"""KakaoTalk's chats, as its apps for phones and PCs export them in text, in Korean or English.

    Ann 님과 카카오톡 대화
    저장한 날짜 : 2024-05-06 19:00:00

    --------------- 2024년 5월 6일 월요일 ---------------
    [Ann] [오후 6:05] Did you water the plants?

A phone writes a row with its date: `2024년 5월 6일 오후 6:05, Ann : …`, or `2024. 5. 6. 18:05, Ann : …`. KakaoTalk for
Macs writes a table (`table`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from itertools import islice
from pathlib import PurePosixPath

from everthread.transfer.dates import parse_clock, parse_moment
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import DELETED, NO_WORDS, NOTICES, fill_conversation
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_text

ME = "회원님"  # the person, in some exports
_MORNING = "오전"
HEAD_LINES = 4  # of a file, in which the time of the export is
_HEAD_BYTES = 2**11
_SAVED = re.compile(r"저장한 날짜 ?: ?\w.{0,99}")
_SAVED_IN_ENGLISH = re.compile(r"(?:Date Saved|Saved Date) ?: ?\w.{0,99}")
_HEADINGS = ("KakaoTalk ", "Talk_")  # in English; the latter begins the name of a file from an iPhone
_TITLES = (
    re.compile(r"(?P<title>.{1,200}?)\s?님과(?:의)? 카카오톡 대화"),
    re.compile(r"(?P<title>.{1,200}?) 카카오톡 대화"),
    re.compile(r"KakaoTalk Chats with (?P<title>.{1,200})"),
)
_KOREAN_DATE = r"\d{4}년 \d{1,2}월 \d{1,2}일|\d{4}\. ?\d{1,2}\. ?\d{1,2}\."
_ENGLISH_DATE = r"[A-Z][a-z]{2,8} \d{1,2}, \d{4}"
_TIME = r"(?:(?P<before>오전|오후) )?(?P<clock>\d{1,2}:\d{2})(?:\s(?P<after>[AaPp]\.?[Mm]\.?))?"
_PHONE_ROW = re.compile(
    rf"(?P<date>{_KOREAN_DATE}|{_ENGLISH_DATE})(?:,| at)? {_TIME}(?:, (?:(?P<name>.{{1,200}}?) : )?|: |$)(?P<text>.*)"
)
_PC_ROW = re.compile(rf"\[(?P<name>.{{1,200}}?)\] \[{_TIME}\] (?P<text>.*)")
_DAY = re.compile(
    rf"(?:-{{5,}} )?(?:(?P<date>{_KOREAN_DATE}) .요일|[A-Z][a-z]{{5,8}}, (?P<english>{_ENGLISH_DATE}))(?: -{{5,}})?"
)
_NOTICE = re.compile(r".{1,200}님(?:이|을|께서) .{0,200}(?:들어왔|나갔|초대했|초대하였|내보냈)습니다\.?")
_WORDLESS = re.compile(
    r"사진(?: \d{1,3}장)?|동영상|이모티콘|음성메시지|지도: .{1,200}|파일: .{1,200}|"
    r"Photos?(?: \d{1,3})?|Video|Emoticons?|Voice Note|File: .{1,200}"
)
_DELETED = ("삭제된 메시지입니다.", "This message was deleted.")


def recognises(export: Export) -> bool:
    """Return whether there is a chat of KakaoTalk."""
    return any(map(_is_chat, export.named("*.txt")))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a file."""
    for file in filter(_is_chat, export.named("*.txt")):
        title = _find_title(file)
        conversation = Conversation(title, (), title=title, owner=ME)
        yield from fill_conversation(conversation, _read_rows(file, options.tz), _convert_row)


def _is_chat(file: ExportFile) -> bool:
    """Return whether the time of the export is at the beginning of a file, in KakaoTalk's words."""
    head = _read_head(file)
    is_english = head[0].startswith(_HEADINGS) and any(map(_SAVED_IN_ENGLISH.fullmatch, head))
    return is_english or any(map(_SAVED.fullmatch, head))


def _read_head(file: ExportFile) -> list[str]:
    lines = file.read_beginning(_HEAD_BYTES).decode(errors="ignore").split("\n")
    return [line.strip() for line in islice(lines, HEAD_LINES)]


def _find_title(file: ExportFile) -> str:
    """Return the name of the person or the group, from the first row or else from the file's name."""
    first = next(iter(_read_head(file)), "")
    match = next((match for pattern in _TITLES if (match := pattern.fullmatch(first))), None)
    return match["title"] if match else PurePosixPath(file.name).stem


def _read_rows(file: ExportFile, tz: tzinfo) -> Iterator[Record]:
    """Yield each message, with the lines that continue it, and each notice."""
    day: datetime | None = None
    at: datetime | None = None
    name, content = "", list[str]()
    for _, line in file.numbered_lines():
        header, row = _DAY.fullmatch(line), _PHONE_ROW.fullmatch(line) or _PC_ROW.fullmatch(line)
        is_notice = bool(content) and _NOTICE.fullmatch(line) is not None
        if not (header or row or is_notice):
            content += [line] if content else []
            continue
        if content:
            yield {"at": at, "name": name, "text": "\n".join(content)}
        name, content = "", [line] if is_notice else []
        if header:
            day = _parse_date(header["date"] or header["english"], tz)
        elif row:
            day = _parse_date(row["date"], tz) if "date" in row.re.groupindex else day
            at, name, content = _join_time(day, row), row["name"] or "", [row["text"]]
    if content:
        yield {"at": at, "name": name, "text": "\n".join(content)}


def _parse_date(text: str, tz: tzinfo) -> datetime | None:
    """Return the beginning of a day; None if it doesn't exist."""
    try:
        if text[0].isdigit():
            year, month, number = map(int, re.findall(r"\d+", text))
            return datetime(year, month, number, tzinfo=tz)
        return parse_moment(text, tz)
    except ValueError:
        return None


def _join_time(day: datetime | None, row: re.Match[str]) -> datetime | None:
    """Return the time of a row; None without a date, or if it doesn't exist."""
    half = "" if row["before"] is None else "am" if row["before"] == _MORNING else "pm"
    try:
        return parse_clock(f"{row['clock']}{half or row['after'] or ''}", day) if day else None
    except ValueError:
        return None


def _convert_row(row: Record) -> Message | str:
    """Return the message of a row, or the kind of a row that is no message."""
    name, text, at = get_text(row, "name").strip(), get_text(row, "text").strip(), row["at"]
    if not name:
        return NOTICES
    if text in _DELETED:
        return DELETED
    if not text or _WORDLESS.fullmatch(text):
        return NO_WORDS
    return Message(text, "user", name, at if isinstance(at, datetime) else None)

"""LINE's chats, as its apps for phones export them in text: a heading, dates on separate lines, and rows of columns.

LINE for PC writes rows with blanks between the columns, which don't show where a name ends. Such a chat is broken.

[LINE] Chat history with Ann
Saved on: 2024/05/06 18:00

2024/05/06(Mon)
18:05	Ann	Did you water the plants?
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, tzinfo

from everthread.transfer.dates import parse_clock
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import CALLS, NO_WORDS, NOTICES, fill_conversation
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_text
from everthread.transfer.whatsapp_phrases import DAY_PERIOD, is_morning

_MARK = "[LINE]"  # begins the file
# Words before and after the name of the person or the group, in the first row of a file.
_BEFORE_NAME = ("Chat history with ", "Chat history in ", "ประวัติการสนทนากับ ", "ประวัติการแชทกับ ", "与", "與")
_AFTER_NAME = ("とのトーク履歴", "のトーク履歴", "的聊天记录", "的聊天記錄", "님과 나눈 대화", "님과의 대화")
_DATE = re.compile(r"(?P<year>\d{4})[/.](?P<month>\d{1,2})[/.](?P<day>\d{1,2})\s?(?:[(（].{1,20}[)）]|\S{1,20})?")
_ENGLISH_DATE = re.compile(r"[A-Z][a-z]{2}, (?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})")
_ROW = re.compile(
    rf"(?:(?P<before>{DAY_PERIOD})\s?)?(?P<clock>\d{{1,2}}:\d{{2}})\s?(?P<after>{DAY_PERIOD})?\t(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_WORDLESS = re.compile(
    r"\[(?:Photo|Sticker|Video|File|Voice message|Location|Contact|Album|Notes?|Gift|写真|スタンプ|動画|ファイル|"
    r"ボイスメッセージ|位置情報|連絡先|アルバム|ノート|ギフト|照片|圖片|图片|貼圖|贴图|影片|视频|檔案|文件|語音訊息|语音信息|位置訊息|聯絡資訊|相簿|"
    r"記事本|ภาพ|รูป|รูปภาพ|สติกเกอร์|วิดีโอ|ไฟล์|사진|스티커|동영상|파일|음성메시지)\]",
    re.IGNORECASE,
)
_CALL = "☎"
_OF_PC = re.compile(  # a date, and a row with blanks; not the row of a transcript
    r"(?:\[LINE\][^\n]*\n[^\n]*\n\s{0,9})?\d{4}\.\d{2}\.\d{2} [^\n]{1,20}\n\d{2}:\d{2} (?![^\n:]{1,40}:\s)[^\n\t]*\n"
)
_HEAD_BYTES = 2**12


def recognises(export: Export) -> bool:
    """Return whether there is a chat of LINE."""
    return any(_is_chat(file) or _is_of_pc(file) for file in export.named("*.txt"))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a file."""
    for file in export.named("*.txt"):
        if _is_of_pc(file):
            reason = "LINE for PC does not show where a name ends; export the chat with LINE on the phone"
            yield BrokenConversation(file.name, reason)
        elif _is_chat(file):
            yield from _read_chat(file, options.tz)


def _read_chat(file: ExportFile, tz: tzinfo) -> Iterator[Entry]:
    title = _find_title(_read_heading(file))
    rows = ({"at": at, "row": row} for at, row in _read_rows(file, tz))
    return fill_conversation(Conversation(title, (), title=title), rows, _convert_row)


def _is_chat(file: ExportFile) -> bool:
    return file.read_beginning(len(_MARK)) == _MARK.encode()


def _is_of_pc(file: ExportFile) -> bool:
    head = file.read_beginning(_HEAD_BYTES).decode(errors="ignore").replace("\r\n", "\n")
    return _OF_PC.match(head) is not None


def _read_heading(file: ExportFile) -> str:
    return next(line for _, line in file.numbered_lines()).removeprefix(_MARK).strip()


def _find_title(heading: str) -> str:
    """Return the name of the person or the group in the heading of a file."""
    after = next((words for words in _AFTER_NAME if heading.endswith(words)), "")
    before = next((words for words in _BEFORE_NAME if heading.startswith(words)), "")
    return heading.removesuffix(after).removeprefix(before).strip() or heading


def _read_rows(file: ExportFile, tz: tzinfo) -> Iterator[tuple[datetime | None, str]]:
    """Yield the time of each row, and what follows it, with the lines that continue it."""
    day: date | None = None
    at: datetime | None = None
    content: list[str] = []
    for _, line in file.numbered_lines():
        row = _ROW.fullmatch(line)
        is_quoted = bool(content) and _is_open(content)
        header = None if row or is_quoted else _parse_date(line)
        if row is None and header is None:
            if content:
                content.append(line)
            continue
        if content:
            yield at, "\n".join(content)
        day, content = header or day, []
        if row is not None:
            at, content = _join_time(day, row, tz), [row["rest"]]
    if content:
        yield at, "\n".join(content)


def _is_open(content: list[str]) -> bool:
    """Return whether a text in quotation marks, because it has several lines, goes on."""
    text = content[0].partition("\t")[2]
    return text.startswith('"') and not ((len(content) > 1 or len(text) > 1) and content[-1].endswith('"'))


def _parse_date(line: str) -> date | None:
    match = _DATE.fullmatch(line.strip()) or _ENGLISH_DATE.fullmatch(line.strip())
    try:
        return date(int(match["year"]), int(match["month"]), int(match["day"])) if match else None
    except ValueError:
        return None


def _join_time(day: date | None, row: re.Match[str], tz: tzinfo) -> datetime | None:
    """Return the time of a row; None without a date, or if it doesn't exist."""
    period = row["before"] or row["after"]
    hour, _, minute = row["clock"].partition(":")
    hour = "12" if period and int(hour) == 0 else hour
    half = ("am" if is_morning(period) else "pm") if period else ""
    try:
        return parse_clock(f"{hour}:{minute}{half}", datetime(day.year, day.month, day.day, tzinfo=tz)) if day else None
    except ValueError:
        return None


def _convert_row(row: Record) -> Message | str:
    """Return the message of a row, or the kind of a row that is no message."""
    name, found, text = get_text(row, "row").partition("\t")
    text = text.strip()
    if not found or not name.strip():
        return NOTICES
    if len(text) > 1 and text.startswith('"') and text.endswith('"') and "\n" in text:
        text = text[1:-1].replace('""', '"').strip()
    if text.startswith(_CALL):
        return CALLS
    if not text or _WORDLESS.fullmatch(text):
        return NO_WORDS
    at = row["at"]
    return Message(text, "user", name.strip(), at if isinstance(at, datetime) else None)

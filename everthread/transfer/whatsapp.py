r"""WhatsApp's exported chats, from Android and iPhones, as text or as the archive with it:

    [05/06/24, 18:05:22] Ann: Did you water the plants?
    05/06/2024, 6:05 pm - Bob Miller: I did.
    All of them, even the fern.

Dates are read in any language that writes them in digits, before or after the time (`whatsapp_stamps`). Times may have
24 hours, or 12 hours with a day period ("pm", "ÖS", "下午") before or after the clock, in the languages that
`whatsapp_phrases.toml` lists for `am` and `pm`.

A file is detected by its first line. A time in brackets may also begin a transcript, so without a comma it counts as an
export only with a day period before the clock, with seconds and the day or month first, or with a mark of direction,
which iPhones write. Other exports need `--format whatsapp`.

A line that does not begin with a date continues the message before it. So does one whose date or time is impossible, as
of a text from elsewhere that was pasted into a message, unless a quarter of the dates are: then the file is refused.

Two kinds of entries are skipped and counted: messages "without words", such as deleted messages and media left out of
the export, and the "notices" of WhatsApp itself, which name no speaker. A notice looks like a message if it quotes a
group's title that contains a colon. In exports from iPhones, notices have a mark, and as their speaker the group, from
the first line of the file on, or the person with whose name they begin. `whatsapp_phrases` recognises messages without
words, and the notes that name a file before or after its caption, which is the text of the message. The lines of a
single chat get no session, because the bank starts a new one after an hour of silence; each has the title of the chat,
which is the name of the other person or of the group, from the name of the exported file.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from everthread.bank.validation import MAX_TITLE_CHARS
from everthread.errors import BadFile
from everthread.transfer.bank_file import SessionLabel
from everthread.transfer.files import KeyGenerator, check_line, file_error, shorten
from everthread.transfer.services.export import Export, ExportFile, is_archive, open_export
from everthread.transfer.types import DATE_ORDERS
from everthread.transfer.whatsapp_phrases import (
    LTR_MARK,
    MARKS,
    find_files,
    is_system_message,
    strip_edit_mark,
    strip_media_note,
)
from everthread.transfer.whatsapp_stamps import Reading, Stamp, find_reading, is_possible, match_stamp
from everthread.types import NewLine, Role

if TYPE_CHECKING:
    from everthread.transfer.services.lines import Findings

MAX_NAME_CHARS = 200  # the limit of a bank
# Controls of direction that surround names: embeddings, overrides and isolates.
DIRECTIONS = MARKS + "\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NAME_PREFIXES = f" ~\u202f\xa0{DIRECTIONS}"  # before the names of people who are not in the phone's contacts
IPHONE_NAME = "_chat.txt"  # of the file in an iPhone's archive
NAME_MARK = "WhatsApp"  # in the names of the other files, in all languages
ATTACHED = "file-"  # begins the names of attachments in ChatGPT's exports
SERVICE = "whatsapp"
# Stand before the name in the name of an exported file: "WhatsApp Chat - Ann", "WhatsApp-Chat mit Ann".
TITLE_PREPOSITIONS = frozenset(("-", "with", "mit", "con", "avec", "com", "met", "med", "cu", "z", "s", "с", "з", "με"))
QUOTES = '"“”„«»「」'
MAX_EXTRA_WORDS = 2  # words by which a name may extend another name: Ann, Ann from work
MIN_NOTICE_CHARS = 30  # of the notice of encryption, in any language
MIN_MESSAGES_OF_NAME = 3  # a speaker of this many messages is a person, whatever the name
_COPY = re.compile(r" \(\d{1,3}\)$")  # a browser adds it to the name of a file that was downloaded again
_NAME_AND_TEXT = re.compile(r"(?P<name>[^:\n]*):(?=\s|$)(?P<text>.*)", re.DOTALL)


def read(
    path: Path | Sequence[Path],
    *,
    assistant: Collection[str] = (),
    tz: tzinfo = UTC,
    me: str | None = None,
    only: Collection[str] = (),
    date_order: str | None = None,
    skipped: Counter[str] | None = None,
    findings: Findings | None = None,
    left_out: Collection[Path] = (),
    among_others: bool = False,
) -> Iterator[NewLine]:
    """Yield the messages of a chat as lines, or of each chat in an archive, a folder or several of them.

    The key of a message is made from its time, speaker and text. If the time has no seconds, the key also depends on
    the message before it, because two chats may have the same short answer in one minute. Importing a later export of
    the chat therefore adds only new messages. If it begins later, its first message may be added a second time.

    Args:
        path: the file, or the archive or folder with it. Each of several chats is a session.
        assistant: the speakers that are the bot.
        tz: the zone of times.
        me: the name of the person whose export it is, if the names of the chats show which of the speakers that is.
        only: titles or names of the chats to read; without any, all.
        date_order: the order of day, month and year, one of `DATE_ORDERS`; without it, inferred from each chat.
        skipped: filled with the number of skipped entries, by kind.
        findings: filled with the titles of the chats and the speaker whose export it is.
        left_out: files and archives that are not read.
        among_others: whether the paths also have exports of services. Each chat is a session then.

    Raises:
        BadFile: a date is impossible, or the file is not an export.
    """
    skipped = Counter() if skipped is None else skipped
    paths = [path] if isinstance(path, Path) else path
    with ExitStack() as stack:
        chats: list[Chat] = []
        for place in paths:
            if place not in left_out:
                export = stack.enter_context(open_export([place], left_out))
                chats += list_chats(export, place, True) if among_others else _find_chats(export, place)
        is_single = len(chats) == 1 and not among_others
        chats = _choose(chats, only, findings)
        readings = [find_reading(chat.read_stamps(), date_order) for chat in chats]
        speakers = [_Speakers(chat, reading) for chat, reading in zip(chats, readings, strict=True)]
        owner = _find_owner(chats, speakers)
        if findings is not None:
            _note(findings, chats, readings, me or owner if owner else None, is_single)
        names = {owner: me} if me and not any(me in each.names for each in speakers) else {}
        for chat, reading, each in zip(chats, readings, speakers, strict=True):
            session = None if is_single else chat.name
            for line in _read_chat(chat, reading, each, assistant, tz, skipped):
                yield replace(line, session=session, speaker=names.get(line.speaker, line.speaker))


def _find_owner(chats: Sequence[Chat], speakers: Sequence[_Speakers]) -> str | None:
    """Return the speaker who exported the chats: in those with another person's name as title, the one who is left."""
    others = [
        each.names - {chat.title}
        for chat, each in zip(chats, speakers, strict=True)
        if chat.title in each.names and len(each.names) == 2
    ]
    owners = Counter(owner for names in others for owner in names)
    return owners.most_common(1)[0][0] if owners else None


def _choose(chats: list[Chat], only: Collection[str], findings: Findings | None) -> list[Chat]:
    """Return the chats with one of these titles or names; all without any."""
    names = {chat: {text.casefold() for text in (chat.title, chat.name) if text} for chat in chats}
    if findings is not None and only:
        findings.titles |= dict.fromkeys(chat.title or chat.name for chat in chats)
        findings.chosen |= {name for name in only if any(name.casefold() in own for own in names.values())}
    return [chat for chat in chats if not only or any(name.casefold() in names[chat] for name in only)]


def _note(
    findings: Findings, chats: Sequence[Chat], readings: Sequence[Reading], owner: str | None, is_single: bool
) -> None:
    """Note what was found apart from the lines."""
    if SERVICE not in findings.services:
        findings.services.append(SERVICE)
    findings.owners |= Counter([owner] if owner else [])
    for chat, reading in zip(chats, readings, strict=True):
        if reading.ambiguous is not None:
            findings.ambiguous_dates[chat.title or chat.name] = reading.ambiguous
        if title := chat.title:
            findings.sessions["" if is_single else chat.name] = SessionLabel(title, {})


def _read_chat(
    chat: Chat,
    reading: Reading,
    speakers: _Speakers,
    assistant: Collection[str],
    tz: tzinfo,
    skipped: Counter[str],
) -> Iterator[NewLine]:
    """Yield the messages of one chat."""
    keys = KeyGenerator()
    previous: tuple[str, ...] = ()
    for position, (number, stamp, content) in enumerate(chat.read_messages(reading)):
        said_at = _parse_said_at(chat, number, stamp, reading)
        name, full_text = _split_name(content)
        if name not in speakers.names:
            skipped["notices"] += 1
        elif is_system_message(full_text) or _is_marked_notice(name, full_text, speakers.group, is_first=not position):
            skipped["without words"] += 1
        else:
            current = (said_at.isoformat(), name, full_text)  # with the note, which earlier versions stored as text
            key = keys.next_key(*current, *(previous if said_at.second == 0 else ()), timed=True)
            previous = current
            role: Role = "assistant" if name in assistant else "user"
            metadata = {"attachments": files} if (files := find_files(full_text)) else {}
            text = strip_media_note(full_text)
            line = NewLine(text, name, role, said_at.replace(tzinfo=tz), metadata=metadata, key=key)
            yield check_line(line, chat.file.path, chat.file.locate(number))


def is_whatsapp_export(path: Path, left_out: Collection[Path] = ()) -> bool:
    """Return whether a file begins like an export, or an archive or a folder has one that does."""
    with open_export([path], left_out) as export:
        if _has_files(path):
            return bool(_list_chats(export))
        return all(_begins_like_chat(Chat(file)) for file in export.files)


def has_chats(path: Path, left_out: Collection[Path] = ()) -> bool:
    """Return whether there are chats at a path, beside exports of services."""
    with open_export([path], left_out) as export:
        return bool(list_chats(export, path, True))


def list_chats(export: Export, path: Path, among_others: bool) -> list[Chat]:
    """Return the chats at a path.

    Args:
        export: the files at the path.
        path: the path.
        among_others: whether there are exports of services, which may have other texts, such as an attached chat.
    """
    chats = _list_chats(export)
    return [chat for chat in chats if _is_named_as_chat(chat.file)] if among_others and _has_files(path) else chats


def begins_like_chat(file: ExportFile) -> bool:
    """Return whether a file begins like an export; False for one that is not UTF-8."""
    try:
        return _begins_like_chat(Chat(file))
    except BadFile:
        return False


def _is_named_as_chat(file: ExportFile) -> bool:
    """Return whether a file in an archive or a folder has the name that WhatsApp gives it."""
    name = file.name.rpartition("/")[2]
    return name == IPHONE_NAME or (NAME_MARK in name and not name.startswith(ATTACHED))


def _find_chats(export: Export, path: Path) -> list[Chat]:
    """Return the chats at a path; a file that was given alone is taken for one.

    Raises:
        BadFile: an archive or a folder has none.
    """
    if chats := _list_chats(export) if _has_files(path) else [Chat(file) for file in export.files]:
        return chats
    raise file_error(path, "", "no chat of WhatsApp is in it", "give the archive as exported, which has a .txt file")


def _has_files(path: Path) -> bool:
    return path.is_dir() or is_archive(path)


def _list_chats(export: Export) -> list[Chat]:
    """Return the files of an archive or a folder that begin like exports."""
    return [Chat(file) for file in export.named("*.txt") if begins_like_chat(file)]


def _begins_like_chat(chat: Chat) -> bool:
    first = next((line for _, line in chat.file.numbered_lines() if line.strip()), "")
    stamp = match_stamp(first)
    return stamp is not None and (stamp.shows_export or not set(MARKS).isdisjoint(first))


@dataclass(frozen=True, slots=True)
class Chat:
    """A file with a chat."""

    file: ExportFile

    @property
    def name(self) -> str:
        """The name of the file; of an iPhone's, which is always the same, that of its archive or folder."""
        folder, _, name = self.file.name.rpartition("/")
        if name != IPHONE_NAME:
            return name.removesuffix(".txt")[:MAX_NAME_CHARS]
        folder = (
            folder.rpartition("/")[2] or (self.file.path if is_archive(self.file.path) else self.file.path.parent).name
        )
        return (folder.removesuffix(".zip") or name)[:MAX_NAME_CHARS]

    @property
    def title(self) -> str | None:
        """The name of the other person or of the group: "Ann" of "WhatsApp Chat with Ann (1)"."""
        _, found, rest = unicodedata.normalize("NFC", self.name).partition(NAME_MARK)
        words = _COPY.sub("", rest).split(" ")
        end = next((number for number, word in enumerate(words) if word in TITLE_PREPOSITIONS), len(words))
        return " ".join(words[end + 1 :])[:MAX_TITLE_CHARS].strip() or None if found else None

    def read_stamps(self) -> Iterator[Stamp]:
        """Yield the stamps of the lines that have one."""
        return (stamp for _, line in self.file.numbered_lines() if (stamp := match_stamp(line)) is not None)

    def read_messages(self, reading: Reading) -> Iterator[tuple[int, Stamp, str]]:
        """Yield for each message the number and the stamp of its first line, and its name and text with all lines."""
        first_line: tuple[int, Stamp] | None = None
        content: list[str] = []
        for number, line in self.file.numbered_lines():
            stamp = match_stamp(line)
            if stamp is None or not reading.begins_message(stamp):
                if first_line is None and line.strip():
                    what = f"{shorten(line)} is not the beginning of a message"
                    raise file_error(self.file.path, self.file.locate(number), what, "give the file as exported")
                content.append(line)
                continue
            if first_line is not None:
                yield *first_line, "\n".join(content)
            first_line, content = (number, stamp), [stamp.content]
        if first_line is not None:
            yield *first_line, "\n".join(content)


def _split_name(content: str) -> tuple[str, str]:
    """Return the name and the text of a message; an empty name for a notice."""
    parts = _NAME_AND_TEXT.fullmatch(content)
    if parts is None:
        return "", ""
    return parts["name"].strip(NAME_PREFIXES), strip_edit_mark(parts["text"].strip(" \n"))


def _is_marked_notice(name: str, text: str, group: str | None, is_first: bool) -> bool:
    """Return whether a message is an iPhone's notice, under the name of the group, or of the person it is about.

    The first message of a chat is usually the notice of its encryption, in the language of the phone.
    """
    is_sentence = len(text) >= MIN_NOTICE_CHARS and not {":", "\n"} & set(text)  # no poll, and no place
    is_about = name == group or text.lstrip(NAME_PREFIXES).startswith(f"{name} ")
    return text.startswith(tuple(MARKS)) and (is_about or (is_first and is_sentence))


class _Speakers:
    """The speakers of a chat. The whole file is needed to distinguish a notice with a colon from a message.

    Attributes:
        names: the names of the speakers.
        group: the name under which an iPhone writes notices, if there is one.
    """

    def __init__(self, chat: Chat, reading: Reading) -> None:
        counts = Counter[str]()
        marked: str | None = None
        for _, _, content in chat.read_messages(reading):
            name, text = _split_name(content)
            if not counts:
                marked = name if text.startswith(LTR_MARK) else None
            elif name == marked and not text.startswith(LTR_MARK):
                marked = None
            counts[name] += 1
        self.group = marked  # the name of the first line, if all its messages are notices
        possible = {name for name in counts if name and not _has_open_quote(name) and len(name) <= MAX_NAME_CHARS}
        self.names = {
            name for name in possible if counts[name] >= MIN_MESSAGES_OF_NAME or not _describes_action(name, possible)
        }


def _has_open_quote(name: str) -> bool:
    """Return whether a quotation begins in a name and does not end."""
    return sum(map(name.count, QUOTES)) % 2 == 1


def _describes_action(name: str, names: Collection[str]) -> bool:
    """Return whether a name is a sentence about one of these speakers, such as "Ann changed the title to Trip"."""
    words = name.split(" ")
    beginnings = (" ".join(words[:count]) for count in range(1, len(words) - MAX_EXTRA_WORDS))
    return any(beginning in names for beginning in beginnings)


def _parse_said_at(chat: Chat, number: int, stamp: Stamp, reading: Reading) -> datetime:
    """Return the local time of a message."""
    try:
        said_at = reading.parse(stamp)
    except ValueError:
        order = DATE_ORDERS[reading.order]
        what = f"invalid time: {shorten(stamp.date)}, {shorten(stamp.time)}, read with the {order} first"
        raise file_error(
            chat.file.path, chat.file.locate(number), what, "correct the date: the whole file must be in one order"
        ) from None
    if not is_possible(said_at.date()):
        what = f"{shorten(stamp.date)} would be a day of {said_at.year}, so it is of another calendar"
        remedy = "choose the Gregorian calendar in the phone's settings, and export the chat again"
        raise file_error(chat.file.path, chat.file.locate(number), what, remedy)
    return said_at

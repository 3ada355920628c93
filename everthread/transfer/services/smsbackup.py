"""Text messages of Android phones, as the app SMS Backup & Restore writes them in XML.

The app writes a character such as 😀 as two references to halves of it, which no parser of XML accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from everthread.transfer.files import file_error
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import NO_WORDS, Collector, drop_empty
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_records, get_text, parse_epoch
from everthread.transfer.services.message_spool import SpoolFile
from everthread.types import JSONValue

ME = "Me"  # the owner, who is not named
NOT_SENT = "messages that were not sent"
HEAD_BYTES = 4096  # in which the first element is

_RECEIVED, _SENT = "1", "2"
_NO_NAMES = ("", "null", "(Unknown)")
_SENDER = "137"  # the type of the address from which a message with parts came
_MIN_DIGITS = 8  # of a phone number, by which it is known with or without its country
_REFERENCE = re.compile(r"&#(\d{5});&#(\d{5});|&#(\d{1,7});")


def recognises(export: Export) -> bool:
    """Return whether there is a backup of text messages."""
    return any(map(_is_backup, export.named("*.xml")))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations of all backups, each with the messages of all files.

    Raises:
        BadFile: a file is not XML.
    """
    spool = SpoolFile()
    chats: dict[str, Collector] = {}
    titles: dict[str, str] = {}
    for file in filter(_is_backup, export.named("*.xml")):
        for element in _read_messages(file):
            row = {**element.attrib, "tag": element.tag, "parts": _list_attributes(element, "part")}
            row["addrs"] = _list_attributes(element, "addr")
            chat = "~".join(sorted(map(_shorten_number, get_text(row, "address").split("~"))))
            title = get_text(row, "contact_name")
            titles[chat] = title if title not in _NO_NAMES else titles.get(chat, get_text(row, "address"))
            chats.setdefault(chat, Collector(may_be_reversed=True, file=spool)).add(row, _convert_row)
    for chat, collector in chats.items():
        yield from collector.fill(Conversation(chat, (), title=titles[chat] or None, owner=ME))


def _is_backup(file: ExportFile) -> bool:
    return b"<smses" in file.read_beginning(HEAD_BYTES)


def _read_messages(file: ExportFile) -> Iterator[Element]:
    """Yield the messages of a file. Raises BadFile if it is not XML."""
    parser: XMLPullParser[Any] = XMLPullParser(["start", "end"])
    root: Element | None = None
    with file.open() as opened:
        try:
            for line in opened:
                parser.feed(_REFERENCE.sub(_repair_reference, line.decode()))
                for event, element in cast("Iterator[tuple[str, Element]]", parser.read_events()):
                    root = element if root is None else root
                    if event == "end" and element.tag in ("sms", "mms"):
                        yield element
                        root.clear()
            parser.close()
        except (ParseError, UnicodeDecodeError) as error:
            raise file_error(file.path, "", f"not XML ({error})", "make or download the backup again") from None


def _repair_reference(match: re.Match[str]) -> str:
    """Return the character of two references to its halves, or the reference to a character that XML has."""
    numbers = [int(number) for number in match.groups() if number]
    if len(numbers) == 2 and 0xD800 <= numbers[0] < 0xDC00 <= numbers[1] < 0xE000:
        return chr(0x10000 + ((numbers[0] - 0xD800) << 10) + numbers[1] - 0xDC00)
    parts = (f"&#{number};" if _is_in_xml(number) else " " for number in numbers)
    return "".join(parts)


def _is_in_xml(number: int) -> bool:
    return number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xE000 <= number < 0xFFFE or 0x10000 <= number < 0x110000


def _list_attributes(element: Element, tag: str) -> list[dict[str, str]]:
    return [dict(inner.attrib) for inner in element.iter(tag)]


def _shorten_number(address: str) -> str:
    """Return the last digits of a phone number, which are the same without the code of its country."""
    digits = re.sub(r"\D", "", address)
    return digits[-_MIN_DIGITS:] if len(digits) >= _MIN_DIGITS and "@" not in address else address.strip()


def _convert_row(row: Record) -> Message | str:
    """Return a message, or the kind of one without words or that was not sent."""
    box = get_text(row, "type", "msg_box")
    if box not in (_RECEIVED, _SENT):
        return NOT_SENT
    parts = get_records(row, "parts")
    texts = (get_text(part, "text") for part in parts if get_text(part, "ct") == "text/plain")
    text = "\n".join(text for text in texts if text not in _NO_NAMES) if row["tag"] == "mms" else get_text(row, "body")
    if not text.strip():
        return NO_WORDS
    files: list[JSONValue] = [
        name
        for part in parts
        if get_text(part, "ct") not in ("text/plain", "application/smil")
        and (
            name := next((each for each in (get_text(part, "cl"), get_text(part, "name")) if each not in _NO_NAMES), "")
        )
    ]
    speaker = ME if box == _SENT else _name_sender(row)
    return Message(
        text, "user", speaker, parse_epoch(row.get("date"), 1000), metadata=drop_empty({"attachments": files})
    )


def _name_sender(row: Record) -> str:
    """Return the name of the sender, or the number without one. In a group, names are in the order of the numbers."""
    addresses, names = get_text(row, "address").split("~"), get_text(row, "contact_name")
    sender = next((get_text(each, "address") for each in get_records(row, "addrs") if each.get("type") == _SENDER), "")
    if len(addresses) == 1:
        return names if names not in _NO_NAMES else addresses[0] or sender
    by_number = dict(zip(map(_shorten_number, addresses), names.split(", "), strict=False))
    known = by_number.get(_shorten_number(sender), "")
    return known if known not in _NO_NAMES else sender or ", ".join(addresses)

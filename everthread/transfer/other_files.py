"""Recognises files that are no chats, such as pictures, and chats as web pages, which can't be imported."""

from __future__ import annotations

import re
from pathlib import Path

from everthread.errors import BadFile
from everthread.transfer.encodings import build_error, find_error
from everthread.transfer.files import detect_archive, file_error
from everthread.transfer.services.export import Export
from everthread.transfer.services.registry import describe_services

HEAD_BYTES = 2**16  # of a file, in which a web page names the service
OFFICE_DOCUMENT = "an office document"
OFFICE_ENTRY = "[Content_Types].xml"  # of the archive that it is
_KINDS = (  # by the first bytes
    (re.compile(rb"\xff\xd8\xff|\x89PNG|GIF8|RIFF.{4}WEBP|.{4}ftyp(?:heic|heix|mif1|avif)", re.DOTALL), "a picture"),
    (re.compile(rb"ID3|OggS|fLaC|RIFF.{4}(?:WAVE|AVI )|.{4}ftyp|\x1aE\xdf\xa3", re.DOTALL), "a recording"),
    (re.compile(rb"%PDF-"), "a PDF"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), OFFICE_DOCUMENT),
    (re.compile(rb"SQLite format 3\0"), "a database"),
    (re.compile(rb"7\x7f\x06[\x82\x83]"), "a part of a database"),  # its latest changes
    (re.compile(rb"From [^\r\n]{1,200} \d{4}\r?\n[A-Za-z-]{1,99}:"), "a mailbox"),  # mbox
)
_MAIL_HEADERS = frozenset((b"from", b"to", b"date", b"message-id"))
_CARD = re.compile(rb"tEXt(?:chara|ccv3)\0", re.IGNORECASE)  # a chunk of a PNG picture that holds a character
MAX_CARD_BYTES = 32 << 20
_PAGE = re.compile(rb"\s{0,99}(?:<!--.{0,999}?-->\s{0,99})?<(?:!doctype html|html)\b", re.DOTALL | re.IGNORECASE)
_PAGE_REMEDIES = (  # by what the page of a service has
    (b"<title>ChatGPT Data Export", "import the whole archive from ChatGPT, or the file conversations.json in it"),
    (b"<title>Exported Data</title>", "export the chat from Telegram again in the format JSON, and import result.json"),
    (b"chatlog__", "export the channel with DiscordChatExporter again in the format JSON"),
    (b'content="Everthread"', "export the bank again as JSON Lines (everthread export)"),
)
_META_FOLDER = "/messages/inbox/"  # of chats in an export of Messenger or Instagram
_META_REMEDY = "request the export from Meta again in the format JSON, which is not its default"
_OTHER_PAGE = "export the chat again as JSON or text, if the service offers that"
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".numbers")


def check_is_chat(path: Path, export: Export) -> None:
    """Check that the files in which no export is recognised are not of another kind.

    Args:
        path: the path that was given, for the message.
        export: the files.

    Raises:
        BadFile: the only file is of another kind, or one is a web page with a chat from a service.
    """
    if any(file.name == OFFICE_ENTRY for file in export.files):
        raise _build_other_error(path, OFFICE_DOCUMENT)
    is_alone = len(export.files) == 1 and export.files[0].name == path.name
    for file in export.files if is_alone else export.named("*.htm", "*.html"):
        head = file.read_beginning(HEAD_BYTES)
        archive = detect_archive(head) if is_alone else None
        if archive is not None:
            what, remedy = f"this is {archive}, not text", "unpack it and import the file inside"
            raise file_error(path, "", what, remedy, reason="packed-file")
        if _PAGE.match(head):
            is_of_meta = _META_FOLDER in f"/{file.name}"
            named = (remedy for mark, remedy in _PAGE_REMEDIES if mark in head)
            remedy = _META_REMEDY if is_of_meta else next(named, _OTHER_PAGE)
            if is_alone or remedy != _OTHER_PAGE:
                place = "" if is_alone else file.name
                what = "this is a web page, which can't be imported"
                raise file_error(path, place, what, remedy, reason="web-page")
        elif is_alone and head.startswith(b"\x89PNG") and _CARD.search(file.read_beginning(MAX_CARD_BYTES)):
            raise card_error(path)
        elif is_alone:
            _check_is_text(path, head)


def _check_is_text(path: Path, head: bytes) -> None:
    """Raise BadFile for a file of another kind, and for a text that is not UTF-8, by its first bytes."""
    kind = next((kind for pattern, kind in _KINDS if pattern.match(head)), None)
    if kind is None and _is_mail(head):
        kind = "an e-mail"
    if kind is not None:
        raise _build_other_error(path, kind)
    if (error := find_error(head)) is not None:
        number = head.count(b"\n", 0, error.start) + 1
        raise build_error(path, f"line {number}, byte {error.start}", error)
    if path.suffix.lower() in _TABLES:
        raise _build_other_error(path, "a table")


def _is_mail(head: bytes) -> bool:
    """Return whether a text begins with the headers of an e-mail, which look like what people say in a transcript."""
    headers = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0].lower().splitlines()
    return {line.partition(b":")[0] for line in headers if b":" in line} >= _MAIL_HEADERS


def _build_other_error(path: Path, kind: str) -> BadFile:
    """Build the error of a file that is not a chat."""
    return file_error(path, "", f"this is {kind}, not a chat", describe_remedy(), reason="not-a-chat")


def card_error(path: Path) -> BadFile:
    """Build the error for a character card."""
    remedy = "import it as a character (everthread characters import)"
    return file_error(path, "", "this is a character card, not a chat", remedy)


def describe_remedy() -> str:
    """Describe the files that can be imported."""
    return f"give an export of {describe_services()}, or a single file in another format"

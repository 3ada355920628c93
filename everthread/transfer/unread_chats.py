"""Finds files in archives and folders that look like chats but are not read, so that their loss is not silent.

Beside exports, only these are read: any other text may belong to one of them, as an attachment does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from everthread.errors import BadFile
from everthread.transfer import messages, transcript, whatsapp
from everthread.transfer.files import file_error
from everthread.transfer.services.export import Export, ExportFile, open_export
from everthread.transfer.services.fields import get_record
from everthread.transfer.services.lines import Findings, number_name
from everthread.transfer.services.registry import find_services, may_have_texts

_MARKS = (b'"everthread"', b'"said_at"', b'"role"')  # of the export of a bank, and of messages of a chat API
_REMEDY = "import it by itself"


def note_unread(folders: Sequence[Path], findings: Findings, strict: bool, left_out: Collection[Path]) -> None:
    """Note as broken the chats in archives and folders that are not read.

    Args:
        folders: the archives and folders.
        findings: what was found in them; if it is more than chats of WhatsApp, these need their names.
        strict: whether an unread chat is an error.
        left_out: files and archives that are not opened.

    Raises:
        BadFile: there is one, if `strict`.
    """
    among_others = findings.services not in ([], [whatsapp.SERVICE])
    for path in (folder for folder in folders if folder not in left_out):
        for error in find_unread(path, among_others, left_out):
            if strict:
                raise error
            findings.broken[number_name(error.where, findings.broken)] = f"{error.message}; {error.remedy}"


def find_unread(path: Path, among_others: bool, left_out: Collection[Path]) -> Iterator[BadFile]:
    """Yield an error for each file in an archive or a folder that looks like a chat and is not read.

    Args:
        path: the archive or the folder.
        among_others: whether chats of WhatsApp need their names, because there are exports of services.
        left_out: files and archives that are not opened.
    """
    with open_export([path], left_out) as export:
        chats = {chat.file.name for chat in whatsapp.list_chats(export, path, among_others)}
        has_texts = bool(chats) or may_have_texts(find_services(export))
        for file in export.named(*transcript.TEXT_NAMES, "*.json", "*.jsonl", "*.ndjson"):
            reason = "" if file.name in chats else _describe(file, export, has_texts)
            if reason and not find_services(Export([file])):
                remedy = _REMEDY if file.is_archived else f"{_REMEDY}: {file.path}"
                yield file_error(path, file.name, reason, remedy)


def _describe(file: ExportFile, export: Export, has_texts: bool) -> str:
    """Return why a chat is not read; "" for another file, and for a transcript unless it may be attached."""
    name = file.name.rpartition("/")[2]
    if name.lower().startswith(whatsapp.ATTACHED):
        return ""
    if not name.lower().endswith((".txt", ".md", ".markdown")):
        return _describe_json(file)
    if name == "chat.md" and any(other.name == f"{file.name.removesuffix(name)}data.json" for other in export.files):
        return ""  # signal-export writes the same chat twice
    if whatsapp.begins_like_chat(file):
        return "beside other exports, a chat of WhatsApp is only read under the name that WhatsApp gave it"
    return "beside exports, a transcript is not read" if has_texts and transcript.is_transcript(file) else ""


def _describe_json(file: ExportFile) -> str:
    beginning = file.read_beginning(transcript.HEAD_BYTES)
    if not any(mark in beginning for mark in _MARKS):  # before a head, which may be far to read
        return ""
    fields = get_record(file.head).keys()
    if "everthread" in fields or fields >= {"text", "said_at"}:
        return "format jsonl is not read in an archive or a folder"
    return "format messages is not read in an archive or a folder" if messages.is_messages(file.head) else ""

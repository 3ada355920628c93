"""Finds files in archives and folders that look like chats but are in no export, so that their loss is not silent.

In an archive or a folder only exports are read: any other text may belong to one of them, as an attachment does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from everthread.transfer import messages, transcript, whatsapp
from everthread.transfer.files import file_error
from everthread.transfer.services.export import Export, ExportFile, open_export
from everthread.transfer.services.fields import get_record
from everthread.transfer.services.lines import Findings, number_name
from everthread.transfer.services.registry import find_services

HEAD_BYTES = 2**16  # of a text, in which it shows whether it is a chat
ABOUT = ("readme", "license", "changelog", "agents", "claude")  # begin the names of texts for people, or for agents
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
    among_others = findings.services != [whatsapp.SERVICE]
    for path in (folder for folder in folders if folder not in left_out):
        with open_export([path], left_out) as export:
            for file, reason in _find_unread(export, path, among_others):
                if strict:
                    raise file_error(path, file.name, reason, _REMEDY)
                findings.broken[number_name(file.name, findings.broken)] = f"{reason}; {_REMEDY}"


def _find_unread(export: Export, path: Path, among_others: bool) -> Iterator[tuple[ExportFile, str]]:
    """Yield the files that look like chats and are not read, and why not."""
    chats = {chat.file.name for chat in whatsapp.list_chats(export, path, among_others)}
    for file in export.named("*.txt", "*.md", "*.markdown", "*.json", "*.jsonl", "*.ndjson"):
        if file.name not in chats and (reason := _describe(file, export)) and not find_services(Export([file])):
            yield file, reason


def _describe(file: ExportFile, export: Export) -> str:
    """Return why a chat is not read; "" for another file."""
    name = file.name.rpartition("/")[2]
    if name.lower().startswith((*ABOUT, whatsapp.ATTACHED)):
        return ""
    if not name.lower().endswith((".txt", ".md", ".markdown")):
        return _describe_json(file)
    if name == "chat.md" and any(other.name == f"{file.name.removesuffix(name)}data.json" for other in export.files):
        return ""  # signal-export writes the same chat twice
    if whatsapp.begins_like_chat(file):
        return "beside other exports, a chat of WhatsApp is only read under the name that WhatsApp gave it"
    lines = file.read_beginning(HEAD_BYTES).decode(errors="ignore").splitlines()
    return "a transcript is not read in an archive or a folder" if transcript.looks_like_chat(lines, file.path) else ""


def _describe_json(file: ExportFile) -> str:
    if not any(mark in file.read_beginning(HEAD_BYTES) for mark in _MARKS):  # before a head, which may be far to read
        return ""
    fields = get_record(file.head).keys()
    if "everthread" in fields or fields >= {"text", "said_at"}:
        return "format jsonl is not read in an archive or a folder"
    return "format messages is not read in an archive or a folder" if messages.is_messages(file.head) else ""

"""Chats of WeChat in the CSV of WeChatMsg (MemoTrace), which reads the database of WeChat for Windows: one a file.

Messages of the person are marked, but not always named, so they have a name of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from everthread.transfer.services.chatlist import PERSON
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.csv_rows import read_records
from everthread.transfer.services.entries import CALLS, NO_WORDS, NOTICES, fill_conversation
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_text, parse_epoch

_HEADER = b"localId,TalkerId,Type,SubType,IsSender,CreateTime,Status,StrContent,StrTime"
_TEXT = "1"  # types of messages
_KINDS = {"50": CALLS, "10000": NOTICES}
_OF_ALL = "messages"  # the name of a file with all chats


def recognises(export: Export) -> bool:
    """Return whether there is a chat of WeChat."""
    return any(map(_is_chat, export.named("*.csv")))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a file."""
    for file in filter(_is_chat, export.named("*.csv")):
        title = PurePosixPath(file.name).stem.removesuffix("_utf8")
        if title == _OF_ALL:
            reason = "a table of all chats does not show which message is of which; export the chats one by one"
            yield BrokenConversation(file.name, reason)
        else:
            conversation = Conversation(title, (), title=title, owner=PERSON)
            yield from fill_conversation(conversation, read_records(file), partial(_convert_row, title=title))


def _is_chat(file: ExportFile) -> bool:
    return file.read_beginning(len(_HEADER)) == _HEADER


def _convert_row(row: Record, title: str) -> Message | str:
    """Return the message of a row, or the kind of a row that is no message."""
    text = get_text(row, "StrContent")
    if row.get("Type") != _TEXT or not text:
        return _KINDS.get(get_text(row, "Type"), NO_WORDS)
    is_own = row.get("IsSender") == "1"
    speaker = PERSON if is_own else get_text(row, "Remark", "NickName", "Sender") or title
    return Message(text, "user", speaker, parse_epoch(row.get("CreateTime")))

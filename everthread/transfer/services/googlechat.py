"""Google Chat, as Google Takeout exports it: a folder for each chat, with its messages and its members.

Times are written in words, in UTC. A message whose time is in another language than English has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from everthread.transfer.dates import parse_moment
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import NO_WORDS, drop_empty, fill_conversation, get_id
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_records, get_text
from everthread.types import JSONValue

UNKNOWN = "Unknown"  # a speaker whose account was deleted
_MESSAGES, _GROUP, _USER = "messages.json", "group_info.json", "user_info.json"


def recognises(export: Export) -> bool:
    """Return whether there is a chat of Google Chat."""
    return any(map(_is_chat, export.named(_MESSAGES)))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a folder."""
    users = (get_text(get_record(file.head, "user"), "name") for file in export.named(_USER))
    owner = next(filter(None, users), None)
    groups = {file.folder_path: file for file in export.named(_GROUP)}
    for file in filter(_is_chat, export.named(_MESSAGES)):
        group = groups.get(file.folder_path)
        title = _find_title(get_record(group.load()) if group else {}, owner)
        conversation = Conversation(file.folder, (), title=title, owner=owner)
        yield from fill_conversation(conversation, file.items("messages"), _convert_message)


def _is_chat(file: ExportFile) -> bool:
    """Return whether a file has messages of Google Chat: only there a message has a creator and a date in words."""
    first = next(iter(get_records(get_record(file.head), "messages")), {})
    return isinstance(first.get("creator"), dict) and {"created_date", "message_id"} <= first.keys()


def _find_title(group: Record, owner: str | None) -> str | None:
    """Return the name of a group; of a chat without a name, those of its other members."""
    names = [get_text(get_record(member), "name", "email") for member in get_list(group, "members")]
    return get_text(group, "name") or ", ".join(name for name in names if name and name != owner) or None


def _convert_message(message: Record) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    creator = get_record(message, "creator")
    if not (text := get_text(message, "text")):
        return NO_WORDS
    files: list[JSONValue] = [
        get_text(file, "original_name", "export_name") for file in get_records(message, "attached_files")
    ]
    return Message(
        text,
        "assistant" if get_text(creator, "user_type").casefold() == "bot" else "user",
        get_text(creator, "name", "email") or UNKNOWN,
        _parse_time(get_text(message, "created_date")),
        id=get_id(message, "message_id") or None,
        metadata=drop_empty({"email": get_text(creator, "email"), "attachments": files}),
    )


def _parse_time(text: str) -> datetime | None:
    """Return the time of a date such as "Thursday, November 3, 2016 at 11:59:50 AM UTC"; None for another text."""
    try:
        return parse_moment(text.removesuffix("UTC"))
    except ValueError:
        return None

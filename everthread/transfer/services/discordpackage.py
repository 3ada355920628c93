"""Discord's own package of data: a folder for each channel, with the messages that its user wrote, and no others.

The messages are in JSON or, in older packages, in CSV.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from everthread.transfer.services.chatlist import PERSON
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.csv_rows import read_records
from everthread.transfer.services.entries import NO_WORDS, drop_empty, fill_conversation, get_id
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_text, parse_iso
from everthread.types import JSONValue

_COLUMNS = ("ID", "Timestamp", "Contents")
_DIRECT = "Direct Message with "  # before the name of a person in the list of channels
_UNKNOWN = ("None", "Unknown", f"{_DIRECT}Unknown")  # begin entries of channels without a name
_HEADER_BYTES = 2**10


def recognises(export: Export) -> bool:
    """Return whether there are messages of a package."""
    return any(map(_is_channel, export.named("messages.json", "messages.csv")))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the channels, with the messages of the package's user."""
    names = _load_names(export)
    owner = _find_user(export)
    channels = {file.folder_path: file for file in export.named("channel.json")}
    for file in filter(_is_channel, export.named("messages.json", "messages.csv")):
        described = channels.get(file.folder_path)
        channel = get_record(described.head) if described else {}
        id = get_id(channel, "id") or file.folder.removeprefix("c")
        guild = get_text(get_record(channel, "guild"), "name")
        title = get_text(channel, "name") or _clean_name(names.get(id))
        rows: Iterable[object] = read_records(file) if file.name.endswith(".csv") else file.items()
        conversation = Conversation(id, (), title=title, owner=owner, metadata=drop_empty({"guild": guild}))
        yield from fill_conversation(conversation, rows, lambda row: _convert_message(row, owner))


def _is_channel(file: ExportFile) -> bool:
    """Return whether a file has messages of a channel. Only there the columns have these names."""
    if file.name.endswith(".csv"):
        return file.read_beginning(_HEADER_BYTES).startswith(",".join(_COLUMNS).encode())
    return set(_COLUMNS) <= get_record(next(iter(file.first_values), None)).keys()


def _load_names(export: Export) -> Mapping[str, object]:
    """Return the names of the channels, by id."""
    lists = (get_record(file.load()) for file in export.named("index.json") if file.folder.casefold() == "messages")
    return next(lists, {})


def _find_user(export: Export) -> str:
    """Return the name of the package's user."""
    accounts = (get_record(file.head) for file in export.named("user.json") if file.folder.casefold() == "account")
    return next((name for account in accounts if (name := get_text(account, "global_name", "username"))), PERSON)


def _clean_name(name: object) -> str | None:
    """Return the name of a channel from the list; of a direct chat, that of the person; None without one."""
    if not isinstance(name, str) or name.startswith(_UNKNOWN):
        return None
    return name.removeprefix(_DIRECT).removesuffix("#0") or None


def _convert_message(row: Record, owner: str) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    if not (text := get_text(row, "Contents")):
        return NO_WORDS
    files: list[JSONValue] = [_get_file_name(address) for address in get_text(row, "Attachments").split()]
    said_at = parse_iso(row.get("Timestamp"))
    return Message(text, "user", owner, said_at, get_id(row, "ID") or None, metadata=drop_empty({"attachments": files}))


def _get_file_name(address: str) -> str:
    return PurePosixPath(address.partition("?")[0]).name

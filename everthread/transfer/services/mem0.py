"""Reads the memories of mem0, as `get_all` returns them: `{"results": [{"id": …, "memory": …}, …]}`.

They are facts that a model wrote, not lines that were said.
"""

from __future__ import annotations

from collections.abc import Iterator

from everthread.errors import BadFile
from everthread.transfer.files import PLACEHOLDER_TIME
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_text, parse_iso, require_record
from everthread.types import Metadata, NewUnit, Role

_OWNERS = ("user_id", "agent_id", "run_id", "actor_id")


def recognises(export: Export) -> bool:
    """Return whether there are memories of mem0."""
    return any(_find_list(file) is not None for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the facts."""
    said: dict[str, list[Message]] = {}
    for file in export.files:
        path = _find_list(file)
        for number, value in enumerate(file.items(path), 1) if path is not None else ():
            try:
                fact = build_fact(value)
            except BadFile as error:
                yield BrokenConversation(f"memory {number} of {file.name}", str(error))
                continue
            if options.facts_as_lines:
                owner = next((str(fact.metadata[name]) for name in _OWNERS if name in fact.metadata), "mem0")
                said.setdefault(owner, []).append(build_message(fact, get_record(value)))
            else:
                yield fact
    for owner, messages in said.items():
        messages.sort(key=lambda message: message.said_at or PLACEHOLDER_TIME)
        yield Conversation(owner, messages, title=owner, owner=owner, namespace="")


def build_fact(value: object) -> NewUnit:
    """Build a fact from its JSON.

    Raises:
        BadFile: it has no id, or no text.
    """
    record = require_record(value, "id", "memory")
    text, fact_id = get_text(record, "memory"), record["id"]
    if not text or not isinstance(fact_id, str):
        raise BadFile("it has no text" if isinstance(fact_id, str) else "it has no id")
    said_at = parse_iso(record.get("created_at")) or PLACEHOLDER_TIME
    owners = {name: owner for name in _OWNERS if (owner := get_text(record, name))}
    metadata: Metadata = {"source": "mem0", "id": fact_id, **owners}
    return NewUnit("fact", text.strip(), 0, 0, said_at, metadata=metadata)


def build_message(fact: NewUnit, record: Record) -> Message:
    """Build the line of a fact, by the person or the assistant that it is about.

    Args:
        fact: the fact.
        record: its JSON.
    """
    role: Role = "assistant" if record.get("role") == "assistant" else "user"
    names = ("actor_id", "agent_id") if role == "assistant" else ("actor_id", "user_id")
    said_at = None if fact.said_at == PLACEHOLDER_TIME else fact.said_at
    metadata = {name: value for name, value in fact.metadata.items() if name != "source"}
    return Message(
        fact.text, role, get_text(record, *names) or role, said_at, str(fact.metadata["id"]), metadata=metadata
    )


def _find_list(file: ExportFile) -> str | None:
    """Return the path of the list of memories in a file; None if it has none."""
    beginning = file.head if isinstance(file.head, list) else get_list(get_record(file.head), "results")
    if not any("id" in get_record(row) and get_text(get_record(row), "memory") for row in beginning):
        return None
    return "" if isinstance(file.head, list) else "results"

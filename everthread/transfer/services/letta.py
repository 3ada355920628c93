"""Reads agent files of Letta (`.af`): the last messages of each agent, and the blocks of its memory as notes. Also the
messages of an agent as Letta's API lists them.

Each export numbers the ids in such a file again. The words of the user are in JSON with the type and the time of
an event; those of older kinds of agents are arguments of the tool `send_message`, and their other texts are thoughts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from everthread.errors import BadFile
from everthread.transfer.files import PLACEHOLDER_TIME, hash_parts
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_records, get_text, parse_iso
from everthread.types import Metadata, NewUnit

NAME, PERSON = "assistant", "user"
_KINDS = {"system": "instructions", "tool": "results of tools", "approval": "calls of tools"}
_LISTED_KINDS = {  # by the type in a list of the API
    "system_message": "instructions",
    "reasoning_message": "thoughts",
    "hidden_reasoning_message": "thoughts",
    "tool_call_message": "calls of tools",
    "approval_request_message": "calls of tools",
    "tool_return_message": "results of tools",
}
_LISTED = frozenset(("user_message", "assistant_message", *_LISTED_KINDS))
_SEND = "send_message"


def recognises(export: Export) -> bool:
    """Return whether there is an agent file, or a list of messages."""
    return any(_is_agent_file(file) or _is_list(file) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversation of each agent, and its notes."""
    for file in filter(_is_agent_file, export.files):
        value = get_record(file.load())
        agents = get_list(value, "agents") if "agents" in value else [value]
        for number, agent in enumerate(agents, 1):
            try:
                conversation = build_conversation(agent)
            except BadFile as error:
                yield BrokenConversation(get_text(get_record(agent), "name") or f"agent {number}", str(error))
                continue
            yield conversation
            if (note := build_note(get_record(agent), get_records(value, "blocks"), conversation)) is not None:
                yield note
    for file in filter(_is_list, export.files):
        listed = file.load()
        yield build_list(listed if isinstance(listed, list) else get_list(get_record(listed), "messages"))


def build_conversation(value: object) -> Conversation:
    """Build the conversation of an agent.

    Raises:
        BadFile: it has no list of messages.
    """
    agent = get_record(value)
    if not isinstance(agent.get("messages"), list):
        raise BadFile("the agent has no list of messages")
    name = get_text(agent, "name") or "assistant"
    skipped = Counter({"broken messages": len(get_list(agent, "messages")) - len(get_records(agent, "messages"))})
    has_thoughts = get_text(agent, "agent_type").startswith("memgpt")
    messages = [
        message
        for row in get_records(agent, "messages")
        if (message := _build_message(row, name, has_thoughts, skipped)) is not None
    ]
    return Conversation(name, messages, title=name, skipped=+skipped, owner=PERSON)


def build_list(rows: Sequence[object]) -> Conversation:
    """Build the conversation of the messages that the API lists, from the first or from the last on."""
    records = [row for row in rows if isinstance(row, dict)]
    skipped = Counter({"broken messages": len(rows) - len(records)})
    messages = [message for row in records if (message := _build_listed(row, skipped)) is not None]
    times = [message.said_at for message in messages if message.said_at is not None]
    if times and times[0] > times[-1]:
        messages.reverse()
    agent = next((name for row in records if (name := get_text(row, "agent_id"))), "")
    id = agent or (hash_parts(messages[0].said_at, messages[0].text)[:8] if messages else "messages")
    return Conversation(id, messages, skipped=+skipped, owner=PERSON, assistant=NAME, namespace="listed")


def build_note(agent: Record, blocks: Sequence[Record], conversation: Conversation) -> NewUnit | None:
    """Build a note of the blocks of an agent's memory; None if all are empty.

    Args:
        agent: the agent.
        blocks: the blocks of the file, of which the agent names its own.
        conversation: the agent's conversation.
    """
    own = [block for block in blocks if block.get("id") in get_list(agent, "block_ids")]
    own += [*get_records(agent, "core_memory"), *get_records(agent, "memory_blocks")]
    texts = [f"{get_text(block, 'label')}:\n{value}" for block in own if (value := get_text(block, "value").strip())]
    times = [message.said_at for message in conversation.messages if message.said_at is not None]
    metadata: Metadata = {"source": "letta", "agent": conversation.id}
    said_at = max(times, default=PLACEHOLDER_TIME)
    return NewUnit("note", "\n\n".join(texts), 0, 0, said_at, metadata=metadata) if texts else None


def _build_message(row: Record, name: str, has_thoughts: bool, skipped: Counter[str]) -> Message | None:
    """Return the message of a row; None, and counted, if nothing was said."""
    role, said_at = get_text(row, "role"), parse_iso(row.get("created_at"))
    if role in _KINDS:
        skipped[_KINDS[role]] += 1
    elif role == "user":
        text, time = _read_event(_read_content(row), skipped)
        if text:
            return Message(text, "user", get_text(row, "name") or PERSON, said_at or time)
    elif role == "assistant":
        if text := _read_reply(row, has_thoughts, skipped):
            return Message(text, "assistant", name, said_at)
    else:
        skipped["messages of unknown kinds"] += 1
    return None


def _build_listed(row: Record, skipped: Counter[str]) -> Message | None:
    """Return a message of the API; None, and counted, for another entry."""
    kind = get_text(row, "message_type")
    is_user = kind == "user_message"
    if not is_user and kind != "assistant_message":
        skipped[_LISTED_KINDS.get(kind, "messages of unknown kinds")] += 1
        return None
    text, time = _read_event(_read_content(row), skipped) if is_user else (_read_content(row), None)
    if not text:
        return None
    speaker = get_text(row, "name") or (PERSON if is_user else NAME)
    return Message(text, "user" if is_user else "assistant", speaker, parse_iso(row.get("date")) or time)


def _read_content(row: Record) -> str:
    """Return the text of a message, which may be a list of parts."""
    parts = (get_text(part, "text") for part in get_records(row, "content") if part.get("type") == "text")
    return get_text(row, "content", "text").strip() or "\n".join(parts).strip()


def _read_event(text: str, skipped: Counter[str]) -> tuple[str, datetime | None]:
    """Return the words in a user's event, and its time; "" for events such as heartbeats, which are counted."""
    event = _parse_object(text)
    if "type" not in event:
        return text, None
    if event.get("type") == "user_message":
        return get_text(event, "message"), parse_iso(event.get("time"))
    skipped["events"] += 1
    return "", None


def _read_reply(row: Record, has_thoughts: bool, skipped: Counter[str]) -> str:
    """Return the words of a reply, and count its thoughts and its calls of tools."""
    calls = [get_record(call, "function") for call in get_records(row, "tool_calls")]
    sent = [call for call in calls if call.get("name") == _SEND]
    skipped["calls of tools"] += len(calls) - len(sent)
    text = _read_content(row)
    if sent or (calls and has_thoughts):
        skipped["thoughts"] += bool(text)
        return "\n\n".join(get_text(_parse_object(call.get("arguments")), "message") for call in sent).strip()
    return text


def _parse_object(text: object) -> Record:
    """Return the object that a text has in JSON; an empty one for another text."""
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        return get_record(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _is_agent_file(file: ExportFile) -> bool:
    head = get_record(file.head)
    agents = head.get("agents")
    if isinstance(agents, list) and agents:
        return {"messages", "agent_type"} & get_record(agents[0]).keys() == {
            "messages",
            "agent_type",
        } or "blocks" in head
    return {"agent_type", "core_memory", "messages"} <= head.keys()


def _is_list(file: ExportFile) -> bool:
    head = file.head
    rows = head if isinstance(head, list) else get_list(get_record(head), "messages")
    return any("id" in row and get_text(row, "message_type") in _LISTED for row in map(get_record, rows))

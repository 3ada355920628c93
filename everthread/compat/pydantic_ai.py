"""Pydantic AI's `ConversationStore` in a bank, and a capability by which agents recall what the bank remembers.

An entry is a line, its conversation a session. Prompts and replies are lines with words; calls of tools and their
results are lines without words, which are not recalled. The lines of the branches that a conversation has left are
retracted, but can be read. The record of a conversation is a line without words, too: a save replaces it and adds the
new entries in one transaction, which fails if another save has replaced the record since it was read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import TypeAdapter
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextContent,
    UserPromptPart,
)

from everthread.common.keys import META_REPEATS
from everthread.compat.hits import HEADING
from everthread.errors import NotFound
from everthread.stores.shared_rows import to_new_line
from everthread.text.formatting import sort_key
from everthread.types import Filter, Line, NewLine, Role

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import RunContext

    from everthread.client.client import Client
    from everthread.memory import Memory

RECORD_PREFIX, ENTRY_PREFIX = "pydantic_ai:record:", "pydantic_ai:entry:"  # of the keys of lines
RECORD, MESSAGE, PARENT = "record", "message", "parent"  # names in the metadata of a line
SPEAKER = "pydantic_ai"  # of the lines of records
MAX_KNOWN_CONVERSATIONS = 1000  # whose entries an `EverthreadRecall` remembers; they are read again beyond that

RECORD_ADAPTER = TypeAdapter(ConversationRecord)


class EverthreadConversationStore(ConversationStore):
    """The conversations of one person in a bank.

    with Memory.open("alice") as memory:
        store = EverthreadConversationStore(memory)
        conversation = await store.load(name) or Conversation(conversation_id=name)
        await store.save(await agent.run("Where does my sister live?", conversation=conversation))
    """

    def __init__(self, memory: Memory) -> None:
        """Use a bank, which the caller closes."""
        self._log = _ConversationLog(memory)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, without entries that were forgotten; None if it does not exist."""
        return await asyncio.to_thread(self._log.read_record, conversation_id)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the records, or those of a scope, the last saved first."""
        records = await asyncio.to_thread(self._log.read_records)
        found = [record for record in records if scope is None or record.scope == scope]
        return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and its new entries, in one transaction.

        Raises:
            ConversationConflict: the stored record has another revision, or the last entry does not exist.
            BadInput: an id is invalid, such as one longer than 180 characters.
            StoreUnavailable: the bank can't be written.
        """
        await asyncio.to_thread(self._log.write, record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Forget a conversation: no byte of its messages remains, except of those that its forks share.

        Raises:
            ConversationConflict: the stored record has another revision, or does not exist.
            StoreUnavailable: the bank can't be written.
        """
        await asyncio.to_thread(self._log.delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry, in whichever branch. Raises KeyError if it does not exist."""
        return _to_entry((await asyncio.to_thread(self._log.get_entries, [entry_id]))[entry_id])

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries that lead to an entry, and the entry; forgotten ones are skipped.

        Args:
            head_id: the last entry; None: there is no entry.
            limit: the maximum number, of which the last are returned.

        Raises:
            KeyError: the last entry does not exist.
        """
        return [_to_entry(line) for line in await asyncio.to_thread(self._log.read_history, head_id, limit)]


class _ConversationLog:
    """The lines of conversations in a bank. Thread-safe."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    # ------------------------------------------------------------------ reading

    def read_record(self, conversation_id: str) -> ConversationRecord | None:
        _, record = self._find_record(conversation_id)
        return None if record is None else self._without_forgotten(record)

    def read_records(self) -> list[ConversationRecord]:
        lines = self._memory.lines(Filter(key_prefix=RECORD_PREFIX), include_wordless=True)
        return [record for line in lines if (record := _parse_record(line)) is not None]

    def get_entries(self, entry_ids: Collection[str]) -> dict[str, Line]:
        """Return the lines of the entries that exist, by their ids."""
        found = self._memory.store.get_by_key(self._memory.bank, [f"{ENTRY_PREFIX}{name}" for name in entry_ids])
        return {_entry_id(line): line for line in found.values()}

    def read_history(self, head_id: str | None, limit: int | None = None) -> list[Line]:
        """Return the lines that lead to an entry. A fork begins with lines in the session of another conversation."""
        known: dict[str, Line] = {}
        history: dict[str, Line] = {}  # from the last to the first
        entry_id = head_id
        while entry_id is not None and entry_id not in history and (limit is None or len(history) < limit):
            if entry_id not in known:
                for found in self.get_entries([entry_id]).values():
                    known |= self._read_session(found.session)
            if entry_id in known:
                line = history[entry_id] = known[entry_id]
                entry_id = _parent_id(line)
            elif history:
                entry_id = _find_previous(line, known)
            else:
                raise KeyError(entry_id)
        return list(history.values())[::-1]

    def _find_record(self, conversation_id: str) -> tuple[Line | None, ConversationRecord | None]:
        """Return the line of a record, and the record, if the line has one."""
        line = self._memory.get(key=f"{RECORD_PREFIX}{conversation_id}")
        return line, None if line is None else _parse_record(line)

    def _without_forgotten(self, record: ConversationRecord) -> ConversationRecord:
        """Return a record whose history and branches end with entries that exist."""
        ends = {*record.branches, record.head_id} - {None}
        known = self.get_entries([str(end) for end in ends])
        if len(known) == len(ends):
            return record
        head = record.head_id
        if head not in known:
            current = [line for line in self._read_session(record.conversation_id).values() if _is_current(line)]
            head = _entry_id(max(current, key=sort_key)) if current else None
        return replace(record, head_id=head, branches=[end for end in record.branches if end in known])

    def _read_session(self, session: str) -> dict[str, Line]:
        """Return the lines of the entries in a session, retracted ones too, by their ids."""
        where = Filter(session=session, key_prefix=ENTRY_PREFIX)
        lines = self._memory.lines(where, include_retracted=True, include_wordless=True)
        return {_entry_id(line): line for line in lines}

    # ------------------------------------------------------------------ writing

    def write(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry], expected_revision: str | None
    ) -> None:
        """See `EverthreadConversationStore.write_record`."""
        name = record.conversation_id
        line, stored = self._find_record(name)
        if (None if stored is None else stored.revision) != expected_revision:
            raise ConversationConflict(name)
        base_id = entries[0].parent_id if entries else record.head_id
        new_ids = {entry.id for entry in entries}
        known = new_ids | self.get_entries([str(each) for each in {base_id, record.head_id} - {None}]).keys()
        if record.head_id not in known and record.head_id is not None:
            raise ConversationConflict(name)
        leaving: list[int] = []
        lines = [_entry_line(entry, name, known) for entry in entries]
        if stored is not None and base_id != stored.head_id and (base_id is None or base_id in known):
            leaving, copies = self._switch_branch(self._without_forgotten(stored), base_id)
            lines = [*copies, *lines]
        if line is None:  # a line without a record, for the transaction to replace
            options: Any = {"session": name, "metadata": {RECORD: ""}, "key": f"{RECORD_PREFIX}{name}"}
            line = self._memory.observe("", speaker=SPEAKER, role="system", **options)
            if _parse_record(line) is not None:  # stored by another writer since the key was looked up
                raise ConversationConflict(name)
        self._replace_record(line, record, leaving, lines)

    def delete(self, conversation_id: str, expected_revision: str) -> None:
        """See `EverthreadConversationStore.delete_record`."""
        line, record = self._find_record(conversation_id)
        if line is None or record is None or record.revision != expected_revision:
            raise ConversationConflict(conversation_id)
        self._replace_record(line, replace(record, revision=str(uuid4())))  # no other writer has read this revision
        for fork in self.read_records():
            if fork.conversation_id != conversation_id and fork.forked_at is not None:
                self._move_shared(conversation_id, fork)
        with suppress(NotFound):  # another writer was faster
            self._memory.forget(session=conversation_id)

    def _replace_record(
        self, line: Line, record: ConversationRecord, leaving: Collection[int] = (), lines: Sequence[NewLine] = ()
    ) -> None:
        """Store a record in place of the one in a line, in one transaction with other lines.

        Raises:
            ConversationConflict: another writer has replaced the line.
        """
        value = RECORD_ADAPTER.dump_json(record).decode()
        new = replace(to_new_line(line), metadata={RECORD: value}, said_at=None, parent=None)
        try:
            stored = self._memory.replace_lines([line.seq, *leaving], [new, *lines], corrects=line.seq)
        except NotFound:
            raise ConversationConflict(record.conversation_id) from None
        if stored[0].metadata.get(RECORD) != value:
            raise ConversationConflict(record.conversation_id)

    def _switch_branch(self, stored: ConversationRecord, base_id: str | None) -> tuple[list[int], list[NewLine]]:
        """Return the lines to retract and the copies to store for a conversation to go on after another entry."""
        before, after = ({line.key: line for line in self.read_history(end)} for end in (stored.head_id, base_id))
        leaving = [line for key, line in before.items() if key not in after and line.session == stored.conversation_id]
        returning = [line for key, line in after.items() if key not in before and line.retracted_at is not None]
        return [line.seq for line in leaving], [
            replace(copy, metadata={**copy.metadata, META_REPEATS: line.seq})
            for copy, line in zip(_copy_lines(returning, after.keys()), returning, strict=True)
        ]

    def _move_shared(self, session: str, fork: ConversationRecord) -> None:
        """Move the lines in a session that a fork shares to the session of the fork."""
        shared = [line for line in self.read_history(fork.forked_at) if line.session == session]
        moved = [replace(copy, session=fork.conversation_id) for copy in _copy_lines(shared, ())]
        self._memory.replace_lines([line.seq for line in shared], moved)


class EverthreadRecall(AbstractCapability[Any]):
    """A capability that gives the model what a bank knows of the newest prompt: `Agent(…, capabilities=[…])`.

    The memories are inserted before the prompt, only in the request: they are not stored with the conversation.
    """

    def __init__(self, memory: Memory | Client, tokens: int = 1000) -> None:
        """Use a bank, which the caller closes.

        Args:
            memory: the bank.
            tokens: the maximum number of tokens of the memories.
        """
        self._memory, self._tokens = memory, tokens
        self._known: dict[str, list[_KnownEntry]] = {}  # the last entries of conversations, in their order

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Insert what is relevant to the newest prompt before it; nothing if nothing is."""
        messages = list(request_context.messages)
        for index in reversed(range(len(messages))):
            message = messages[index]
            query = _prompt_of(message) if isinstance(message, ModelRequest) else ""
            if isinstance(message, ModelRequest) and query:
                text = await asyncio.to_thread(self._recall, query, ctx.conversation_id, len(messages))
                if text:
                    first = UserPromptPart(f"{HEADING}\n{text}")
                    messages[index] = replace(message, parts=[first, *message.parts])
                break
        return replace(request_context, messages=messages)

    def _recall(self, query: str, conversation_id: str | None, shown: int) -> str:
        """Return the memories; the last lines of the conversation, which the prompt shows, are left out."""
        try:
            seqs = self._find_last(conversation_id, shown) if conversation_id else []
            return self._memory.context(query, self._tokens, exclude=seqs).text
        except NotFound:  # a server has no bank before its first line
            return ""

    def _find_last(self, conversation_id: str, count: int) -> list[int]:
        """Return the numbers of the last lines of a conversation. Only lines that are not known are read.

        A fork begins with lines in the session of another conversation.
        """
        entries = self._get_known(conversation_id)
        where = Filter(session=conversation_id, key_prefix=ENTRY_PREFIX)
        new = self._memory.lines(where, after=entries[-1].seq if entries else 0, include_wordless=True)
        entries += map(_KnownEntry.of, new)
        if entries:
            entry_id = entries[0].parent_id
        else:
            stored = self._memory.get(key=f"{RECORD_PREFIX}{conversation_id}")
            record = stored and _parse_record(stored)
            entry_id = record.head_id if record else None
        while entry_id is not None and len(entries) < count:
            line = self._memory.get(key=f"{ENTRY_PREFIX}{entry_id}")
            if line is None:  # forgotten
                break
            entries.insert(0, _KnownEntry.of(line))
            entry_id = entries[0].parent_id
        if len(self._known) >= MAX_KNOWN_CONVERSATIONS:
            self._known.clear()
        self._known[conversation_id] = entries
        return [entry.seq for entry in entries[-count:]]

    def _get_known(self, conversation_id: str) -> list[_KnownEntry]:
        """Return the entries that are known of a conversation; none if it has left the branch of the last one."""
        entries = list(self._known.get(conversation_id, ()))
        last = self._memory.get(key=entries[-1].key) if entries else None
        return entries if last is not None and last.seq == entries[-1].seq else []


@dataclass(frozen=True, slots=True)
class _KnownEntry:
    """The number, the key and the parent of the line of an entry."""

    seq: int
    key: str
    parent_id: str | None

    @classmethod
    def of(cls, line: Line) -> _KnownEntry:
        return cls(line.seq, str(line.key), _parent_id(line))


def _copy_lines(lines: Sequence[Line], known: Collection[str | None]) -> list[NewLine]:
    """Return copies of the lines of entries, each the answer to its parent if that is known or among them."""
    known = {*known, *(line.key for line in lines)}
    keys = [f"{ENTRY_PREFIX}{_parent_id(line)}" for line in lines]
    return [
        replace(to_new_line(line), parent=key if key in known else None) for line, key in zip(lines, keys, strict=True)
    ]


def _parse_record(line: Line) -> ConversationRecord | None:
    value = line.metadata.get(RECORD)
    return RECORD_ADAPTER.validate_json(value) if isinstance(value, str) and value else None


def _entry_line(entry: ConversationEntry, session: str, known: Collection[str]) -> NewLine:
    """Return the line of an entry. The JSON of its message is a text, so that it stays as it is to the byte."""
    text, role, said_at = _read_message(entry.message)
    message = ModelMessagesTypeAdapter.dump_json([entry.message]).decode()
    return NewLine(
        text,
        role,
        role,
        said_at,
        session,
        {MESSAGE: message, PARENT: entry.parent_id},
        f"{ENTRY_PREFIX}{entry.parent_id}" if entry.parent_id in known else None,
        f"{ENTRY_PREFIX}{entry.id}",
    )


def _to_entry(line: Line) -> ConversationEntry:
    (message,) = ModelMessagesTypeAdapter.validate_json(str(line.metadata[MESSAGE]))
    return ConversationEntry(id=_entry_id(line), parent_id=_parent_id(line), message=message)


def _entry_id(line: Line) -> str:
    return str(line.key).removeprefix(ENTRY_PREFIX)


def _parent_id(line: Line) -> str | None:
    parent = line.metadata.get(PARENT)
    return parent if isinstance(parent, str) else None


def _find_previous(line: Line, known: Mapping[str, Line]) -> str | None:
    """Return the entry before one whose parent was forgotten: the last one that was said before it in its session."""
    earlier = [
        other
        for other in known.values()
        if other.session == line.session
        and sort_key(other) < sort_key(line)
        and _is_current(other) >= _is_current(line)
    ]
    return _entry_id(max(earlier, key=sort_key)) if earlier else None


def _is_current(line: Line) -> bool:
    return line.retracted_at is None


def _read_message(message: ModelMessage) -> tuple[str, Role, datetime | None]:
    """Return what is said in a message, who says it, and when; the text is empty if nothing is said."""
    if isinstance(message, ModelResponse):
        text = (message.text or "").strip()
        return text, "assistant", message.timestamp.astimezone()
    text = _prompt_of(message)
    times = (message.timestamp, *(getattr(part, "timestamp", None) for part in message.parts))
    said_at = next((time for time in times if isinstance(time, datetime)), None)
    return text, "user" if text else "tool", said_at and said_at.astimezone()


def _prompt_of(message: ModelRequest) -> str:
    """Return what the user says in a request; empty without a prompt, or if it is a picture, for example."""
    prompts = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
    items = [item for prompt in prompts for item in ([prompt] if isinstance(prompt, str) else prompt)]
    texts = [item.content if isinstance(item, TextContent) else item for item in items]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()

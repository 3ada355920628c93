"""Google ADK's `BaseMemoryService` on banks: an event is a line, its session a session, its user a bank.

Only words are stored: no calls of tools, no thoughts of a model. The id of a memory is that of its event. A memory that
was deleted stays deleted when its session is added again, because the bank keeps a hash of its id.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from everthread import factory
from everthread.bank.line_validation import clean_lines
from everthread.common.keys import SETTING_DELETED_EVENTS
from everthread.compat.conditions import compare
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.stores.base import Store
from everthread.stores.conditions import MAX_VALUES
from everthread.stores.limits import UNSTORABLE_CHARACTERS
from everthread.types import Comparison, Filter, FoundUnit, JSONValue, Line, NewLine, Role

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

MAX_OPEN_BANKS = 256
MEMORY_TOKENS = 1000
MEMORIES = "memories"  # the session of what `add_memory` stores
EVENT_ID, CUSTOM = "event_id", "custom_metadata"  # names in the metadata of a line
USER = "user"  # the author of what the user says

_LINE_ID = re.compile(r"line-([1-9]\d{0,17})")  # of a line that is no event


class EverthreadMemoryService(BaseMemoryService):
    """The memory of ADK's agents in the banks of a folder or a database; each user of an app has one.

    with EverthreadMemoryService() as service:
        runner = Runner(app_name="travel", agent=agent, session_service=sessions, memory_service=service)
    """

    def __init__(
        self,
        store: Store | str | Path | None = None,
        *,
        embedder: Embedder | str | None = None,
        recipe: Recipe | str | None = None,
    ) -> None:
        """Open a store. An argument that is None is taken from the configuration.

        Args:
            store: a folder, the URL of a database, or a Store.
            embedder: an embedding model or its name.
            recipe: a recipe or its name.

        Raises:
            ConfigError: an argument is invalid.
            StoreUnavailable: the store can't be opened.
        """
        self._store = opened = factory.open_store(store)
        self._owns_store = opened is not store
        model = factory.open_embedder(embedder)

        @lru_cache(MAX_OPEN_BANKS)
        def open_bank(name: str) -> Memory:
            return Memory.open(name, store=opened, embedder=model, recipe=recipe)

        self._open_bank = open_bank

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that are not stored yet.

        Raises:
            BadInput: a value is invalid; nothing is stored.
            StoreUnavailable: the bank can't be written.
        """
        await asyncio.to_thread(self._add, name_bank(session.app_name, session.user_id), session.events, session.id, {})

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that are not stored yet.

        Args:
            app_name, user_id: whose memory it is.
            events: the events.
            session_id: their session; None: the bank's current one. An event is stored once, with or without it.
            custom_metadata: JSON values by name, which `search_memory` returns with each event.

        Raises:
            BadInput, StoreUnavailable: as in `add_session_to_memory`.
        """
        metadata: Any = dict(custom_metadata or {})
        await asyncio.to_thread(self._add, name_bank(app_name, user_id), events, session_id, metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories that are no events. One with a known id replaces the stored one.

        Args:
            app_name, user_id: whose memory it is.
            memories: the memories. Without a timestamp, they are dated now.
            custom_metadata: JSON values by name, which are added to those of each memory.

        Raises:
            BadInput: a memory has no text, or a value is invalid; nothing is stored.
            StoreUnavailable: the bank can't be written.
        """
        lines = clean_lines(_memory_line(entry, custom_metadata or {}) for entry in memories)
        await asyncio.to_thread(self._put, name_bank(app_name, user_id), lines)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what a user's memory has about a query, at most 1,000 tokens, in the order in which it was said.

        It is empty if nothing is relevant. Each memory has its author, its time and an id, except notes and summaries,
        which have no id.

        Raises:
            StoreUnavailable: the bank can't be read.
        """
        sources = await asyncio.to_thread(self._search, name_bank(app_name, user_id), query)
        return SearchMemoryResponse(memories=[_to_entry(source) for source in sources])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory; none if the id is unknown. No byte of it remains, and its session does not add it again.

        Raises:
            StoreUnavailable: the bank can't be written.
        """
        if memory_id:
            await asyncio.to_thread(self._delete, name_bank(app_name, user_id), _to_storable(memory_id))

    def close(self) -> None:
        """Close the store, unless the caller opened it."""
        if self._owns_store:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------- in a thread

    def _add(self, bank: str, events: Iterable[Event], session: str | None, metadata: Mapping[str, JSONValue]) -> None:
        lines = clean_lines(line for event in events if (line := _event_line(event, session, metadata)) is not None)
        if not lines:
            return
        memory = self._open_bank(bank)
        deleted = _deleted_ids(memory)
        known = _find_known(memory, lines)
        stored = memory.observe_many(
            line for line in lines if _digest(_event_id(line)) not in deleted and _identity(line) not in known
        )
        if (deleted_since := _deleted_ids(memory) - deleted) and stored:  # by another thread or process
            _forget(memory, [line for line in stored if _digest(_event_id(line)) in deleted_since])

    def _put(self, bank: str, lines: Iterable[NewLine]) -> None:
        self._open_bank(bank).observe_many(lines, replace=True)

    def _search(self, bank: str, query: str) -> Sequence[Line | FoundUnit]:
        return self._open_bank(bank).context(query, MEMORY_TOKENS).sources if self._store.exists(bank) else ()

    def _delete(self, bank: str, memory_id: str) -> None:
        if not self._store.exists(bank):
            return
        memory = self._open_bank(bank)
        if not _find(memory, memory_id):
            return
        digest = _digest(memory_id)

        def add_digest(stored: JSONValue | None) -> JSONValue:
            known = stored if isinstance(stored, list) else []
            return known if digest in known else [*known, digest]

        # First, so that no other thread or process adds it again.
        self._store.update_setting(bank, SETTING_DELETED_EVENTS, add_digest)
        _forget(memory, _find(memory, memory_id))


def name_bank(app_name: str, user_id: str) -> str:
    """Return the id of the bank of an app's user, such as "travel/nora". No other app and user share it."""
    return f"{app_name.replace('%', '%25').replace('/', '%2F')}/{user_id}"


def _event_line(event: Event, session: str | None, metadata: Mapping[str, JSONValue]) -> NewLine | None:
    """Return the line of an event; None if it has no words, or only the first of them yet."""
    text = _read_text(event.content)
    if not text or event.partial:
        return None
    event_id = _to_storable(event.id) if event.id else _digest(event.author, str(event.timestamp), text)
    role: Role = "user" if event.author == USER else "assistant"
    return NewLine(
        text,
        event.author or role,
        role,
        datetime.fromtimestamp(event.timestamp).astimezone(),
        session,
        {EVENT_ID: event_id, **({CUSTOM: dict(metadata)} if metadata else {})},
        key=_event_key(session, event_id),
    )


def _memory_line(entry: MemoryEntry, metadata: Mapping[str, object]) -> NewLine:
    """Return the line of a memory that is no event. Raises BadInput."""
    text = _read_text(entry.content)
    if not text:
        raise BadInput(f"a memory needs text in the parts of its content, got {entry.content!r}")
    entry_id = _to_storable(entry.id) if entry.id else str(uuid4())
    role: Role = "assistant" if entry.content.role == "model" else "user"
    custom: Any = {**entry.custom_metadata, **metadata}
    return NewLine(
        text,
        entry.author or role,
        role,
        _parse_time(entry.timestamp),
        MEMORIES,
        {EVENT_ID: entry_id, **({CUSTOM: custom} if custom else {})},
        key=f"{MEMORIES}/{entry_id}",
    )


def _parse_time(timestamp: str | None) -> datetime | None:
    """Return the time of a memory; one without an offset is on this machine's clock. Raises BadInput."""
    try:
        return None if timestamp is None else datetime.fromisoformat(timestamp).astimezone()
    except ValueError:
        raise BadInput(f"invalid timestamp: got {timestamp!r}, expected ISO 8601 such as 2026-05-01T12:00:00") from None


def _read_text(content: types.Content | None) -> str:
    """Return the words in the parts of a content, without the thoughts of a model."""
    parts = (content.parts or []) if content is not None else []
    return "\n".join(part.text for part in parts if part.text and part.text.strip() and not part.thought)


def _to_entry(source: Line | FoundUnit) -> MemoryEntry:
    line = source if isinstance(source, Line) else None
    custom: Any = line.metadata.get(CUSTOM, {}) if line else {}
    return MemoryEntry(
        content=types.Content(
            role="user" if line and line.role == "user" else "model", parts=[types.Part(text=source.text)]
        ),
        custom_metadata=dict(custom) if isinstance(custom, Mapping) else {},
        id=_event_id(line) if line else None,
        author=source.speaker,
        timestamp=None if source.is_undated else source.said_at.isoformat(timespec="seconds"),
    )


def _event_id(line: Line | NewLine) -> str:
    """Return the id of a memory: that of its event, or one made of the number of a line that is no event."""
    event_id = line.metadata.get(EVENT_ID)
    return event_id if isinstance(event_id, str) else f"line-{line.seq}" if isinstance(line, Line) else ""


def _event_key(session: str | None, event_id: str) -> str:
    return f"{session or ''}/{event_id}"


def _identity(line: Line | NewLine) -> tuple[str, datetime | None]:
    """Return what identifies an event in any session: its id and its time, because sessions may have the same ids."""
    return _event_id(line), line.said_at


def _find_known(memory: Memory, lines: Sequence[NewLine]) -> set[tuple[str, datetime | None]]:
    """Return the stored events that lines without a session may repeat, or that were stored without a session."""
    ids = [_event_id(line) for line in lines]
    if lines[0].session is not None:
        without = [_event_key(None, event_id) for event_id in ids]
        return {_identity(line) for line in memory.store.get_by_key(memory.bank, without).values()}
    parts = (ids[start : start + MAX_VALUES] for start in range(0, len(ids), MAX_VALUES))
    conditions = (Comparison(f"metadata.{EVENT_ID}", "in", part) for part in parts)
    stored = (memory.lines(Filter(condition=each), include_retracted=True) for each in conditions)
    return {_identity(line) for line in chain.from_iterable(stored)}


def _to_storable(event_id: str) -> str:
    """Return an id, or a hash of one with characters that no database stores (NUL and half of a surrogate pair)."""
    return _digest(event_id) if UNSTORABLE_CHARACTERS.search(event_id) else event_id


def _find(memory: Memory, memory_id: str) -> list[Line]:
    """Return the lines of a memory, retracted ones too."""
    where = Filter(condition=compare(f"metadata.{EVENT_ID}", "==", memory_id))
    lines = list(memory.lines(where, include_retracted=True))
    found = _LINE_ID.fullmatch(memory_id)
    line = memory.get(int(found[1])) if found and not lines else None
    return [line] if line is not None and _event_id(line) == memory_id else lines


def _forget(memory: Memory, lines: Iterable[Line]) -> None:
    with suppress(NotFound):  # another process was faster
        memory.forget(seq=[line.seq for line in lines])


def _deleted_ids(memory: Memory) -> set[str]:
    """Return the hashes of the ids of deleted memories."""
    digests = memory.settings().get(SETTING_DELETED_EVENTS)
    return {digest for digest in digests if isinstance(digest, str)} if isinstance(digests, list) else set()


def _digest(*texts: str) -> str:
    return blake2b("\0".join(texts).encode(errors="surrogatepass"), digest_size=12).hexdigest()

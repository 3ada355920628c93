"""Strands' `MemoryStore` on a bank: a message is a line, and so is a memory that the model or the program adds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import repeat
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from strands.memory import InvocationTrigger, MemoryEntry

from everthread.compat.hits import describe_hit, find_relevant
from everthread.errors import NotFound
from everthread.text.formatting import format_dated_line
from everthread.types import Hit, Line, NewLine, Role

if TYPE_CHECKING:
    from strands.memory import AddMessagesContext, ExtractionConfig, SearchOptions
    from strands.types.content import Message

    from everthread.client.client import Client
    from everthread.memory import Memory

DESCRIPTION = "What was said in earlier conversations, word for word, with its time."
DEFAULT_RESULTS = 5  # as many as Strands inserts into a prompt
KEY_PREFIX = "strands:"
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}

T = TypeVar("T")


class EverthreadMemoryStore:
    """A memory store of Strands' agents in a bank, on this machine or on a server.

        with Memory.open("alice") as memory:
            manager = MemoryManager(stores=[EverthreadMemoryStore(memory)])
            agent = Agent(model=model, memory_manager=manager)

    Strands finds out which methods a store has by looking for them; a base class isn't needed.
    """

    def __init__(
        self,
        memory: Memory | Client,
        *,
        name: str = "everthread",
        description: str | None = DESCRIPTION,
        max_search_results: int | None = DEFAULT_RESULTS,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
        session: str | None = None,
    ) -> None:
        """Use a bank, which the caller closes.

        Args:
            memory: the bank.
            name: the name of the store, by which Strands' tools select it.
            description: describes the store to the model.
            max_search_results: the maximum number of results, if a search doesn't say; None: Strands' own.
            writable: whether the agent's messages, and memories, are stored.
            extraction: when messages are stored; None: after each invocation, if the store is writable.
            session: the session of what is stored; None: the bank's current one.
        """
        self.name, self.description, self.max_search_results = name, description, max_search_results
        self.writable = writable
        self.extraction: Any = {"trigger": [InvocationTrigger()]} if extraction is None and writable else extraction
        self._memory, self._session = memory, session
        self._run, self._stored = uuid4().hex, -1  # the run of an agent, and the last number stored of its messages
        self._lock = Lock()

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return what is relevant to a query, best first: at most as many entries as the options allow.

        Raises:
            BadQuery: the query is not a text.
            StoreUnavailable: the bank can't be read.
        """
        limit = (options or {}).get("max_search_results", self.max_search_results)
        hits = await asyncio.to_thread(self._search, query)
        return [_to_entry(hit) for hit in hits[: DEFAULT_RESULTS if limit is None else limit]]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> Line:
        """Store a memory; the same one again adds nothing.

        Args:
            content: its text.
            metadata: JSON values by name.

        Raises:
            BadInput: a value is invalid.
            StoreUnavailable: the bank can't be written.
        """
        line = NewLine(
            content, "assistant", "assistant", session=self._session, metadata=metadata or {}, key=_build_key(content)
        )
        return (await _run_to_end(lambda: self._memory.observe_many([line])))[0]

    async def add_messages(self, messages: Sequence[Message], context: AddMessagesContext | None = None) -> None:
        """Store the words of messages. A batch that Strands repeats after an error is stored once.

        Args:
            messages: the messages.
            context: has their numbers, which begin at 0 with each agent.

        Raises:
            BadInput, StoreUnavailable: as in `add`.
        """
        numbers = context.sequence_numbers if context is not None else None
        if numbers is None or len(numbers) != len(messages):
            numbers = None
        await _run_to_end(lambda: self._add(messages, numbers))

    def _add(self, messages: Sequence[Message], numbers: Sequence[int] | None) -> None:
        with self._lock:  # one batch is stored before another agent begins
            if numbers and numbers[0] <= self._stored:  # these are stored: another agent began
                self._run = uuid4().hex
            if lines := [line for line in map(self._build_line, messages, numbers or repeat(None)) if line.text]:
                self._memory.observe_many(lines)
            if numbers:
                self._stored = numbers[-1]

    def _build_line(self, message: Message, number: int | None) -> NewLine:
        role, text = message["role"], _read_text(message)
        key = None if number is None else _build_key(self._run, str(number), role, text)
        return NewLine(text, role, ROLES[role], session=self._session, key=key)

    def _search(self, query: str) -> Sequence[Hit]:
        try:
            return find_relevant(self._memory, query)
        except NotFound:  # a server has no bank before its first line
            return ()


async def _run_to_end(function: Callable[[], T]) -> T:
    """Run a function in a thread, to its end even when this is cancelled.

    Strands stores in the background, and does not wait for that in the event loop of a program, whose end cancels it.
    """
    result = asyncio.get_running_loop().run_in_executor(None, function)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        return await result


def _to_entry(hit: Hit) -> MemoryEntry:
    return MemoryEntry(content=format_dated_line(hit.source), metadata=describe_hit(hit))


def _read_text(message: Message) -> str:
    """Return the words of a message, without thoughts, calls of tools and files."""
    texts: list[str] = []
    for block in message["content"]:
        texts.append(block.get("text", ""))
        texts += [part.get("text", "") for part in block.get("citationsContent", {}).get("content", ())]
    return "\n".join(text for text in texts if text.strip()).strip()


def _build_key(*parts: str) -> str:
    return KEY_PREFIX + blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()

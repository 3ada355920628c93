"""Microsoft Agent Framework's context provider and history provider on a bank: a message is a line.

Both store the same lines; of an agent with both, the history provider does. Messages without words, such as calls of
tools, are kept in their place and not recalled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from agent_framework import ContextProvider, HistoryProvider, InMemoryHistoryProvider, Message

from everthread.client.client import Client
from everthread.compat.hits import HEADING
from everthread.errors import NotFound
from everthread.stores.limits import UNSTORABLE_CHARACTERS
from everthread.types import Filter, Line, NewLine, Role, now

if TYPE_CHECKING:
    from agent_framework import AgentSession, SessionContext, SupportsAgentRun

    from everthread.memory import Memory

DEFAULT_SESSION = "default"  # of messages without a session
KEY_PREFIX = "agent-framework:"
MEMORY_TOKENS = 1000
MIN_LINES_READ = 64  # of the newest ones of a bank, for the end of a session
MAX_RETRY_TIME = timedelta(minutes=10)  # in which a call that failed is repeated
MESSAGE = "agent_framework"  # name in the metadata of a line: the message as JSON, if it is more than the line has
ROLES: Mapping[str, Role] = {"user": "user", "system": "system", "developer": "system", "tool": "tool"}


class EverthreadContextProvider(ContextProvider):
    """The long-term memory of an agent in a bank, on this machine or on a server.

    with Memory.open("alice") as memory:
        agent = Agent(client, context_providers=[EverthreadContextProvider(memory)])
        await agent.run("Where does my sister live?")
    """

    def __init__(self, memory: Memory | Client, source_id: str = "everthread", *, writable: bool = True) -> None:
        """Use a bank, which the caller closes.

        Args:
            memory: the bank.
            source_id: the name of the provider among those of an agent.
            writable: whether messages are stored; otherwise they are only recalled.
        """
        super().__init__(source_id)
        self.writable = writable
        self.memory = memory

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what the bank knows of the newest user message to the instructions; nothing if nothing is relevant.

        Instructions hold for one run: a service that stores the conversation doesn't store them. Messages of the
        session that the model is given anyway are not repeated.

        Raises:
            StoreUnavailable: the bank can't be read.
        """
        texts = [_read_text(message) for message in context.input_messages if message.role == "user"]
        query = next((text for text in reversed(texts) if text), "")
        text = await asyncio.to_thread(self._recall, query, session, context) if query else ""
        if text:
            context.extend_instructions(self.source_id, f"{HEADING}\n{text}")

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Store the input and the response, without what providers added, unless a history provider of the bank does.

        Raises:
            BadInput: a value is invalid; nothing is stored.
            StoreUnavailable: the bank can't be written.
        """
        if self.writable and not self._has_history(agent):
            messages = [*context.input_messages, *(context.response.messages if context.response else ())]
            await asyncio.to_thread(_save, self.memory, context.session_id or DEFAULT_SESSION, messages)

    def _has_history(self, agent: SupportsAgentRun) -> bool:
        """Return whether an agent has a provider that stores its messages in this bank."""
        providers = getattr(agent, "context_providers", ())
        histories = [provider for provider in providers if isinstance(provider, EverthreadHistoryProvider)]
        return any(each.memory is self.memory and each.store_inputs and each.store_outputs for each in histories)

    def _recall(self, query: str, session: AgentSession, context: SessionContext) -> str:
        lines = _read(self.memory, context.session_id or DEFAULT_SESSION)
        if context.service_session_id is None:  # otherwise the service has the whole conversation
            in_memory = session.state.get(InMemoryHistoryProvider.DEFAULT_SOURCE_ID, {}).get("messages", ())
            shown = {_read_text(message) for message in (*context.get_messages(), *in_memory)}
            lines = [line for line in lines if line.text in shown]
        try:
            return self.memory.context(query, MEMORY_TOKENS, exclude=[line.seq for line in lines]).text
        except NotFound:  # a server has no bank before its first line
            return ""


class EverthreadHistoryProvider(HistoryProvider):
    """The conversations of an agent in a bank: they go on in another process, and other conversations recall them.

    agent = Agent(client, context_providers=[EverthreadHistoryProvider(memory), EverthreadContextProvider(memory)])
    await agent.run("Where does my sister live?", session=AgentSession(session_id="conversation_123"))
    """

    def __init__(self, memory: Memory | Client, source_id: str = "everthread_history", **options: Any) -> None:
        """Use a bank, which the caller closes.

        Args:
            memory: the bank.
            source_id: the name of the provider among those of an agent.
            options: what is loaded and stored, as for `HistoryProvider`.
        """
        super().__init__(source_id, **options)
        self.memory = memory

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **_: Any
    ) -> list[Message]:
        """Return the messages of a session, as they were, in the order of the conversation.

        Raises:
            StoreUnavailable: the bank can't be read.
        """
        lines = await asyncio.to_thread(_read, self.memory, session_id or DEFAULT_SESSION)
        return [_to_message(line) for line in lines]

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], *, state: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Store messages, except those at their beginning with which the session already ends.

        A single user message without an id may have been said again. It is stored, as by the framework's providers; so
        is a turn without ids after ten minutes.

        Raises:
            BadInput, StoreUnavailable: as in `EverthreadContextProvider.after_run`.
        """
        await asyncio.to_thread(_save, self.memory, session_id or DEFAULT_SESSION, messages)


# -------------------------------------------------------------------- in a thread


def _read(memory: Memory | Client, session: str) -> list[Line]:
    """Return the lines of a session in the order of the conversation: a corrected one in its place."""
    return sorted(_list_lines(memory, session), key=lambda line: line.position)


def _list_lines(
    memory: Memory | Client, session: str, after: int = 0, *, include_retracted: bool = False
) -> list[Line]:
    """Return the lines of a session by number, from the one that follows `after`."""
    where = Filter(session=session)
    try:
        return list(memory.lines(where, after=after, include_retracted=include_retracted, include_wordless=True))
    except NotFound:  # a server has no bank before its first line
        return []


def _read_end(memory: Memory | Client, session: str, count: int) -> tuple[list[Line], int]:
    """Read the last `count` lines of a session, as `_read` returns them, and the number of its newest line, which may
    be retracted; 0 if it has none.

    The newest lines of the bank are read, and more of them if that was not enough: as a rule they are of this session.
    """
    newest, size = _find_newest(memory), max(MIN_LINES_READ, 2 * count)
    while True:
        after = max(newest - size, 0)
        lines = _list_lines(memory, session, after, include_retracted=True)
        # A new version of an earlier line has that line's position.
        live = [line for line in lines if line.retracted_at is None and line.position > after]
        if after == 0 or len(live) >= count:
            latest = sorted(live, key=lambda line: line.position)[-count:]
            return latest, max((line.seq for line in lines), default=0)
        size *= 8


def _find_newest(memory: Memory | Client) -> int:
    """Return the number of the newest line of a bank or, if some were forgotten on a server, a lower one."""
    if not isinstance(memory, Client):
        return memory.store.corpus_stats(memory.bank).last_seq
    try:
        stats = memory.stats()
    except NotFound:  # as above
        return 0
    return stats.lines + stats.retracted


def _save(memory: Memory | Client, session: str, messages: Sequence[Message]) -> None:
    if not messages:
        return
    latest, last = _read_end(memory, session, len(messages))
    stored = [_identify(_to_message(line)) for line in latest]
    given = [_identify(message) for message in messages]
    start = _count_repeated(stored, given)
    if start and _may_be_said_again(messages[:start], start == len(messages), latest[-1].said_at):
        start = 0
    # The same messages that are saved twice at the same time come after the same line, and so have the same keys.
    batch = blake2b(json.dumps([session, last, given[start:]]).encode(), digest_size=16).hexdigest()
    if new := messages[start:]:
        memory.observe_many(
            [_to_line(message, session, f"{KEY_PREFIX}{batch}/{index}") for index, message in enumerate(new)]
        )


def _count_repeated(stored: Sequence[str], given: Sequence[str]) -> int:
    """Return how many messages, from the first one on, are those with which the stored ones end."""
    numbers = range(min(len(stored), len(given)), 0, -1)
    return next((number for number in numbers if stored[-number:] == given[:number]), 0)


def _may_be_said_again(repeated: Sequence[Message], is_all: bool, last_at: datetime) -> bool:
    """Return whether messages with which a session ends since `last_at` may have been said once more: a single one of
    the user or, if they are all that is saved, a turn later than a call is repeated. None of them has an id."""
    is_later = is_all and now() - last_at > MAX_RETRY_TIME
    users = sum(message.role == "user" for message in repeated)
    has_id = any(message.message_id is not None for message in repeated)
    return users == 1 and (len(repeated) == 1 or is_later) and not has_id


def _identify(message: Message) -> str:
    """Return what makes a message the same as another: all except the notes and the name that the framework adds."""
    return message.to_json(exclude={"additional_properties", "author_name"})


def _to_line(message: Message, session: str, key: str) -> NewLine:
    """Return the line of a message, which is in the metadata unless the line has all of it."""
    text, role = _read_text(message), ROLES.get(message.role, "assistant")
    speaker = (message.author_name or "").strip() or role
    line = NewLine(text, speaker, role, session=session, key=key)
    is_storable = text and not UNSTORABLE_CHARACTERS.search(speaker + text)
    is_whole = is_storable and _to_message(line).to_dict() == message.to_dict()
    return line if is_whole else replace(line, metadata={MESSAGE: message.to_json()})


def _to_message(line: Line | NewLine) -> Message:
    if MESSAGE in line.metadata:
        return Message.from_json(str(line.metadata[MESSAGE]))
    return Message(line.role, [line.text], author_name=None if line.speaker == line.role else line.speaker)


def _read_text(message: Message) -> str:
    """Return the words of a message, without thoughts, calls of tools and files."""
    texts = (content.text for content in message.contents if content.type == "text")
    return "\n".join(text for text in texts if text and text.strip()).strip()

"""Handles a request to a language model: stores the person's message, recalls, passes on, stores the reply.

A memory that fails never fails the reply: the request is passed on, and a header names the failure.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import anyio.to_thread
import httpx
from starlette.datastructures import Headers
from starlette.types import Receive

from everthread.errors import EverthreadError
from everthread.server.logs import hash_bank_id
from everthread.server.proxy.body_options import BodyOptions
from everthread.server.proxy.conversation_memory import NO_BLOCK, ConversationMemory
from everthread.server.proxy.destination import Destination
from everthread.server.proxy.formats.base import ModelRequest
from everthread.server.proxy.front_end_tasks import is_temporary
from everthread.server.proxy.history import PersonTurn
from everthread.server.proxy.memory_block import MemoryBlock
from everthread.server.proxy.message_text import ChatMessage
from everthread.server.proxy.passed_answer import PassedAnswer, StoreReply
from everthread.server.proxy.place import write_request
from everthread.server.proxy.reply import Reply
from everthread.server.proxy.reply_reader import can_decompress
from everthread.server.proxy.turn import Turn
from everthread.server.proxy.upstream import RawHeaders, Target, Upstream, find_refusal
from everthread.types import Metadata

Read = TypeVar("Read")

log = logging.getLogger("everthread.server")

# The task that a front end performs, or the agent for which Claude Code or Codex asks; nothing of them is remembered.
TASK_HEADERS = ("x-everthread-task", "x-claude-code-agent-id", "x-openai-subagent")
MODEL_SHARE = 0.8  # of the time for recall, after which lines are found without a model
SLOT_PATIENCE_S = 2.5  # for other requests; then the message is stored, and the request passed on without memories
STORING_PATIENCE_S = 2.0  # for the person's message, and for the reply; what takes longer is stored later
# A request with more is read in a thread; with fewer the event loop waits 3 ms at worst.
MAX_INLINE_MESSAGES, MAX_INLINE_BYTES = 1000, 1_000_000
RETRY_HEADER = "x-stainless-retry-count"  # of OpenAI's and Anthropic's SDKs; "0" at the first attempt
CONTEXT_HEADER = "x-everthread-context"  # "1": the answer names the recalled lines


class Exchange:
    """A request to a language model, and its answer."""

    def __init__(
        self,
        memory: ConversationMemory,
        upstream: Upstream,
        headers: Headers,
        destination: Destination,
        receive: Receive,
    ) -> None:
        """Prepare the exchange; `answer` makes it.

        Args:
            memory: stores and recalls.
            upstream: answers.
            headers: of the request.
            destination: of the request.
            receive: of the request, whose body has been read.
        """
        self._receive = receive
        self._memory, self._upstream, self._headers, self._destination = memory, upstream, headers, destination
        self._failures: list[str] = []

    async def answer(
        self, request: ModelRequest, options: BodyOptions, target: Target, raw_headers: RawHeaders, patience_s: float
    ) -> PassedAnswer:
        """Answer the request.

        Args:
            request: its body.
            options: the options in the body.
            target: where it is passed on to.
            raw_headers: its headers, as they are passed on.
            patience_s: seconds for recall.

        Raises:
            Problem: the upstream does not answer.
            ClientDisconnect: the client has gone away before it answers.
        """
        if self._is_task:
            return await self._pass_on(request, target, raw_headers, None)
        person_turn = await _read(request, partial(request.read_turn, self._build_metadata()))
        continued = await _read(request, request.find_continued_reply)
        if person_turn is None or not person_turn.has_words or await self._continues_reply(person_turn, continued):
            store = self._choose_store(person_turn, continued)
            return await self._pass_on(request, target, raw_headers, store)
        is_retry = re.fullmatch("[1-9][0-9]*", self._headers.get(RETRY_HEADER, "")) is not None
        storing, block = await self._remember(replace(person_turn, is_retry=is_retry), options, patience_s)
        is_answered = False
        try:
            answer, block = await self._send(request, block, person_turn.index, target, raw_headers)
            is_answered = answer.is_success
        finally:
            if not is_answered:  # no reply is stored, after which the message would be embedded
                storing.add_done_callback(self._embed)
        turn = storing.result() if storing.done() else None
        is_stored = not storing.done() or turn is not None
        store = partial(self._finish, storing, block, person_turn.beginning) if is_stored else None
        return self._pass_answer(answer, request, turn, block, store)

    async def count(
        self, request: ModelRequest, options: BodyOptions, target: Target, raw_headers: RawHeaders, patience_s: float
    ) -> PassedAnswer:
        """Answer a request for the number of its tokens, with the memories that its message would get.

        Nothing is stored. Takes and raises the same as `answer`.
        """
        person_turn = await _read(request, partial(request.find_turn, {}))
        if self._is_task or person_turn is None or options.memory is False:
            return await self._pass_on(request, target, raw_headers, None)
        bank, session = self._destination.bank, self._destination.session
        recall = partial(self._memory.preview, bank, person_turn, session, options.budget, MODEL_SHARE * patience_s)
        async with _take_slot(self._memory.slots):
            recalling = self._memory.tasks.start(anyio.to_thread.run_sync(recall))
            block = await self._wait_for_block(recalling, patience_s)
        answer, block = await self._send(request, block, person_turn.index, target, raw_headers)
        return PassedAnswer(answer, self._build_headers(None, block))

    def _choose_store(
        self, person_turn: PersonTurn | None, continued: Sequence[ChatMessage] | None
    ) -> StoreReply | None:
        """Return what stores the reply to a request without a new message with words; None: it is not stored.

        Args:
            person_turn: the person's newest message.
            continued: the messages, if the last is a reply that the request continues.
        """
        if continued is not None:
            return partial(self._extend_reply, continued)
        if person_turn is None or person_turn.has_words:
            return None
        return partial(self._keep_reply, person_turn)

    @property
    def _is_task(self) -> bool:
        return is_temporary(self._destination.session) or any(self._headers.get(name) for name in TASK_HEADERS)

    async def _pass_on(
        self, request: ModelRequest, target: Target, raw_headers: RawHeaders, store: StoreReply | None
    ) -> PassedAnswer:
        """Pass the request on without memories."""
        answer, block = await self._send(request, NO_BLOCK, 0, target, raw_headers)
        return self._pass_answer(answer, request, None, block, store)

    def _pass_answer(
        self,
        answer: httpx.Response,
        request: ModelRequest,
        turn: Turn | None,
        block: MemoryBlock,
        store: StoreReply | None,
    ) -> PassedAnswer:
        """Build the answer to the client, and note if its reply can't be read."""
        encoding = answer.headers.get("content-encoding", "")
        if store is not None and answer.is_success and not can_decompress(encoding):
            log.warning("the model's server compresses its answers as %r unasked: they are not stored", encoding[:100])
            self._failures.append("reply-not-read")
        return PassedAnswer(answer, self._build_headers(turn, block), request.open_reply(), store)

    async def _remember(
        self, person_turn: PersonTurn, options: BodyOptions, patience_s: float
    ) -> tuple[asyncio.Future[Turn | None], MemoryBlock]:
        """Store the person's message, and recall for it unless storing takes too long.

        One thread does both: each change of threads would delay the request.

        Returns:
            The stored message once it is stored, and the memories.
        """
        recalls = options.memory is not False and bool(person_turn.messages)
        loop = asyncio.get_running_loop()
        storing: asyncio.Future[Turn | None] = loop.create_future()
        is_late = threading.Event()
        async with _take_slot(self._memory.slots) as has_slot:

            def remember() -> MemoryBlock:
                if recalls and has_slot and not person_turn.continues:
                    self._prepare(person_turn)
                turn = self._begin(person_turn)
                loop.call_soon_threadsafe(storing.set_result, turn)
                if not recalls or not has_slot or is_late.is_set():
                    return NO_BLOCK
                deadline_s = MODEL_SHARE * patience_s
                return self._memory.recall(self._destination.bank, person_turn, turn, options.budget, deadline_s)

            remembering = self._memory.tasks.start(anyio.to_thread.run_sync(remember))
            await asyncio.wait([storing], timeout=STORING_PATIENCE_S)
            if not storing.done():
                is_late.set()
                remembering.add_done_callback(_retrieve_error)
                self._note_failure("stored-later", TimeoutError())
            elif recalls and has_slot:
                return storing, await self._wait_for_block(remembering, patience_s)
            elif recalls:
                self._note_failure("recall-incomplete", TimeoutError())
        return storing, NO_BLOCK

    def _prepare(self, person_turn: PersonTurn) -> None:
        """Begin to recall: the question is embedded while the message is stored."""
        try:
            self._memory.prepare(self._destination.bank, person_turn.text)
        except Exception as error:  # as in `_begin`, but recall meets it again and notes it
            log.warning("the proxy can't begin to recall", exc_info=error)

    def _begin(self, person_turn: PersonTurn) -> Turn | None:
        """Store the person's message, unless the bank remembers nothing."""
        bank, session = self._destination.bank, self._destination.session
        try:
            return None if self._memory.is_read_only(bank) else self._memory.begin(bank, person_turn, session)
        # No error of the memory, of whatever kind, may fail the person's request. The answer has it in a header, and
        # the log its trace.
        except Exception as error:  # noqa: BLE001
            self._note_failure("not-stored", error)
            return None

    async def _wait_for_block(self, recalling: asyncio.Task[MemoryBlock], patience_s: float) -> MemoryBlock:
        """Wait for memories; none if that takes longer than the patience."""
        await asyncio.wait([recalling], timeout=patience_s)
        if not recalling.done():
            recalling.add_done_callback(_retrieve_error)
            self._note_failure("recall-incomplete", TimeoutError())
            return NO_BLOCK
        try:
            return recalling.result()
        except TimeoutError as error:
            self._note_failure("recall-incomplete", error)
        except Exception as error:  # noqa: BLE001  # as in `_begin`
            self._note_failure("not-recalled", error)
        return NO_BLOCK

    async def _send(
        self, request: ModelRequest, block: MemoryBlock, index: int, target: Target, raw_headers: RawHeaders
    ) -> tuple[httpx.Response, MemoryBlock]:
        """Send the request. If the upstream refuses the memories, offer them in another role, then send it without.

        Returns:
            The answer, and the memories that it was given.
        """
        model = self._destination.model
        roles = self._upstream.list_roles(request.block_roles) if block.text else []
        for role in roles:
            content = await _read(request, partial(write_request, request, model, block.text, index, role))
            sent = await self._upstream.send("POST", target, raw_headers, content, self._receive)
            answer, is_refused = await find_refusal(sent)
            if not is_refused:
                if answer.is_success and len(roles) > 1:
                    self._upstream.learn_role(role)
                return answer, block
            await answer.aclose()
        content = await _read(request, partial(write_request, request, model))
        answer = await self._upstream.send("POST", target, raw_headers, content, self._receive)
        if roles and answer.is_success:
            self._failures.append("memories-refused")
        return answer, NO_BLOCK if roles else block

    async def _finish(
        self, storing: asyncio.Future[Turn | None], block: MemoryBlock, beginning: str, reply: Reply
    ) -> None:
        """Store the reply to the request with these memories, after the message, with the beginning of the reply that
        the client gave."""

        async def finish() -> None:
            if (turn := await asyncio.shield(storing)) is not None:
                bank, metadata = self._destination.bank, self._build_metadata()
                await anyio.to_thread.run_sync(self._memory.finish, bank, turn, reply, metadata, block, beginning)

        await self._store(finish())

    def _embed(self, storing: asyncio.Future[Turn | None]) -> None:
        """Embed a message that gets no reply, in a task of its own."""

        async def embed() -> None:
            with suppress(EverthreadError):  # the next request to the bank meets it again
                await anyio.to_thread.run_sync(self._memory.embed, self._destination.bank)

        if storing.result() is not None:
            self._memory.tasks.start(embed())

    async def _keep_reply(self, person_turn: PersonTurn, reply: Reply) -> None:
        """Store the reply to a message without words."""
        bank, session, metadata = self._destination.bank, self._destination.session, self._build_metadata()
        keep_reply = self._memory.keep_reply
        await self._store(anyio.to_thread.run_sync(keep_reply, bank, person_turn, reply, metadata, session))

    async def _continues_reply(self, person_turn: PersonTurn, messages: Sequence[ChatMessage] | None) -> bool:
        """Return whether a request with the beginning of a reply continues one that is stored.

        Args:
            person_turn: the person's newest message.
            messages: the messages, of which the beginning is the last; None if a reply can't be continued.
        """
        if not person_turn.beginning or messages is None:
            return bool(person_turn.beginning)
        bank, session, has_last_reply = self._destination.bank, self._destination.session, self._memory.has_last_reply
        finding = self._memory.tasks.start(anyio.to_thread.run_sync(has_last_reply, bank, messages, session))
        await asyncio.wait([finding], timeout=STORING_PATIENCE_S)
        if not finding.done():
            finding.add_done_callback(_retrieve_error)
            return False
        return finding.exception() is None and finding.result()

    async def _extend_reply(self, messages: Sequence[ChatMessage], reply: Reply) -> None:
        """Store the continuation of a reply."""
        bank, session = self._destination.bank, self._destination.session
        extend_reply = self._memory.extend_reply
        await self._store(anyio.to_thread.run_sync(extend_reply, bank, messages, reply, session))

    async def _store(self, storing: Awaitable[None]) -> None:
        """Store the reply in a task of its own, for which the answer waits no longer than STORING_PATIENCE_S."""

        async def store() -> None:
            try:
                await storing
            except Exception as error:  # noqa: BLE001  # as in `_begin`; without a header, which was sent before
                self._note_failure("reply-not-stored", error)

        await asyncio.wait([self._memory.tasks.start(store())], timeout=STORING_PATIENCE_S)

    def _note_failure(self, name: str, error: Exception) -> None:
        fields = {"bank": hash_bank_id(self._destination.bank)}
        log.warning(
            "the proxy's memory failed: %s",
            name,
            extra={"fields": fields},
            exc_info=None if isinstance(error, TimeoutError) else error,
        )
        if name == "not-stored" and "stored-later" in self._failures:
            self._failures.remove("stored-later")
        self._failures.append(name)

    def _build_metadata(self) -> Metadata:
        """Return the metadata of the messages in this request."""
        return {"via": "proxy", "model": self._destination.model}

    def _build_headers(self, turn: Turn | None, block: MemoryBlock) -> dict[str, str]:
        """Return the headers that are added to the answer."""
        headers = {"X-Everthread-Recalled": str(len(block.seqs))}
        if turn is not None:
            headers["X-Everthread-Session"] = quote(turn.line.session, safe="/:@ ")
        if self._headers.get(CONTEXT_HEADER, "0") not in ("", "0"):
            headers["X-Everthread-Lines"] = ", ".join(map(str, block.seqs))
        if self._failures:
            headers["X-Everthread-Error"] = ", ".join(self._failures)
        return headers


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    """Retrieve the error of an abandoned task, which asyncio would log as lost."""
    if not task.cancelled():
        task.exception()


async def _read(request: ModelRequest, read: Callable[[], Read]) -> Read:
    """Call a function that reads all messages of a request: in a thread if that takes long."""
    is_short = len(request.messages) <= MAX_INLINE_MESSAGES and len(request.body) <= MAX_INLINE_BYTES
    return read() if is_short else await anyio.to_thread.run_sync(read)


@asynccontextmanager
async def _take_slot(slots: asyncio.Semaphore) -> AsyncIterator[bool]:
    """Take one of the slots for the duration of the block, and yield whether one was free in time."""
    try:
        async with asyncio.timeout(SLOT_PATIENCE_S):
            await slots.acquire()
    except TimeoutError:
        yield False
        return
    try:
        yield True
    finally:
        slots.release()

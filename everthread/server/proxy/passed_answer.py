"""Passes an answer of the upstream on to the client as it arrives, and reads the reply in it as it passes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Self

import anyio
import httpx
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from everthread.errors import EverthreadError
from everthread.server.conversations.reply_stream import CHECK_INTERVAL_S
from everthread.server.problems import Problem
from everthread.server.proxy.reply import Reply
from everthread.server.proxy.reply_reader import ReplyReader, open_reader
from everthread.server.proxy.upstream import DROPPED_ANSWER_HEADERS, DROPPED_ANSWER_PREFIXES, drop_headers

log = logging.getLogger("everthread.server")

MAX_LOGGED_CHARS = 100  # of a header

StoreReply = Callable[[Reply], Awaitable[None]]  # must not raise


class PassedAnswer(Response):
    """An answer of the upstream: its status, its headers, and its body, byte for byte.

    The reply is stored before the client gets the bytes that end it, so that it is known to the client's next request.
    """

    def __init__(
        self,
        answer: httpx.Response,
        headers: Mapping[str, str] | None = None,
        reply: Reply | None = None,
        store: StoreReply | None = None,
    ) -> None:
        """Prepare the response; the body is read when it is sent.

        Args:
            answer: the upstream's, whose body is not read yet.
            headers: further headers.
            reply: what is read of the answer is added to it.
            store: called once with the received part of the reply, if the upstream has answered. A reply that can't be
                read is empty.
        """
        self.status_code, self.background = answer.status_code, None
        self._answer = answer
        passed = drop_headers(answer.headers.raw, DROPPED_ANSWER_HEADERS, DROPPED_ANSWER_PREFIXES)
        added = ((name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items())
        self.raw_headers = [(name.lower(), value) for name, value in (*passed, *added)]  # ASGI: in lower case
        self._content_type = answer.headers.get("content-type", "")
        self._store = store
        self._reply = reply if store is not None and answer.is_success else None  # None once it is stored
        self._reader: ReplyReader | None = None  # None once nothing more is read
        if self._reply is not None:
            self._reader = open_reader(self._content_type, answer.headers.get("content-encoding", ""), self._reply)
        self._check: Callable[[], None] | None = None

    def break_off_on(self, check: Callable[[], None] | None) -> Self:
        """Break the answer off once the client may not go on, of which `check` raises Problem; None: it always may."""
        self._check = check
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with anyio.create_task_group() as tasks:

                async def pass_on() -> None:
                    await self._pass_on(send)
                    tasks.cancel_scope.cancel()

                async def break_off(check: Callable[[], None]) -> None:
                    await _wait_for_refusal(check)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(pass_on)
                if self._check is not None:
                    tasks.start_soon(break_off, self._check)
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()
        finally:
            await self._store_reply()
            with anyio.CancelScope(shield=True):
                await self._answer.aclose()

    async def _pass_on(self, send: Send) -> None:
        """Pass the answer on. If the upstream ends it early, uvicorn closes the connection to the client."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        withheld = b""  # the newest piece of an answer that is not a stream, because it may be the end
        try:
            async for piece in self._answer.aiter_raw():
                self._read(piece)
                if self._reply is not None and self._reply.is_finished:
                    await self._store_reply()
                is_whole = self._reader is not None and not self._reader.is_stream
                may_end = is_whole and bool(withheld or piece.strip())  # some servers send blanks until they answer
                passed, withheld = (withheld, piece) if may_end else (withheld + piece, b"")
                if passed:
                    await send({"type": "http.response.body", "body": passed, "more_body": True})
        except httpx.HTTPError as error:
            log.warning("the model's server ended its answer early: %s", type(error).__name__)
            return
        if self._reader is not None:
            self._end_reading(self._reader)
        await self._store_reply()
        await send({"type": "http.response.body", "body": withheld})

    def _read(self, piece: bytes) -> None:
        if self._reader is None:
            return
        try:
            self._reader.feed(piece)
        except (ValueError, RecursionError) as error:  # the client gets it anyway
            self._stop_reading(error)

    def _end_reading(self, reader: ReplyReader) -> None:
        try:
            reader.end()
        except (ValueError, RecursionError) as error:
            self._stop_reading(error)

    def _stop_reading(self, error: Exception) -> None:
        kind = self._content_type[:MAX_LOGGED_CHARS]
        log.warning("an answer of the type %r could not be read: %s", kind, type(error).__name__)
        self._reader = None

    async def _store_reply(self) -> None:
        """Store the reply once, as far as it was read."""
        reply, self._reply, self._reader = self._reply, None, None
        if reply is not None and self._store is not None:
            with anyio.CancelScope(shield=True):
                await self._store(reply)


async def _wait_for_refusal(check: Callable[[], None]) -> None:
    """Return once `check` raises Problem."""
    while True:
        await anyio.sleep(CHECK_INTERVAL_S)
        try:
            await anyio.to_thread.run_sync(check, abandon_on_cancel=True)  # the answer's end need not wait for it
        except Problem:
            return
        except EverthreadError:  # the next check may read the keys again
            continue

"""Reads the replies of a language model's server: streams of server-sent events, or whole bodies.

A malformed reply is an error. Pieces are valid Unicode, never empty, and passed on at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from everthread.errors import ModelError
from everthread.llms.errors import LLMErrors
from everthread.llms.event_loop import close_with_owner, run, start, wait_for
from everthread.text.encoding import make_encodable
from everthread.text.tokens import estimate_tokens
from everthread.types import Message, Usage

if TYPE_CHECKING:
    import httpx

MAX_REPLY_BYTES = 4_000_000  # of a whole reply, and of one line of a stream; far above any real reply
MAX_PEEK_BYTES = 65_536  # of an error's body; real ones have a few hundred
MAX_PEEK_S = 2.0
MESSAGE_OVERHEAD_TOKENS = 4  # about as many as common chat templates put around a message
FINISH_REASONS = {"stop", "length", "content_filter"}


class ReplyReader:
    """Reads a streamed reply of OpenAICompatible, as a Stream and PushStream.

    `record_usage` is called once, at the end of the reply, and returns the usage with its cost.
    """

    def __init__(
        self,
        response: httpx.Response,
        messages: Sequence[Message],
        errors: LLMErrors,
        record_usage: Callable[[Usage], Usage],
        *,
        timeout: float,
        usage_requested: bool,
    ) -> None:
        self._errors = errors
        self._record_usage = record_usage
        self._timeout = timeout
        self._response = response
        self._messages = tuple(messages)
        self._usage_requested = usage_requested  # whether the server was asked to count tokens
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._refusal = False
        self._written: list[str] = []  # all text of the model, including its reasoning
        self._high_surrogate = ""  # ended the last piece; the next one begins with the other half
        self._closed = self._ended = False
        self._error: ModelError | None = None  # raised while listening; for the next reader
        self._futures: set[Future[str | None] | Future[None]] = set()  # one per waiting reader
        self._pid = os.getpid()  # a forked child must not close its parent's connection
        self._reading = asyncio.Lock()
        self._pieces = self._read()
        close_with_owner(self, response.aclose)

    @property
    def usage(self) -> Usage:
        return self._usage or estimate_usage(self._messages, "".join(self._written))

    @property
    def finish(self) -> str | None:
        return "refusal" if self._refusal else self._finish

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._closed or (piece := self._await(self._next())) is None:
            raise StopIteration
        return piece

    def listen(self, on_piece: Callable[[str], bool], on_end: Callable[[], None]) -> None:
        future = start(self._listen(on_piece))
        self._futures.add(future)
        future.add_done_callback(lambda _: on_end())
        if self._closed:
            future.cancel()

    def close(self) -> None:
        self._closed = True
        if self._pid != os.getpid() or sys.is_finalizing():
            return  # the connection is the parent's, or ends with the interpreter; the loop's thread doesn't run
        for future in list(self._futures):
            future.cancel()
        run(self._aclose())

    def _await(self, next_piece: Coroutine[Any, Any, str | None]) -> str | None:
        """Return the next piece, or None once the stream is closed."""
        future = start(next_piece)
        self._futures.add(future)
        try:
            if self._closed:
                future.cancel()
            return wait_for(future)
        except CancelledError:
            return None
        finally:
            future.cancel()  # no effect once it is done
            self._futures.discard(future)

    async def _next(self) -> str | None:
        async with self._reading:
            if (error := self._error) is not None:
                self._error = None
                raise error
            return await anext(self._pieces, None)

    async def _listen(self, on_piece: Callable[[str], bool]) -> None:
        try:
            async with self._reading:
                async for piece in self._pieces:
                    if not on_piece(piece):
                        break
        except ModelError as error:
            self._error = error

    async def _aclose(self) -> None:
        async with self._reading:
            await self._pieces.aclose()
            await self._end()

    async def _read(self) -> AsyncGenerator[str]:
        try:
            with self._errors.translate(self._timeout):
                async with aclosing(self._parse_pieces()) as pieces:
                    async for piece in pieces:
                        yield piece
        except ModelError:
            if not self._closed and self._finish is None:  # an error after the end loses nothing
                raise
        finally:
            await self._end()

    async def _parse_pieces(self) -> AsyncGenerator[str]:
        async with aclosing(read_events(self._response)) as events:
            async for event in events:
                if event is None:
                    break
                self._errors.check_event(event)
                if piece := self._take_piece(event):
                    yield piece
                if self._finish and (self._usage or not self._usage_requested):
                    break  # some servers send nothing more, and keep the connection open
            else:
                if self._finish is None:
                    raise self._errors.cut_error()
        if self._high_surrogate:
            yield "\ufffd"

    def _take_piece(self, event: Mapping[str, Any]) -> str:
        """Return the piece of text in an event, and record its other fields."""
        if event.get("usage"):
            self._usage = read_usage(event) or self._usage
        choice = get_path(event, "choices", 0)
        delta = get_path(choice, "delta")
        refusal = get_text(delta, "refusal")
        reasoning = get_text(delta, "reasoning_content") or get_text(delta, "reasoning")
        text = get_text(delta, "content") + refusal
        self._refusal = self._refusal or bool(refusal)
        self._written += [reasoning, text]
        if isinstance(finish := get_path(choice, "finish_reason"), str):
            if finish in ("error", "abort"):
                raise self._errors.cut_error(finish)
            self._finish = finish if finish in FINISH_REASONS else "stop"
        text = self._high_surrogate + text
        self._high_surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return make_encodable(text[: len(text) - len(self._high_surrogate)])

    async def _end(self) -> None:
        await self._response.aclose()
        if not self._ended:
            self._ended = True
            self._usage = self._record_usage(self.usage)


def estimate_usage(messages: Sequence[Message], reply: str) -> Usage:
    """Return the estimated usage of a reply whose tokens the server didn't count."""
    prompt = sum(estimate_tokens(message.content) + MESSAGE_OVERHEAD_TOKENS for message in messages)
    return Usage(prompt, estimate_tokens(reply), estimated=True)


async def read_body(response: httpx.Response) -> bytes:
    """Return a whole body. Raises ValueError if it is longer than MAX_REPLY_BYTES."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MAX_REPLY_BYTES:
            raise ValueError("too long")
    return bytes(body)


async def peek_error_body(response: httpx.Response) -> bytes:
    """Return the beginning of an error's body, as it was sent, and close the response.

    The body may be endless or be cut off. Reading it raises no error, because the status is already known.
    """
    import httpx

    body = bytearray()
    end = time.monotonic() + MAX_PEEK_S
    try:
        with suppress(httpx.HTTPError):
            async for part in response.aiter_raw():
                body += part
                if len(body) >= MAX_PEEK_BYTES or time.monotonic() > end:
                    break
    finally:
        await response.aclose()
    return bytes(body[:MAX_PEEK_BYTES])


async def read_events(response: httpx.Response) -> AsyncGenerator[dict[str, Any] | None]:
    """Yield the events of a stream, and None for its end mark.

    Raises:
        ValueError: the body is not a stream of JSON events.
    """
    media_type = response.headers.get("content-type", "")
    if media_type.startswith(("text/html", "application/json")):
        raise ValueError("no stream")
    async with aclosing(_lines(_parts(response))) as lines:
        async for line in lines:
            name, _, value = line.partition(b":")
            if name == b"data" and (value := value.strip()):
                yield None if value == b"[DONE]" else json.loads(value)


def _parts(response: httpx.Response) -> AsyncIterable[bytes]:
    """Return the parts of the body as they arrive.

    An uncompressed body is read directly from the connection: the client's own layers cost as much as all parsing here.
    """
    plain = response.headers.get("content-encoding", "identity") == "identity"
    return response.stream if plain and isinstance(response.stream, AsyncIterable) else response.aiter_bytes()


async def _lines(parts: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    rest = bytearray()
    async for part in parts:
        rest += part
        if b"\n" in part:
            *complete, rest = rest.split(b"\n")
            for line in complete:
                yield bytes(line)
        if len(rest) > MAX_REPLY_BYTES:
            raise ValueError("line too long")
    yield bytes(rest)


def get_path(value: Any, *path: str | int) -> Any:
    """Return the value at a path of keys and indexes in JSON, or None."""
    for step in path:
        if type(step) is int:
            value = value[step] if isinstance(value, list) and len(value) > step else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def get_text(value: Any, name: str) -> str:
    """Return the text of a field in JSON; "" if it is missing or not a text."""
    text = get_path(value, name)
    return text if isinstance(text, str) else ""


def read_usage(reply: object) -> Usage | None:
    """Return the usage that a server reports; None if it reports none, or no prompt tokens."""
    prompt, completion = get_path(reply, "usage", "prompt_tokens"), get_path(reply, "usage", "completion_tokens")
    if type(prompt) is int and prompt > 0 and (completion is None or type(completion) is int):
        return Usage(prompt, completion or 0)
    return None

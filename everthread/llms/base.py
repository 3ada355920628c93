"""The interfaces of language models and of the replies they stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from everthread.types import JSONValue, Message, Sampling, Usage


class Stream(Protocol):
    """A reply in progress: an iterator over non-empty pieces of text.

    Iterating raises LLMUnavailable if the reply is cut off. Once it has ended, `usage` is known and `finish` is the
    reason: "stop", "length", "content_filter", "refusal", or None if the server gave none.
    """

    @property
    def usage(self) -> Usage: ...

    @property
    def finish(self) -> str | None: ...

    def __iter__(self) -> Iterator[str]: ...

    def __next__(self) -> str: ...

    def close(self) -> None:
        """Stop the reply: disconnect from the server, and wake the threads that wait for a piece. Thread-safe."""


@runtime_checkable
class PushStream(Protocol):
    """A Stream that can deliver its pieces to a callback, so that no thread has to wait for them."""

    def listen(self, on_piece: Callable[[str], bool], on_end: Callable[[], None]) -> None:
        """Deliver the pieces as they arrive.

        Iterating afterwards yields the remaining pieces, or raises the error that ended the reply.

        Args:
            on_piece: called with each piece; returns False to stop. Must return quickly: it runs on the event loop that
                all models share.
            on_end: called once, after the last piece.
        """


class LLM(Protocol):
    """A language model. Thread-safe."""

    name: str
    context: int  # the context length: maximum tokens of prompt and reply together

    @property
    def usage(self) -> Usage:
        """The total usage since the object was created."""

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Stream:
        """Request a reply; return as soon as the server has accepted the request.

        Raises:
            LLMUnavailable: the server can't be reached, does not answer, or fails.
            LLMDenied: the server refuses the key.
            LLMRejected: the server refuses the request.
            ModelNotFound: the server has no such model.
        """

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, JSONValue] | None = None,
        sampling: Sampling | None = None,
    ) -> str:
        """Return a whole reply.

        Args:
            messages: the prompt.
            schema: a JSON schema for the reply, which the server follows as far as it can.
            sampling: temperature and limits.

        Raises:
            ModelError: as in `stream`.
        """

"""Language models that write the replies. Whatever speaks OpenAI's chat completions will do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from everthread.types import JSONValue, Message, Sampling, Usage


class Stream(Protocol):
    """A reply on its way: an iterator over pieces of text, none of them empty.

    While it is iterated it raises LLMUnavailable where it is cut. usage is known once it has ended, finish then says
    why it ended: "stop", "length", "content_filter", "refusal", or None where the server did not say.
    """

    @property
    def usage(self) -> Usage: ...

    @property
    def finish(self) -> str | None: ...

    def __iter__(self) -> Iterator[str]: ...

    def __next__(self) -> str: ...

    def close(self) -> None:
        """Stop it, from any thread; the server hears of it, and whoever waits for the next piece gets the end."""


class LLM(Protocol):
    """A language model. Safe from many threads."""

    name: str
    context: int  # tokens that prompt and reply may have together

    @property
    def usage(self) -> Usage:
        """All that was used since it was made."""

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Stream:
        """The reply to these messages. Returns once the server has taken the request.

        Raises LLMUnavailable, LLMDenied, LLMRejected, ModelNotFound.
        """

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, JSONValue] | None = None,
        sampling: Sampling | None = None,
    ) -> str:
        """The whole reply at once; with a JSON schema, as far as the server can, JSON of it. Raises as `stream`."""

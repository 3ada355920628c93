"""Fake models for tests: deterministic, instant, and without files. Public, so that your own tests can use them.

HashEmbedder knows only the spelling of words: texts are similar if they share words. ScriptedLLM returns scripted
replies, and records its prompts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from everthread.common.fork_safety import Lock
from everthread.errors import ConfigError, ModelError
from everthread.llms.streaming import estimate_usage
from everthread.types import JSONValue, Message, Sampling, Usage, Vector, Vectors

WORD_PATTERN = re.compile(r"\w+")
PIECE_PATTERN = re.compile(r"\s*\S+|\s+")


class HashEmbedder:
    """Embeds a text as a hashed bag of words, of unit length; a text without words as the first unit vector."""

    multilingual = False

    def __init__(self, dim: int = 64) -> None:
        if dim < 1:
            raise ConfigError(f"HashEmbedder needs a dimension of at least 1, got {dim}")
        self.dim = dim
        self.name = f"hash-{dim}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dim), np.float32)  # (N, D)
        for vector, text in zip(vectors, texts, strict=True):
            self._fill(vector, text)
        return vectors

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector

    def _fill(self, vector: Vector, text: str) -> None:
        for word in WORD_PATTERN.findall(text.casefold()):
            # Not hash(), which Python salts differently in each process.
            code = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
            vector[(code >> 1) % self.dim] += 1.0 if code & 1 else -1.0
        length = float(np.linalg.norm(vector))
        if length == 0.0:  # no words, or words that cancelled each other
            vector[0] = length = 1.0
        vector /= length


@dataclass(frozen=True, slots=True)
class StreamCut:
    """A scripted reply that is cut off: its text is streamed, then the error is raised."""

    text: str
    error: Exception


ScriptedReply = str | Exception | StreamCut | Callable[[Sequence[Message]], str]


def split_words(text: str) -> list[str]:
    """Split a text into words, each with the whitespace before it."""
    return PIECE_PATTERN.findall(text)


class ScriptedLLM:
    """A language model that returns scripted replies, one per call. Thread-safe.

    Usage is estimated. A call after the last reply raises ModelError.

    Attributes:
        prompts: the messages of each call.
    """

    def __init__(
        self,
        replies: Iterable[ScriptedReply],
        *,
        context: int = 8192,
        pieces: Callable[[str], Iterable[str]] = split_words,
    ) -> None:
        """Set the replies.

        Args:
            replies: each a text; a function that returns a text for the messages; an exception, which is raised; or a
                StreamCut.
            context: the length of the model's context, in tokens.
            pieces: splits a text for streaming.
        """
        self.name = "scripted"
        self.context = context
        self.prompts: list[tuple[Message, ...]] = []
        self._replies = iter(replies)
        self._pieces = pieces
        self._used_replies = 0
        self._usage = Usage()
        self._lock = Lock()

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ScriptedStream:
        reply = self._next_reply(messages)
        pieces = filter(None, self._pieces(reply.text))
        return ScriptedStream(tuple(messages), pieces, reply.error, self._add_usage)

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, JSONValue] | None = None,
        sampling: Sampling | None = None,
    ) -> str:
        reply = self._next_reply(messages)
        self._add_usage(estimate_usage(messages, reply.text))
        if reply.error is not None:
            raise reply.error
        return reply.text

    def _next_reply(self, messages: Sequence[Message]) -> _Reply:
        with self._lock:
            self.prompts.append(tuple(messages))
            reply = next(self._replies, None)
            if reply is None:
                raise ModelError(
                    f"ScriptedLLM has no more replies: {self._used_replies} were scripted; script one more"
                )
            self._used_replies += 1
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, StreamCut):
            return _Reply(reply.text, reply.error)
        return _Reply(reply if isinstance(reply, str) else reply(messages))

    def _add_usage(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str
    error: Exception | None = None


class ScriptedStream:
    """A reply of ScriptedLLM that is being streamed."""

    def __init__(
        self,
        messages: Sequence[Message],
        pieces: Iterator[str],
        error: Exception | None,
        add_usage: Callable[[Usage], None],
    ) -> None:
        self._messages = messages
        self._pieces = pieces
        self._error = error
        self._add_usage = add_usage
        self._written = ""
        self._ended = False
        self._finish: str | None = None
        self._lock = threading.RLock()

    @property
    def usage(self) -> Usage:
        return estimate_usage(self._messages, self._written)

    @property
    def finish(self) -> str | None:
        return self._finish

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        with self._lock:
            if self._ended:
                raise StopIteration
            if (piece := next(self._pieces, None)) is not None:
                self._written += piece
                return piece
            self.close()
            if self._error is not None:
                raise self._error
            self._finish = "stop"
            raise StopIteration

    def close(self) -> None:
        """Stop the stream; it then yields no more pieces."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._add_usage(self.usage)

"""Replies with a fixed text, which is neither written by a model nor stored in a bank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from everthread.chat.reply import Reply, Truncation
from everthread.types import Context, Usage

EMPTY_CONTEXT = Context("", 0, (), (), (), 0.0)


class PassthroughFilter:
    """Passes text unchanged; replaces `ReplyFilter` for a text that no model wrote."""

    is_over = False
    stop_reason: Literal["", "person", "long"] = ""

    def feed(self, piece: str) -> str:
        return piece

    def end(self) -> str:
        return ""


class StaticStream:
    """Streams a fixed text as one piece."""

    usage = Usage()
    finish: str | None = "stop"

    def __init__(self, text: str) -> None:
        self._pieces = [text] if text else []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if not self._pieces:
            raise StopIteration
        return self._pieces.pop()

    def close(self) -> None:
        self._pieces = []


def build_static_reply(text: str, context: Context = EMPTY_CONTEXT) -> Reply:
    """Build a reply with this text. `context` are the memories recalled for it."""
    return Reply(context, None, lambda: StaticStream(text), PassthroughFilter(), _discard)


def _discard(text: str, *, truncation: Truncation, refused: bool) -> None:
    """Save nothing."""

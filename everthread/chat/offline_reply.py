"""What a chat without a language model says in place of a reply: what it remembers. It is labelled as such, and never
kept, or the memory would fill with echoes of itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from everthread.types import Context, Usage

LABEL = "(no language model configured)"


def render(context: Context, first: bool, private: bool) -> str:
    """What is remembered, in place of a reply, and labelled as such."""
    if first:
        return f"{LABEL} I remember nothing yet; this is the first thing you have told me."
    if not context.text:
        will = "" if private else " I will remember that you said it."
        return f"{LABEL} I remember nothing that bears on this.{will}"
    shown = "\n".join(f"  {row}" for row in context.text.splitlines())
    return f"{LABEL} This is what I remember that bears on it:\n{shown}"


def without_label(text: str) -> str:
    """Return a recall-only reply without the label that it opens with."""
    return text.removeprefix(f"{LABEL} ")


class PassthroughFilter:
    """In place of `Speech`: every word is shown."""

    is_over = False
    stop_reason: Literal["", "person", "long"] = ""

    def feed(self, piece: str) -> str:
        return piece

    def end(self) -> str:
        return ""


class StaticStream:
    """A stream of what is known already: what a chat without a model says."""

    usage = Usage()
    finish: str | None = "stop"

    def __init__(self, text: str) -> None:
        self._left = [text] if text else []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if not self._left:
            raise StopIteration
        return self._left.pop()

    def close(self) -> None:
        self._left = []


def discard(text: str, *, truncation: str, refused: bool) -> None:
    """What is shown in place of a reply is nobody's line."""

"""Decides which banks a caller may use. The tools get the memory of a bank here, and know nothing of keys or files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, Literal, Protocol

from mcp.server.mcpserver import Context

from everthread.errors import BadQuery
from everthread.memory import Memory

Verb = Literal["read", "write", "forget"]


ChatTurn = tuple[Literal["user", "assistant"], str, datetime | None]  # who said it, the words, and the time if known
Keep = Callable[[Memory, Sequence[ChatTurn], str | None], str]  # as `Banks.keep`


class Banks(Protocol):
    """The banks that a server offers.

    Attributes:
        secret: at least 32 bytes, the same in all processes that serve the same banks. They sign what a client must
            send back unchanged.
    """

    secret: bytes

    def may(self, request: Any, verb: Verb) -> bool:
        """Return whether the caller of an HTTP request (None without HTTP) may use some bank for this verb."""

    def has_choice(self, request: Any) -> bool:
        """Return whether the caller may use several banks, so that the tools take the argument `bank`."""

    def open(self, request: Any, bank: str | None, verb: Verb) -> Memory:
        """Return the memory of a bank; None: the caller's default one.

        Raises:
            BadInput: the caller may not use the bank for this verb.
            NotFound: there is no such bank.
        """

    def keep(self, memory: Memory, messages: Sequence[ChatTurn], session: str | None) -> str:
        """Store what is new in a conversation, and return its session; None: it is recognised by its replies.

        Raises:
            BadInput: no message is the person's, or a text is invalid.
        """

    def pause(self, bank: str) -> AbstractContextManager[None]:
        """Keep other users of this process out of a bank while part of it is being forgotten."""


class OpenBanks:
    """Banks that this process has opened for a single caller, who may do everything with them."""

    def __init__(self, memories: Mapping[str, Memory], secret: bytes, keep: Keep) -> None:
        """Offer these banks.

        Args:
            memories: at least one, by bank; the first is the default.
            secret: see `Banks`.
            keep: stores conversations.
        """
        self.memories, self.secret, self._keep = dict(memories), secret, keep

    def may(self, request: Any, verb: Verb) -> bool:
        """Return True."""
        return True

    def has_choice(self, request: Any) -> bool:
        """Return whether there are several banks."""
        return len(self.memories) > 1

    def open(self, request: Any, bank: str | None, verb: Verb) -> Memory:
        """Return the memory of a bank. Raises BadQuery if it was not opened."""
        name = next(iter(self.memories)) if bank is None else bank
        if name not in self.memories:
            raise BadQuery(f"unknown bank: got {name!r}, expected one of {', '.join(self.memories)}")
        return self.memories[name]

    def keep(self, memory: Memory, messages: Sequence[ChatTurn], session: str | None) -> str:
        """Store what is new in a conversation. Raises the same errors as `Banks.keep`."""
        return self._keep(memory, messages, session)

    @contextmanager
    def pause(self, bank: str) -> Iterator[None]:
        """Do nothing: no other user is in this process."""
        yield


def open_bank(ctx: Context[Banks], bank: str | None, verb: Verb) -> Memory:
    """Return the memory of a bank for the caller of a tool. Raises the same errors as `Banks.open`."""
    return ctx.request_context.lifespan_context.open(ctx.request_context.request, bank, verb)

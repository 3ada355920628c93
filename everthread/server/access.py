"""Who asks, and what of: one dependency for every route. Who may what, `keys` says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from fastapi import Depends, Path, Request

from everthread.memory import Memory
from everthread.server import paths
from everthread.server.engine import Engine

Verb = Literal["read", "write", "chat", "forget"]


def engine(request: Request) -> Engine:
    """What the requests share."""
    return request.app.state.engine  # type: ignore[no-any-return]


def permit(request: Request, verb: Verb, bank: str) -> None:
    """Problem 403 unless whoever asks may do this with the bank; for a bank that a body names, and not the path."""


def permitted(request: Request, verb: Verb, banks: Iterable[str]) -> list[str]:
    """Those of the banks with which whoever asks may do this, in their order."""
    return list(banks)


async def bank(bank: Annotated[str, Path(description="A bank's id; a / in it is written %2F.")]) -> str:
    """The bank that the path names."""
    return paths.name(bank)


class Needs:
    """The memory of the bank in the path, for whoever may do this with it: a route's `Annotated[Memory, Needs(…)]`."""

    def __init__(self, verb: Verb, *, make: bool = False) -> None:
        self.verb, self.make = verb, make

    def __call__(self, request: Request, bank: Annotated[str, Depends(bank)]) -> Memory:
        return engine(request).memory(bank, make=self.make)


class NeedsEverything:
    """What is shared, for a route of no bank in particular: whoever has a key must have one for all banks."""

    def __init__(self, verb: Verb) -> None:
        self.verb = verb

    def __call__(self, request: Request) -> Engine:
        return engine(request)


class NeedsAny:
    """What is shared, for a route of no bank in particular: any key will do that may do this with some bank."""

    def __init__(self, verb: Verb) -> None:
        self.verb = verb

    def __call__(self, request: Request) -> Engine:
        return engine(request)


Bank = Annotated[str, Depends(bank)]
Shared = Annotated[Engine, Depends(engine)]
Reading = Annotated[Memory, Depends(Needs("read"))]
Writing = Annotated[Memory, Depends(Needs("write", make=True))]
Changing = Annotated[Memory, Depends(Needs("write"))]
Forgetting = Annotated[Memory, Depends(Needs("forget"))]
ReadingAll = Annotated[Engine, Depends(NeedsEverything("read"))]
WritingAll = Annotated[Engine, Depends(NeedsEverything("write"))]
ForgettingAll = Annotated[Engine, Depends(NeedsEverything("forget"))]
ChattingAny = Annotated[Engine, Depends(NeedsAny("chat"))]
ReadingAny = Annotated[Engine, Depends(NeedsAny("read"))]

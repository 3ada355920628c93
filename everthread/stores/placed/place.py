"""Place: a store that can give a bank to another one, and take one from it.

A bank is in exactly one place at any moment. Each place that it has left refers to the place to which it was moved
from there. A move copies the bank while its writers wait, and is valid from one moment to the next:

    receive   the target has a complete copy, from ORIGIN, and refers to ORIGIN
    leave     the origin deletes the bank and refers to the target; from now on it is there
    admit     the target stops referring to the origin

A process that is killed before `leave` has moved nothing; after it, the next process that asks admits the copy. Both
references have the random id of the move, so that no copy is admitted because of an earlier move. Each call to a store
raises BankMoved in its own transaction if the bank is elsewhere, so that nothing is written to an old copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from everthread.stores.base import Store
from everthread.types import Receipt


class HeldBank(Protocol):
    """A bank whose writers wait, in all processes. It can be read by others.

    Attributes:
        reader: reads the bank as it is.
    """

    @property
    def reader(self) -> Store: ...

    def leave(self, place: str, move: str) -> None:
        """Delete the bank here, and refer to its new place. Valid at the latest when it is no longer held."""


class Place(Protocol):
    """One of several places.

    Attributes:
        store: the store of its banks.
    """

    @property
    def store(self) -> Store: ...

    def hold(self, bank: str) -> AbstractContextManager[HeldBank]:
        """Hold a bank. Raises NotFound, BankMoved."""

    def receive(self, bank: str, origin: str, move: str, receipts: Sequence[Receipt]) -> AbstractContextManager[Store]:
        """Begin a copy of a bank from another place, instead of an earlier unfinished one.

        Args:
            bank: the bank.
            origin: the name of the place that has it, and holds it.
            move: the id of the move.
            receipts: those of the bank, of which the missing ones are stored.

        Yields:
            A store that writes the copy, which is complete, on the disk, when the block ends without an error.

        Raises:
            StoreError: another bank of this id is here.
        """

    def admit(self, bank: str, origin: str, move: str) -> None:
        """Make the copy of a move the bank, as its origin refers to it. Does nothing without a copy."""

    def refer(self, bank: str, place: str) -> None:
        """Refer to the place of a bank, unless there is one here, or a reference."""

    def discard(self, bank: str, move: str) -> None:
        """Delete the unfinished copy of a move. The bank must be held where it is, unless it does not exist."""

    def add_receipts(self, bank: str, receipts: Sequence[Receipt]) -> None:
        """Store the receipts of a bank that are missing."""

    def list_arrivals(self) -> dict[str, str]:
        """List unfinished copies: the bank and the name of its origin."""

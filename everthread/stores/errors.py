"""The errors that every store raises in the same words."""

from __future__ import annotations

from reprlib import repr as shortly

from everthread.common.installation import upgrade_command
from everthread.errors import BadLine, BankMoved, BankTooNew, NotFound, StoreError, StoreUnavailable
from everthread.stores.base import Scope, ScopeName
from everthread.types import Receipt


class ForgettingUnfinished(StoreUnavailable):
    """Something is forgotten, but bytes of it may remain in the bank's file, or the receipt could not be written.

    Attributes:
        bank: the bank, which the message names.
        receipt: of the lines that were forgotten; None for units, which have none.
    """

    def __init__(self, message: str, bank: str, receipt: Receipt | None = None) -> None:
        super().__init__(message)
        self.bank, self.receipt = bank, receipt

    def to_public(self) -> StoreUnavailable:
        """Return the error that callers get, without the receipt. It is to be raised from this one."""
        public = StoreUnavailable(str(self))
        public.bank = self.bank
        return public


class ConnectionLost(StoreUnavailable):
    """The connection broke, or the server aborted the call. Nothing was stored; the call may be repeated."""


class CommitUnknown(ConnectionLost):
    """The connection broke during a commit: the write may or may not be stored."""


def unknown_parent_error(parent: int | str) -> BadLine:
    """Build the error for a `parent` that does not exist in the bank."""
    return BadLine(f"parent {parent!r} is not a line of this bank; give the seq or the key of an existing line")


def missing_line_error(bank: str, seq: int) -> NotFound:
    """Build the error for the correction of a missing line."""
    return NotFound(f"bank {bank!r} has no line {seq} to correct; it never existed, or it was retracted")


def forgotten_bank_error(bank: str) -> NotFound:
    """Build the error for a write into a bank that was forgotten since the writer began."""
    return NotFound(f"bank {bank!r} was forgotten in the meantime, so nothing more was stored in it")


def nothing_to_forget_error(bank: str, scope: Scope, name: ScopeName) -> NotFound:
    """Build the error for the deletion of what does not exist."""
    named = name if name is None or isinstance(name, str) or len(name) != 1 else name[0]
    return NotFound(f"bank {bank!r} has no {scope} {shortly(named)}; nothing was forgotten")


def missing_session_error(bank: str, session: str) -> NotFound:
    """Build the error for a session that does not exist in the bank."""
    return NotFound(f"bank {bank!r} has no session {session!r}; `sessions` lists those that it has")


def bank_moved_error(bank: str, location: str, place: str, move: str, is_arriving: bool = False) -> BankMoved:
    """Build the error for a bank that is in another place, or that has not arrived yet."""
    what = f"is being moved from the place {place!r} to" if is_arriving else f"was moved to the place {place!r} from"
    remedy = "open the file that lists all places, as in: everthread --store places.toml"
    return BankMoved(f"bank {bank!r} {what} {location}; {remedy}", bank, place, move, is_arriving)


def second_copy_error(bank: str, location: str) -> StoreError:
    """Build the error for a place that has another bank of the same id."""
    return StoreError(
        f"{location} has another bank {bank!r}, so that it can't be moved there. Restore one of the two under another "
        "id, as from a backup, and forget it where it is not wanted"
    )


def bank_too_new_error(bank: str, found: str, known: int) -> BankTooNew:
    """Build the error for a bank that a later version wrote: `found` names its version, `known` the latest known."""
    return BankTooNew(
        f"bank {bank!r} was written by a later version of Everthread ({found}; this version supports up to {known}); "
        f"upgrade with: {upgrade_command()}"
    )

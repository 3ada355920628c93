"""Moves a bank from one of several places to another, with its vectors, while its writers wait.

`stores.placed.place` explains why a bank is in exactly one place, whatever is killed.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack

from everthread.errors import BankMoved, NotFound, StoreError
from everthread.stores.base import Store
from everthread.stores.placed.store import PlacedStore
from everthread.transfer.bank_contents import Summary, copy_contents, summarize


def move_bank(store: PlacedStore, bank: str, place: str) -> Summary:
    """Move a bank to another place, and compare both copies before the first one is deleted. May be repeated.

    Args:
        store: the places.
        bank: the bank.
        place: the name of the place. If the bank is there already, copies that earlier moves left are deleted.

    Returns:
        The summary of the bank as it was moved, or as it is.

    Raises:
        BadInput: there is no such place.
        NotFound: there is no such bank.
        StoreError: a place does not answer, has another bank of this id, or the copies differ; the bank stays.
    """
    target = store.get_place(place)
    if not store.exists(bank):
        raise NotFound(f"there is no bank {bank!r} in the places of {store.file.path}; `everthread banks` lists them")
    while (origin := store.find_name(bank)) != place:
        with ExitStack() as stack:
            try:
                held = stack.enter_context(store.get_place(origin).hold(bank))
            except BankMoved:  # by another process, in the meantime
                continue
            move = secrets.token_hex(8)
            with target.receive(bank, origin, move, held.reader.receipts(bank)) as copy:
                summary = _copy(held.reader, bank, copy)
            held.leave(place, move)
        target.admit(bank, origin, move)
        return summary
    store.discard_arrivals(bank)
    return summarize(store, bank)


def _copy(source: Store, bank: str, copy: Store) -> Summary:
    copy_contents(source, bank, copy)
    summary = summarize(source, bank)
    if summarize(copy, bank) != summary:
        raise StoreError(
            f"the copy of bank {bank!r} differs from it, so that it is not moved; look for damage with: everthread "
            f"doctor --bank {bank!r}"
        )
    return summary

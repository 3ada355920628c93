"""Moves a bank from one of several places to another, with its vectors, while its writers wait.

`stores.placed.place` explains why a bank is in exactly one place, whatever is killed.
"""

from __future__ import annotations

from contextlib import ExitStack

from everthread.errors import BankMoved, NotFound, StoreError
from everthread.stores.placed.place import HeldBank
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
            summary = _copy(store, held, bank, origin, place)
            held.leave(place)
        target.admit(bank, origin)
        return summary
    store.discard_arrivals(bank)
    return summarize(store, bank)


def _copy(store: PlacedStore, held: HeldBank, bank: str, origin: str, place: str) -> Summary:
    with store.get_place(place).receive(bank, origin, held.reader.receipts(bank)) as copy:
        copy_contents(held.reader, bank, copy)
        summary = summarize(held.reader, bank)
        if summarize(copy, bank) != summary:
            raise StoreError(
                f"the copy of bank {bank!r} in the place {place!r} differs from it; it stays in {origin!r}. Check it "
                f"with: everthread doctor --bank {bank!r}"
            )
    return summary

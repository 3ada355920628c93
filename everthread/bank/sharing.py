"""Ends the sharing of a bank. The setting `recall_from` of a bank names others that its replies also draw on."""

from __future__ import annotations

from contextlib import suppress

from everthread.bank.settings import recall_from
from everthread.common.keys import SETTING_RECALL_FROM
from everthread.errors import BankDamaged, BankTooNew, NotFound, StoreUnavailable
from everthread.stores.base import Store


def stop_sharing(store: Store, bank: str) -> None:
    """Remove a bank from the setting `recall_from` of all others, so that a later bank of its id is not shared.

    Banks that can't be read are left as they are.
    """
    for other in store.banks():
        with suppress(BankDamaged, BankTooNew, NotFound, StoreUnavailable):  # NotFound: forgotten in the meantime
            banks = recall_from(store.settings(other))
            if bank in banks:
                store.set_setting(other, SETTING_RECALL_FROM, [name for name in banks if name != bank] or None)

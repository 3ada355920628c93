"""Shares banks, and ends that. The setting `recall_from` of a bank names others that its replies also draw on.

Each of those records the bank in its own setting `shared_with`, so that forgetting it need not read all banks of the
store. The record may name banks that no longer share it. It lacks banks that named this one and were copied to this
store without it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from everthread.bank.settings import check_setting, recall_from
from everthread.common.keys import SETTING_RECALL_FROM, SETTING_SHARED_WITH
from everthread.errors import BankDamaged, BankTooNew, NotFound, StoreUnavailable
from everthread.stores.base import Store
from everthread.types import JSONValue

log = logging.getLogger("everthread")


def save_setting(store: Store, bank: str, name: str, value: JSONValue | None) -> None:
    """Save a setting of a bank; None removes it. The banks that it shares record that first.

    Raises:
        BadInput: the value is invalid.
        NotFound: a bank in `recall_from` doesn't exist, and so can't record it.
    """
    check_setting(name, value)
    for other in recall_from({name: value}):
        if not store.exists(other):
            raise NotFound(
                f"there is no bank {other!r} to recall from, so nothing was changed; create it first, or leave it out"
            )
    record_sharing(store, bank, {name: value})
    store.set_setting(bank, name, value)


def record_sharing(store: Store, bank: str, settings: Mapping[str, JSONValue]) -> None:
    """Record what the settings of a bank say of sharing: in the banks that it draws on, and in itself.

    Args:
        store: the store of the banks.
        bank: the bank.
        settings: settings that it gets.
    """
    for other in recall_from(settings):
        if store.exists(other):
            store.update_setting(other, SETTING_SHARED_WITH, lambda known: [*dict.fromkeys([*_parse_ids(known), bank])])
    if new := _parse_ids(settings.get(SETTING_SHARED_WITH)):
        store.update_setting(bank, SETTING_SHARED_WITH, lambda known: [*dict.fromkeys([*_parse_ids(known), *new])])


def _parse_ids(value: JSONValue | None) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def stop_sharing(store: Store, bank: str) -> None:
    """Remove a bank from the setting `recall_from` of all others, so that a later bank of its id is not shared.

    Banks that can't be changed are left as they are, and logged: a person's request to forget does not depend on them.
    """
    for other in _list_sharers(store, bank):
        try:
            if store.exists(other) and bank in recall_from(store.settings(other)):
                store.update_setting(other, SETTING_RECALL_FROM, lambda shared: _without(shared, bank))
        except NotFound:  # forgotten in the meantime
            continue
        except (BankDamaged, BankTooNew, StoreUnavailable) as error:
            log.warning("a bank may still recall from one that is forgotten; change its recall_from: %s", error)


def _list_sharers(store: Store, bank: str) -> list[str]:
    """List the banks that may share a bank: those that it records, or all if it can't be read."""
    try:
        return _parse_ids(store.settings(bank).get(SETTING_SHARED_WITH)) if store.exists(bank) else []
    except (BankDamaged, BankTooNew):
        return store.banks()


def _without(shared: JSONValue | None, bank: str) -> JSONValue | None:
    return [name for name in recall_from({SETTING_RECALL_FROM: shared}) if name != bank] or None

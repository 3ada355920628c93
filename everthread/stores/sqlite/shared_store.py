"""Shares the store of a folder among the memories of a process, which then keep the files of a few banks open.

A store of its own would cost each memory up to five file descriptors, and a process often has 1,024.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from everthread.stores.base import Store
from everthread.stores.sqlite.fork_guard import FORK_GUARD
from everthread.stores.sqlite.store import SQLiteStore

_lock = threading.Lock()  # acquired within the fork guard, so that no child inherits it locked
_stores: WeakValueDictionary[tuple[Path, str], SQLiteStore] = WeakValueDictionary()
_users: WeakKeyDictionary[Store, WeakSet[object]] = WeakKeyDictionary()


def open_shared(folder: str | Path) -> SQLiteStore:
    """Return the store of a folder that this process shares, or open it. Raises StoreUnavailable."""
    path = Path(folder).expanduser()
    key = path, os.path.realpath(path)  # a relative path means another folder in another working directory
    with FORK_GUARD, _lock:
        store = _stores.get(key)
        if store is None:
            store = _stores[key] = SQLiteStore(folder)
            return store
    store.prepare_folder()  # it may have been deleted
    return store


def add_user(store: Store, user: object) -> None:
    """Record that an object uses a store, for as long as the object lives."""
    with FORK_GUARD, _lock:
        _users.setdefault(store, WeakSet()).add(user)


def remove_user(store: Store, user: object) -> None:
    """Record that an object does not use a store any more."""
    with FORK_GUARD, _lock:
        _users.get(store, WeakSet()).discard(user)


def close_unused(store: Store) -> None:
    """Close a store unless an object uses it."""
    with FORK_GUARD, _lock:
        is_used = bool(_users.get(store))
    if not is_used:
        store.close()

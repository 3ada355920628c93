"""Checks what a server needs before it serves: data that can be used, and a key or an account to use them with.

A database that can't be reached doesn't keep the server from starting, because both may be started at the same time:
requests that need it get 503 until it answers. Errors that don't pass by themselves do, such as a wrong password.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from everthread import factory
from everthread.errors import ConfigError, EverthreadError, StoreUnavailable
from everthread.server.data_location import check_writable, find_location
from everthread.server.keys import KeyStore
from everthread.server.people.accounts import AccountStore
from everthread.server.server_db import Location, SharedDatabase
from everthread.stores.errors import ConnectionLost

log = logging.getLogger("everthread.server")

CallerCheck = Callable[[Location], None]

RETRY_DELAY_S = 2.0  # between attempts to reach a database
FIRST_KEY_NAME = "first"
KEY_REQUIRED_MESSAGE = (
    "{} can be reached from other machines, and there is neither an account nor a key: create one with `everthread "
    "accounts add` or `everthread keys new`, have a key created with --first-key FILE, or serve at 127.0.0.1, where "
    "neither is needed"
)


def check_location(store: str | None, check_callers: CallerCheck | None) -> None:
    """Check that the server's own data can be used; if their database can't be reached, log it and repeat later.

    Args:
        store: the folder or the URL of the banks.
        check_callers: checks the keys and accounts, and raises ConfigError; None: none are needed.

    Raises:
        ConfigError: the database refuses the user, or `check_callers` has failed.
        StoreUnavailable: nothing can be written into the folder, or the database lacks what is needed.
        BankTooNew: the database has tables of a later version.
    """
    try:
        _check(store, check_callers)
    except _Unreachable as error:
        log.warning("%s; requests that need it get 503 until it answers", error)
        threading.Thread(target=_check_later, args=[store, check_callers], name="everthread start", daemon=True).start()


def require_caller(location: Location, host: str, first_key: Path | None) -> None:
    """Check that there is a key or an account, or create the first key.

    Args:
        location: of the server's own data.
        host: the address of the server.
        first_key: the file of the key that is created if there is neither a key nor an account.

    Raises:
        ConfigError: there is neither, and none is created.
        StoreUnavailable: the data can't be used.
    """
    with closing(KeyStore(location)) as keys, closing(AccountStore(location)) as accounts:
        if keys.list_keys() or accounts.list_accounts():
            return
        if first_key is None:
            raise ConfigError(KEY_REQUIRED_MESSAGE.format(host))
        keys.create_in(first_key, FIRST_KEY_NAME)


def _check(store: str | None, check_callers: CallerCheck | None) -> None:
    with closing(factory.open_store(store)) as opened:
        location = find_location(opened, adopts=True)
    if isinstance(location, Path):
        check_writable(location)
    else:
        _connect(location)
    if check_callers is not None:
        check_callers(location)


def _connect(database: SharedDatabase) -> None:
    try:
        with closing(database), database.read():
            pass
    except ConnectionLost as error:
        raise _Unreachable(str(error)) from error


def _check_later(store: str | None, check_callers: CallerCheck | None) -> None:
    """Check again until the database answers."""
    is_reached = False
    while not is_reached:
        time.sleep(RETRY_DELAY_S)
        try:
            _check(store, check_callers)
        except _Unreachable:
            continue
        except EverthreadError as error:
            log.error("%s", error)
        else:
            log.warning("the database answers now")
        is_reached = True


class _Unreachable(StoreUnavailable):
    """Raised if a database can't be reached at the moment."""

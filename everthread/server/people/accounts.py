"""Accounts of people on a server: their names, banks and password hashes.

An account owns the bank of its name, the banks that an administrator gave it, and all banks below these. No bank
belongs to two accounts.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from everthread.errors import BadInput, BankDamaged, BankTooNew, NotFound, StoreUnavailable
from everthread.server.keys import SUBTREE_SUFFIX, VERBS, KeyStore, Verb
from everthread.server.server_db import Location, Transaction, open_database
from everthread.stores.base import Store
from everthread.stores.limits import check_bank_id
from everthread.types import now

log = logging.getLogger("everthread.accounts")

NAME_PATTERN = re.compile(r"[^\W_][\w.@+-]{0,59}")  # a segment of a path, and the id of a bank
MAX_NAME_BYTES = 60  # in UTF-8, so that the escaped ids of its banks fit into the names of files
# These banks, and those below them, store what many people say: requests without a bank, clients of mem0, text messages
# and Telegram. A person who signs in under such a name before the bank exists must not own it.
SHARED_BANKS = ("default", "mem0", "sms", "telegram")
ID_BYTES = 16  # random, so that an account made again under the same name is another one

SCHEMA = """
CREATE TABLE IF NOT EXISTS account (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, password TEXT, administrator INTEGER NOT NULL, banks TEXT NOT NULL,
    locked INTEGER NOT NULL, made_on TEXT NOT NULL, signed_in_on TEXT) WITHOUT ROWID;
"""
COLUMNS = "account.id, name, password IS NOT NULL, administrator, banks, locked, made_on, signed_in_on"


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account. banks: the ids that it owns with all below them, beginning with its name."""

    id: str
    name: str
    has_password: bool
    is_administrator: bool
    banks: tuple[str, ...]
    is_locked: bool
    made_on: date
    signed_in_on: date | None = None

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """The verbs that the account may use with its banks: all."""
        return VERBS

    def allows(self, verb: Verb, bank: str) -> bool:
        """Return whether the account owns the bank, which need not exist."""
        return any(covers(own, bank) for own in self.banks)

    def owned(self, banks: Iterable[str]) -> list[str]:
        """Return those of the banks that the account owns."""
        return [bank for bank in banks if self.allows("read", bank)]

    def allows_everywhere(self, verb: Verb) -> bool:
        """Return whether the account may use and change data that belong to no bank."""
        return self.is_administrator


class AccountStore:
    """Stores the accounts of a server. Changes by another process are seen at the next request."""

    def __init__(self, location: Location) -> None:
        self._file = open_database(location, SCHEMA)

    def create(
        self,
        name: str,
        password_hash: str | None,
        *,
        is_administrator: bool = False,
        banks: Sequence[str] = (),
        taken_banks: Iterable[str] = (),
    ) -> Account:
        """Create an account.

        Args:
            name: unique; see `normalize_name`.
            password_hash: None for a person who signs in without a password.
            is_administrator: whether it may change accounts and the server.
            banks: further banks to give it.
            taken_banks: banks of the store, and those that keys name. One of the account's name must be among `banks`,
                so that it is given on purpose; so must one of `SHARED_BANKS`, whether it exists or not.

        Raises:
            BadInput: for an invalid or existing name, or banks that belong to another account.
        """
        name = normalize_name(name)
        given = [check_bank_id(bank) for bank in banks]
        for bank in (*SHARED_BANKS, *taken_banks):
            if covers(name, bank) and not any(covers(each, bank) for each in given):
                what = (
                    "the bank {!r} is for what others say"
                    if bank in SHARED_BANKS
                    else "there is a bank {!r} already, or a key for it"
                )
                raise BadInput(
                    f"{what.format(bank)}, and an account {name!r} would own it; give it that bank on purpose "
                    "(--bank), or choose another name",
                    reason="account-banks",
                )
        owned = list(dict.fromkeys([name, *given]))
        with self._file.write() as db:
            if db.execute("SELECT 1 FROM account WHERE name = ?", (name,)).fetchone():
                raise BadInput(f"there is an account {name!r}; choose another name", reason="account-exists")
            _check_owners(db, name, owned)
            id_, today = secrets.token_hex(ID_BYTES), now().date().isoformat()
            row = (id_, name, password_hash, int(is_administrator), json.dumps(owned), today)
            db.execute("INSERT INTO account VALUES (?, ?, ?, ?, ?, 0, ?, NULL)", row)
        return self.get(name)

    def list_accounts(self) -> list[Account]:
        """List the accounts by name."""
        with self._file.read() as db:
            rows = db.execute(f"SELECT {COLUMNS} FROM account ORDER BY name").fetchall() if db else []
        return [parse_row(row) for row in rows]

    def has_passwords(self) -> bool:
        """Return whether any account has a password."""
        with self._file.read() as db:
            return bool(db and db.execute("SELECT 1 FROM account WHERE password IS NOT NULL").fetchone())

    def find(self, name: str) -> Account | None:
        """Return the account of a name, however it is capitalised, or None."""
        folded = fold_name(name)
        with self._file.read() as db:
            if db is None or not NAME_PATTERN.fullmatch(folded):  # a database can't compare every character
                return None
            row = db.execute(f"SELECT {COLUMNS} FROM account WHERE name = ?", (folded,)).fetchone()
        return parse_row(row) if row else None

    def get(self, name: str) -> Account:
        """Return the account of a name.

        Raises:
            NotFound: if there is no such account.
        """
        if (account := self.find(name)) is None:
            raise NotFound(f"there is no account {name[:60]!r}; `everthread accounts list` shows all")
        return account

    def get_password_hash(self, account: Account) -> str | None:
        """Return the hash of an account's password, or None if it has no password."""
        with self._file.read() as db:
            row = db.execute("SELECT password FROM account WHERE id = ?", (account.id,)).fetchone() if db else None
        return row[0] if row else None

    def set_password_hash(self, account: Account, password_hash: str) -> None:
        """Set the hash of an account's password."""
        self._update(account, "password = ?", password_hash)

    def set_locked(self, account: Account, is_locked: bool) -> None:
        """Lock an account, which can't sign in then, or unlock it."""
        self._update(account, "locked = ?", int(is_locked))

    def set_administrator(self, account: Account, is_administrator: bool) -> None:
        """Set whether an account may change accounts and the server."""
        self._update(account, "administrator = ?", int(is_administrator))

    def give_banks(self, account: Account, banks: Sequence[str]) -> None:
        """Give an account banks, with all below them; if one of them can't be given, none is.

        Raises:
            BadInput: a bank's id is invalid, or it belongs to another account.
        """
        given = [check_bank_id(bank) for bank in banks]
        with self._file.write() as db:
            _check_owners(db, account.name, given)
            for (owned,) in db.execute("SELECT banks FROM account WHERE id = ?", (account.id,)).fetchall():
                all_banks = json.dumps(list(dict.fromkeys([*json.loads(owned), *given])))
                db.execute("UPDATE account SET banks = ? WHERE id = ?", (all_banks, account.id))

    def record_sign_in(self, account: Account) -> None:
        """Record the day on which a person signed in."""
        self._update(account, "signed_in_on = ?", now().date().isoformat())

    def remove(self, account: Account) -> None:
        """Remove an account, also from the unused space of the file; its banks are not changed."""
        with self._file.write() as db:
            db.execute("DELETE FROM account WHERE id = ?", (account.id,))
        try:
            self._file.erase()
        except StoreUnavailable as error:
            log.warning("the file may hold the name of a removed account until another one is removed: %s", error)

    def close(self) -> None:
        """Close the connections."""
        self._file.close()

    def _update(self, account: Account, change: str, value: object) -> None:
        with self._file.write() as db:
            db.execute(f"UPDATE account SET {change} WHERE id = ?", (value, account.id))


def count_content(store: Store, account: Account) -> tuple[int, int]:
    """Return the numbers of an account's banks and of their lines, without those of banks that can't be read."""
    banks, lines = account.owned(store.banks()), 0
    for bank in banks:
        with suppress(BankDamaged, BankTooNew, NotFound):  # NotFound: it was forgotten in the meantime
            lines += store.corpus_stats(bank).lines
    return len(banks), lines


def list_taken_banks(store: Store, keys: KeyStore, proxy_bank: str) -> list[str]:
    """Return the banks that no one gets by signing in for the first time: those that exist, those that a key names, and
    that of the proxy's requests that name none.

    A program with a key may have stored nothing yet; what it stores later must not belong to a person of that name.
    """
    keyed = [bank.removesuffix(SUBTREE_SUFFIX) for key in keys.list_keys() for bank in key.banks]
    return [*store.banks(), *keyed, proxy_bank]


def covers(own: str, bank: str) -> bool:
    """Return whether a bank is another one or below it."""
    return bank == own or bank.startswith(f"{own}/")


def fold_name(name: str) -> str:
    """Return a name as accounts are compared: without differences of case and width."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name.strip()).casefold())


def normalize_name(name: str) -> str:
    """Return the name of an account as it is stored.

    Raises:
        BadInput: it isn't 1 to 60 letters, digits and . _ @ + -, beginning with a letter or a digit, or it is too long.
    """
    folded = fold_name(name)
    if NAME_PATTERN.fullmatch(folded) and (size := len(folded.encode())) > MAX_NAME_BYTES:
        raise BadInput(
            f"invalid name of an account: {name[:60]!r} has {size} bytes in UTF-8, expected at most {MAX_NAME_BYTES}",
            reason="account-name",
        )
    if not NAME_PATTERN.fullmatch(folded):
        expected = "1 to 60 letters, digits and . _ @ + -, beginning with a letter or a digit"
        raise BadInput(f"invalid name of an account: got {name[:60]!r}, expected {expected}", reason="account-name")
    return folded


def parse_row(row: Sequence[object]) -> Account:
    """Return the account of a row with `COLUMNS`."""
    id_, name, has_password, administrator, banks, locked, made_on, signed_in_on = row
    return Account(
        str(id_),
        str(name),
        bool(has_password),
        bool(administrator),
        tuple(json.loads(str(banks))),
        bool(locked),
        date.fromisoformat(str(made_on)),
        date.fromisoformat(str(signed_in_on)) if signed_in_on else None,
    )


def _check_owners(db: Transaction, name: str, banks: Sequence[str]) -> None:
    """Raise BadInput if one of the banks belongs to an account of another name, or has banks below it that do."""
    for owner, owned in db.execute("SELECT name, banks FROM account WHERE name != ?", (name,)):
        for bank in banks:
            if any(covers(own, bank) or covers(bank, own) for own in json.loads(owned)):
                raise BadInput(
                    f"the bank {bank!r} belongs to the account {owner!r}; choose another bank or name",
                    reason="account-banks",
                )

"""Which accounts belong to the identities of people at an OpenID Connect provider.

An identity is an issuer and a subject. Names and addresses of e-mail are not: people can change them, and get those
that others had.
"""

from __future__ import annotations

from everthread.errors import BadInput
from everthread.server.people import accounts
from everthread.server.people.accounts import Account
from everthread.server.server_db import Location, open_database

SCHEMA = """
CREATE TABLE IF NOT EXISTS identity (
    issuer TEXT NOT NULL, subject TEXT NOT NULL, account TEXT NOT NULL, PRIMARY KEY (issuer, subject)) WITHOUT ROWID;
"""
QUERY = (
    f"SELECT {accounts.COLUMNS} FROM identity JOIN account ON account.id = identity.account "
    "WHERE issuer = ? AND subject = ?"
)


class Identities:
    """Stores the identities of a server's accounts."""

    def __init__(self, location: Location) -> None:
        self._file = open_database(location, accounts.SCHEMA + SCHEMA)

    def find_account(self, issuer: str, subject: str) -> Account | None:
        """Return the account of an identity, which may be locked, or None."""
        with self._file.read() as db:
            row = db.execute(QUERY, (issuer, subject)).fetchone() if db else None
        return accounts.parse_row(row) if row else None

    def link(self, account: Account, issuer: str, subject: str) -> None:
        """Let an identity sign in to an account.

        Raises:
            BadInput: the identity belongs to another account.
        """
        with self._file.write() as db:
            owner = db.execute(QUERY, (issuer, subject)).fetchone()
            if owner is not None and owner[0] != account.id:
                raise BadInput(f"the subject {subject[:60]!r} belongs to the account {owner[1]!r}; remove that account")
            db.execute(
                "INSERT INTO identity VALUES (?, ?, ?) "
                "ON CONFLICT (issuer, subject) DO UPDATE SET account = excluded.account",
                (issuer, subject, account.id),
            )

    def unlink(self, account: Account) -> None:
        """Remove the identities of an account."""
        with self._file.write() as db:
            db.execute("DELETE FROM identity WHERE account = ?", (account.id,))

    def close(self) -> None:
        """Close the connections."""
        self._file.close()

"""The accounts of a server with their sessions: signing in and out, passwords, locks. Each change is logged.

A log entry holds the account's name and never a password. A failed attempt names the account only if there is one: a
password may have been typed in its place.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from everthread.server.people.accounts import Account, AccountStore, fold_name
from everthread.server.people.identities import Identities
from everthread.server.people.login_sessions import LoginSessions
from everthread.server.people.passwords import Passwords
from everthread.server.people.sign_in_limits import SignInLimits
from everthread.server.problems import Problem
from everthread.server.server_db import Location

log = logging.getLogger("everthread.accounts")

WRONG = "the name or the password is wrong"


class PeopleDirectory:
    """The accounts of a server, and who is signed in. Thread-safe."""

    def __init__(self, location: Location) -> None:
        self.accounts, self.sessions = AccountStore(location), LoginSessions(location)
        self.limits, self.identities, self.passwords = SignInLimits(location), Identities(location), Passwords()

    def sign_in(self, name: str, password: str, address: str) -> tuple[Account, str]:
        """Check a password, and begin a session.

        Args:
            name: of the account.
            password: as typed.
            address: of the client.

        Returns:
            The account, and the token of its session.

        Raises:
            Problem: 401 if the name or the password is wrong, 403 if the account is locked, 429 after many failures.
        """
        account, password_hash = self._check_password(name, password, address)
        if account.is_locked:
            _audit("refused a locked account", account.name, address)
            raise Problem(403, "account-locked", "this account is locked; ask an administrator of this server")
        token = self.begin_session(account, address)
        if not self._is_unchanged(account, password_hash):  # a change ended only the sessions that had begun by then
            self.sessions.end(token)
            raise Problem(401, "wrong-password", WRONG)
        return account, token

    def begin_session(self, account: Account, address: str) -> str:
        """Begin a session of a person whose identity is known, and return its token."""
        self.accounts.record_sign_in(account)
        _audit("signed in", account.name, address)
        return self.sessions.begin(account)

    def change_password(self, account: Account, current: str, new: str, address: str) -> str:
        """Change a person's own password, end all sessions, and return the token of a new one.

        Raises:
            Problem: as `sign_in`.
            BadInput: the new password is too short or too long.
        """
        self._check_password(account.name, current, address)
        self.set_password(account, new)
        return self.sessions.begin(account)

    def create(
        self,
        name: str,
        password: str | None,
        *,
        is_administrator: bool = False,
        banks: Sequence[str] = (),
        taken_banks: Iterable[str] = (),
    ) -> Account:
        """Create an account; see `AccountStore.create`. password: None for one that signs in without a password."""
        account = self.accounts.create(
            name,
            None if password is None else self.passwords.hash(password),
            is_administrator=is_administrator,
            banks=banks,
            taken_banks=taken_banks,
        )
        _audit("account created", account.name)
        return account

    def set_password(self, account: Account, password: str) -> None:
        """Set a password, and end all sessions. Raises BadInput if it is too short or too long."""
        self.accounts.set_password_hash(account, self.passwords.hash(password))
        self.sessions.end_all(account)
        _audit("password changed", account.name)

    def set_locked(self, account: Account, is_locked: bool) -> None:
        """Lock an account and end its sessions, or unlock it."""
        self.accounts.set_locked(account, is_locked)
        if is_locked:
            self.sessions.end_all(account)
        _audit("account locked" if is_locked else "account unlocked", account.name)

    def set_administrator(self, account: Account, is_administrator: bool) -> None:
        """Set whether an account may change accounts and the server."""
        self.accounts.set_administrator(account, is_administrator)
        _audit("administrator added" if is_administrator else "administrator removed", account.name)

    def give_banks(self, account: Account, banks: Sequence[str]) -> None:
        """Give an account banks; see `AccountStore.give_banks`."""
        self.accounts.give_banks(account, banks)
        _audit("banks given", account.name)

    def link(self, account: Account, issuer: str, subject: str) -> None:
        """Let a person of an OpenID Connect provider sign in to an account; see `Identities.link`."""
        self.identities.link(account, issuer, subject)
        _audit("identity linked", account.name)

    def remove(self, account: Account) -> None:
        """Remove an account and end its sessions; its banks are not changed."""
        self.sessions.end_all(account)
        self.identities.unlink(account)
        self.accounts.remove(account)
        _audit("account removed", account.name)

    def sign_out(self, account: Account, token: str | None, *, everywhere: bool) -> None:
        """End the session of a token, or all sessions of the account."""
        if everywhere:
            self.sessions.end_all(account)
        elif token:
            self.sessions.end(token)
        _audit("signed out everywhere" if everywhere else "signed out", account.name)

    def close(self) -> None:
        """Close the connections."""
        for part in (self.accounts, self.identities, self.sessions, self.limits):
            part.close()

    def _is_unchanged(self, account: Account, password_hash: str) -> bool:
        """Return whether an account still has this hash of its password, and isn't locked."""
        current = self.accounts.find(account.name)
        is_usable = current is not None and current.id == account.id and not current.is_locked
        return is_usable and self.accounts.get_password_hash(account) == password_hash

    def _check_password(self, name: str, password: str, address: str) -> tuple[Account, str]:
        """Return the account with this name and password, which may be locked, and the hash of the password. Raises
        Problem 401 or 429."""
        folded = fold_name(name)
        account = self.accounts.find(folded)
        if wait_s := self.limits.begin(folded, address):
            detail = f"too many failed attempts; try again in {wait_s} s"
            raise Problem(429, "too-many-attempts", detail, {"Retry-After": str(wait_s)})
        password_hash = self.accounts.get_password_hash(account) if account else None
        if not self.passwords.verify(password, password_hash) or account is None or password_hash is None:
            log.warning(
                "sign-in failed", extra={"fields": {"account": account.name if account else None, "address": address}}
            )
            raise Problem(401, "wrong-password", WRONG)
        self.limits.succeed(folded, address)
        if self.passwords.needs_rehash(password_hash):
            password_hash = self.passwords.hash(password)
            self.accounts.set_password_hash(account, password_hash)
        return account, password_hash


def _audit(event: str, account: str, address: str | None = None) -> None:
    log.info(event, extra={"fields": {"account": account} | ({"address": address} if address else {})})

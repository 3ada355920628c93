"""Signing in at an OpenID Connect provider: from the button to a session, and accounts for new people."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from everthread.errors import BadInput
from everthread.server.people.accounts import Account, fold_name
from everthread.server.people.directory import PeopleDirectory
from everthread.server.people.openid_provider import Identity, OpenIDProvider, SignInFailed
from everthread.server.people.pending_sign_ins import PendingSignIns
from everthread.server.server_db import Location
from everthread.server.settings import Settings

log = logging.getLogger("everthread.accounts")

MAX_NAME_CHARS, MAX_NAME_BYTES = 40, 48  # of a derived name, so that a number can follow
MAX_NUMBER = 20  # of equal names; later ones get random characters
MAX_CODE_CHARS = 4_000


class OpenIDSignIn:
    """Signs people in at a provider. Thread-safe."""

    def __init__(
        self, settings: Settings, people: PeopleDirectory, banks: Callable[[], list[str]], location: Location
    ) -> None:
        """Prepare for sign-ins.

        Args:
            settings: with the provider.
            people: the accounts.
            banks: lists the banks that no new account may own.
            location: of the server's own data.
        """
        self.provider = OpenIDProvider(settings.openid_issuer, settings.openid_client, settings.openid_secret)
        self.name = settings.openid_name or urlsplit(settings.openid_issuer).netloc
        self._creates_accounts, self._people, self._banks = settings.openid_creates_accounts, people, banks
        self._pending = PendingSignIns(location)

    def begin(self, redirect_uri: str, address: str) -> tuple[str, str]:
        """Begin a sign-in, which counts as a failed attempt until it succeeds.

        Args:
            redirect_uri: to which the provider sends the person back.
            address: of the client.

        Returns:
            The address at the provider, and a token for the browser.

        Raises:
            SignInFailed: after many failures, or if the provider can't be reached.
        """
        if wait_s := self._people.limits.begin(_subject(address), address):
            raise SignInFailed("wait", wait_s=wait_s)
        token, pending = self._pending.begin()
        try:
            return self.provider.build_url(pending, redirect_uri), token
        except SignInFailed as error:
            raise self._log(error, address) from None

    def finish(
        self, answer: Mapping[str, str], token: str | None, redirect_uri: str, address: str
    ) -> tuple[Account, str]:
        """Complete a sign-in.

        Args:
            answer: the parameters with which the provider sent the person back.
            token: from `begin`.
            redirect_uri: as in `begin`.
            address: of the client.

        Returns:
            The account, and the token of its session.

        Raises:
            SignInFailed: with the reason.
        """
        try:
            account = self._find_account(self._identify(answer, token, redirect_uri))
        except SignInFailed as error:
            raise self._log(error, address) from None
        if account.is_locked:
            raise self._log(SignInFailed("locked"), address, account)
        self._people.limits.succeed(_subject(address), address)
        return account, self._people.begin_session(account, address)

    def close(self) -> None:
        """Close all connections."""
        self._pending.close()
        self.provider.close()

    def _identify(self, answer: Mapping[str, str], token: str | None, redirect_uri: str) -> Identity:
        pending = self._pending.take(token) if token else None
        if pending is None or not hmac.compare_digest(pending.state.encode(), answer.get("state", "").encode()):
            raise SignInFailed("unconfirmed", "the state is unknown, used or expired")
        if answer.get("iss", self.provider.issuer).rstrip("/") != self.provider.issuer:  # RFC 9207
            raise SignInFailed("unconfirmed", "the answer is another provider's")
        if "error" in answer:
            raise SignInFailed("refused", re.sub(r"\W", "", answer["error"])[:60])
        return self.provider.identify(answer.get("code", "")[:MAX_CODE_CHARS], pending, redirect_uri)

    def _find_account(self, identity: Identity) -> Account:
        """Return the account of an identity; a new person gets one. Raises SignInFailed."""
        account = self._people.identities.find_account(identity.issuer, identity.subject)
        if account is None and not self._creates_accounts:
            raise SignInFailed("no_account", f"the subject {identity.subject[:100]!r} is linked to no account")
        return account or self._create(identity)

    def _create(self, identity: Identity) -> Account:
        banks = self._banks()
        for name in propose_names(identity):
            try:
                account = self._people.create(name, None, taken_banks=banks)
                break
            except BadInput:  # the name is taken, or a bank of that name
                continue
        else:
            raise SignInFailed("no_account", "no name is free")
        try:
            self._people.link(account, identity.issuer, identity.subject)
        except BadInput:  # the same person was faster in another window
            self._people.remove(account)
            return self._find_account(identity)
        return account

    def _log(self, error: SignInFailed, address: str, account: Account | None = None) -> SignInFailed:
        fields = {"account": account.name if account else None, "address": address, "reason": str(error)}
        log.warning("sign-in failed", extra={"fields": fields})
        return error


def propose_names(identity: Identity) -> Iterator[str]:
    """Yield names for an identity's account, from the best one; each but the last may be taken."""
    name = derive_name(identity.preferred_name) or derive_name(identity.subject) or "person"
    yield name
    for number in range(2, MAX_NUMBER + 1):
        yield f"{name}-{number}"
    yield f"{name}-{secrets.token_hex(4)}"


def derive_name(text: str) -> str:
    """Return a text as the name of an account; empty if nothing of it can be in one."""
    name = re.sub(r"[^\w.@+-]+", "-", fold_name(text)).lstrip("_.@+-")[:MAX_NAME_CHARS]
    return name.encode()[:MAX_NAME_BYTES].decode(errors="ignore").rstrip("-")


def _subject(address: str) -> str:
    """Return by what sign-ins at the provider are limited; no account has such a name."""
    return f"openid {address}"

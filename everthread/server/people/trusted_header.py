"""Accounts that a reverse proxy names in a header, after it has authenticated the person.

The header is accepted only from the proxy's own address: any other client could name anyone in it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable, Iterable, Sequence

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from everthread.errors import BadInput, ConfigError
from everthread.server.people.accounts import Account
from everthread.server.people.directory import PeopleDirectory
from everthread.server.problems import Problem

log = logging.getLogger("everthread.accounts")

PEER = "everthread.peer"  # in the scope: the address of the proxy, where `client` is the client that it names
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxiedClientMiddleware:
    """Replaces the client and the scheme of a request by those that a trusted proxy names, and keeps its address."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str]) -> None:
        """Wrap an application. proxies: addresses and networks that may name their clients."""
        self.app = ProxyHeadersMiddleware(app, list(proxies))  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("client") is not None:
            scope[PEER] = scope["client"][0]
        await self.app(scope, receive, send)  # type: ignore[arg-type]


class TrustedHeader:
    """Finds the account that a proxy names, and creates it for a new person."""

    def __init__(
        self, name: str, proxies: Iterable[str], people: PeopleDirectory, banks: Callable[[], list[str]]
    ) -> None:
        """Accept a header.

        Args:
            name: of the header; empty: none is accepted.
            proxies: addresses and networks that may send it.
            people: the accounts.
            banks: lists the banks that no new account may own.
        """
        self.name, self._networks = name.lower(), [parse_network(proxy) for proxy in proxies]
        self._people, self._banks = people, banks

    def find_account(self, connection: HTTPConnection) -> Account | None:
        """Return the account that a proxy names; None if the request has no such header, or another client sent it.

        Raises:
            Problem: 403 if the account is locked, or can't be created.
        """
        value = self._get_value(connection)
        if not value:
            return None
        if not self.is_sent_by_proxy(connection):
            address = connection.scope.get(PEER, "")
            log.warning("ignored a header that names an account", extra={"fields": {"address": address}})
            return None
        account = self._people.accounts.find(value) or self._create(value)
        if account.is_locked:
            raise Problem(403, "account-locked", "this account is locked; ask an administrator of this server")
        return account

    def is_sent_by_proxy(self, connection: HTTPConnection) -> bool:
        """Return whether a trusted proxy names the person of a request."""
        try:
            address = ipaddress.ip_address(connection.scope.get(PEER, ""))
        except ValueError:
            return False
        return bool(self._get_value(connection)) and any(address in network for network in self._networks)

    def _get_value(self, connection: HTTPConnection) -> str:
        return connection.headers.get(self.name, "") if self.name else ""

    def _create(self, name: str) -> Account:
        try:
            return self._people.create(name, None, taken_banks=self._banks())
        except BadInput as error:
            log.warning("an account could not be created: %s", error)
            detail = "no account could be created for you; ask an administrator of this server"
            raise Problem(403, "no-account", detail) from None


def parse_network(text: str) -> Network:
    """Return the network of an address, such as 172.18.0.0/16 or 127.0.0.1.

    Raises:
        ConfigError: it is neither an address nor a network.
    """
    try:
        return ipaddress.ip_network(text.strip())
    except ValueError:
        raise ConfigError(
            f"invalid server_proxies: got {text[:60]!r}, expected addresses or networks such as 172.18.0.0/16"
        ) from None

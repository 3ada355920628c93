"""Checks the settings of signing in with OpenID Connect, without the packages that it needs."""

from __future__ import annotations

import ipaddress
from importlib.util import find_spec
from urllib.parse import urlsplit

from everthread.common.installation import extra_command
from everthread.errors import ConfigError

PACKAGES = ("authlib", "joserfc")


def check_provider(issuer: str, client_id: str, account_header: str) -> None:
    """Check the provider where people sign in, if there is one.

    Args:
        issuer: its URL; empty: none.
        client_id: of this server there.
        account_header: in which proxies name the person; empty: in none.

    Raises:
        ConfigError: the issuer is no URL with https, or http on this machine; the client's id or a package is missing;
            or people sign in at a proxy, too.
    """
    if not issuer:
        return
    if account_header:  # the proxy's nora would be the account of the provider's nora
        raise ConfigError("account_header and openid_issuer exclude each other; set one of them")
    if not is_safe_url(issuer):
        raise ConfigError(
            f"invalid openid_issuer: got {issuer[:100]!r}, expected a URL such as https://login.example.org"
        )
    if not client_id:
        raise ConfigError("openid_issuer needs openid_client, the id of this server at the provider")
    if not all(map(find_spec, PACKAGES)):
        raise ConfigError(f"openid_issuer needs further packages; install them with: {extra_command('oidc')}")


def is_safe_url(url: str) -> bool:
    """Return whether a URL has https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme == "http":
        return is_loopback(host)
    return parts.scheme == "https" and bool(host)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

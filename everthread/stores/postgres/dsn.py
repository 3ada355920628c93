"""Validates URLs of Postgres databases and redacts their passwords. Needs no driver, opens no connection."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote

from everthread.errors import ConfigError

SCHEMES = ("postgresql://", "postgres://")
EXAMPLE = "postgresql://user@host/database"
DEFAULT_PORT = "5432"


def redact_password(url: str) -> str:
    """Return the URL without its password, even if it is malformed."""
    url = re.sub(r"(password\s*=\s*)('[^']*'|((?!&\w+=)\S)*)", r"\1…", url)
    start, scheme, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        login, _, host = authority.rpartition("@")
        return f"{start}{scheme}{login.partition(':')[0]}@{host}{slash}{path}"
    if "@" in path and not _hosts(authority):  # a / in the password, which begins after the colon
        return f"{start}{scheme}{authority.partition(':')[0]}@{path.rpartition('@')[2]}"
    return url


def identify(url: str) -> tuple[str, str]:
    """Return the servers and the database of a URL: the same with another user, or with other parameters."""
    address, _, query = redact_password(url).partition("://")[2].partition("?")  # a password may contain a ?
    given = dict(parse_qsl(query))
    authority, _, database = address.partition("/")
    login, _, hosts = authority.rpartition("@")
    if "host" in given:
        hosts = given["host"]
    port = given.get("port", DEFAULT_PORT)
    servers = (host if re.search(r":\d+$", host) else f"{host.rstrip(':')}:{port}" for host in hosts.split(","))
    name = given.get("dbname") or database or given.get("user") or login.partition(":")[0]
    return unquote(",".join(servers)), unquote(name)


def check_url(url: str) -> str:
    """Check a URL; otherwise a driver may take half a password for a host, and show it.

    Raises:
        ConfigError: the URL is malformed; the message hides its password.
    """
    if not url.startswith(SCHEMES):
        raise ConfigError(f"{redact_password(url)!r} is not a Postgres URL; write {EXAMPLE}")
    rest = url.partition("://")[2]
    authority, _, path = rest.partition("?")[0].partition("/")
    if authority.count("@") > 1 or "@" in path:
        raise ConfigError(
            f"{redact_password(url)}: unescaped @ or / in the user or the password; write %40 for @, and %2F for /"
        )
    if not _hosts(authority.rpartition("@")[2]):
        raise ConfigError(f"{redact_password(url)}: its port is not a number from 1 to 65535; write {EXAMPLE}")
    if re.search(r"%(?![0-9A-Fa-f]{2})", url):
        raise ConfigError(f"{redact_password(url)} contains an unescaped %; write %25")
    return url


def _hosts(text: str) -> bool:
    """Return whether a text lists hosts with valid ports or none."""
    ports = [re.sub(r"\[[^][]*\]", "", host).partition(":")[2] for host in text.split(",")]
    return all(not port or (port.isdecimal() and 0 < int(port) < 65536) for port in ports)

"""Addresses of servers' methods."""

from __future__ import annotations

from urllib.parse import urlsplit


def append_path(url: str, path: str) -> str:
    """Return the address of a path below a base URL. Its query, which may have a version or a key, stays at the end."""
    base, mark, query = url.partition("?")
    return f"{base.rstrip('/')}{path}{mark}{query}"


def is_http_url(url: str) -> bool:
    """Return whether this is the URL of a web server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False

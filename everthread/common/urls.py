"""Addresses of servers' methods."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def append_path(url: str, path: str) -> str:
    """Return the address of a path below a base URL. Its query, which may have a version or a key, stays at the end."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))

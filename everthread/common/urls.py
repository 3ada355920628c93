"""Addresses of servers' methods."""

from __future__ import annotations


def append_path(url: str, path: str) -> str:
    """Return the address of a path below a base URL. Its query, which may have a version or a key, stays at the end."""
    base, mark, query = url.partition("?")
    return f"{base.rstrip('/')}{path}{mark}{query}"

"""Reads the headers that name a bank and a session.

Headers have no other characters than ASCII, so that a name in one is percent-encoded UTF-8; some clients send UTF-8 as
it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

BANK_HEADER = "x-everthread-bank"
SESSION_HEADER = "x-everthread-session"


def read_name(headers: Mapping[str, str], header: str) -> str:
    """Return the name in a header; empty without it."""
    value = headers.get(header, "")
    try:
        return unquote(value.encode("latin-1").decode())
    except UnicodeDecodeError:
        return value

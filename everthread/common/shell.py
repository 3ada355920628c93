"""Writes arguments as the shell of this system reads them, for commands in messages."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable

_PLAIN = re.compile(r"[\w@%+=:,./\\\[\]-]+")


def quote(argument: str) -> str:
    """Return an argument for a command line. On Windows, cmd and PowerShell both read double quotes."""
    if sys.platform == "win32":
        return argument if _PLAIN.fullmatch(argument) else '"{}"'.format(argument.replace('"', r"\""))
    return shlex.quote(argument)


def join(arguments: Iterable[str]) -> str:
    """Return a command line with these arguments."""
    return " ".join(map(quote, arguments))

"""Loads the word lists of a module: a TOML file of the same name beside it, with a table for each language."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def load_word_lists(module: str) -> dict[str, dict[str, Any]]:
    """Read the word lists of a module.

    Args:
        module: the module's `__file__`.

    Returns:
        The lists of each language ("en", "zh"), or of "all" together, by name.
    """
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


def alternation(patterns: Iterable[str]) -> str:
    """Return a regular expression that matches any of the patterns."""
    return f"(?:{'|'.join(patterns)})"

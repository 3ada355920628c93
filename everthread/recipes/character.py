"""character: to be written."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.recipes.base import Recipe


@dataclass(frozen=True, kw_only=True)
class Snapshots(Recipe):
    """To be written."""

    name = "character"
    about = "long-memory-character-chat's: notes kept up to date, and every earlier state of them"
    kinds = ("note",)

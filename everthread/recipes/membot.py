"""membot: to be written."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.recipes.base import Recipe


@dataclass(frozen=True, kw_only=True)
class Membot(Recipe):
    """To be written."""

    name = "membot"
    about = "uncany-membot's: the lines nearest in meaning, in blocks that stay in view for a while"
    kinds = ("line",)

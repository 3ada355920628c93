"""packabby: to be written."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.recipes.base import Recipe


@dataclass(frozen=True, kw_only=True)
class Packabby(Recipe):
    """To be written."""

    name = "packabby"
    about = "packabby's: what a person told is summarised when they agree to it, and the best summary recalled"
    kinds = ("summary",)

"""goodai: to be written."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.recipes.base import Recipe


@dataclass(frozen=True, kw_only=True)
class GoodAI(Recipe):
    """To be written."""

    name = "goodai"
    about = "goodai-ltm's: overlapping chunks of the talk, grown to passages"
    kinds = ("chunk",)

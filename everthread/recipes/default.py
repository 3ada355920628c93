"""The default recipe: lines as they were said, found by a dozen signals; what measured best."""

from __future__ import annotations

from everthread.recipes.base import Recipe

DEFAULT = Recipe(
    name="default",
    friends={"cosine": 5.0, "bm25_window": 0.2, "share": 1.0},
    assistant={"cosine": 5.0, "bm25_window": 0.2, "share": 1.0},
    threshold=0.5,
)

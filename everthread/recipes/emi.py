"""emi: to be written."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.recipes.base import Recipe


@dataclass(frozen=True, kw_only=True)
class Emi(Recipe):
    """To be written."""

    name = "emi"
    about = "Emi's: the one reply that shares most keywords with the question"
    kinds = ("line",)

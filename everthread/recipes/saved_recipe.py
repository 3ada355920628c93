"""The recipe that a bank keeps: its name, and the options that are not as the configuration has them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from everthread.bank.settings import parse_recipe
from everthread.common.keys import SETTING_RECIPE
from everthread.errors import BadInput
from everthread.recipes.options import R, as_json, options, values, with_options
from everthread.types import JSONValue

if TYPE_CHECKING:
    from everthread.recipes.base import Recipe
    from everthread.stores.base import Store

log = logging.getLogger("everthread")


@dataclass(frozen=True, slots=True)
class SavedRecipe:
    """A recipe as a bank's setting has it."""

    name: str
    options: Mapping[str, JSONValue] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, bank: str) -> Self | None:
        """Read the recipe that a bank keeps; None where it keeps none, or is not there."""
        return cls.read(store.settings(bank).get(SETTING_RECIPE)) if store.exists(bank) else None

    @classmethod
    def read(cls, setting: JSONValue) -> Self | None:
        """Read the setting, which may be missing. Raises BadInput."""
        parsed = parse_recipe(setting)
        return None if parsed is None else cls(*parsed)

    def apply(self, recipe: R) -> R:
        """Set the kept options of a recipe of that name. One that no longer fits is left out, and logged."""
        try:
            return with_options(recipe, self.options)
        except BadInput:
            for name, value in self.options.items():
                try:
                    recipe = with_options(recipe, {name: value})
                except BadInput as error:
                    log.warning("an option that the bank keeps is left out: %s", error)
            return recipe


def setting(recipe: Recipe, usual: Recipe | None) -> JSONValue:
    """Describe a recipe as a bank keeps it.

    Args:
        recipe: what the bank is to be opened with from now on.
        usual: the recipe of that name as the configuration has it; None for one of the user's own.

    Returns:
        Its name and the options that differ.
    """
    before = {name: each.default for name, each in options(recipe).items()} | (values(usual) if usual else {})
    own = {name: as_json(value) for name, value in values(recipe).items() if value != before[name]}
    return {"name": recipe.name, "options": own}


def save_recipe(store: Store, bank: str, recipe: Recipe | None, usual: Recipe | None) -> None:
    """Save the recipe that a bank is opened with from now on, where no other is named.

    Args:
        store: the store of the bank.
        bank: its id.
        recipe: the recipe; None removes the one that was saved.
        usual: the recipe of that name as the configuration has it; None for one of the user's own.

    Raises:
        StoreError: as `Store.set_setting`.
    """
    value = None if recipe is None else setting(recipe, usual)
    if store.settings(bank).get(SETTING_RECIPE) != value:
        store.set_setting(bank, SETTING_RECIPE, value)

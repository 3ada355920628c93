"""The recipe saved in a bank: its name, and the options that differ from the configuration."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from everthread.bank.settings import parse_recipe
from everthread.common.keys import SETTING_RECIPE
from everthread.errors import BadInput
from everthread.recipes.options import R, as_json, options, read_values, with_options
from everthread.types import JSONValue

if TYPE_CHECKING:
    from everthread.recipes.base import Recipe
    from everthread.stores.base import Store

log = logging.getLogger("everthread")


@dataclass(frozen=True, slots=True)
class SavedRecipe:
    """The name and options of a recipe, as a bank's setting stores them."""

    name: str
    options: Mapping[str, JSONValue] = field(default_factory=dict)

    @classmethod
    def load(cls, store: Store, bank: str) -> Self | None:
        """Load the recipe of a bank; None if it has none, or doesn't exist."""
        return cls.parse(store.settings(bank).get(SETTING_RECIPE)) if store.exists(bank) else None

    @classmethod
    def parse(cls, setting: JSONValue) -> Self | None:
        """Parse the setting, which may be missing. Raises BadInput."""
        parsed = parse_recipe(setting)
        return None if parsed is None else cls(*parsed)

    def apply(self, recipe: R) -> R:
        """Set the saved options on a recipe of that name. Options that are no longer valid are logged and left out."""
        try:
            return with_options(recipe, self.options)
        except BadInput:
            for name, value in self.options.items():
                try:
                    recipe = with_options(recipe, {name: value})
                except BadInput as error:
                    log.warning("an invalid option saved in the bank is ignored: %s", error)
            return recipe


def to_setting(recipe: Recipe, configured: Recipe | None) -> JSONValue:
    """Convert a recipe to the value of a bank's setting.

    Args:
        recipe: the recipe.
        configured: the configured recipe of that name; None for one of the user's own.

    Returns:
        The name, and the options that differ from the configured ones.
    """
    defaults = {name: option.default for name, option in options(recipe).items()} | (
        read_values(configured) if configured else {}
    )
    changed = {name: as_json(value) for name, value in read_values(recipe).items() if value != defaults[name]}
    return {"name": recipe.name, "options": changed}


def save_recipe(store: Store, bank: str, recipe: Recipe | None, configured: Recipe | None) -> None:
    """Save the recipe with which a bank is opened by default.

    Args:
        store: the store of the bank.
        bank: its id.
        recipe: the recipe; None removes the one that was saved.
        configured: the configured recipe of that name; None for one of the user's own.

    Raises:
        StoreError: as in `Store.set_setting`.
    """
    value = None if recipe is None else to_setting(recipe, configured)
    if store.settings(bank).get(SETTING_RECIPE) != value:
        store.set_setting(bank, SETTING_RECIPE, value)

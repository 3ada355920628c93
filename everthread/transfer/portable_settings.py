"""Selects the settings of a bank that an export may have, and that an import may set.

Left out are the settings that mean something only where the bank is (`LOCAL_SETTINGS`), and options of a recipe that
name a host or a folder, which a file must not choose.
"""

from __future__ import annotations

from collections.abc import Mapping

from everthread import factory
from everthread.bank.settings import parse_recipe
from everthread.common.keys import LOCAL_SETTINGS, SETTING_RECIPE
from everthread.errors import BadInput
from everthread.recipes.base import Recipe
from everthread.recipes.options import check_remote
from everthread.types import JSONValue


def select_portable(settings: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return the settings that may travel with a bank. A recipe of the user's own stays where its code is."""
    selected = {name: value for name, value in settings.items() if name not in LOCAL_SETTINGS}
    if (parsed := parse_recipe(selected.pop(SETTING_RECIPE, None))) is not None:
        name, options = parsed
        recipe = factory.configured_recipes().get(name)
        if recipe is not None:
            safe = {option: value for option, value in options.items() if _is_safe(recipe, option, value)}
            selected[SETTING_RECIPE] = {"name": name, "options": safe}
    return selected


def _is_safe(recipe: Recipe, option: str, value: JSONValue) -> bool:
    try:
        check_remote(recipe, {option: value})
    except BadInput:
        return False
    return True

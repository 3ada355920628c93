"""Names and URLs become objects here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from everthread import config
from everthread.common.installation import extra_command
from everthread.embedders.names import open_embedder as open_embedder
from everthread.errors import BadInput, ConfigError, NotFound
from everthread.llms import token_counters
from everthread.llms.names import open_llm as open_llm
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default
from everthread.recipes.emi import Emi
from everthread.recipes.goodai.recipe import GoodAI
from everthread.recipes.membot import Membot
from everthread.recipes.options import with_options
from everthread.recipes.packabby import Packabby
from everthread.recipes.saved_recipe import SavedRecipe
from everthread.recipes.snapshots import Snapshots
from everthread.scribes.names import make_scribe as make_scribe
from everthread.scribes.names import open_scribe as open_scribe
from everthread.stores.base import Store
from everthread.stores.postgres import dsn
from everthread.stores.sqlite.store import SQLiteStore
from everthread.text.tokens import TokenCounter

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (Default(), Membot(), Packabby(), Emi(), GoodAI(), Snapshots())
}


def open_store(spec: Store | str | Path | None = None, create: bool = True) -> Store:
    """A store as it is, the folder of one, or the URL of a Postgres database; without any, the configured one.

    A folder that isn't there is made, or is NotFound.
    """
    if spec is None:
        spec = config.load().store
    if isinstance(spec, str | Path):
        if str(spec).startswith(dsn.SCHEMES):
            return _postgres(str(spec))
        if "://" in str(spec):
            raise ConfigError(
                f"store {dsn.redact_password(str(spec))!r} is a URL of an unknown kind; give the path of a folder, "
                f"or {dsn.EXAMPLE}"
            )
        if not create and not Path(spec).expanduser().exists():
            raise NotFound(f"there are no banks yet: there is no folder {spec}; begin with: everthread chat")
        return SQLiteStore(spec)
    return spec


def _postgres(spec: str) -> Store:
    try:
        from everthread.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise ConfigError(f"Postgres needs an extra: {extra_command('postgres')} ({error})") from error
    return PostgresStore(spec)


def open_counter(spec: TokenCounter | str | None = None) -> TokenCounter:
    """Open a token counter: an object, a name that `llms.token_counters` knows, or the configured one.

    Raises:
        ConfigError: for an unknown name.
    """
    name = config.load().tokens if spec is None else spec
    return token_counters.open_counter(name) if isinstance(name, str) else name


def open_recipe(
    spec: Recipe | str | None = None, saved: SavedRecipe | None = None, options: Mapping[str, object] | None = None
) -> Recipe:
    """Open a recipe by name, with its options as far as they are set.

    Args:
        given: a recipe as it is, or a name; without either it is the bank's, else the configured one.
        kept: what the bank keeps. Its options hold for a recipe of its name.
        options: values by the options' names, as they are or as text, which go before those of bank and configuration.

    Returns:
        The recipe.

    Raises:
        ConfigError: for an unknown recipe, and for options in the configuration file that can't be.
        BadInput: for options that can't be.
    """
    if isinstance(spec, Recipe):
        return with_options(spec, options or {})
    if spec is None and saved is not None and saved.name not in RECIPES:
        raise ConfigError(
            f"the bank keeps the recipe {saved.name!r}, which isn't part of Everthread; give the recipe as an object "
            f"(recipe=…), or name one of {', '.join(RECIPES)}"
        )
    name = spec or (saved.name if saved else config.load().recipe)
    if name not in RECIPES:
        raise ConfigError(f"recipe {name!r} is unknown; known are {', '.join(RECIPES)}")
    usual = configured_recipes()[name]
    return with_options(saved.apply(usual) if saved and saved.name == name else usual, options or {})


def configured_recipes() -> dict[str, Recipe]:
    """Read all recipes with the options that the configuration file sets. ConfigError names file, recipe and option."""
    found = dict(RECIPES)
    for name, table in config.load().recipes.items():
        if name not in RECIPES:
            raise ConfigError(
                f"{config.config_path()} sets [recipes.{name}], which is unknown; known are {', '.join(RECIPES)}"
            )
        try:
            found[name] = with_options(RECIPES[name], table)
        except BadInput as error:
            raise ConfigError(f"{config.config_path()} sets [recipes.{name}]: {error}") from None
    return found

"""Opens stores, embedders, language models, token counters, recipes and scribes from names and URLs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

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
from everthread.stores.placed import places_file
from everthread.stores.placed.place import Place
from everthread.stores.placed.store import open_placed
from everthread.stores.postgres import dsn
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.place import SQLitePlace
from everthread.stores.sqlite.store import SQLiteStore
from everthread.text.tokens import TokenCounter

if TYPE_CHECKING:  # its driver is an extra
    from everthread.stores.postgres.store import PostgresStore

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (Default(), Membot(), Packabby(), Emi(), GoodAI(), Snapshots())
}


def open_store(
    spec: Store | str | Path | None = None,
    create: bool = True,
    open_folder: Callable[[str | Path], Store] = SQLiteStore,
) -> Store:
    """Open a store.

    Args:
        spec: a store, which is returned; a folder, the URL of a Postgres database, or a file of places, such as
            places.toml; None: the configured one.
        create: whether to create a missing folder.
        open_folder: opens the store of a folder.

    Raises:
        NotFound: the folder is missing, and `create` is False; or the file is missing.
        ConfigError: the place is empty, the URL is of an unknown kind, the extra for Postgres is not installed, or the
            file is invalid.
        StoreUnavailable: the store can't be opened.
    """
    if spec is None:
        with config.name_source("store"):
            return open_store(config.load().store, create, open_folder)
    if isinstance(spec, str | Path):
        if not str(spec):
            raise ConfigError(f"the place of the store is empty; give the path of a folder, or {dsn.EXAMPLE}")
        if str(spec).startswith(dsn.SCHEMES):
            return _postgres(str(spec))
        if "://" in str(spec):
            raise ConfigError(
                f"store {dsn.redact_password(str(spec))!r} is a URL of an unknown kind; give the path of a folder, "
                f"or {dsn.EXAMPLE}"
            )
        path = Path(spec).expanduser()
        if path.suffix == places_file.SUFFIX and not path.is_dir():
            return open_placed(places_file.read_places_file(path), _open_place)
        with map_errors("", path):
            is_missing = not path.exists()
        if not create and is_missing:
            raise NotFound(f"no banks yet: the folder {spec} does not exist; create a bank with: everthread chat")
        return open_folder(spec)
    return spec


def _open_place(spec: str) -> Place:
    """Open one of several places; a folder must exist, because the disk that has it may not be mounted."""
    if spec.startswith(dsn.SCHEMES):
        database = _postgres(spec)  # reports a missing extra
        from everthread.stores.postgres.place import PostgresPlace

        return PostgresPlace(database)
    store = open_store(spec, create=False)
    assert isinstance(store, SQLiteStore)
    return SQLitePlace(store)


def _postgres(spec: str) -> PostgresStore:
    try:
        from everthread.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise ConfigError(f"Postgres needs an extra: {extra_command('postgres')} ({error})") from error
    return PostgresStore(spec)


def open_counter(spec: TokenCounter | str | None = None) -> TokenCounter:
    """Open a token counter, given by name (see `llms.token_counters`) or as an object; None: the configured one.

    Raises:
        ConfigError: the name is unknown.
        BadInput: the object can't be called.
    """
    if spec is None:
        with config.name_source("tokens"):
            return token_counters.open_counter(config.load().tokens)
    if isinstance(spec, str):
        return token_counters.open_counter(spec)
    if not callable(spec):
        raise BadInput(f"invalid token counter {spec!r}; expected a name, such as estimate, or a function of a text")
    return spec


def open_recipe(
    spec: Recipe | str | None = None, saved: SavedRecipe | None = None, options: Mapping[str, object] | None = None
) -> Recipe:
    """Open a recipe with its options.

    Args:
        spec: a recipe or its name; None: the bank's saved recipe, or else the configured one.
        saved: the bank's saved recipe. Its options apply if the opened recipe has the same name.
        options: option values by name, which may be given as text; they override those of the bank and of the
            configuration file.

    Raises:
        ConfigError: the recipe is unknown, or the configuration file has an invalid option.
        BadInput: an option in `options` is invalid.
    """
    if isinstance(spec, Recipe):
        return with_options(spec, options or {})
    if spec is None and saved is not None and saved.name not in RECIPES:
        raise ConfigError(
            f"the bank's saved recipe {saved.name!r} isn't part of Everthread; give the recipe as an object "
            f"(recipe=…), or name one of {', '.join(RECIPES)}"
        )
    if not (name := spec or (saved.name if saved else "")):
        name = config.load().recipe
        with config.name_source("recipe"):
            _check_recipe(name)
    _check_recipe(name)
    recipe = configured_recipes()[name]
    return with_options(saved.apply(recipe) if saved and saved.name == name else recipe, options or {})


def _check_recipe(name: str) -> None:
    if name not in RECIPES:
        raise ConfigError(f"unknown recipe {name!r}; expected one of {', '.join(RECIPES)}")


def is_builtin(recipe: Recipe) -> bool:
    """Return whether a recipe is one of `RECIPES`, with whatever options."""
    return type(recipe) is type(RECIPES.get(recipe.name))


def configured_recipes() -> dict[str, Recipe]:
    """Return all recipes by name, with the options that the configuration file sets.

    Raises:
        ConfigError: the file sets an unknown recipe or an invalid option.
    """
    recipes = dict(RECIPES)
    for name, table in config.load().recipes.items():
        if name not in RECIPES:
            raise ConfigError(
                f"{config.config_path()} sets [recipes.{name}]: unknown recipe; expected one of {', '.join(RECIPES)}"
            )
        try:
            recipes[name] = with_options(RECIPES[name], table)
        except BadInput as error:
            raise ConfigError(f"{config.config_path()} sets [recipes.{name}]: {error}") from None
    return recipes

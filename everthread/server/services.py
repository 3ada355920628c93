"""The objects that all requests share: store, embedder, language model, and the open memories."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import numpy as np

from everthread import factory
from everthread.common.keys import SETTING_SCRIBE
from everthread.embedders.base import Embedder
from everthread.embedders.shapes import embed_question
from everthread.errors import ConfigError, ModelError, NotFound
from everthread.facts.overview import parse_overview
from everthread.llms.base import LLM
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.recipes.options import identify
from everthread.recipes.saved_recipe import SavedRecipe, save_recipe
from everthread.scribes.base import Scribe
from everthread.server.bounded_embedder import BoundedEmbedder
from everthread.server.data_location import find_location
from everthread.server.llm_catalog import LLMCatalog
from everthread.server.models.connection import ModelConnection
from everthread.server.models.connection_file import ConnectionFile
from everthread.server.vector_worker import VectorWorker
from everthread.stores.base import Store
from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import now

log = logging.getLogger("everthread.server")

MAX_OPEN_MEMORIES = 1024  # each is small; a closed one has to calibrate its embedder again


class Services:
    """The shared objects of one process. Thread-safe.

    Attributes:
        location: where the server has its own data.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        llm: LLM | None,
        recipe: Recipe,
        *,
        multi_process: bool = False,
        scribe: Scribe | None = None,
        model_setting: str = "",
        writes_titles: bool = False,
    ) -> None:
        """Collect the objects that requests share.

        Args:
            store: closed by the caller.
            embedder: of all banks.
            llm: the language model of the start, or None; `connection` holds the current one.
            recipe: of banks that have none of their own.
            multi_process: whether other processes of this machine serve the same store.
            scribe: writes notes and summaries; None: by the language model or, without one, extractively.
            model_setting: the setting that names `llm`, so that no other is connected; empty: it was only found.
            writes_titles: whether a model gives conversations their titles.
        """
        self.store, self.embedder, self.recipe = store, BoundedEmbedder(embedder), recipe
        self.multi_process, self.writes_titles = multi_process, writes_titles
        self.location = find_location(store, adopts=True)
        self.count: TokenCounter = estimate_tokens
        self.connection = ModelConnection(ConnectionFile.beside(store), llm, model_setting)
        self.vectors = VectorWorker()
        self._scribe = scribe
        self._recipes = {**factory.configured_recipes(), recipe.name: recipe}
        self._memories: OrderedDict[tuple[object, ...], Memory] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def is_shared(self) -> bool:
        """True if other processes, perhaps of other machines, can serve the same store."""
        return self.multi_process or not isinstance(self.location, Path)

    @property
    def llms(self) -> LLMCatalog:
        """The models that can be chosen at this moment."""
        return self.connection.catalog

    @property
    def llm(self) -> LLM | None:
        """The language model that replies at this moment, or None."""
        return self.llms.llm

    def warm_up(self) -> None:
        """Prepare the embedder, what recall loads at first and the language model, so that neither the first recall nor
        the first reply waits for them."""
        with suppress(ModelError):  # the first reply reports it
            embed_question(self.embedder, "hello")
        parse_overview("hello", now())
        np.unique(())  # the first call imports numpy.ma, which takes as long as a recall
        self.llms.warm_up()

    def get_scribe(self, name: str | None = None) -> Scribe:
        """Return a scribe.

        Args:
            name: a model of the configured server; `none`: without a model; None: the configured scribe.

        Raises:
            ConfigError: for an unknown model.
        """
        if name is None and self._scribe is not None:
            return self._scribe
        return factory.make_scribe(None if name == "none" else self.llms.get(name))

    def get_bank_scribe(self, bank: str) -> Scribe:
        """Return the scribe that a bank is set to, or the server's if its model no longer exists."""
        name = self.store.settings(bank).get(SETTING_SCRIBE) if self.store.exists(bank) else None
        try:
            return self.get_scribe(name if isinstance(name, str) else None)
        except ConfigError as error:
            log.warning("a bank's scribe is replaced by the server's: %s", error)
            return self.get_scribe()

    def list_recipes(self) -> list[Recipe]:
        """List the recipes that a bank can have, with the server's options."""
        return list(self._recipes.values())

    def get_recipe(self, name: str) -> Recipe:
        """Return a recipe by name, with the server's options.

        Raises:
            ConfigError: for an unknown name.
        """
        if name not in self._recipes:
            raise ConfigError(f"unknown recipe {name[:100]!r}; expected one of {', '.join(self._recipes)}")
        return self._recipes[name]

    def require_bank(self, bank: str) -> None:
        """Raise NotFound if there is no such bank. The bank need not be readable."""
        if not self.store.exists(bank):
            raise NotFound(f"there is no bank {bank!r}; the first line stored in it creates it")

    def get_bank_recipe(self, bank: str, name: str | None = None) -> Recipe:
        """Return the recipe of a bank, which need not exist, with the options that the bank has saved.

        Args:
            bank: its id.
            name: another recipe than the bank's own.

        Raises:
            ConfigError: for an unknown name.
        """
        saved = SavedRecipe.load(self.store, bank)
        if name is None:
            name = saved.name if saved else self.recipe.name
        server_recipe = self.get_recipe(name)
        return saved.apply(server_recipe) if saved and saved.name == name else server_recipe

    def save_recipe(self, bank: str, recipe: Recipe | None) -> None:
        """Save a bank's recipe; with None, it uses the server's again.

        Raises the same errors as `Store.set_setting`.
        """
        save_recipe(self.store, bank, recipe, None if recipe is None else self.get_recipe(recipe.name))

    def _get_open(self, key: tuple[object, ...]) -> Memory | None:
        with self._lock:
            memory = self._memories.get(key)
            if memory is not None:
                self._memories.move_to_end(key)
            return memory

    def get_memory(self, bank: str, *, create: bool = False, recipe: str | None = None) -> Memory:
        """Return the memory of a bank.

        Args:
            bank: its id.
            create: whether to create a bank that doesn't exist.
            recipe: another recipe than the bank's own.

        Raises:
            NotFound: if the bank doesn't exist.
            ConfigError: for an unknown recipe.
            EverthreadError: the same errors as `Memory`.
        """
        if not create:
            self.require_bank(bank)
        bank_recipe = self.get_bank_recipe(bank, recipe)
        key = bank, identify(bank_recipe)
        memory = self._get_open(key)
        if memory is None:
            memory = Memory(bank, self.store, self.embedder, bank_recipe)
            memory.count = self.count
            with self._lock:
                memory = self._memories.setdefault(key, memory)
                while len(self._memories) > MAX_OPEN_MEMORIES:
                    self._memories.popitem(last=False)
            self.vectors.add_earlier(memory)
        return memory

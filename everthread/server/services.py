"""What all requests share: one store, one embedder, one language model, and the memories that are open."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from contextlib import suppress

from everthread import factory
from everthread.common.keys import SETTING_SCRIBE
from everthread.embedders.base import Embedder
from everthread.embedders.encoder import FAILURES
from everthread.errors import ConfigError, NotFound
from everthread.llms.base import LLM
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.recipes.options import identity
from everthread.recipes.saved_recipe import SavedRecipe, save_recipe
from everthread.scribes.base import Scribe
from everthread.server.bounded_embedder import BoundedEmbedder
from everthread.server.llm_catalog import LLMCatalog
from everthread.stores.base import Store
from everthread.text.tokens import Counter, estimate

log = logging.getLogger("everthread.server")

MAX_OPEN_MEMORIES = (
    1024  # memories kept open; each is small, and what it has learnt of the embedder is measured again else
)


class Services:
    """Safe from many threads. The store stays the caller's to close. several: other processes serve the same store."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        llm: LLM | None,
        recipe: Recipe,
        *,
        multi_process: bool = False,
        scribe: Scribe | None = None,
    ) -> None:
        self.store, self.embedder, self.llm, self.recipe = store, BoundedEmbedder(embedder), llm, recipe
        self.multi_process = multi_process
        self.count: Counter = estimate  # the tokens of a text
        self.llms = LLMCatalog(llm)
        self._scribes: dict[str | None, Scribe] = {
            None: scribe or factory.open_scribe(llm),
            "none": factory.scribe_by(None),
        }
        self._recipes = {**factory.configured(), recipe.name: recipe}
        self._memories: OrderedDict[tuple[object, ...], Memory] = OrderedDict()
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Load what the first reply would wait for."""
        self.llms.warm_up()
        with suppress(*FAILURES):  # whoever then talks hears of it
            self.embedder.embed_query("hello")

    def get_scribe(self, name: str | None = None) -> Scribe:
        """Find the scribe that writes with a model of the configured server; `none`: without a model; None: as the
        server is set. Raises ConfigError."""
        if name not in self._scribes:
            self._scribes[name] = factory.scribe_by(self.llms.get(name))
        return self._scribes[name]

    def get_bank_scribe(self, bank: str) -> Scribe:
        """Find the scribe that a bank is set to; the server's, where its model is gone."""
        name = self.store.settings(bank).get(SETTING_SCRIBE) if self.store.exists(bank) else None
        try:
            return self.get_scribe(name if isinstance(name, str) else None)
        except ConfigError as error:
            log.warning("a bank's scribe is left out: %s", error)
            return self.get_scribe()

    def list_recipes(self) -> list[Recipe]:
        """List the recipes that a bank may have, as the server has them."""
        return list(self._recipes.values())

    def get_recipe(self, name: str) -> Recipe:
        """Find a recipe by name, as the server has it. Raises ConfigError."""
        if name not in self._recipes:
            raise ConfigError(f"recipe {name[:100]!r} is unknown; known are {', '.join(self._recipes)}")
        return self._recipes[name]

    def get_bank_recipe(self, bank: str, name: str | None = None) -> Recipe:
        """Find the recipe of a bank, which may not be there yet: its own, or the one named, with the options that the
        bank keeps. Raises ConfigError."""
        kept = SavedRecipe.of(self.store, bank)
        if name is None:
            name = kept.name if kept else self.recipe.name
        usual = self.get_recipe(name)
        return kept.apply(usual) if kept and kept.name == name else usual

    def save_recipe(self, bank: str, recipe: Recipe | None) -> None:
        """Have a bank keep a recipe; None: the server's, whatever that is. Raises as `Store.set_setting`."""
        save_recipe(self.store, bank, recipe, None if recipe is None else self.get_recipe(recipe.name))

    def _get_open(self, at: tuple[object, ...]) -> Memory | None:
        with self._lock:
            held = self._memories.get(at)
            if held is not None:
                self._memories.move_to_end(at)
            return held

    def get_memory(self, bank: str, *, create: bool = False, recipe: str | None = None) -> Memory:
        """The memory of a bank. One that isn't there is made, or is NotFound. Raises as `Memory`, and ConfigError for
        an unknown recipe."""
        if not create and not self.store.exists(bank):
            raise NotFound(f"there is no bank {bank!r}; what is observed in it first makes it")
        way = self.get_bank_recipe(bank, recipe)
        at = bank, identity(way)
        held = self._get_open(at)
        if held is None:
            held = Memory(bank, self.store, self.embedder, way)
            held.count = self.count
            with self._lock:
                held = self._memories.setdefault(at, held)
                while len(self._memories) > MAX_OPEN_MEMORIES:
                    self._memories.popitem(last=False)
        return held

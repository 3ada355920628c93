"""What all requests share: one store, one embedder, one language model, and the memories that are open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress

from everthread import open as opening
from everthread.errors import NotFound
from everthread.memory import FAILURES, Memory
from everthread.models.embed import Embedder
from everthread.models.llm import LLM
from everthread.recipes.base import Recipe
from everthread.server.embedding import Bounded
from everthread.server.models import Models
from everthread.stores.base import Store

OPEN = 1024  # memories kept open; each is small, and what it has learnt of the embedder is measured again else


class Engine:
    """Safe from many threads. The store stays the caller's to close. several: other processes serve the same store."""

    def __init__(
        self, store: Store, embedder: Embedder, llm: LLM | None, recipe: Recipe, *, several: bool = False
    ) -> None:
        self.store, self.embedder, self.llm, self.recipe = store, Bounded(embedder), llm, recipe
        self.several = several
        self.models = Models(llm)
        self._memories: OrderedDict[tuple[str, str], Memory] = OrderedDict()
        self._lock = threading.Lock()

    def ready(self) -> None:
        """Load what the first reply would wait for."""
        self.models.ready()
        with suppress(*FAILURES):  # whoever then talks hears of it
            self.embedder.embed_query("hello")

    def _held(self, bank: str, way: Recipe) -> Memory | None:
        with self._lock:
            held = self._memories.get((bank, way.name))
            if held is not None:
                self._memories.move_to_end((bank, way.name))
            return held

    def memory(self, bank: str, *, make: bool = False, recipe: str | None = None) -> Memory:
        """The memory of a bank. One that isn't there is made, or is NotFound. Raises as `Memory`, and ConfigError for
        an unknown recipe."""
        way = self.recipe if recipe is None else opening.recipe(recipe)
        held = self._held(bank, way)
        if not make and not self.store.has(bank):
            raise NotFound(f"there is no bank {bank!r}; what is observed in it first makes it")
        if held is None:
            held = Memory(bank, self.store, self.embedder, way)
            with self._lock:
                held = self._memories.setdefault((bank, way.name), held)
                while len(self._memories) > OPEN:
                    self._memories.popitem(last=False)
        return held

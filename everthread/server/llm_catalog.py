"""The language models that can be chosen: the configured one, and the others of the same server."""

from __future__ import annotations

import threading
import time

from everthread.errors import ConfigError
from everthread.llms.base import LLM
from everthread.llms.openai_compatible import OpenAICompatible

LIST_LIFETIME_S = 30.0  # how long the server's list of models is cached
MAX_NAMES_IN_ERROR = 20


class LLMCatalog:
    """Lists models and opens them by name. Thread-safe.

    Only the configured server is asked.
    """

    def __init__(self, llm: LLM | None) -> None:
        self.llm = llm
        self._named: dict[str, OpenAICompatible] = {}
        self._names: list[str] = []
        self._names_expire_at = 0.0  # by time.monotonic()
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Prepare the configured model, so that the first reply need not wait for it."""
        if isinstance(self.llm, OpenAICompatible):
            self.llm.warm_up()

    def list_names(self) -> list[str]:
        """List the models of the configured server, the configured one first."""
        if self.llm is None:
            return []
        if isinstance(self.llm, OpenAICompatible) and time.monotonic() >= self._names_expire_at:
            self._names, self._names_expire_at = self.llm.models() or [], time.monotonic() + LIST_LIFETIME_S
        return [self.llm.name, *(name for name in self._names if name != self.llm.name)]

    def has(self, llm: LLM | None) -> bool:
        """Return whether this catalog has opened the model."""
        return llm is self.llm or any(llm is named for named in self._named.values())

    def get(self, name: str | None) -> LLM | None:
        """Return a model by name.

        Args:
            name: the model's name; None is the configured one.

        Returns:
            The model, or None if no model is configured and no name is given.

        Raises:
            ConfigError: if the server doesn't have the model.
        """
        if name is None or (self.llm is not None and name == self.llm.name):
            return self.llm
        if self.llm is None:
            raise ConfigError(f"unknown model {name[:100]!r}: no language model is configured; leave the model out")
        with self._lock:
            if name not in self._named:
                self._named[name] = self._open(name)
            return self._named[name]

    def _open(self, name: str) -> OpenAICompatible:
        names = self.list_names()
        if not isinstance(self.llm, OpenAICompatible) or name not in names:
            known = ", ".join(names[:MAX_NAMES_IN_ERROR]) + (" …" if len(names) > MAX_NAMES_IN_ERROR else "")
            raise ConfigError(f"unknown model {name[:100]!r}; the configured server has {known}")
        return self.llm.with_model(name)

"""The language models that may be asked: the configured one, and those that its server has beside it."""

from __future__ import annotations

import threading
import time

from everthread.errors import ConfigError
from everthread.llms.base import LLM
from everthread.llms.openai_compatible import OpenAICompatible

LIST_LIFETIME_S = 30.0  # seconds for which a server's list of models is taken as it was
MAX_NAMES_IN_ERROR = 20  # names in an error


class LLMCatalog:
    """Safe from many threads. No other server is ever asked than the configured one."""

    def __init__(self, llm: LLM | None) -> None:
        self.llm = llm
        self._named: dict[str, OpenAICompatible] = {}
        self._names: list[str] = []
        self._until = 0.0  # by time.monotonic()
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Load what the first reply would wait for."""
        if isinstance(self.llm, OpenAICompatible):
            self.llm.warm_up()

    def list_names(self) -> list[str]:
        """The names of the models at the configured server, the configured one first."""
        if self.llm is None:
            return []
        if isinstance(self.llm, OpenAICompatible) and time.monotonic() >= self._until:
            self._names, self._until = self.llm.models() or [], time.monotonic() + LIST_LIFETIME_S
        return [self.llm.name, *(name for name in self._names if name != self.llm.name)]

    def get(self, name: str | None) -> LLM | None:
        """The model of that name, or the configured one; None where there is none. ConfigError for one that the server
        doesn't have."""
        if name is None or (self.llm is not None and name == self.llm.name):
            return self.llm
        if self.llm is None:
            raise ConfigError(f"no language model is configured, so there is no {name[:100]!r}; leave the model out")
        with self._lock:
            if name not in self._named:
                self._named[name] = self._open(name)
            return self._named[name]

    def _open(self, name: str) -> OpenAICompatible:
        names = self.list_names()
        if not isinstance(self.llm, OpenAICompatible) or name not in names:
            some = ", ".join(names[:MAX_NAMES_IN_ERROR]) + (" …" if len(names) > MAX_NAMES_IN_ERROR else "")
            raise ConfigError(f"there is no language model {name[:100]!r} at the configured server; it has {some}")
        return self.llm.with_model(name)

"""The model that replies at this moment: the configured one, the one that was connected, or one found at the start."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from everthread import config, factory
from everthread.config import ENV_PREFIX
from everthread.errors import ConfigError, NotFound
from everthread.llms.base import LLM
from everthread.llms.names import find_model, open_llm
from everthread.server.llm_catalog import LLMCatalog
from everthread.server.models.connection_file import ConnectionFile, StoredModel, Version

log = logging.getLogger("everthread.server")


class ModelConnection:
    """Opens the stored model, and again whenever another one is stored, by any process. Thread-safe.

    Attributes:
        set_by: the setting that names the model, which then can't be changed while the server runs; else empty.
    """

    def __init__(self, file: ConnectionFile, llm: LLM | None, set_by: str = "") -> None:
        """Take the model of the start, and open the stored one when it is first needed.

        Args:
            file: stores the model that is connected.
            llm: the configured model, or the one that was found; None for none.
            set_by: the setting that names `llm`, as in `find_setting`; empty if it was only found.
        """
        self.set_by = set_by
        self._file, self._llm = file, llm
        self._catalog = LLMCatalog(llm)
        self._version: Version | None = None
        self._lock = threading.Lock()

    @property
    def catalog(self) -> LLMCatalog:
        """The current model, with the others of its server; another object after each change."""
        if self.set_by or (version := self._file.get_version()) == self._version:
            return self._catalog
        with self._lock:
            if version != self._version:
                self._catalog, self._version = LLMCatalog(self._open()), version
            return self._catalog

    def find_key(self, url: str) -> str:
        """Return the stored key if it is for the server at this address, else "": no other server may receive it."""
        return self._file.find_key(url)

    def connect(self, url: str, model: str, key: str = "") -> None:
        """Store another model, which replies from now on.

        Args:
            url: the base URL of its server.
            model: its name there.
            key: its server's key; empty for none.

        Raises:
            StoreUnavailable: it can't be stored.
        """
        self._file.write(StoredModel(url, model, key))

    def disconnect(self) -> None:
        """Store that no model replies from now on; the key is removed. Raises StoreUnavailable."""
        self._file.write(StoredModel())

    def _open(self) -> LLM | None:
        try:
            stored = self._file.read()
            return self._llm if stored is None else open_stored(stored)
        except (ConfigError, ValueError) as error:
            log.warning("the stored language model is not used: %s", error)
            return None


def open_stored(stored: StoredModel) -> LLM | None:
    """Open a model that was connected, with the configured limits; None for the decision to have none.

    Raises:
        ConfigError: the address or the key is invalid, or a package is missing.
    """
    if not stored.url:
        return None
    return find_model(replace(config.load(), llm_url=stored.url, llm_key=stored.key, llm_prices=""), stored.model)


def open_for_terminal(store: str | Path | None, model: str | None = None) -> LLM | None:
    """Open the model that replies in the terminal, as `open_current` does.

    Args:
        store: as for `factory.open_store`; a folder that is missing is not created.
        model: the argument of `--model`.

    Raises:
        EverthreadError: the same errors as `factory.open_store` and `open_current`.
    """
    try:
        opened = factory.open_store(store, create=False)
    except NotFound:
        return open_llm(model)
    with closing(opened):
        return open_current(ConnectionFile.beside(opened), model)


def open_current(file: ConnectionFile, model: str | None) -> LLM | None:
    """Open the model that replies where no server runs: the one that a setting names, else the connected one, else one
    that is found.

    Args:
        file: stores the model that is connected.
        model: the argument of `--model`.

    Raises:
        ConfigError: it can't be opened.
    """
    if find_setting(model):
        return open_llm(model)
    try:
        stored = file.read()
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return open_llm() if stored is None else open_stored(stored)


def find_setting(model: str | None) -> str:
    """Return the setting that names the model, such as EVERTHREAD_LLM_URL; empty if none does.

    Args:
        model: the argument of `--model`.
    """
    if model is not None:
        return "--model"
    configured = config.load()
    for name, value in (("llm_model", configured.llm_model), ("llm_url", configured.llm_url)):
        if value:
            variable = f"{ENV_PREFIX}{name.upper()}"
            return variable if os.environ.get(variable) else f"{name} in {config.config_path().name}"
    return ""

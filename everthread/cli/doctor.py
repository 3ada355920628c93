"""Checks the installation, the configuration, the models and the banks.

A check repairs nothing. But it opens each bank, and opening a bank migrates it from an earlier version and completes an
interrupted erasure. `repair` does what else can be done without a choice.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np

from everthread import __version__, config, factory
from everthread.bank import kept_backups
from everthread.cli.common import pluralize
from everthread.common.installation import extra_command, package_command
from everthread.embedders import shapes
from everthread.embedders.base import Embedder
from everthread.errors import ConfigError, EverthreadError, NotFound
from everthread.memory import Memory
from everthread.server.models.connection import open_for_terminal
from everthread.stores.base import Store
from everthread.stores.placed.store import PlacedStore, list_stores
from everthread.stores.postgres import dsn
from everthread.stores.sqlite.bank_file import find_orphan_logs
from everthread.stores.sqlite.store import SQLiteStore
from everthread.text import refusal_words

MIN_FREE_BYTES = 20_000_000  # a bank's log takes 4 MB in use, and an import more
REQUIRED_PACKAGES = ("numpy", "onnxruntime", "tokenizers", "pystemmer", "httpx", "click", "platformdirs")


OPTIONAL_PACKAGES = {  # by extra
    "llm": ("json-repair", "pydantic"),
    "mcp": ("mcp",),
    "oidc": ("authlib", "joserfc"),
    "otel": ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    "postgres": ("psycopg", "psycopg-pool", "pgvector"),
    "sentence-transformers": ("sentence-transformers",),
    "train": ("torch", "transformers"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    what: str
    ok: bool
    detail: str


def examine(store: str | None, embedder: Embedder | str | None, banks: Sequence[str] = ()) -> Iterator[Finding]:
    """Check the installation, the configuration, the models, and these banks (default: all).

    Raises ConfigError for a configuration that can't be read.
    """
    yield Finding("everthread", True, __version__)
    yield Finding("python", True, f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    for package in REQUIRED_PACKAGES:
        yield _check_package(package)
    yield _check_server()
    yield _check_extras()
    configured = config.load()  # raises an error, which each of the following would repeat
    yield from _check_server_settings()
    opened = store or configured.store
    place = _check_store(store)
    yield place
    yield from _measure_folder(Path(opened))
    yield _check_recipe()
    yield _check_counter()
    yield _check_refusals()
    yield from _check_embedder(embedder)
    if place.ok:  # otherwise both would repeat what is wrong with it
        yield _check_language_model(store)
        yield _check_scribe()
        yield from _check_banks(store, banks)


def repair(store: str | None, embedder: Embedder | str | None, banks: Sequence[str] = ()) -> Iterator[Finding]:
    """Analyse the words of lines of earlier versions, and embed what has no vector.

    Args:
        store, embedder: as for `examine`.
        banks: those that are repaired; default: all. Damaged ones, and those of another embedder, stay as they are.
    """
    try:
        opened, model = factory.open_store(store, create=False), factory.open_embedder(embedder)
        stored = opened.banks()
    except EverthreadError:  # which `examine` reports
        return
    for bank in sorted(set(banks or stored).intersection(stored)):
        try:
            stats = opened.stats(bank, model.name)
            if stats.vectors and model.name not in stats.vectors:
                continue
            with Memory.open(bank, store=opened, embedder=model) as memory:
                if stats.outdated or (stats := memory.stats()).pending:
                    done = f"{pluralize(stats.outdated, 'line')} analysed, {memory.reindex()} embedded"
                    yield Finding(f"bank {bank}", True, done)
        except EverthreadError as error:
            yield Finding(f"bank {bank}", False, f"not repaired: {error}")
    opened.close()


def _check_package(package: str) -> Finding:
    try:
        return Finding(package, True, version(package))
    except PackageNotFoundError:
        return Finding(package, False, f"is not installed; run: {package_command(package)}")


def _check_server() -> Finding:
    """Find the packages of the server. Lacking them is not a fault: the library and the terminal need none."""
    is_installed = _is_server_installed()
    return Finding(
        "server", True, "installed" if is_installed else f"not installed; to add it: {extra_command('server')}"
    )


def _is_server_installed() -> bool:
    return all(find_spec(name) for name in ("fastapi", "uvicorn"))


def _check_server_settings() -> Iterator[Finding]:
    """Find what `everthread serve` would refuse in its settings."""
    if not _is_server_installed():
        return
    from everthread.server import configuration  # imports packages of the server

    faults = [Finding("server settings", False, str(fault)) for fault in configuration.find_faults()]
    yield from faults or [Finding("server settings", True, "valid")]


def _check_extras() -> Finding:
    """Find the packages of other extras. Lacking them is no fault either."""
    missing = [extra for extra, names in OPTIONAL_PACKAGES.items() if not all(map(_is_installed, names))]
    if not missing:
        return Finding("extras", True, "all installed")
    return Finding("extras", True, f"without {', '.join(missing)}; to add one: {extra_command(missing[0])}")


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _check_store(given: str | None) -> Finding:
    """Open the place of the banks. A folder that is missing is no fault: the first bank makes it."""
    try:
        with closing(factory.open_store(given, create=False)) as opened:
            opened.banks()  # a database is reached by the first call
    except NotFound:
        pass
    except EverthreadError as error:
        return Finding("store", False, str(error))
    store = given or config.load().store
    folder = Path(store).expanduser()
    if folder.is_dir() and not os.access(folder, os.W_OK):
        return Finding("store", False, f"{store} can't be written; check the folder's permissions")
    return Finding("store", True, dsn.redact_password(store))


def _measure_folder(folder: Path, what: str = "disk") -> Iterator[Finding]:
    """Measure how much room the banks take, and have left, if they are in a folder."""
    if folder.is_dir():
        used = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        free = shutil.disk_usage(folder).free
        left = f"{free / 1e6:,.0f} MB free" if free >= MIN_FREE_BYTES else f"only {free / 1e6:.1f} MB free; make room"
        yield Finding(what, free >= MIN_FREE_BYTES, f"{used / 1e6:.1f} MB in this folder, {left}")


def _check_recipe() -> Finding:
    """Open the configured recipe, which banks without a saved one use."""
    try:
        return Finding("recipe", True, factory.open_recipe().name)
    except EverthreadError as error:
        return Finding("recipe", False, str(error))


def _check_counter() -> Finding:
    """Open the configured counter of tokens."""
    try:
        factory.open_counter()
    except EverthreadError as error:
        return Finding("tokens", False, str(error))
    return Finding("tokens", True, config.load().tokens)


def _check_refusals() -> Finding:
    """Read the user's refusal phrases. Having none is not a fault."""
    path = refusal_words.configured_path()
    if not path.exists() and not config.find_source("refusals"):
        return Finding("refusals", True, "none of your own")
    try:
        with config.name_source("refusals"):
            refusal_words.extend_shipped(path)
    except ConfigError as error:
        return Finding("refusals", False, str(error))
    return Finding("refusals", True, str(path))


def _check_embedder(given: Embedder | str | None) -> Iterator[Finding]:
    try:
        embedder = factory.open_embedder(given)
        vectors = shapes.embed_texts(embedder, ["I adopted a kitten.", "The invoice is overdue."])
        cosines = shapes.max_cosines(vectors, shapes.embed_question(embedder, "my new cat"))
    except EverthreadError as error:
        yield Finding("embedder", False, str(error))
        return
    yield Finding("embedder", bool(np.isfinite(cosines).all()), f"{embedder.name} answers")
    english = "English, and Chinese by glosses; lines in other languages are found by their words"
    several = "several languages; which ones, its own documentation says"
    yield Finding("languages", True, f"{embedder.name} reads {several if embedder.multilingual else english}")


def _check_language_model(store: str | None) -> Finding:
    """Find the model that a chat would use. Having none is not a fault: a chat then shows memories, not replies."""
    try:
        model = open_for_terminal(store)
    except EverthreadError as error:
        return Finding("language model", False, str(error))
    return Finding(
        "language model",
        True,
        f"{model.name} (no request was sent)" if model else "none; see everthread chat --help",
    )


def _check_scribe() -> Finding:
    """Find the model that writes notes and summaries, if it is another one than the model that replies."""
    if not config.load().scribe_model:
        return Finding("scribe", True, "the language model, if there is one")
    try:
        return Finding("scribe", True, factory.open_scribe(None).name)
    except EverthreadError as error:
        return Finding("scribe", False, str(error))


def _check_places(store: PlacedStore) -> Iterator[Finding]:
    """Check that each place answers, that no bank is in two, and that no interrupted move has left a copy."""
    found, failures = store.list_banks()
    for name, place in store.file.places.items():
        count = "" if name in failures else f"{pluralize(len(found[name]), 'bank')} in {dsn.redact_password(place)}"
        yield Finding(f"place {name}", name not in failures, count or str(failures[name]))
        yield from _measure_folder(Path(place), f"disk of place {name}")
    for bank, number in Counter(chain(*found.values())).items():
        if number > 1:
            first, *others = sorted((name for name in found if bank in found[name]), key=store.file.order(bank).index)
            what = f"is in the places {first}, which is used unless it was moved from there, and {', '.join(others)}"
            remedy = (
                "save what you need of the other, and forget it, with the folder or the URL of its place as --store"
            )
            yield Finding(f"bank {bank}", False, f"{what}; {remedy}")
    for name in found:
        try:
            arrivals = store.get_place(name).list_arrivals()
        except EverthreadError as error:
            yield Finding(f"place {name}", False, str(error))
            continue
        for bank, origin in arrivals.items():
            what = f"an interrupted move from {origin} has left a copy in {name}"
            yield Finding(f"bank {bank}", False, f"{what}; remove it with: everthread move {bank} {origin}")


def _check_banks(store: str | None, names: Sequence[str]) -> Iterator[Finding]:
    try:
        opened = factory.open_store(store, create=False)
        stored = opened.banks()
        if missing := sorted(set(names) - set(stored)):
            raise NotFound(f"there is no bank {missing[0]!r}")
    except EverthreadError as error:  # having no banks yet is not a fault, unless one was named
        yield Finding("banks", isinstance(error, NotFound) and not names, str(error))
        return
    if isinstance(opened, PlacedStore):
        yield from _check_places(opened)
    for folder in [each.folder for each in list_stores(opened) if isinstance(each, SQLiteStore)]:
        for path in find_orphan_logs(folder):
            yield Finding("log", False, f"{path} may contain text of a bank that was forgotten or moved; remove it")
    for bank in names or stored:
        outdated = 0
        try:
            faults = opened.check(bank)
            outdated = 0 if faults else opened.stats(bank, "").outdated
        except EverthreadError as error:
            faults = [str(error)]
        lines = pluralize(outdated, "line")
        hint = f"; the words of {lines} are of an earlier version: updated in use, or by doctor --repair"
        yield Finding(f"bank {bank}", not faults, "; ".join(faults) or f"sound{hint if outdated else ''}")
        if not faults:
            yield from _check_backups(opened, bank)
    opened.close()


def _check_backups(store: Store, bank: str) -> Iterator[Finding]:
    """Find the backups in which something is left that was forgotten in a bank."""
    try:
        for folder in kept_backups.find_pending(store, bank):
            what = f"{folder} may still hold what was forgotten; it is removed there by the next use of the bank that"
            yield Finding(f"bank {bank}", False, f"{what} can reach it, or by: everthread backup {Path(folder).parent}")
    except EverthreadError as error:
        yield Finding(f"bank {bank}", False, str(error))

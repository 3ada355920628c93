"""`everthread move`: copies banks from one store to another, or moves a bank from one of several places to another."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click

from everthread import config, factory
from everthread.cli.common import json_option, pluralize, show_json
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory
from everthread.recipes.saved_recipe import SavedRecipe
from everthread.stores.base import Store
from everthread.stores.placed.places_file import SUFFIX
from everthread.stores.placed.store import PlacedStore
from everthread.stores.postgres import dsn
from everthread.transfer import copy_bank
from everthread.transfer.backup import find_server_file
from everthread.transfer.moving import move_bank


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--bank", "-b", multiple=True, help="Only this bank. Repeatable.")
@json_option
@click.pass_context
def move(ctx: click.Context, /, source: str, target: str, bank: tuple[str, ...], as_json: bool) -> None:
    """Copy banks from one store to another, and compare them. SRC and DST are folders or postgresql:// URLs.

    May be stopped and resumed. The source is not changed. Receipts of the banks are copied too, but neither their
    backups nor the keys and accounts of a server.

    With a store of several places, as in `everthread --store places.toml move BANK PLACE`, the bank is moved to the
    place of this name, with its vectors. It may be in use: writers wait until it is there. May be stopped and repeated.
    """
    places = _open_places(ctx)
    is_store = "://" in source or Path(source).exists()  # else it can only be a bank
    if places is not None and (target in places.file.places or not is_store):
        if bank:
            raise BadInput(f"--bank has no meaning with the place {target!r}; write: everthread move BANK PLACE")
        _move_to_place(places, source, target, as_json)
        return
    embedder = factory.open_embedder(ctx.obj["embedder"])  # one for all banks, since a model takes a while to load
    with closing(factory.open_store(source, create=False)) as source_store:
        names = bank or source_store.banks()
        if missing := [name for name in names if not source_store.exists(name)]:
            raise NotFound(f"there is no bank {missing[0]!r} in {dsn.redact_password(source)}; nothing was moved")
        with closing(factory.open_store(target)) as target_store:
            stores = (source_store, target_store)
            moved = [(name, *_copy_bank(name, stores, embedder)) for name in names]
        server = find_server_file(source_store)
    if as_json:
        show_json([{"bank": name, "lines": lines, "sha256": digest} for name, lines, digest in moved])
    else:
        for name, lines, digest in moved:
            click.echo(f"{name}: {pluralize(lines, 'line')}, the same in both ({digest[:12]})")
    if server is not None:
        url = dsn.redact_password(target)
        remedy = f"; copy them with: everthread db adopt {url} {server}" if "://" in target else ""
        click.echo(f"not moved: keys and accounts of the server, in {server}{remedy}", err=True)


def _open_places(ctx: click.Context, /) -> PlacedStore | None:
    """Open the store if it has several places."""
    spec = ctx.obj["store"] or config.load().store
    store = factory.open_store(spec) if spec.endswith(SUFFIX) else None
    return store if isinstance(store, PlacedStore) else None


def _move_to_place(places: PlacedStore, bank: str, place: str, as_json: bool) -> None:
    with closing(places):
        summary = move_bank(places, bank, place)
    if as_json:
        show_json({"bank": bank, "place": place, "lines": summary.lines, "sha256": summary.sha256})
    else:
        click.echo(f"{bank}: {pluralize(summary.lines, 'line')} in {place} ({summary.sha256[:12]})")


def _copy_bank(name: str, stores: tuple[Store, Store], embedder: Embedder) -> tuple[int, str]:
    """Copy a bank from the first store to the second; return the number of lines and their digest."""
    saved = SavedRecipe.load(stores[0], name)  # the copy is embedded as the bank's own recipe requires
    recipe = factory.open_recipe(saved.name if saved and saved.name in factory.RECIPES else "default", saved)
    old, new = (Memory.open(name, store=store, embedder=embedder, recipe=recipe) for store in stores)
    counts = old.stats()
    with click.progressbar(length=counts.lines + counts.retracted, label=f"move {name}", file=sys.stderr) as bar:
        return copy_bank.copy_bank(old, new, bar.update)

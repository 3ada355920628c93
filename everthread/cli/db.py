"""`everthread db …`: the tables of a Postgres store on the command line."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from everthread import factory
from everthread.cli.common import json_option, pluralize, show_json
from everthread.errors import ConfigError, StoreUnavailable
from everthread.stores.postgres import schema, vacuum
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.store import PostgresStore


@click.group()
def db() -> None:
    """Set up and check a Postgres database. URL is postgresql://user@host/database."""


@db.command()
@click.argument("url")
@click.option(
    "--role",
    help="Give this role the right to read and write, one bank at a time (row-level security). Not with --distribute: "
    "Citus doesn't tell its workers which bank is meant.",
)
@click.option(
    "--distribute",
    is_flag=True,
    help="Spread the tables over machines by bank, with Citus. May be stopped and resumed.",
)
@json_option
def init(url: str, role: str | None, distribute: bool, as_json: bool) -> None:
    """Make the extension and the tables; those that are there stay."""
    server = Database(url)
    if role is not None and distribute:
        raise ConfigError(schema.ROLE_AND_CITUS.format(server.display_url))
    done: dict[str, Any] = {"url": server.display_url, "migrations": schema.migrate(server), "statements": []}
    if role is not None:
        schema.secure(server, role)
        done["role"] = role
    if distribute:
        done["statements"] = schema.distribute(server)
    text = f"{server.display_url}: schema {schema.VERSION}, {done['migrations']} migrations applied"
    _show(done, as_json, "\n".join([text, *done["statements"]]))


@db.command()
@click.argument("url")
@json_option
def migrate(url: str, as_json: bool) -> None:
    """Bring the tables up to date."""
    server = _open_database(url)
    applied = schema.migrate(server)
    _show(
        {"url": server.display_url, "migrations": applied},
        as_json,
        f"{server.display_url}: {applied} migrations applied",
    )


@db.command()
@click.argument("url")
@json_option
def check(url: str, as_json: bool) -> None:
    """See that the server answers, has pgvector and the tables, and that every bank is sound."""
    server = _open_database(url)
    with closing(factory.open_store(url)) as store:
        found = {bank: store.check(bank) for bank in store.banks()}
    wrong = [f"{bank}: {each}" for bank, faults in found.items() for each in faults]
    text = "\n".join(wrong) or f"{server.display_url}: {pluralize(len(found), 'bank')}, all sound"
    _show({"banks": len(found), "wrong": wrong}, as_json, text)
    click.get_current_context().exit(1 if wrong else 0)


@db.command()
@click.argument("url")
@json_option
def index(url: str, as_json: bool) -> None:
    """Make the indexes that large banks lack; a role bound to one bank at a time can't make its own."""
    _open_database(url)
    with closing(PostgresStore(url)) as store:
        made = sum(store.build_indexes(bank) for bank in store.banks())
    _show({"indexes": made}, as_json, f"indexes made: {made}")


@db.command()
@click.argument("url")
@json_option
def scrub(url: str, as_json: bool) -> None:
    """Rewrite the tables, so that nothing forgotten is left in the database's own files.

    Everyone else waits for it, and the largest table needs room for a second copy. The write-ahead log, replicas,
    backups and the server's log keep theirs for as long as they are kept.
    """
    server = _open_database(url)
    left = vacuum.scrub(server)
    text = f"{server.display_url}: rewritten; nothing forgotten is left in its files"
    _show({"url": server.display_url, "left": left}, as_json, "\n".join(left) or text)
    click.get_current_context().exit(1 if left else 0)


def _open_database(url: str) -> Database:
    """Connect to a database. Raises StoreUnavailable if it has no tables."""
    server = Database(url)
    with server.dedicated_connection() as connection:
        if schema.version(connection) == 0:
            raise StoreUnavailable(f"{server.display_url} has no tables yet; make them with: everthread db init URL")
    return server


def _show(value: object, as_json: bool, text: str) -> None:
    show_json(value) if as_json else click.echo(text)

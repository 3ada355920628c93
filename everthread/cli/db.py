"""`everthread db …`: the tables of a Postgres store on the command line."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from everthread import factory
from everthread.cli.common import json_option, pluralize, show_json
from everthread.errors import ConfigError, StoreUnavailable
from everthread.server import server_tables
from everthread.stores.postgres import schema, vacuum
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.store import PostgresStore


@click.group()
def db() -> None:
    """Set up and check a Postgres database. URL is postgresql://user@host/database."""


@db.command()
@click.argument("url")
@click.option("--role", help="Let this role read and write one bank at a time (row-level security).")
@click.option(
    "--distribute",
    is_flag=True,
    help="Distribute the tables over machines by bank, with Citus. May be stopped and resumed.",
)
@click.option(
    "--shards",
    type=click.IntRange(1, schema.MAX_SHARDS),
    help="With --distribute: how many parts each table gets, which is the greatest number of machines; it can't be "
    "changed later. Default: that of Citus, 32.",
)
@json_option
def init(url: str, role: str | None, distribute: bool, shards: int | None, as_json: bool) -> None:
    """Create the extension and the tables, unless they exist."""
    if shards is not None and not distribute:
        raise ConfigError(f"--shards {shards} has no effect without --distribute; give both or neither")
    server = Database(url)
    applied = schema.migrate(server) + server_tables.migrate(server)
    result: dict[str, Any] = {"url": server.display_url, "migrations": applied, "statements": []}
    if distribute:
        result["statements"] = schema.distribute(server, shards)
    if role is not None:
        schema.secure(server, role)
        server_tables.secure(server, role)
        result["role"] = role
    text = f"{server.display_url}: schema {schema.VERSION}, {pluralize(result['migrations'], 'migration')} applied"
    _show(result, as_json, "\n".join([text, *result["statements"]]))


@db.command()
@click.argument("url")
@json_option
def migrate(url: str, as_json: bool) -> None:
    """Migrate the tables to the current schema."""
    server = _open_database(url)
    applied = schema.migrate(server) + server_tables.migrate(server)
    _show(
        {"url": server.display_url, "migrations": applied},
        as_json,
        f"{server.display_url}: {pluralize(applied, 'migration')} applied",
    )


@db.command()
@click.argument("url")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def adopt(url: str, file: Path, as_json: bool) -> None:
    """Copy the keys, accounts and other data of a server from its FILE server.sqlite; what is there already stays.

    `everthread serve` does so at its first start with a database if the file is in the user's data folder.
    """
    server = _open_database(url)
    server_tables.migrate(server)
    rows = server_tables.adopt(server, file)
    text = f"{server.display_url}: {pluralize(rows, 'row')} copied from {file}"
    _show({"url": server.display_url, "rows": rows}, as_json, text)


@db.command()
@click.argument("url")
@json_option
def check(url: str, as_json: bool) -> None:
    """Check the connection, pgvector, the tables, and the integrity of every bank."""
    server = _open_database(url)
    with closing(factory.open_store(url)) as store:
        faults_by_bank = {bank: store.check(bank) for bank in store.banks()}
    faults = [f"{bank}: {fault}" for bank, bank_faults in faults_by_bank.items() for fault in bank_faults]
    text = "\n".join(faults) or f"{server.display_url}: {pluralize(len(faults_by_bank), 'bank')}, all sound"
    _show({"banks": len(faults_by_bank), "wrong": faults}, as_json, text)
    click.get_current_context().exit(1 if faults else 0)


@db.command()
@click.argument("url")
@json_option
def index(url: str, as_json: bool) -> None:
    """Create the missing indexes of large banks, which a role bound to one bank at a time can't create."""
    _open_database(url)
    with closing(PostgresStore(url)) as store:
        created = sum(store.build_indexes(bank) for bank in store.banks())
    _show({"indexes": created}, as_json, f"indexes created: {created}")


@db.command()
@click.argument("url")
@json_option
def scrub(url: str, as_json: bool) -> None:
    """Rewrite the tables, so that nothing forgotten remains in the database files.

    All other connections wait, and there must be room for a second copy of the largest table. Forgotten text
    may remain in the write-ahead log, replicas, backups and the server's log until they are removed.
    """
    server = _open_database(url)
    remains = vacuum.scrub(server, [schema.SCHEMA, server_tables.SCHEMA])
    text = f"{server.display_url}: rewritten; nothing forgotten is left in its files"
    _show({"url": server.display_url, "left": remains}, as_json, "\n".join(remains) or text)
    click.get_current_context().exit(1 if remains else 0)


def _open_database(url: str) -> Database:
    """Connect to a database. Raises StoreUnavailable if it has no tables."""
    server = Database(url)
    with server.dedicated_connection() as connection:
        if schema.version(connection) == 0:
            raise StoreUnavailable(f"{server.display_url} has no tables yet; create them with: everthread db init URL")
    return server


def _show(value: object, as_json: bool, text: str) -> None:
    show_json(value) if as_json else click.echo(text)

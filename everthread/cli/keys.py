"""`everthread keys …`: who may use the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date

import click

from everthread import factory
from everthread.cli.common import json_option, show_json
from everthread.cli.sanitize import escape_control_chars
from everthread.server import server_db
from everthread.server.keys import ALL_BANKS, VERBS, ApiKey, KeyStore


@contextmanager
def _kept(ctx: click.Context) -> Iterator[KeyStore]:
    """The keys that belong to the store."""
    with closing(factory.open_store(ctx.obj["store"])) as store, closing(KeyStore(server_db.get_path(store))) as keys:
        yield keys


@click.group()
def keys() -> None:
    """Make and revoke keys for the server. They are kept beside the banks, as hashes."""


@keys.command()
@click.argument("name")
@click.option(
    "-b", "--bank", multiple=True, metavar="BANK", help="A bank that it opens, or all below one: 'alice/*'. "
    "Repeatable. Default: all."
)  # fmt: skip
@click.option(
    "--may", multiple=True, type=click.Choice(VERBS), help="A permission of the key. Repeatable. Default: all."
)
@json_option
@click.pass_context
def new(ctx: click.Context, /, name: str, bank: tuple[str, ...], may: tuple[str, ...], as_json: bool) -> None:
    """Make a key, and show it: this once, for only its hash is kept. NAME is for you, such as phone."""
    with _kept(ctx) as kept:
        secret = kept.create(name, bank or (ALL_BANKS,), may or VERBS)
        made = next(each for each in kept.list_keys() if each.name == name)
    if as_json:
        show_json({"name": name, "key": secret, "banks": made.banks, "may": made.verbs})
        return
    click.echo(secret)
    click.echo(f"That is the key; it is not shown again. {_scope(made)}", err=True)


@keys.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, /, as_json: bool) -> None:
    """List the keys, what they are for, and when they were last used."""
    with _kept(ctx) as kept:
        found = kept.list_keys()
    if as_json:
        show_json([{**_days(key), "name": key.name, "banks": key.banks, "may": key.verbs} for key in found])
        return
    for key in found:
        used = f"last used {key.used_on}" if key.used_on else "never used"
        click.echo(escape_control_chars(f"{key.name:<20} made {key.made_on}, {used}. {_scope(key)}"))
    if not found:
        click.echo("There are no keys; make one with: everthread keys new phone")


@keys.command()
@click.argument("name")
@click.pass_context
def revoke(ctx: click.Context, /, name: str) -> None:
    """Have a key be good for nothing any more, also with a server that runs."""
    with _kept(ctx) as kept:
        kept.revoke(name)
    click.echo(escape_control_chars(f"revoked {name}"))


def _scope(key: ApiKey) -> str:
    banks = "all banks" if ALL_BANKS in key.banks else ", ".join(key.banks)
    return f"It may {', '.join(key.verbs)}: {banks}"


def _days(key: ApiKey) -> dict[str, str | None]:
    used: date | None = key.used_on
    return {"made_on": key.made_on.isoformat(), "used_on": used.isoformat() if used else None}

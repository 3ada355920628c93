"""`everthread keys …`: creates, lists and revokes API keys of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from everthread import factory
from everthread.cli.common import json_option, show_json
from everthread.cli.sanitize import escape_control_chars
from everthread.server.data_location import find_location
from everthread.server.keys import ALL_BANKS, VERBS, ApiKey, KeyStore


@contextmanager
def _open_keys(ctx: click.Context) -> Iterator[KeyStore]:
    """Open the keys that belong to the store."""
    with closing(factory.open_store(ctx.obj["store"])) as banks, closing(KeyStore(find_location(banks))) as keys:
        yield keys


@click.group()
def keys() -> None:
    """Create and revoke API keys for the server. Their hashes are stored beside the banks."""


@keys.command()
@click.argument("name")
@click.option(
    "-b", "--bank", multiple=True, metavar="BANK", help="A bank that the key may use, or all below one: 'alice/*'. "
    "Repeatable. Default: all."
)  # fmt: skip
@click.option(
    "--may", multiple=True, type=click.Choice(VERBS), help="A permission of the key. Repeatable. Default: all."
)
@json_option
@click.pass_context
def new(ctx: click.Context, /, name: str, bank: tuple[str, ...], may: tuple[str, ...], as_json: bool) -> None:
    """Create a key and print it, once: only its hash is stored. NAME identifies the key, such as phone."""
    with _open_keys(ctx) as store:
        secret = store.create(name, bank or (ALL_BANKS,), may or VERBS)
        created = next(key for key in store.list_keys() if key.name == name)
    if as_json:
        show_json({"name": name, "key": secret, "banks": created.banks, "may": created.verbs})
        return
    click.echo(secret)
    click.echo(f"This is the key; it is not shown again. {_scope(created)}", err=True)


@keys.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, /, as_json: bool) -> None:
    """List the keys with their permissions and when they were last used."""
    with _open_keys(ctx) as store:
        stored_keys = store.list_keys()
    if as_json:
        show_json([{**_days(key), "name": key.name, "banks": key.banks, "may": key.verbs} for key in stored_keys])
        return
    for key in stored_keys:
        used = f"last used {key.used_on}" if key.used_on else "never used"
        click.echo(escape_control_chars(f"{key.name:<20} created {key.made_on}, {used}. {_scope(key)}"))
    if not stored_keys:
        click.echo("There are no keys; create one with: everthread keys new phone")


@keys.command()
@click.argument("name")
@click.pass_context
def revoke(ctx: click.Context, /, name: str) -> None:
    """Revoke a key. Running servers honour this at once."""
    with _open_keys(ctx) as store:
        store.revoke(name)
    click.echo(escape_control_chars(f"revoked {name}"))


def _scope(key: ApiKey) -> str:
    banks = "all banks" if ALL_BANKS in key.banks else ", ".join(key.banks)
    return f"It may {', '.join(key.verbs)}: {banks}"


def _days(key: ApiKey) -> dict[str, str | None]:
    return {"made_on": key.made_on.isoformat(), "used_on": key.used_on.isoformat() if key.used_on else None}

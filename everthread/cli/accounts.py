"""`everthread accounts …`: creates, lists, changes and removes the accounts of people on a server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import click

from everthread import config, factory
from everthread.bank import deletion
from everthread.cli.common import confirm, decode_utf8, json_option, pluralize, show_json, yes_option
from everthread.cli.forget import show_left_backups
from everthread.cli.sanitize import escape_control_chars
from everthread.errors import ConfigError, NotFound
from everthread.server import kept_uploads
from everthread.server.data_location import find_location
from everthread.server.gallery import remove_own_characters
from everthread.server.people.accounts import Account, count_content
from everthread.server.people.directory import PeopleDirectory
from everthread.stores.base import Store


@contextmanager
def _open(ctx: click.Context) -> Iterator[tuple[Store, PeopleDirectory]]:
    """Open the store and the accounts that belong to it."""
    with (
        closing(factory.open_store(ctx.obj["store"])) as store,
        closing(PeopleDirectory(find_location(store))) as people,
    ):
        yield store, people


@click.group()
def accounts() -> None:
    """Manage the accounts of people who use a server. Each person sees only their own banks.

    Passwords are asked for or, without a terminal, read from the first line of standard input.
    """


@accounts.command()
@click.argument("name")
@click.option("--administrator", is_flag=True, help="Let the account change accounts, characters and the model.")
@click.option("-b", "--bank", multiple=True, metavar="BANK", help="An existing bank to give the account. Repeatable.")
@click.option("--no-password", is_flag=True, help="For a person who signs in elsewhere.")
@click.pass_context
def add(ctx: click.Context, /, name: str, administrator: bool, bank: tuple[str, ...], no_password: bool) -> None:
    """Create an account. It owns the bank of its name and all below it: nora, nora/captain-vey."""
    with _open(ctx) as (store, people):
        password = None if no_password else _ask_password()
        account = people.create(name, password, is_administrator=administrator, banks=bank, taken_banks=store.banks())
    click.echo(f"created {account.name}, with the banks {_banks(account)}")


@accounts.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, /, as_json: bool) -> None:
    """List the accounts with the numbers of their banks and messages."""
    with _open(ctx) as (store, people):
        listed = people.accounts.list_accounts()
        counts = {account.name: count_content(store, account) for account in listed}
    if as_json:
        show_json([_to_json(account, *counts[account.name]) for account in listed])
        return
    for account in listed:
        banks, lines = counts[account.name]
        flags = [
            word for word, on in (("administrator", account.is_administrator), ("locked", account.is_locked)) if on
        ]
        seen = f"last signed in {account.signed_in_on}" if account.signed_in_on else "never signed in"
        size = f"{pluralize(banks, 'bank')}, {pluralize(lines, 'message')}"
        click.echo(escape_control_chars("; ".join([f"{account.name:<20} {size}", seen, *flags])))
    if not listed:
        click.echo("There are no accounts; create one with: everthread accounts add nora")


@accounts.command()
@click.argument("name")
@click.pass_context
def password(ctx: click.Context, /, name: str) -> None:
    """Set a password. All sessions of the account end."""
    with _open(ctx) as (_, people):
        account = people.accounts.get(name)
        people.set_password(account, _ask_password())
    click.echo(f"changed the password of {account.name}")


@accounts.command()
@click.argument("name")
@click.argument("bank")
@click.pass_context
def give(ctx: click.Context, /, name: str, bank: str) -> None:
    """Give an account an existing bank, and all banks below it."""
    with _open(ctx) as (store, people):
        account = people.accounts.get(name)
        if not store.exists(bank):
            raise NotFound(f"there is no bank {bank!r}; `everthread banks` lists all")
        people.give_banks(account, [bank])
        click.echo(escape_control_chars(f"{account.name} owns {_banks(people.accounts.get(name))}"))


@accounts.command()
@click.argument("name")
@click.argument("subject")
@click.pass_context
def link(ctx: click.Context, /, name: str, subject: str) -> None:
    """Let a person sign in to an account at the OpenID Connect provider.

    SUBJECT is what the provider calls "sub"; the server's log names it when an unknown person tries to sign in.
    """
    issuer = config.load().openid_issuer.strip().rstrip("/")
    if not issuer:
        raise ConfigError("no OpenID Connect provider is configured; set openid_issuer")
    with _open(ctx) as (_, people):
        account = people.accounts.get(name)
        people.link(account, issuer, subject)
    click.echo(escape_control_chars(f"{account.name} signs in as {subject} at {issuer}"))


@accounts.command()
@click.argument("name")
@click.pass_context
def lock(ctx: click.Context, /, name: str) -> None:
    """Lock an account: its sessions end, and it can't sign in."""
    _change(ctx, name, lambda people, account: people.set_locked(account, True), "locked")


@accounts.command()
@click.argument("name")
@click.pass_context
def unlock(ctx: click.Context, /, name: str) -> None:
    """Unlock an account."""
    _change(ctx, name, lambda people, account: people.set_locked(account, False), "unlocked")


@accounts.command()
@click.argument("name")
@click.pass_context
def promote(ctx: click.Context, /, name: str) -> None:
    """Make an account an administrator: it changes accounts, characters of all and the model."""
    _change(ctx, name, lambda people, account: people.set_administrator(account, True), "promoted")


@accounts.command()
@click.argument("name")
@click.pass_context
def demote(ctx: click.Context, /, name: str) -> None:
    """Make an administrator's account an ordinary one."""
    _change(ctx, name, lambda people, account: people.set_administrator(account, False), "demoted")


def _change(ctx: click.Context, name: str, change: Callable[[PeopleDirectory, Account], None], done: str) -> None:
    """Change an account, and print what was done."""
    with _open(ctx) as (_, people):
        change(people, people.accounts.get(name))
    click.echo(escape_control_chars(f"{done} {name}"))


@accounts.command()
@click.argument("name")
@click.option(
    "--banks",
    type=click.Choice(["keep", "forget"]),
    required=True,
    help="keep: without an owner; another account can be given them. forget: for good.",
)
@yes_option
@click.pass_context
def remove(ctx: click.Context, /, name: str, banks: str, yes: bool) -> None:
    """Remove an account."""
    with _open(ctx) as (store, people):
        account = people.accounts.get(name)
        numbers = count_content(store, account)
        size = f"{pluralize(numbers[0], 'bank')}, {pluralize(numbers[1], 'message')}"
        if banks == "forget" and not yes:
            confirm(f"Forget everything of {account.name} ({size}) for good?")
        people.set_locked(account, True)
        left: dict[str, None] = {}  # the backups that still hold a bank
        for bank in account.owned(store.banks()) if banks == "forget" else ():
            left |= dict.fromkeys(deletion.forget(store, bank, "bank", None).backups)
        people.remove(account)
        remove_own_characters(account)
        kept_uploads.discard_of_caller(kept_uploads.name_account(account))
    click.echo(f"removed {account.name}; {'forgotten' if banks == 'forget' else 'kept'}: {size}")
    show_left_backups(left)


def _ask_password() -> str:
    """Read a new password: twice from a terminal, or once from standard input."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))
    return decode_utf8(sys.stdin.buffer.readline()).rstrip("\r\n")


def _banks(account: Account) -> str:
    return escape_control_chars(", ".join(f"{bank} and {bank}/*" for bank in account.banks))


def _to_json(account: Account, banks: int, lines: int) -> dict[str, object]:
    return {
        "name": account.name,
        "administrator": account.is_administrator,
        "locked": account.is_locked,
        "has_password": account.has_password,
        "owns": account.banks,
        "banks": banks,
        "lines": lines,
        "made_on": account.made_on.isoformat(),
        "signed_in_on": account.signed_in_on.isoformat() if account.signed_in_on else None,
    }

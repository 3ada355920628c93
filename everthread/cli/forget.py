"""`everthread forget`: removes lines, units or a bank for good, and says before what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from everthread.bank import deletion, kept_backups
from everthread.cli.common import (
    bank_option,
    confirm,
    json_option,
    pluralize,
    render_line,
    render_unit,
    show_json,
    yes_option,
)
from everthread.cli.excerpts import shorten
from everthread.cli.main import open_memory, open_store
from everthread.cli.names import find_session
from everthread.errors import BadInput, BankDamaged, BankTooNew, NotFound
from everthread.stores.base import Store
from everthread.stores.errors import nothing_to_forget_error
from everthread.types import Receipt

_SCOPES = {  # what is forgotten, in words, by option
    "seq": "line {}",
    "session": "session {!r}",
    "speaker": "everything that {!r} said",
    "unit": "{0[0]} {0[1]}",
    "everything": "everything",
}


@click.command()
@bank_option
@click.option("--seq", type=int, help="The line with this number, and its earlier and later versions.")
@click.option("--session", help="All lines of this session: its name or its title.")
@click.option("--speaker", help="Everything this speaker said.")
@click.option("--unit", nargs=2, type=(str, int), metavar="KIND ID", help="One unit; `everthread units` lists them.")
@click.option("--everything", is_flag=True, help="The whole bank.")
@yes_option
@json_option
@click.pass_context
def forget(ctx: click.Context, /, bank: str, yes: bool, as_json: bool, **scope: Any) -> None:
    """Remove a line, a session, a speaker, a unit or a bank permanently, and print the receipt.

    In a folder, no byte of it remains. Postgres overwrites the bytes only when it reuses their pages; to erase them
    now, run: everthread db scrub URL. It is removed from the backups of `everthread backup` as well; a warning names
    those that can't be reached.
    """
    given = {name: value for name, value in scope.items() if value is not None and value is not False}
    named = _name_scope(given)
    if as_json and not yes:
        raise BadInput(
            f"with --json there is no confirmation; pass --yes as well, to forget {named} of bank {bank!r} for good"
        )
    if scope["session"]:
        with open_memory(ctx, bank) as memory:
            scope["session"] = find_session(memory, scope["session"])
    unit = scope.pop("unit")
    with open_store(ctx, bank) as store:
        if not yes:
            backups = len(kept_backups.read(store, bank))
            count = _show_unit(store, bank, *unit) if unit else _show_lines(store, bank, **scope)
            confirm(f"Forget {named} of bank {bank!r}{count} for good{name_backups(backups)}?")
    if unit:
        with open_memory(ctx, bank) as memory:
            deleted_ids = memory.forget_unit(*unit)
        show_json({"kind": unit[0], "ids": deleted_ids}) if as_json else click.echo(f"forgotten: {named}")
        return
    if given == {"everything": True}:  # works even if the bank is too damaged to be opened
        with open_store(ctx, bank) as store:
            receipt = kept_backups.forget(store, bank, "bank", None, datetime.now(UTC))
    else:
        with open_memory(ctx, bank) as memory:
            receipt = memory.forget(**scope)
    show_receipt(receipt, as_json)


def show_receipt(receipt: Receipt, as_json: bool) -> None:
    """Print a receipt."""
    if as_json:
        show_json(receipt)
        return
    also = name_backups(receipt.cleared_backups)
    click.echo(f"forgotten: {pluralize(receipt.lines, 'line')}{also}, {receipt.forgotten_at:%Y-%m-%d %H:%M:%S} UTC")
    show_left_backups(receipt.backups)


def show_left_backups(folders: Iterable[str]) -> None:
    """Print the backups that still hold what was forgotten."""
    for folder in folders:
        click.echo(f"still in {folder}, until the next: everthread backup {Path(folder).parent}")


def _name_scope(given: Mapping[str, Any]) -> str:
    """Return what is to be forgotten, in words. Raises BadInput unless exactly one option is given."""
    if not given:
        raise BadInput("there is nothing to forget; pass --seq, --session, --speaker, --unit or --everything")
    if len(given) > 1:
        names = " and ".join(f"--{name}" for name in given)
        raise BadInput(f"{names} can't be given together; forget one after the other")
    ((name, value),) = given.items()
    return _SCOPES[name].format(value)


def name_backups(number: int) -> str:
    """Return in words in how many backups something is forgotten as well; "" for none."""
    return f", also in {pluralize(number, 'backup')}" if number else ""


def _show_lines(store: Store, bank: str, **arguments: Any) -> str:
    """Show the versions of a line that is to be forgotten, and return how many lines are, in parentheses.

    Returns "" for a bank that can't be read. Raises NotFound if there is no such line.
    """
    scope, name = deletion.parse_scope(bank, **arguments)
    if scope == "bank":
        try:
            stats = store.stats(bank, "")
        except (BankDamaged, BankTooNew):
            return ""
        return f" ({pluralize(stats.lines + stats.retracted, 'line')})"
    lines = deletion.find_lines(store, bank, scope, name)
    if not lines:
        raise nothing_to_forget_error(bank, scope, name)
    for line in lines if scope == "line" else ():
        click.echo(render_line(replace(line, text=shorten(line.text))), err=True)
    return f" ({pluralize(len(lines), 'line')})" if scope != "line" or len(lines) > 1 else ""


def _show_unit(store: Store, bank: str, kind: str, number: int) -> str:
    """Show a unit that is to be forgotten. Raises NotFound if there is no such unit."""
    units = store.units(bank, [kind], ids=[number])
    if not units:
        raise NotFound(f"there is no {kind} {number}; nothing was forgotten")
    for unit in units:
        click.echo(render_unit(replace(unit, text=shorten(unit.text))), err=True)
    return ""

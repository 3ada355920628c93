"""`everthread backup` and `everthread restore`: dated copies of banks in use, and banks made of them again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import click

from everthread import factory
from everthread.bank.backup_folder import list_backups, read_manifest
from everthread.cli.common import json_option, pluralize, show_json
from everthread.errors import BadInput, EverthreadError, NotFound
from everthread.transfer import backup as backups
from everthread.transfer import restoring_backups

REVIVED = (
    "what was revoked or removed since is valid again; check the lists: everthread keys list, everthread accounts list"
)


@click.command()
@click.argument("place", type=click.Path(path_type=Path, readable=False))
@click.option("-b", "--bank", multiple=True, help="Only this bank. Repeatable. Default: all.")
@click.option("--keep", type=int, metavar="N", help="Remove all except the newest N backups. Default: keep all.")
@click.option("--keep-days", type=int, metavar="N", help="Remove backups older than N days.")
@click.option("--verify", is_flag=True, help="Make no backup: list those in PLACE, and compare them with their hashes.")
@json_option
@click.pass_context
def backup(
    ctx: click.Context,
    /,
    place: Path,
    bank: tuple[str, ...],
    keep: int | None,
    keep_days: int | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Write a dated backup of the banks into the folder PLACE, and verify it. The banks may be in use.

    A backup is a folder with a file for each bank, from a folder of banks and from Postgres alike. First, what was
    forgotten is removed from the earlier backups in PLACE; they must not be changed by other programs. --keep and
    --keep-days remove only backups of this store whose banks are all in the new one, and never the new one. A bank
    that can't be read or written is left out and named, and the exit status is 1.
    """
    if verify:
        if bank or keep is not None or keep_days is not None:
            raise BadInput("--verify takes only PLACE; verify first, and make a backup afterwards")
        _verify(ctx, place, as_json)
        return
    retention = backups.Retention(keep, keep_days)
    with closing(factory.open_store(ctx.obj["store"], create=False)) as store:
        made = backups.back_up(store, place, bank, retention, lambda name: click.echo(f"backup {name}", err=True))
    banks = made.manifest.banks.values()
    size, lines = sum(file.bytes for file in made.manifest.files), sum(file.lines + file.retracted for file in banks)
    if as_json:
        removed = [str(folder) for folder in made.removed]
        failed = {name: str(error) for name, error in made.failed.items()}
        totals = {"banks": len(banks), "lines": lines, "bytes": size}
        show_json({"backup": str(made.folder), **totals, "removed": removed, "failed": failed})
    else:
        counts = f"{pluralize(len(banks), 'bank')}, {pluralize(lines, 'line')}, {size / 1e6:.1f} MB"
        click.echo(f"{made.folder}: {counts}, verified")
        for folder in made.removed:
            click.echo(f"removed: {folder}")
    for name, error in made.failed.items():
        click.echo(f"not in the backup: bank {name!r}: {error}", err=True)
    ctx.exit(1 if made.failed else 0)


def _verify(ctx: click.Context, place: Path, as_json: bool) -> None:
    """Verify the backups at a place, or a single one; exit with status 1 if any is damaged."""
    newest = backups.find_backup(place)
    found = [newest] if newest == place.expanduser().absolute() else list_backups(newest.parent)
    problems = {folder: backups.verify(folder) for folder in found}
    if as_json:
        show_json([{"backup": str(folder), "problems": each} for folder, each in problems.items()])
    else:
        for folder, each in problems.items():
            click.echo(f"{'BAD' if each else 'ok '}  {folder}: {_describe(folder)}")
            for problem in each:
                click.echo(f"     {problem}")
    ctx.exit(1 if any(problems.values()) else 0)


def _describe(folder: Path) -> str:
    try:
        banks = read_manifest(folder).banks
    except EverthreadError:
        return "its manifest can't be read"
    lines = sum(file.lines + file.retracted for file in banks.values())
    return f"{pluralize(lines, 'line')} of {', '.join(sorted(banks)[: restoring_backups.MAX_LISTED_BANKS])}"


@click.command()
@click.argument("folder", metavar="BACKUP", type=click.Path(path_type=Path, readable=False))
@click.option("-b", "--bank", multiple=True, help="Only this bank. Repeatable. Default: all.")
@click.option("--as", "new_id", metavar="BANK", help="Restore the bank under another name.")
@click.option("--force", is_flag=True, help="Replace banks that exist.")
@json_option
@click.pass_context
def restore(
    ctx: click.Context, /, folder: Path, bank: tuple[str, ...], new_id: str | None, force: bool, as_json: bool
) -> None:
    """Restore banks from BACKUP, a folder that `everthread backup` wrote, or the folder around it for the newest one.

    The banks are restored into the store that --store names, a folder or a database, without lines that were forgotten
    after the backup. Keys and accounts of a server are restored with all banks of a folder if it has none.
    """
    found = backups.find_backup(folder)
    with closing(factory.open_store(ctx.obj["store"])) as store:
        restored = restoring_backups.restore(
            store, found, bank, new_id, force, lambda name: click.echo(f"restore {name}", err=True)
        )
        if not as_json:
            for each in restored:
                how = "as in the backup already" if each.was_there else "restored"
                click.echo(f"{each.bank}: {pluralize(each.summary.lines, 'line')} {how} ({each.summary.sha256[:12]})")
        has_server = not bank and restoring_backups.restore_server_file(store, found)
    if not bank and found != folder.expanduser().absolute():
        _name_left_out(restoring_backups.find_left_out(found))
    if not restored and not has_server:
        raise NotFound(f"the backup {found} has no bank: what is forgotten is removed from backups as well")
    if as_json:
        rows = [{"bank": each.bank, "lines": each.summary.lines, "sha256": each.summary.sha256} for each in restored]
        show_json({"backup": str(found), "banks": rows, "server": has_server})
    elif has_server:
        click.echo(f"keys and accounts of the server restored as of {found.name}")
        click.echo(REVIVED, err=True)


def _name_left_out(banks: Mapping[str, Path]) -> None:
    """Name banks that the newest backup lacks, since it is of other banks only, in a line on standard error."""
    if banks:
        named = [f"{bank} ({folder.name})" for bank, folder in banks.items()][: restoring_backups.MAX_LISTED_BANKS]
        click.echo(f"not in this backup, but in an earlier one: {', '.join(named)}; restore it by its name", err=True)

"""`everthread bench soak`."""

from __future__ import annotations

import sys

import click

from everthread.bench.console import show, show_step
from everthread.bench.soak.run import DISTURBANCE_COUNT, Plan, run_soak
from everthread.cli.common import json_option


@click.command("soak")
@click.argument("store", required=False)
@click.option("--minutes", default=60.0, show_default=True, help="Duration of the run.")
@click.option("--people", default=200, show_default=True, help="People, each with a bank.")
@click.option("--workers", default=1, show_default=True, help="Server processes.")
@click.option("--seed", default=0, show_default=True, help="Seed of what is said and done.")
@click.option(
    "--every", type=float, metavar="MINUTES", help="Minutes between two restarts or kills. Default: a twelfth of all."
)
@json_option
@click.pass_context
def soak_(
    ctx: click.Context,
    /,
    store: str | None,
    minutes: float,
    people: int,
    workers: int,
    seed: int,
    every: float | None,
    as_json: bool,
) -> None:
    """Play months of talk of many people with a server that is restarted and killed, and check what is left.

    People observe, recall, chat with a language model that often fails, retract, forget, and import files, while
    backups are made. At the end every acknowledged line must be there once and every forgotten one nowhere, in the
    bytes of the files and backups as well; otherwise the exit status is 1. Memory, descriptors, latency and the size of
    files are reported. STORE is an empty folder or postgresql:// URL. Default: a temporary folder. Needs Linux for
    memory and descriptors.
    """
    interval_s = 60 * (minutes / DISTURBANCE_COUNT if every is None else every)
    plan = Plan(minutes=minutes, people=people, seed=seed, workers=workers, interval_s=interval_s)
    result = run_soak(plan, store, ctx.find_root().obj["embedder"], show_step)
    show(result.json(), result.text(), as_json)
    sys.exit(1 if result.failed else 0)

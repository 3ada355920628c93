"""`everthread search`: find every line that contains some words."""

from __future__ import annotations

from typing import Any

import click

from everthread.cli.common import bank_option, build_filter, filter_options, json_option, render_line, show_json
from everthread.cli.main import open_memory
from everthread.cli.names import find_sessions


@click.command()
@click.argument("text")
@bank_option
@filter_options
@click.option("--limit", type=int, help="Maximum number of lines.")
@json_option
@click.pass_context
def search(ctx: click.Context, /, text: str, bank: str, limit: int | None, as_json: bool, **values: Any) -> None:
    """Find every line that contains the words of TEXT, those said last first.

    A word is also found as part of another, whatever its case and its accents. `recall` finds what is similar in
    meaning. A blank TEXT finds all lines.
    """
    where = build_filter(values)
    with open_memory(ctx, bank) as memory:
        found = list(memory.search(text, find_sessions(memory, where), limit=limit))
    if as_json:
        show_json(found)
        return
    for line in found:
        click.echo(render_line(line, match=text))
    if not found:
        click.echo(f"no line contains {text!r}", err=True)

"""`everthread write`: write the summaries and notes of sessions that have none, such as imported ones."""

from __future__ import annotations

import sys

import click

from everthread import factory
from everthread.chat.session_writing import list_unwritten, write_sessions
from everthread.cli.common import bank_option, json_option, pluralize, show_json
from everthread.cli.main import open_memory


@click.command()
@bank_option
@click.option("-m", "--model", metavar="NAME", help="The scribe's model, or none. Default: as `everthread chat` uses.")
@json_option
@click.pass_context
def write(ctx: click.Context, /, bank: str, model: str | None, as_json: bool) -> None:
    """Write the summaries and notes of sessions that have none, such as imported ones.

    A bank's recipe decides whether it uses them. Without a model, they consist of key sentences. An interrupted call is
    continued by the next one.
    """
    with open_memory(ctx, bank) as memory:
        sessions = list_unwritten(memory)
        scribe = factory.open_scribe(factory.open_llm("none" if model else None), model)
        with click.progressbar(length=len(sessions), label=f"{bank}: sessions", file=sys.stderr) as bar:
            counts = write_sessions(memory, scribe, sessions, bar.update)
    if as_json:
        show_json({"bank": bank, "sessions": len(sessions), "scribe": scribe.name, "written": counts})
        return
    summaries = "1 summary" if counts["summary"] == 1 else f"{counts['summary']} summaries"
    click.echo(f"{summaries} and {pluralize(counts['note'], 'version')} of the notes written by {scribe.name}")

"""`everthread write`: write what sessions lack, such as imported ones: summaries, notes and facts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from everthread import factory
from everthread.chat.fact_writing import list_factless, require_fact_scribe, write_facts
from everthread.chat.session_writing import list_unwritten, write_sessions
from everthread.cli.common import bank_option, json_option, pluralize, show_json
from everthread.cli.main import open_memory
from everthread.types import Session


@click.command()
@bank_option
@click.option("-m", "--model", metavar="NAME", help="The scribe's model, or none. Default: as `everthread chat` uses.")
@click.option("--facts", is_flag=True, help="Also write the facts of each session, which needs a model.")
@json_option
@click.pass_context
def write(ctx: click.Context, /, bank: str, model: str | None, facts: bool, as_json: bool) -> None:
    """Write the summaries and notes of sessions that have none, such as imported ones.

    A bank's recipe decides whether it uses summaries and notes. Without a model, they consist of key sentences.
    Facts are written on request, and by a model alone. An interrupted call is continued by the next one.
    """
    with open_memory(ctx, bank) as memory:
        scribe = factory.open_scribe(factory.open_llm("none" if model else None), model)
        fact_scribe = require_fact_scribe(scribe) if facts else None
        uses_texts = memory.recipe.summaries or memory.recipe.notes
        sessions = list_unwritten(memory) if uses_texts or not facts else []
        factless = list_factless(memory) if facts else []
        with _show_progress(f"{bank}: sessions", sessions) as bar:
            counts = write_sessions(memory, scribe, sessions, bar.update)
        if fact_scribe is not None:
            with _show_progress(f"{bank}: facts of sessions", factless) as bar:
                counts["fact"] = write_facts(memory, fact_scribe, factless, bar.update)
    if as_json:
        count = len({session.id for session in (*sessions, *factless)})
        show_json({"bank": bank, "sessions": count, "scribe": scribe.name, "written": counts})
        return
    if not sessions and not factless:
        click.echo("nothing to write; a session that is going on has its turn an hour after its last line")
        return
    summaries = "1 summary" if counts["summary"] == 1 else f"{counts['summary']} summaries"
    notes = pluralize(counts["note"], "version") + " of the notes"
    written = f"{summaries}, {notes} and {pluralize(counts['fact'], 'fact')}" if facts else f"{summaries} and {notes}"
    click.echo(f"{written} written by {scribe.name}")


def _show_progress(label: str, sessions: Sequence[Session]) -> Any:
    return click.progressbar(length=len(sessions), label=label, file=sys.stderr)

"""`everthread reindex`: brings what is computed of a bank's lines up to date, with a progress bar for each step."""

from __future__ import annotations

import click

from everthread.bank.embedding_backlog import REANALYZED_LINES
from everthread.cli.common import bank_option, json_option, pluralize, progress_bar, show_json
from everthread.cli.main import open_memory
from everthread.facts.reread_lines import count_earlier, reread_lines
from everthread.memory import Memory


@click.command()
@bank_option
@json_option
@click.pass_context
def reindex(ctx: click.Context, /, bank: str, as_json: bool) -> None:
    """Embed all lines with the current embedder, as far as the recipe needs it. May be stopped and resumed.

    The words of lines of earlier versions are analysed first, and lines that earlier rules read for facts are read
    again.
    """
    with open_memory(ctx, bank) as memory:
        _reread(memory)
        _analyze_words(memory)
        count = _embed(memory)
        result = {"bank": bank, "embedded": count, "embedder": memory.embedder.name}
    show_json(result) if as_json else click.echo(
        f"{pluralize(count, 'line')} of {bank} {'was' if count == 1 else 'were'} embedded by {result['embedder']}"
    )


def _reread(memory: Memory) -> None:
    if earlier := count_earlier(memory.store, memory.bank):
        with progress_bar(earlier, f"facts of {memory.bank}") as bar:
            reread_lines(memory.store, memory.bank, memory.statement_reader, bar.update)


def _analyze_words(memory: Memory) -> None:
    if outdated := memory.stats().outdated:
        with progress_bar(outdated, f"words of {memory.bank}") as bar:
            has_more = True
            while has_more:
                has_more = memory.backlog.update_words()
                bar.update(REANALYZED_LINES)


def _embed(memory: Memory) -> int:
    if not (missing := memory.backlog.count_missing()):
        return memory.reindex()
    with progress_bar(missing, f"vectors of {memory.bank}") as bar:
        return memory.reindex(lambda embedded: bar.update(embedded - bar.pos))

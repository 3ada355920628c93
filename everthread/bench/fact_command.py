"""`everthread bench facts`: measures the rules that read facts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from everthread.bench import datasets, fact_cost, fact_report, fact_sample, fact_updates, update_quotes
from everthread.bench.console import progress_bar, show, show_step
from everthread.bench.fact_sets import PARTS, Part, load_gold
from everthread.bench.facts import judge_all
from everthread.cli.common import json_option
from everthread.errors import BadInput
from everthread.facts.rules import read_statements


@click.command("facts")
@click.option("--part", type=click.Choice(PARTS), help="Only this part of the conversations. Default: both.")
@click.option("--language", "languages", multiple=True, metavar="CODE", help="Only this language. Repeatable.")
@click.option("--errors", is_flag=True, help="List facts missed and false statements of the open part.")
@click.option(
    "--sample",
    type=click.Path(path_type=Path),
    metavar="LOCOMO",
    help="Instead, print statements read from this LoCoMo file with their lines, as tab-separated values.",
)
@click.option("--count", type=click.IntRange(min=1), default=100, show_default=True, help="Statements of a sample.")
@click.option("--quotes", "of_quotes", is_flag=True, help="Instead, measure what a chat without a model states.")
@click.option("--only", multiple=True, metavar="ID", help="Only this conversation of a sample. Repeatable.")
@json_option
@click.pass_context
def facts_(
    ctx: click.Context,
    part: Part | None,
    languages: tuple[str, ...],
    errors: bool,
    sample: Path | None,
    count: int,
    of_quotes: bool,
    only: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure which facts the rules find in talk that comes with Everthread, and what they invent.

    Also: whether a fact that was replaced is found for its time only, and what a line costs. Nothing is fitted to the
    part that is held out, so its errors are counted but never listed.
    """
    if sample is not None:
        sampled, found = fact_sample.sample_statements(datasets.locomo(sample, only), read_statements, count)
        click.echo(fact_sample.write_tsv(sampled))
        show_step(f"{len(sampled)} of {found:,} statements")
        return
    if errors and part == "held-out":
        raise BadInput("the errors of the part that is held out are not listed; leave out --errors or --part")
    parts = (part,) if part else PARTS
    if of_quotes:
        with progress_bar("quotes") as show_progress:
            quotes = update_quotes.measure_update_quotes(
                fact_updates.load_updates(parts), ctx.find_root().obj["embedder"], show_progress
            )
        show(update_quotes.as_json(quotes), update_quotes.table(quotes), as_json)
        return
    conversations = load_gold(parts, languages)
    with progress_bar("facts") as show_progress:
        judged = judge_all(conversations, read_statements, show_progress)
    with progress_bar("updates") as show_progress:
        updates = fact_updates.measure_updates(
            fact_updates.load_updates(parts, languages), read_statements, show_progress
        )
    costs = fact_cost.measure_costs(read_statements, conversations)
    figures = fact_report.as_json(judged) | {
        "updates": fact_updates.as_json(updates),
        "cost": [asdict(cost) for cost in costs],
    }
    texts = [fact_report.table(judged), fact_updates.table(updates), fact_cost.table(costs)]
    if errors:
        figures["errors"] = [*fact_report.list_errors(judged), *fact_updates.list_errors(updates)]
        texts.append("\n".join(figures["errors"]))
    show(figures, "\n\n".join(texts), as_json, ensure_ascii=False)

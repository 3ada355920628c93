"""The benchmarks on banks that come with Everthread, such as `everthread bench corpus`."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any, get_args

import click

from everthread.bench import corpus, datasets, everyday, untold
from everthread.bench.console import progress_bar, show
from everthread.bench.first_facts import hide_among, load_first_facts, load_requests
from everthread.bench.report_commands import only_option, report_options, run_and_show, select_conversations
from everthread.cli.common import json_option


@click.command("firsts")
@report_options
@click.option("--language", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.pass_context
def firsts_(ctx: click.Context, /, only: tuple[str, ...], language: Any, **options: Any) -> None:
    """Measure recall of the first things people say to a bot, in small banks that come with Everthread."""
    name = "firsts" if language == "en" else f"firsts-{language}"
    run_and_show(ctx, name, select_conversations(load_first_facts(language), only), **options)


@click.command("requests")
@report_options
@click.option(
    "--among", type=click.Path(path_type=Path), metavar="LOCOMO", help="Hide the lines in these conversations."
)
@click.pass_context
def requests_(ctx: click.Context, /, only: tuple[str, ...], among: Path | None, **options: Any) -> None:
    """Measure whether lasting facts are found for requests that name none of them, in banks that come with
    Everthread."""
    banks = select_conversations(load_requests(), only)
    if among is not None:
        banks = [hide_among(bank, other) for bank, other in zip(banks, cycle(datasets.locomo(among)), strict=False)]
    run_and_show(ctx, "requests", banks, **options)


@click.command("corpus")
@report_options
@click.option("--part", type=click.Choice(get_args(corpus.Part)), default="development", show_default=True)
@click.option("--language", default="en", show_default=True, metavar="CODE", help="Of the conversations, or `all`.")
@click.option("--talk", type=click.Choice(get_args(corpus.Talk)), help="Only with a bot, or only among people.")
@click.option("--pairs", type=click.Path(path_type=Path), metavar="FILE", help="Write pairs for training instead.")
@click.pass_context
def corpus_(
    ctx: click.Context,
    /,
    only: tuple[str, ...],
    part: corpus.Part,
    language: str,
    talk: corpus.Talk | None,
    pairs: Path | None,
    **options: Any,
) -> None:
    """Measure recall in long conversations that come with Everthread, a third of which is held out."""
    banks = select_conversations(corpus.load_corpus(part, language, talk), only)
    if pairs is None:
        run_and_show(ctx, f"corpus-{part}", banks, **options)
    else:
        count = corpus.write_pairs(banks, pairs)
        click.echo(f"{pairs}: {count} pairs")


@click.command("untold")
@report_options
@click.pass_context
def untold_(ctx: click.Context, /, only: tuple[str, ...], **options: Any) -> None:
    """Measure what the gate does with questions about what was never said, in banks that come with Everthread."""
    run_and_show(ctx, "untold", select_conversations(untold.load_untold(), only), **options)


@click.command("everyday")
@click.option("--language", "languages", type=click.Choice(everyday.LANGUAGES), multiple=True, help="Default: all.")
@only_option
@json_option
@click.option("--recipe", metavar="NAME", help="The recipe. Default: the configured one.")
@click.pass_context
def everyday_(
    ctx: click.Context, /, languages: tuple[str, ...], only: tuple[str, ...], as_json: bool, recipe: str | None
) -> None:
    """Measure recall and the gate in ten languages, in small banks that come with Everthread."""
    settings = ctx.find_root().obj
    with progress_bar("everyday") as show_progress:
        results = everyday.measure_languages(
            languages or everyday.LANGUAGES,
            only,
            recipe=recipe or settings["recipe"],
            embedder=settings["embedder"],
            progress=show_progress,
        )
    show([result.json() for result in results], everyday.table(results), as_json)


COMMANDS = (firsts_, requests_, corpus_, untold_, everyday_)

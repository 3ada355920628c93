"""Options that all commands share that print a report, and the run of a benchmark that shows one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from everthread.bench.console import progress_bar, show
from everthread.bench.metrics import KS
from everthread.bench.questions import AnnotatedConversation
from everthread.bench.run import run_benchmark
from everthread.cli.common import json_option
from everthread.errors import BadInput

Command = TypeVar("Command", bound=Callable[..., None])

only_option = click.option("--only", multiple=True, metavar="ID", help="Only this conversation. Repeatable.")


def report_options(command: Command) -> Command:
    """Add the options of a benchmark that prints a report."""
    for option in (
        only_option,
        json_option,
        click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the curves (extra: bench)."),
        click.option("--recipe", metavar="NAME", help="The recipe. Default: the configured one."),
    ):
        command = option(command)
    return command


def run_and_show(
    ctx: click.Context,
    /,
    name: str,
    conversations: list[AnnotatedConversation],
    recipe: str | None,
    as_json: bool,
    plot: Path | None,
    ks: Sequence[int] = KS,
) -> None:
    """Run the benchmark with a progress bar on standard error, and print the results."""
    if not conversations:
        raise BadInput(f"{name}: there is no conversation to ask about; check the path and --only")
    settings = ctx.find_root().obj
    with progress_bar(name) as show_progress:
        report = run_benchmark(
            conversations,
            dataset=name,
            recipe=recipe or settings["recipe"],
            embedder=settings["embedder"],
            progress=show_progress,
            ks=ks,
        )
    show(report.json(), report.text(), as_json, ensure_ascii=False)
    if plot is not None:
        report.plot(plot)
        click.echo(f"plot: {plot}", err=True)


def select_conversations(
    conversations: Iterable[AnnotatedConversation], only: Collection[str]
) -> list[AnnotatedConversation]:
    """Return the conversations with these ids; all of them if none is given."""
    return [conversation for conversation in conversations if not only or conversation.id in only]

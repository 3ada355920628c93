"""`everthread bench …`: the benchmarks on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from everthread import factory
from everthread.bench import (
    chat,
    comparison,
    datasets,
    facts,
    goodai,
    load,
    noisy_neighbour,
    recipes,
    refusals,
    serve,
    small_banks,
    speed,
    store_parity,
    style,
    style_talk,
)
from everthread.bench.dense import measure_dense
from everthread.bench.first_facts import load_first_facts, merge
from everthread.bench.fit_head import cross_validate
from everthread.bench.madial import KS as MADIAL_KS
from everthread.bench.metrics import KS
from everthread.bench.questions import AnnotatedConversation
from everthread.bench.report import Report, check_plot_path
from everthread.bench.run import run_benchmark
from everthread.cli.common import json_option
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory

Command = TypeVar("Command", bound=Callable[..., None])
LOADERS: dict[str, Callable[[Path, Sequence[str]], list[AnnotatedConversation]]] = {
    "locomo": datasets.locomo,
    "realmem": datasets.realmem,
    "realtalk": datasets.realtalk,
    "longmemeval": datasets.longmemeval,
}


@click.group()
def bench() -> None:
    """Measure recall on public conversations, and speed. No language model is used unless one is named."""


def dataset_options(command: Command) -> Command:
    """Add the options that all benchmarks of datasets share."""
    return click.argument("path", type=click.Path(path_type=Path))(report_options(command))


def report_options(command: Command) -> Command:
    for option in (
        click.option("--only", multiple=True, metavar="ID", help="Only this conversation. Repeatable."),
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
    found: list[AnnotatedConversation],
    recipe: str | None,
    as_json: bool,
    plot: Path | None,
    ks: Sequence[int] = KS,
) -> None:
    """Run the benchmark with a progress bar on standard error, and print the results."""
    if not found:
        raise BadInput(f"{name}: there is no conversation to ask about; check the path and --only")
    with click.progressbar(length=1, label=name, file=sys.stderr, show_pos=False) as bar:

        def show_progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        settings = ctx.find_root().obj
        report = run_benchmark(
            found,
            dataset=name,
            recipe=recipe or settings["recipe"],
            embedder=settings["embedder"],
            progress=show_progress,
            ks=ks,
        )
    show_report(report, as_json)
    if plot is not None:
        report.plot(plot)
        click.echo(f"plot: {plot}", err=True)


def show_report(report: Report, as_json: bool) -> None:
    click.echo(json.dumps(report.json(), indent=2, ensure_ascii=False) if as_json else report.text())


def _add_dataset_command(name: str, description: str) -> None:
    @bench.command(name, help=description)
    @dataset_options
    @click.pass_context
    def command(ctx: click.Context, /, path: Path, only: tuple[str, ...], **options: Any) -> None:
        run_and_show(ctx, name, LOADERS[name](path, only), **options)


_add_dataset_command("locomo", "LoCoMo: two friends over months. PATH is its JSON file.")
_add_dataset_command("realmem", "RealMem: a person and an assistant. PATH is its folder or one file.")
_add_dataset_command("realtalk", "REALTALK: two friends, real messages. PATH is its folder or one chat.")
_add_dataset_command("longmemeval", "LongMemEval: one question to many sessions. PATH is its JSON file.")


@bench.command("firsts")
@report_options
@click.option("--language", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.pass_context
def firsts_(ctx: click.Context, /, only: tuple[str, ...], language: Any, **options: Any) -> None:
    """Measure recall of the first things people say to a bot, in small banks that come with Everthread."""
    found = [each for each in load_first_facts(language) if not only or each.id in only]
    run_and_show(ctx, "firsts" if language == "en" else f"firsts-{language}", found, **options)


@bench.command()
@dataset_options
@click.option("--language", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.pass_context
def madial(ctx: click.Context, /, path: Path, only: tuple[str, ...], language: Any, **options: Any) -> None:
    """MADial: a dialogue calls for a memory without asking for it. PATH is its folder."""
    found = [each for each in datasets.madial(path, language) if not only or each.id in only]
    run_and_show(ctx, f"madial-{language}", found, ks=MADIAL_KS, **options)


@bench.command()
@click.argument("dataset", type=click.Choice(sorted([*LOADERS, "madial"])))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="ID", help="Only this conversation. Repeatable.")
@json_option
@click.option("--mix", type=click.Path(path_type=Path), metavar="LOCOMO", help="Add the questions of this LoCoMo file.")
@click.pass_context
def fit(
    ctx: click.Context, /, dataset: str, path: Path, only: tuple[str, ...], as_json: bool, mix: Path | None
) -> None:
    """Fit the weights and the gate on a DATASET, and report them on conversations left out.

    Each conversation is measured with weights fitted on all the others; the weights printed are fitted on all.
    For madial this is the Chinese part, with the Chinese firsts in two banks, weighted by words alone.
    """
    mixed = datasets.locomo(mix) if mix else []
    chinese = dataset == "madial"
    found = (
        [each for each in _load_chinese(path) if not only or each.id in only]
        if chinese
        else LOADERS[dataset](path, only)
    )
    fitted = cross_validate(found, ctx.find_root().obj["embedder"], mixed, by_words=chinese)
    click.echo(json.dumps(fitted.json(), indent=2) if as_json else fitted.text())


def _load_chinese(path: Path) -> list[AnnotatedConversation]:
    """Return dialogues with each child's memories, and two banks of first facts with their questions."""
    halves = [merge(load_first_facts("zh")[start::2], f"firsts-zh-{start + 1}") for start in (0, 1)]
    return [*datasets.madial(path, "zh"), *halves]


@bench.command("dense")
@click.argument("dataset", type=click.Choice(sorted(LOADERS)))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="ID", help="Only this conversation. Repeatable.")
@json_option
@click.pass_context
def dense_(ctx: click.Context, /, dataset: str, path: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Measure an embedder alone, by cosine over the lines of a DATASET: to choose a model or its quantisation."""
    found = measure_dense(LOADERS[dataset](path, only), ctx.find_root().obj["embedder"])
    click.echo(json.dumps(found.json(), indent=2) if as_json else found.text())


@bench.command("goodai")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dataset", type=click.Choice(sorted(facts.READERS)), required=True)
@click.option("--limit", type=click.IntRange(min=1), default=2000, show_default=True, help="Records to read.")
@click.option("--matcher", default="", metavar="NAME", help="Also measure a matching model: em:EMBEDDER or st:NAME.")
@click.option(
    "--k-factor",
    "factors",
    type=click.FloatRange(min=1),
    multiple=True,
    default=(10.0,),
    show_default=True,
    help="Candidates that the matching model scores for each passage. Repeatable.",
)
@json_option
@click.pass_context
def goodai_(
    ctx: click.Context, /, path: Path, dataset: str, limit: int, matcher: str, factors: tuple[float, ...], as_json: bool
) -> None:
    """Run the evaluation of goodai-ltm: questions about facts in one memory, asked within a dialogue.

    PATH is StrategyQA's folder or file, qrecc_test.json, or MS MARCO's dev_v2.1.json. `--embedder none` finds by words.
    """
    items = facts.READERS[dataset](path, limit)
    total = len(items) * (1 + len(factors if matcher else ()))
    with click.progressbar(length=total, label=dataset, file=sys.stderr, show_pos=False) as bar:
        found = goodai.evaluate(
            dataset,
            items,
            embedder=ctx.find_root().obj["embedder"],
            progress=lambda done, total: bar.update(done - bar.pos),
            matcher=matcher,
            factors=factors,
        )
    click.echo(json.dumps(found.json(), indent=2) if as_json else found.text())


@bench.command("priming")
@click.argument("dataset", type=click.Choice(sorted(LOADERS)))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="ID", help="Only this conversation. Repeatable.")
@json_option
@click.pass_context
def priming_(ctx: click.Context, /, dataset: str, path: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Measure what packabby's options hold back, in banks of one to three summaries."""
    with click.progressbar(length=1, label="priming", file=sys.stderr, show_pos=False) as bar:

        def show_progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        found = small_banks.measure_small_banks(
            LOADERS[dataset](path, only),
            dataset=dataset,
            embedder=ctx.find_root().obj["embedder"],
            progress=show_progress,
        )
    click.echo(json.dumps(found.json(), indent=2) if as_json else found.text())


@bench.command("same")
@click.argument("url")
@click.argument("dataset", type=click.Choice(sorted(LOADERS)))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="ID", help="Only this conversation. Repeatable.")
@json_option
@click.pass_context
def same_(ctx: click.Context, /, url: str, dataset: str, path: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Compare the hits of a folder and of the Postgres database URL for the questions of a DATASET."""
    found = store_parity.measure_parity(
        url,
        LOADERS[dataset](path, only),
        embedder=ctx.find_root().obj["embedder"],
        progress=lambda text: click.echo(text, err=True),
    )
    click.echo(json.dumps(found.json(), indent=2) if as_json else found.text())


@bench.command("stores")
@click.argument("url")
@click.option("--lines", default="1000,10000", show_default=True, metavar="N,N…", help="Bank sizes to measure.")
@json_option
@click.pass_context
def stores_(ctx: click.Context, /, url: str, lines: str, as_json: bool) -> None:
    """Measure the speed of a folder and of the Postgres database URL in one run."""
    sides = load.compare_stores(
        url,
        _parse_sizes(lines),
        embedder=ctx.find_root().obj["embedder"],
        progress=lambda text: click.echo(text, err=True),
    )
    click.echo(json.dumps([asdict(side) for side in sides], indent=2) if as_json else load.table(sides))


@bench.command("load")
@click.argument("store")
@click.option("--clients", default=200, show_default=True, help="Concurrent threads.")
@click.option("--banks", default=2000, show_default=True, help="Number of banks.")
@click.option("--seconds", default=60.0, show_default=True, help="Duration of the measurement.")
@json_option
@click.pass_context
def load_(ctx: click.Context, /, store: str, as_json: bool, **options: Any) -> None:
    """Measure a STORE (a folder or a postgresql:// URL) while many clients read and write many banks."""
    opened = factory.open_store(store)
    found = load.run_load(
        opened,
        embedder=ctx.find_root().obj["embedder"],
        progress=lambda text: click.echo(text, err=True),
        **options,
    )
    opened.close()
    click.echo(json.dumps(found.json(), indent=2) if as_json else found.text())


@bench.command("beside")
@click.argument("store")
@click.option("--banks", default=10_000, show_default=True, help="Number of small banks, of 100 lines each.")
@click.option("--lines", default=1_000_000, show_default=True, help="Lines of the large bank.")
@json_option
@click.pass_context
def beside_(ctx: click.Context, /, store: str, banks: int, lines: int, as_json: bool) -> None:
    """Measure recall in small banks without and with a large bank in the same STORE (a folder or a postgresql:// URL).

    Takes an hour with the default sizes. An interrupted run can be resumed.
    """
    opened = factory.open_store(store)
    found = noisy_neighbour.measure_noisy_neighbour(
        opened,
        banks=banks,
        lines=lines,
        embedder=ctx.find_root().obj["embedder"],
        progress=lambda text: click.echo(text, err=True),
    )
    opened.close()
    click.echo(json.dumps(found.json(), indent=2) if as_json else found.text())


@bench.command("recipes")
@click.argument("dataset", type=click.Choice(sorted(LOADERS)))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--recipe", "chosen", multiple=True, metavar="NAME", help="Repeatable. Default: all of them.")
@click.option("--only", multiple=True, metavar="ID", help="Only this conversation. Repeatable.")
@click.option("--model", metavar="NAME", help="The language model that writes summaries and notes. Default: none.")
@json_option
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the figures (extra: bench).")
@click.option(
    "--write-docs",
    "page",
    type=click.Path(path_type=Path),
    metavar="PAGE",
    help="Put the tables between "
    "the marks of this page, <!-- recipes on DATASET --> and <!-- end of recipes on DATASET -->.",
)
@click.pass_context
def recipes_(
    ctx: click.Context,
    /,
    dataset: str,
    path: Path,
    chosen: tuple[str, ...],
    only: tuple[str, ...],
    model: str | None,
    as_json: bool,
    plot: Path | None,
    page: Path | None,
) -> None:
    """Compare the recipes on a DATASET: what a context holds, how long a write and a recall take, and how often
    something is shown where nothing should be.

    Each conversation is replayed line by line. Summaries and notes are written by the extractive scribe, or by a
    language model with --model.
    """
    if plot is not None:
        check_plot_path(plot)  # minutes pass before it is drawn
    if page is not None:
        comparison.find_table_span(page, dataset)
    found = recipes.compare_recipes(
        LOADERS[dataset](path, only),
        chosen,
        dataset=dataset,
        embedder=ctx.find_root().obj["embedder"],
        scribe=factory.open_scribe(factory.open_llm(model or "none")),
        progress=lambda text: click.echo(text, err=True),
    )
    click.echo(json.dumps(found.json(), indent=2) if as_json else found.text())
    if page is not None:
        found.write(page)
    if plot is not None:
        found.plot(plot)
        click.echo(f"plot: {plot}", err=True)


@bench.command("refusals")
@json_option
def refusals_(as_json: bool) -> None:
    """Measure how often refusals and answers are mistaken for each other, on 200 labelled replies."""
    found = refusals.measure_refusals(refusals.load_labelled_replies())
    click.echo(json.dumps(refusals.as_json(found), indent=2, ensure_ascii=False) if as_json else refusals.table(found))


@bench.command("chat")
@click.option("--lines", default=chat.BANK_LINES, show_default=True, help="Lines in the bank at the start.")
@click.option(
    "--turns", default=chat.MEASURED_TURNS, show_default=True, help="Turns to measure, once the window is full."
)
@click.option("--words", default=chat.REPLY_WORDS, show_default=True, help="Words per reply.")
@json_option
@click.pass_context
def chat_(ctx: click.Context, /, lines: int, turns: int, words: int, as_json: bool) -> None:
    """Measure what a turn of a conversation costs, apart from the model, and how much of each prompt is cacheable."""
    costs = chat.measure_chat(
        lines, turns, words, ctx.find_root().obj["embedder"], lambda text: click.echo(text, err=True)
    )
    click.echo(json.dumps(chat.as_json(costs), indent=2) if as_json else chat.table(costs))


@bench.command("style")
@click.option("--bank", metavar="NAME", help="Measure this bank's own replies. Default: a scripted talk.")
@click.option("--replies", type=click.IntRange(min=1), default=style_talk.REPLY_COUNT, show_default=True)
@click.option(
    "--window", type=click.IntRange(min=1), default=style.WINDOW_REPLIES, show_default=True, help="Replies per window."
)
@json_option
@click.pass_context
def style_(ctx: click.Context, /, bank: str | None, replies: int, window: int, as_json: bool) -> None:
    """Measure how far replies drift from a character's style: function words, length, punctuation, phrases.

    Without --bank, a scripted model whose style fades talks twice: with the sample of style in its prompts and without.
    With --bank, the bank's latest --replies are compared with its sample, the first reply that shows a style.
    """
    if bank is None:
        found = style_talk.compare_samples(replies, window)
    else:
        store = factory.open_store(ctx.find_root().obj["store"], create=False)
        try:
            if not store.exists(bank):
                raise NotFound(f"there is no bank {bank!r}; `everthread banks` lists them")
            talk = style_talk.read_bank(
                Memory(bank, store, factory.open_embedder("hash"), factory.open_recipe("default"))
            )
        finally:
            store.close()
        found = {bank: style.measure_drift(talk.sample, talk.replies[-replies:], window)}
    rows = {name: [asdict(each) for each in windows] for name, windows in found.items()}
    click.echo(json.dumps(rows, indent=2, ensure_ascii=False) if as_json else style.table(found))


@bench.command("serve")
@click.option("--clients", default=serve.CLIENT_COUNT, show_default=True, help="Concurrent users.")
@click.option("--workers", default=1, show_default=True, help="Server processes.")
@click.option("--rounds", default=3, show_default=True, help="Number of rounds.")
@click.option("--browser", is_flag=True, help="Also open the page in Chromium (package: playwright).")
@json_option
@click.pass_context
def serve_(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Measure the server while many talk at once, with a language model that streams at a steady pace."""
    found = serve.measure_server(
        **options, embedder=ctx.find_root().obj["embedder"], progress=lambda text: click.echo(text, err=True)
    )
    click.echo(json.dumps(serve.as_json(found), indent=2) if as_json else serve.table(found))


@bench.command("speed")
@click.option("--lines", default="1000,10000", show_default=True, metavar="N,N…", help="Bank sizes to measure.")
@json_option
@click.pass_context
def speed_(ctx: click.Context, /, lines: str, as_json: bool) -> None:
    """Measure observe, import, recall, cold start, memory and disk beside an exact scan with full FTS5."""
    rows = speed.measure_speed(
        _parse_sizes(lines), embedder=ctx.find_root().obj["embedder"], progress=lambda text: click.echo(text, err=True)
    )
    click.echo(json.dumps(speed.as_json(rows), indent=2) if as_json else speed.table(rows))


def _parse_sizes(lines: str) -> list[int]:
    try:
        return [int(size) for size in lines.split(",")]
    except ValueError:
        raise BadInput(f"--lines {lines!r} must be whole numbers separated by commas, such as 1000,10000") from None

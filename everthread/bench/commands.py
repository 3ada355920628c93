"""`everthread bench …`: the benchmarks on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from everthread import factory
from everthread.bench import (
    bank_commands,
    chat,
    client_load,
    comparison,
    corpus,
    datasets,
    fact_command,
    goodai,
    goodai_datasets,
    history,
    kills,
    load,
    network_delay,
    noisy_neighbour,
    open_banks,
    places,
    proxy,
    proxy_stages,
    quotes,
    recipes,
    refusals,
    serve,
    small_banks,
    speed,
    store_parity,
    style,
    style_talk,
)
from everthread.bench.console import progress_bar, show, show_step
from everthread.bench.dense import measure_dense
from everthread.bench.first_facts import load_first_facts, merge
from everthread.bench.fit_profile import cross_validate
from everthread.bench.fit_settings import BY_CHARACTERS, BY_GLOSS, BY_WORDS
from everthread.bench.madial import KS as MADIAL_KS
from everthread.bench.misspelling import misspell_questions
from everthread.bench.questions import AnnotatedConversation
from everthread.bench.report import check_plot_path
from everthread.bench.report_commands import (
    Command,
    only_option,
    report_options,
    run_and_show,
    select_conversations,
)
from everthread.bench.run import lower_questions, rename_accounts, rename_in_questions
from everthread.bench.soak.command import soak_
from everthread.cli.common import json_option
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory

LOADERS: dict[str, Callable[[Path, Sequence[str]], list[AnnotatedConversation]]] = {
    "locomo": datasets.locomo,
    "realmem": datasets.realmem,
    "realtalk": datasets.realtalk,
    "longmemeval": datasets.longmemeval,
}

CHINESE_KINDS = {"glosses": BY_GLOSS, "words": BY_WORDS, "characters": BY_CHARACTERS}
SPACED_LANGUAGES = ("de", "fr", "it", "ko", "pt")  # of our corpus, which the shipped embedder can't read

dataset_argument = click.argument("dataset", type=click.Choice(sorted(LOADERS)))
path_argument = click.argument("path", type=click.Path(path_type=Path))


@click.group()
def bench() -> None:
    """Measure recall on public conversations, and speed. No language model is used unless one is named."""


bench.add_command(fact_command.facts_)
bench.add_command(soak_)
for own_banks in bank_commands.COMMANDS:
    bench.add_command(own_banks)


def dataset_options(command: Command) -> Command:
    """Add the options that all benchmarks of datasets share."""
    return path_argument(report_options(command))


def _add_dataset_command(name: str, description: str) -> None:
    @bench.command(name, help=description)
    @dataset_options
    @click.option(
        "--nickname", multiple=True, metavar="NAME=OTHER", help="Ask about NAME by this other name. Repeatable."
    )
    @click.option("--handles", is_flag=True, help="Give the speakers accounts without their names.")
    @click.option("--misspell", is_flag=True, help="Misspell a word of each question.")
    @click.option("--lower-case", is_flag=True, help="Ask in lower case, without question marks.")
    @click.pass_context
    def command(
        ctx: click.Context,
        /,
        path: Path,
        only: tuple[str, ...],
        nickname: tuple[str, ...],
        handles: bool,
        misspell: bool,
        lower_case: bool,
        **options: Any,
    ) -> None:
        names = dict(map(_split_nickname, nickname))
        conversations = [rename_in_questions(each, names) for each in LOADERS[name](path, only)]
        if misspell:
            conversations = list(map(misspell_questions, conversations))
        if lower_case:
            conversations = list(map(lower_questions, conversations))
        run_and_show(ctx, name, list(map(rename_accounts, conversations)) if handles else conversations, **options)


def _split_nickname(pair: str) -> tuple[str, str]:
    name, _, other = pair.partition("=")
    if not name.strip() or not other.strip():
        raise BadInput(f"--nickname {pair}: expected NAME=OTHER, such as Melanie=Mel")
    return name.strip(), other.strip()


_add_dataset_command("locomo", "LoCoMo: two friends over months. PATH is its JSON file.")
_add_dataset_command("realmem", "RealMem: a person and an assistant. PATH is its folder or one file.")
_add_dataset_command("realtalk", "REALTALK: two friends, real messages. PATH is its folder or one chat.")
_add_dataset_command("longmemeval", "LongMemEval: one question to many sessions. PATH is its JSON file.")


@bench.command()
@dataset_options
@click.option("--language", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.pass_context
def madial(ctx: click.Context, /, path: Path, only: tuple[str, ...], language: Any, **options: Any) -> None:
    """MADial: a dialogue calls for a memory without asking for it. PATH is its folder."""
    run_and_show(
        ctx, f"madial-{language}", select_conversations(datasets.madial(path, language), only), ks=MADIAL_KS, **options
    )


@bench.command()
@click.argument("dataset", type=click.Choice(sorted([*LOADERS, "madial"])))
@path_argument
@only_option
@json_option
@click.option("--mix", type=click.Path(path_type=Path), metavar="LOCOMO", help="Add the questions of this LoCoMo file.")
@click.option(
    "--by",
    type=click.Choice(list(CHINESE_KINDS)),
    default="glosses",
    show_default=True,
    help="For madial: what is weighed, beside glosses words or characters alone, for languages without vectors.",
)
@click.pass_context
def fit(
    ctx: click.Context,
    /,
    dataset: str,
    path: Path,
    only: tuple[str, ...],
    as_json: bool,
    mix: Path | None,
    by: str,
) -> None:
    """Fit the weights and the gate on a DATASET, and report them on conversations left out.

    Each conversation is measured with weights fitted on all the others; the weights printed are fitted on all. English
    conversations are fitted together with the development part of our own, in `bench corpus`.
    For madial this is the Chinese part, with the Chinese first facts in two banks, and for `--by words` with our
    development part in five languages that have spaces.
    """
    mixed = datasets.locomo(mix) if mix else []
    chinese = dataset == "madial"
    conversations = select_conversations(_load_chinese(path), only) if chinese else LOADERS[dataset](path, only)
    talk: corpus.Talk = "assistant" if any(map(corpus.has_bot, conversations)) else "people"
    ours = [] if chinese else corpus.load_corpus("development", talk=talk)
    if chinese and by == "words":
        ours = [each for language in SPACED_LANGUAGES for each in corpus.load_corpus("development", language)]
    kind = CHINESE_KINDS[by] if chinese else None
    language: Any = "zh" if chinese else "en"
    result = cross_validate(conversations, ctx.find_root().obj["embedder"], mixed, ours, language, kind)
    show(result.json(), result.text(), as_json)


def _load_chinese(path: Path) -> list[AnnotatedConversation]:
    """Return dialogues with each child's memories, and two banks of first facts with their questions."""
    halves = [merge(load_first_facts("zh")[start::2], f"firsts-zh-{start + 1}") for start in (0, 1)]
    return [*datasets.madial(path, "zh"), *halves]


@bench.command("dense")
@dataset_argument
@path_argument
@only_option
@json_option
@click.pass_context
def dense_(ctx: click.Context, /, dataset: str, path: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Measure an embedder alone, by cosine over the lines of a DATASET: to choose a model or its quantisation."""
    result = measure_dense(LOADERS[dataset](path, only), ctx.find_root().obj["embedder"])
    show(result.json(), result.text(), as_json)


@bench.command("goodai")
@path_argument
@click.option("--dataset", type=click.Choice(sorted(goodai_datasets.READERS)), required=True)
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
@click.option("--as-in-source", is_flag=True, help="Cut chunks and embed queries as goodai-ltm does.")
@json_option
@click.pass_context
def goodai_(
    ctx: click.Context,
    /,
    path: Path,
    dataset: str,
    limit: int,
    matcher: str,
    factors: tuple[float, ...],
    as_in_source: bool,
    as_json: bool,
) -> None:
    """Run the evaluation of goodai-ltm: questions about facts in one memory, asked within a dialogue.

    PATH is StrategyQA's folder or file, qrecc_test.json, or MS MARCO's dev_v2.1.json. `--embedder none` finds by words.
    """
    items = goodai_datasets.READERS[dataset](path, limit)
    with progress_bar(dataset) as show_progress:
        result = goodai.evaluate(
            dataset,
            items,
            embedder=ctx.find_root().obj["embedder"],
            progress=show_progress,
            matcher=matcher,
            factors=factors,
            as_in_source=as_in_source,
        )
    show(result.json(), result.text(), as_json)


@bench.command("priming")
@dataset_argument
@path_argument
@only_option
@json_option
@click.option(
    "--quotes", "of_quotes", is_flag=True, help="Instead, measure the lines that a chat without a model quotes."
)
@click.pass_context
def priming_(
    ctx: click.Context, /, dataset: str, path: Path, only: tuple[str, ...], as_json: bool, of_quotes: bool
) -> None:
    """Measure what packabby's options hold back, in banks of one to three summaries."""
    if of_quotes:
        conversations, embedder = LOADERS[dataset](path, only), ctx.find_root().obj["embedder"]
        with progress_bar("quotes") as show_progress:
            quoted = quotes.measure_quotes(conversations, embedder, show_progress)
        show(quotes.build_json(quoted), quotes.build_table(quoted), as_json)
        return
    with progress_bar("priming") as show_progress:
        result = small_banks.measure_small_banks(
            LOADERS[dataset](path, only),
            dataset=dataset,
            embedder=ctx.find_root().obj["embedder"],
            progress=show_progress,
        )
    show(result.json(), result.text(), as_json)


@bench.command("same")
@click.argument("url")
@dataset_argument
@path_argument
@only_option
@json_option
@click.pass_context
def same_(ctx: click.Context, /, url: str, dataset: str, path: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Compare the hits of a folder and of the Postgres database URL for the questions of a DATASET."""
    result = store_parity.measure_parity(
        url,
        LOADERS[dataset](path, only),
        embedder=ctx.find_root().obj["embedder"],
        progress=show_step,
    )
    show(result.json(), result.text(), as_json)


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
        progress=show_step,
    )
    show([asdict(side) for side in sides], load.table(sides), as_json)


@bench.command("delay")
@click.argument("url")
@click.option("--lines", default=1000, show_default=True, help="Lines of the bank.")
@click.option("--delay-ms", default=1.0, show_default=True, help="Milliseconds of a round trip.")
@json_option
@click.pass_context
def delay_(ctx: click.Context, /, url: str, lines: int, delay_ms: float, as_json: bool) -> None:
    """Measure recall from the Postgres database URL over a network with a simulated delay."""
    result = network_delay.measure_delay(url, lines, delay_ms, ctx.find_root().obj["embedder"])
    show(result.json(), result.text(), as_json)


@bench.command("places")
@click.argument("path", metavar="PLACES", type=click.Path(path_type=Path))
@click.option("--lines", default=1000, show_default=True, help="Lines of the bank.")
@json_option
@click.pass_context
def places_(ctx: click.Context, /, path: Path, lines: int, as_json: bool) -> None:
    """Measure recall from each of several places, and moves between them. PLACES is their file, such as places.toml."""
    result = places.measure_places(path, lines, ctx.find_root().obj["embedder"])
    show(result.json(), result.text(), as_json)


@bench.command("load")
@click.argument("store")
@click.option("--clients", default=200, show_default=True, help="Concurrent threads.")
@click.option("--banks", default=2000, show_default=True, help="Number of banks.")
@click.option("--seconds", default=60.0, show_default=True, help="Duration of the measurement.")
@click.option("--pause", "pause_s", default=0.0, show_default=True, help="Mean seconds between two calls of a client.")
@click.option("--processes", default=1, show_default=True, help="Processes that the clients are threads of.")
@json_option
@click.pass_context
def load_(ctx: click.Context, /, store: str, as_json: bool, **options: Any) -> None:
    """Measure a STORE (a folder or a postgresql:// URL) while many clients read and write many banks."""
    result = client_load.run_load(
        store, client_load.Load(**options), embedder=ctx.find_root().obj["embedder"], progress=show_step
    )
    show(result.json(), result.text(), as_json)


@bench.command("open")
@click.argument("store")
@click.option("--banks", default=10_000, show_default=True, help="Number of banks, each with a few lines.")
@click.option("--served", is_flag=True, help="Measure a server that uses them, instead of the library.")
@json_option
@click.pass_context
def open_(ctx: click.Context, /, store: str, banks: int, served: bool, as_json: bool) -> None:
    """Measure what a process holds after it used one bank after the other of a STORE (a folder or a postgresql:// URL).

    The system must have /proc, as Linux does.
    """
    embedder = ctx.find_root().obj["embedder"]
    result = open_banks.measure_open_banks(store, banks, served=served, embedder=embedder, progress=show_step)
    show(result.json(), result.text(), as_json)


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
    result = noisy_neighbour.measure_noisy_neighbour(
        opened,
        banks=banks,
        lines=lines,
        embedder=ctx.find_root().obj["embedder"],
        progress=show_step,
    )
    opened.close()
    show(result.json(), result.text(), as_json)


@bench.command("recipes")
@dataset_argument
@path_argument
@click.option("--recipe", "chosen", multiple=True, metavar="NAME", help="Repeatable. Default: all of them.")
@only_option
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
    result = recipes.compare_recipes(
        LOADERS[dataset](path, only),
        chosen,
        dataset=dataset,
        embedder=ctx.find_root().obj["embedder"],
        scribe=factory.open_scribe(factory.open_llm(model or "none")),
        progress=show_step,
    )
    show(result.json(), result.text(), as_json)
    if page is not None:
        result.write(page)
    if plot is not None:
        result.plot(plot)
        click.echo(f"plot: {plot}", err=True)


@bench.command("refusals")
@json_option
def refusals_(as_json: bool) -> None:
    """Measure how often refusals and answers are mistaken for each other, on 200 labelled replies."""
    errors = refusals.measure_refusals(refusals.load_labelled_replies())
    show(refusals.as_json(errors), refusals.table(errors), as_json, ensure_ascii=False)


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
    costs = chat.measure_chat(lines, turns, words, ctx.find_root().obj["embedder"], show_step)
    show(chat.as_json(costs), chat.table(costs), as_json)


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
        drifts = style_talk.compare_samples(replies, window)
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
        drifts = {bank: style.measure_drift(talk.sample, talk.replies[-replies:], window)}
    rows = {name: [asdict(window) for window in windows] for name, windows in drifts.items()}
    show(rows, style.table(drifts), as_json, ensure_ascii=False)


@bench.command("serve")
@click.option("--clients", default=serve.CLIENT_COUNT, show_default=True, help="Concurrent users.")
@click.option("--workers", default=1, show_default=True, help="Server processes.")
@click.option("--rounds", default=3, show_default=True, help="Number of rounds.")
@click.option("--browser", is_flag=True, help="Also open the page in Chromium (package: playwright).")
@json_option
@click.pass_context
def serve_(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Measure the server while many talk at once, with a language model that streams at a steady pace."""
    rounds = serve.measure_server(**options, embedder=ctx.find_root().obj["embedder"], progress=show_step)
    show(serve.as_json(rounds), serve.table(rounds), as_json)


@bench.command("proxy")
@click.option("--lines", default=proxy.BANK_LINES, show_default=True, help="Lines in the bank at the start.")
@click.option("--turns", default=proxy.TURN_COUNT, show_default=True, help="Turns of each length.")
@click.option("--streams", default=proxy.STREAM_COUNT, show_default=True, help="Replies at the same moment.")
@click.option("--kills", "kill_count", default=0, help="Instead, kill the server this often while it streams replies.")
@click.option("--stages", is_flag=True, help="Instead, measure the stages of turns in one process.")
@json_option
@click.pass_context
def proxy_(
    ctx: click.Context, /, lines: int, turns: int, streams: int, kill_count: int, stages: bool, as_json: bool
) -> None:
    """Compare the memory proxy with a direct connection to the same model: the time to the first byte.

    With --kills, count which lines are stored after the server was killed. With --stages, measure what a turn costs
    before its first byte: parsing, storing, recall.
    """
    embedder = ctx.find_root().obj["embedder"]
    if stages:
        measured = proxy_stages.measure_stages(lines, turns, embedder, show_step)
        show(proxy_stages.as_json(measured), proxy_stages.table(measured), as_json)
        return
    if kill_count:
        killed = kills.measure_kills(kill_count, embedder, show_step)
        show(kills.as_json(killed), kills.table(killed), as_json)
        return
    result = proxy.measure_proxy(lines, turns, streams, embedder, show_step)
    show(proxy.as_json(result), proxy.table(result), as_json)


@bench.command("speed")
@click.option("--lines", default="1000,10000", show_default=True, metavar="N,N…", help="Bank sizes to measure.")
@json_option
@click.pass_context
def speed_(ctx: click.Context, /, lines: str, as_json: bool) -> None:
    """Measure observe, import, recall, cold start, memory and disk beside an exact scan with full FTS5."""
    rows = speed.measure_speed(_parse_sizes(lines), embedder=ctx.find_root().obj["embedder"], progress=show_step)
    show(speed.as_json(rows), speed.table(rows), as_json)


@bench.command("import")
@click.option("--conversations", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--messages", type=click.IntRange(1), help="Of all conversations. Default: 30 of each.")
@click.option("--service", type=click.Choice(list(history.SERVICES)), default="chatgpt", show_default=True)
@json_option
def import_(conversations: int, messages: int | None, service: str, as_json: bool) -> None:
    """Import a synthetic export of a service twice, without vectors, and measure time and memory."""
    result = history.measure_import(service, conversations, messages or 30 * conversations, show_step)
    show(asdict(result), history.table(result), as_json)


def _parse_sizes(lines: str) -> list[int]:
    try:
        return [int(size) for size in lines.split(",")]
    except ValueError:
        raise BadInput(f"--lines {lines!r} must be whole numbers separated by commas, such as 1000,10000") from None

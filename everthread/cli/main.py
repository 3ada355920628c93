"""The command line. Each command is a thin layer over `Memory`: it parses, calls and prints."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, get_args

import click

from everthread import __version__, factory
from everthread.cli import doctor
from everthread.cli.common import (
    Group,
    bank_argument,
    bank_option,
    build_filter,
    category_option,
    decode_utf8,
    filter_options,
    json_option,
    parse_time,
    pluralize,
    render_hit,
    render_line,
    render_unit,
    set_option,
    show_json,
    to_jsonable,
)
from everthread.cli.local_times import to_local_times
from everthread.cli.names import EMPTY_BANK, explain_no_lines, find_sessions
from everthread.cli.sanitize import escape_control_chars
from everthread.cli.wrapping import wrap_to_terminal
from everthread.errors import BadInput, NotFound
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.recall.rerank.names import RERANKER_NAMES
from everthread.recipes import general_knowledge
from everthread.stores.base import Store
from everthread.transfer.files import read_text
from everthread.types import Filter, Role

MAX_LISTED_BANKS = 20  # in a message: enough to find a mistyped name
NO_BANKS = "there are no banks yet; begin with: everthread chat"


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="everthread")
@click.option(
    "--store",
    metavar="PLACE",
    help="Location of the banks: a folder, or postgresql://… Default: EVERTHREAD_STORE, or your data folder.",
)
@click.option(
    "--embedder",
    metavar="NAME",
    help="The embedder: minilm (default), hash, a model's folder, st:NAME (sentence-transformers), openai:NAME, or "
    "https://host/v1#model.",
)
@click.option(
    "--recipe", metavar="NAME", help="The recipe: see `everthread recipes`. Default: the bank's own, else default."
)
@set_option
@click.option(
    "--tokens", metavar="NAME", help="The token counter: estimate (default), a tokenizer.json, tiktoken:ENCODING."
)
@click.pass_context
def main(ctx: click.Context, /, **values: Any) -> None:
    """Everthread: long-term memory for chatbots. It stores every conversation, for years, on this machine only.

    \b
    Begin with:   everthread chat
    or:           everthread import talk.txt --bank alice
                  everthread recall "Where does her sister live?" --bank alice
    """
    ctx.obj = values
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of what the error of the command says anyway


# -------------------------------------------------------------------------- banks


@contextmanager
def open_store(ctx: click.Context, /, bank: str, create: bool = False) -> Iterator[Store]:
    """Open the store of a bank. Raises NotFound if the bank doesn't exist, unless `create`."""
    store = factory.open_store(ctx.obj["store"], create)
    try:
        if not create and not store.exists(bank):
            names = store.banks()
            more = " …" if len(names) > MAX_LISTED_BANKS else ""
            known = f"known banks: {', '.join(names[:MAX_LISTED_BANKS])}{more}" if names else NO_BANKS
            raise NotFound(f"there is no bank {bank!r}; {known}")
        yield store
    finally:
        store.close()


@contextmanager
def open_memory(ctx: click.Context, /, bank: str, create: bool = False) -> Iterator[Memory]:
    """Open the memory of a bank, as `open_store` does."""
    with open_store(ctx, bank, create) as store, Memory.open(bank, **{**ctx.obj, "store": store}) as memory:
        yield memory


# ---------------------------------------------------------------------- commands


@main.command()
@click.argument("text")
@bank_option
@click.option("--speaker", help="The name of the speaker. Default: the role.")
@click.option("--role", type=click.Choice(get_args(Role)), default="user", show_default=True)
@click.option("--session", help="The session. Default: the current one, or a new one after an hour of silence.")
@click.option("--said-at", metavar="TIME", help="When it was said. Default: now.")
@click.option("--undated", is_flag=True, help="It was said at an unknown time.")
@click.option("--key", help="The line's ID in the source system; a line with a known ID is not stored again.")
@click.option("--replace", is_flag=True, help="Replace the line with this ID, unless it says the same.")
@json_option
@click.pass_context
def observe(ctx: click.Context, /, text: str, bank: str, said_at: str | None, as_json: bool, **values: Any) -> None:
    """Store one line. If TEXT is -, the line is read from standard input.

    A line whose key is already known is not stored again; the stored one is shown, with "already_known". If that line
    was retracted, the new one is stored and takes over its key. With --replace, it is retracted first.
    """
    text, time = read_stdin() if text == "-" else text, parse_time(said_at)
    with open_memory(ctx, bank, create=True) as memory:
        last_seq = memory.store.corpus_stats(bank).last_seq
        line = memory.observe(text, said_at=time, **values)
    already_known = line.seq <= last_seq
    if as_json:
        show_json({**to_jsonable(line), "already_known": already_known})
        return
    if already_known:
        click.echo(f"already known as line {line.seq}; nothing was stored")
    click.echo(render_line(line, match=""))


def read_stdin() -> str:
    """Read all of standard input, without the line ending that a shell appends."""
    return decode_utf8(sys.stdin.buffer.read()).removesuffix("\n").removesuffix("\r")


banks_option = click.option(
    "--in", "banks", metavar="BANK", multiple=True, help="A bank to search instead of --bank. Repeatable."
)


MIN_SHOWN_RELEVANCE = 0.02  # of a hit beside relevant ones, as in the search of the page

*_RERANKERS, _LAST_RERANKER = [name for name in RERANKER_NAMES if name != "none"]
rerank_option = click.option(
    "--rerank",
    metavar="NAME",
    help=f"Rerank the hits: {', '.join(_RERANKERS)} or {_LAST_RERANKER}; none for no reranking. Default: the recipe's.",
)


@main.command()
@click.argument("query")
@bank_option
@banks_option
@click.option("-k", default=5, show_default=True, help="Number of hits.")
@filter_options
@category_option
@click.option("--as-of", metavar="TIME", help="Use only what was known at this time.")
@rerank_option
@click.option("--facts", is_flag=True, help="Show facts about those that QUERY names, in place of their lines.")
@click.option("--why", is_flag=True, help="Show the signals of each score.")
@json_option
@click.pass_context
def recall(
    ctx: click.Context,
    /,
    query: str,
    bank: str,
    banks: tuple[str, ...],
    k: int,
    as_of: str | None,
    rerank: str | None,
    facts: bool,
    why: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Find the lines relevant to QUERY, best first, each with its neighbours. A blank QUERY finds nothing.

    The lines of several banks (--in) are one list, and each names its bank.
    If nothing seems relevant, the nearest lines are shown anyway, with a note on standard error; else lines below 2%
    are left out, except with --json. Of a line of more than 2,000 characters an excerpt is shown.
    """
    where, time = build_filter(values), parse_time(as_of)
    with open_memory(ctx, banks[0] if banks else bank) as memory:
        where = find_sessions(memory, where) if len(banks) < 2 else where
        hits = memory.recall(query, k, where=where, as_of=time, banks=banks or None, rerank=rerank, facts=facts)
        if as_json:
            show_json(hits)
            return
        memories = (
            memory if name == memory.bank else Memory(name, memory.store, memory.embedder, memory.recipe)
            for name in banks or [bank]
        )
        relevant = any(searched.context(query, where=where, as_of=time, facts=facts) for searched in memories)
        shown = (relevant and [hit for hit in hits if hit.relevance >= MIN_SHOWN_RELEVANCE]) or hits
        rows = [render_hit(hit, why, query) for hit in shown] or [
            explain_no_hits(memory, query, where, time is not None)
        ]
    click.echo("\n\n".join([*rows, wrap_to_terminal(load_wording()("why.legend"))] if why and hits else rows))
    if hits and not relevant:
        click.echo("(nothing seems relevant, so a context would be empty; these are the nearest lines)", err=True)


def explain_no_hits(memory: Memory, query: str, where: Filter, has_as_of: bool) -> str:
    """Return the reason why there are no hits."""
    if not query.strip():
        return "the query is blank"
    if where.category is not None:
        return f"no matching summary has this category; {list_categories(memory)}"
    if has_as_of or where != Filter():
        return explain_no_lines(memory, where)
    if not (lines := memory.stats().lines):
        return EMPTY_BANK
    kinds = " and ".join(memory.recipe.kinds)
    return f"the recipe {memory.recipe.name} found no {kinds} among the bank's {pluralize(lines, 'line')}"


def list_categories(memory: Memory) -> str:
    """Return a text that lists the categories of a bank's units."""
    categories = sorted({unit.category for unit in memory.units() if unit.category})
    return f"the bank has {', '.join(categories)}" if categories else "the bank has none"


@main.command()
@click.argument("query")
@bank_option
@banks_option
@click.option("--budget", default=1000, show_default=True, help="Maximum tokens.")
@click.option("--all", "everything", is_flag=True, help="Print the nearest memories even if none seems relevant.")
@filter_options
@category_option
@click.option("--as-of", metavar="TIME", help="Use only what was known at this time.")
@rerank_option
@json_option
@click.pass_context
def context(
    ctx: click.Context,
    /,
    query: str,
    bank: str,
    banks: tuple[str, ...],
    budget: int,
    everything: bool,
    as_of: str | None,
    rerank: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Print the memories relevant to QUERY as text for a prompt, or nothing if none is relevant.

    With several banks (--in), the text has a section for each, under the bank's name.
    """
    where = build_filter(values)
    with open_memory(ctx, banks[0] if banks else bank) as memory:
        where = find_sessions(memory, where) if len(banks) < 2 else where
        recalled = memory.context(
            query,
            budget,
            where=where,
            as_of=parse_time(as_of),
            gate=not everything,
            min_relevance=0.0 if everything else None,
            banks=banks or None,
            rerank=rerank,
        )
    if as_json:
        show_json(recalled)
        return
    if recalled.text:  # unchanged for a program, which puts it into a prompt
        click.echo(escape_control_chars(recalled.text) if sys.stdout.isatty() else recalled.text)
    cut = f"; {pluralize(len(recalled.cut), 'hit')} cut" if recalled.cut else ""
    click.echo(f"({recalled.tokens} tokens, relevance {recalled.relevance:.0%}{cut})", err=True)


@main.command()
@bank_option
@filter_options
@click.option("--after", default=0, help="Only lines after this number.")
@click.option("--limit", type=int, help="Maximum number of lines.")
@click.option("--retracted", is_flag=True, help="Include retracted lines.")
@click.option("--wordless", is_flag=True, help="Include lines without words, such as tool calls, with their metadata.")
@json_option
@click.pass_context
def lines(
    ctx: click.Context,
    /,
    bank: str,
    after: int,
    limit: int | None,
    retracted: bool,
    wordless: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """List the lines of a bank, in order."""
    where = build_filter(values)
    with open_memory(ctx, bank) as memory:
        where = find_sessions(memory, where)
        included = {"include_retracted": retracted, "include_wordless": wordless}
        matching_lines = memory.lines(where, after=after, limit=limit, **included)
        if as_json:
            show_json(list(matching_lines))
            return
        line = None
        for line in matching_lines:
            click.echo(render_line(line))
        if line is None:
            click.echo(escape_control_chars(f"({explain_no_lines(memory, where)})"), err=True)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@bank_option
@json_option
@click.pass_context
def seed(ctx: click.Context, /, file: Path, bank: str, as_json: bool) -> None:
    """Add general knowledge to a bank: the texts of FILE, separated by blank lines.

    The recipe packabby recalls a text that is relevant to a message, and marks it as general knowledge; it never counts
    as something that the person said. `everthread units general` lists the texts, and
    `everthread forget --unit general ID` removes one.
    """
    texts = general_knowledge.split_paragraphs(read_text(file))
    if not texts:
        raise BadInput(f"invalid file {str(file)!r}: it holds no text; expected texts separated by blank lines")
    with open_memory(ctx, bank, create=True) as memory:
        new = general_knowledge.add_knowledge(memory, texts)
        total = len(memory.units(general_knowledge.KIND, only_current=True))
    if as_json:
        show_json({"read": len(texts), "added": len(new), "texts": total})
        return
    were = "was" if len(texts) == 1 else "were"
    click.echo(f"{len(new)} of {pluralize(len(texts), 'text')} {were} new; {bank} has {total} now")


@main.command()
@click.argument("kind", required=False)
@bank_option
@click.option("--current", is_flag=True, help="Leave out superseded units.")
@click.option("--category", help="Only units of this category.")
@json_option
@click.pass_context
def units(
    ctx: click.Context, /, kind: str | None, bank: str, current: bool, category: str | None, as_json: bool
) -> None:
    """Show the units of a bank, each with the time that it is about: notes, summaries and other texts derived from
    lines. KIND: note, summary …"""
    with open_memory(ctx, bank) as memory:
        matching_units = memory.units(kind, only_current=current, category=category)
        categories = list_categories(memory)
    if as_json:
        show_json(matching_units)
        return
    if not matching_units:
        if_none = f"no units yet; summaries and notes are written with: everthread write{bank_argument(bank)}"
        click.echo(if_none if category is None else f"nothing; {categories}")
    for unit in matching_units:
        click.echo(render_unit(unit))


@main.command()
@json_option
@click.pass_context
def banks(ctx: click.Context, /, as_json: bool) -> None:
    """List the banks."""
    names, if_empty = [], NO_BANKS
    try:
        with closing(factory.open_store(ctx.obj["store"], create=False)) as store:
            names = store.banks()
    except NotFound as error:
        if_empty = str(error)
    show_json(names) if as_json else click.echo("\n".join(names) or if_empty)


@main.command()
@bank_option
@json_option
@click.pass_context
def stats(ctx: click.Context, /, bank: str, as_json: bool) -> None:
    """Show the statistics of a bank: lines, sessions, speakers, size."""
    with open_memory(ctx, bank) as memory:
        bank_stats = memory.stats()
        if as_json:
            show_json(bank_stats)
            return
        bank_stats = to_local_times(memory, bank_stats)
    for name, value in to_jsonable(bank_stats).items():
        if isinstance(value, dict):
            value = [f"{key}: {count}" for key, count in value.items()]
        click.echo(f"{name:>15}  {', '.join(value) if isinstance(value, list) else '-' if value is None else value}")


@main.command()
@click.argument("seq", type=int)
@bank_option
@json_option
@click.pass_context
def retract(ctx: click.Context, /, seq: int, bank: str, as_json: bool) -> None:
    """Exclude line SEQ from recall. Its text stays in the bank; `forget` removes it."""
    with open_memory(ctx, bank) as memory:
        line = memory.retract(seq)
    show_json(line) if as_json else click.echo(render_line(line, match="").lstrip())


@main.command()
@click.argument("seq", type=int)
@click.argument("text")
@bank_option
@json_option
@click.pass_context
def correct(ctx: click.Context, /, seq: int, text: str, bank: str, as_json: bool) -> None:
    """Replace the text of line SEQ. If TEXT is -, it is read from standard input.

    The line with the new text gets a number of its own, and is shown. The old one stays in the bank, and is not
    recalled any more; `forget` removes both.
    """
    text = read_stdin() if text == "-" else text
    with open_memory(ctx, bank) as memory:
        line = memory.correct(seq, text)
    show_json(line) if as_json else click.echo(render_line(line, match=""))


@main.command("doctor")
@click.option("-b", "--bank", multiple=True, help="Only this bank. Repeatable. Default: all.")
@click.option(
    "--repair",
    "repairs",
    is_flag=True,
    help="Before, analyse the words of lines of earlier versions, and embed what has no vector.",
)
@json_option
@click.pass_context
def doctor_(ctx: click.Context, /, bank: tuple[str, ...], repairs: bool, as_json: bool) -> None:
    """Check the installation, the data folder, the models and the banks."""
    given = ctx.obj["store"], ctx.obj["embedder"], bank
    findings = [*(doctor.repair(*given) if repairs else ()), *doctor.examine(*given)]
    if as_json:
        show_json(findings)
    else:
        for finding in findings:
            click.echo(f"{'ok ' if finding.ok else 'BAD'}  {finding.what:<22} {finding.detail}")
    ctx.exit(0 if all(finding.ok for finding in findings) else 1)

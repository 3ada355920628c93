"""The command line. Each command is a thin layer over `Memory`: it parses, calls and prints."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from everthread import __version__, doctor
from everthread import open as opening
from everthread.errors import BadFile, BadInput, ConfigError, EverthreadError, NotFound
from everthread.memory import BATCH, Memory
from everthread.prompt.layout import heading, sentence
from everthread.stores.base import Store
from everthread.stores.pg import url
from everthread.talk import LEGEND, command, counted, talk, turn
from everthread.transfer import jsonl
from everthread.transfer import move as moving
from everthread.transfer.files import lasting
from everthread.transfer.into import check, strange
from everthread.types import Context, Hit, Line, NewLine, Role, Where

Command = TypeVar("Command", bound=Callable[..., None])
JSON = "--json"
AS_JSON = "everthread.as_json"  # whether JSON was asked for; click keeps it for all of one invocation
SHOWN_BANKS = 20  # that a message lists: enough to find a mistyped name


LATE = {"bench": "everthread.bench.commands", "db": "everthread.stores.pg.commands"}


class Group(click.Group):
    """Turns what goes wrong into one line on standard error and an exit status, never a traceback. A command that was
    asked for JSON prints {"error": …} as well.

    The groups of commands in LATE are imported when they are called, for the others are done sooner without them.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *LATE])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in LATE:
            return getattr(import_module(LATE[name]), name)  # type: ignore[no-any-return]
        return super().get_command(ctx, name)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # what a terminal can't show must not end the command
        asked = JSON in until_dashes(args)
        try:
            ctx = super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            show_error(error.format_message(), asked)
            raise
        ctx.meta[AS_JSON] = asked
        return ctx

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except click.ClickException as error:
            show_error(error.format_message(), ctx.meta[AS_JSON])
            raise  # click adds how the command is used
        except EverthreadError as error:
            complain(ctx, str(error), 2 if isinstance(error, BadInput | ConfigError) else 1)
        except KeyboardInterrupt:
            click.echo(err=True)
            complain(ctx, "interrupted; what was kept stays, and the same command does the rest", 130)
        except BrokenPipeError:
            raise  # whoever read has seen enough; click ends quietly
        except OSError as error:
            if error.filename is not None:
                complain(ctx, f"{error.filename} can't be used ({error.strerror})", 1)
            with suppress(OSError, ValueError):  # or what is left would be written, and fail, once more at the end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            complain(ctx, f"the output can't be written ({error.strerror}); make room, or send it elsewhere", 1)


def until_dashes(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments that may be options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def show_error(words: str, as_json: bool) -> None:
    """What went wrong, on standard output, for whoever reads JSON there."""
    if as_json:
        click.echo(json_of({"error": words}))


def complain(ctx: click.Context, words: str, status: int) -> NoReturn:
    show_error(words, ctx.meta[AS_JSON])
    click.echo(f"everthread: {words}", err=True)
    ctx.exit(status)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="everthread")
@click.option("--store", metavar="FOLDER", help="Where the banks are. Default: EVERTHREAD_STORE, or your data folder.")
@click.option("--embedder", metavar="NAME", help="minilm (default), hash, a model's folder, or https://host/v1#model.")
@click.option("--recipe", metavar="NAME", help="How it remembers. Default: default.")
@click.pass_context
def main(ctx: click.Context, /, store: str | None, embedder: str | None, recipe: str | None) -> None:
    """Everthread: long-term memory for chatbots. Every conversation, for years, on this machine alone.

    \b
    Begin with:   everthread chat
    or:           everthread import talk.txt --bank alice
                  everthread recall "Where does her sister live?" --bank alice
    """
    ctx.obj = {"store": store, "embedder": embedder, "recipe": recipe}


# ------------------------------------------------------------------------ options


def bank_option(command: Command) -> Command:
    return click.option(
        "-b", "--bank", default="default", show_default=True, help="Which memory: any text, like alice."
    )(command)


def json_option(command: Command) -> Command:
    return click.option(JSON, "as_json", is_flag=True, help="Print JSON.")(command)


def where_options(command: Command) -> Command:
    for option in (
        click.option("--session", multiple=True, help="Only this session. May be given again."),
        click.option("--speaker", multiple=True, help="Only what this speaker said. May be given again."),
        click.option("--role", multiple=True, type=click.Choice(get_args(Role)), help="Only this role."),
        click.option("--since", metavar="TIME", help="Said then or later (ISO 8601; without a zone: UTC)."),
        click.option("--until", metavar="TIME", help="Said before."),
    ):
        command = option(command)
    return command


def moment(text: str | None) -> datetime | None:
    """A time as it is typed. A time without a zone is UTC."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{text!r} is no time; write it like 2024-05-01 or 2024-05-01T18:30+02:00") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def where(values: dict[str, Any]) -> Where:
    """The filter of `where_options`, taken out of the command's values."""
    session, speaker, role, since, until = (
        values.pop(name) for name in ("session", "speaker", "role", "since", "until")
    )
    return Where(session or None, speaker or None, role or None, None, moment(since), moment(until))


@contextmanager
def kept(ctx: click.Context, /, bank: str, make: bool = False) -> Iterator[Store]:
    """The store of a bank. A bank that is only read must be there, so that a mistyped name is not a new bank."""
    store = opening.store(ctx.obj["store"], make)
    try:
        if not make and not store.has(bank):
            there = store.banks()
            more = " …" if len(there) > SHOWN_BANKS else ""
            known = f"there are {', '.join(there[:SHOWN_BANKS])}{more}" if there else "there are none yet"
            raise NotFound(f"there is no bank {bank!r}; {known}")
        yield store
    finally:
        store.close()


@contextmanager
def opened(ctx: click.Context, /, bank: str, make: bool = False) -> Iterator[Memory]:
    """The memory of a bank, as `kept` has it."""
    with (
        kept(ctx, bank, make) as store,
        Memory.open(bank, store=store, embedder=ctx.obj["embedder"], recipe=ctx.obj["recipe"]) as memory,
    ):
        yield memory


# ---------------------------------------------------------------------- printing


def plain(value: Any) -> Any:
    """A dataclass as JSON can hold it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value


def json_of(value: Any, indent: int | None = None) -> str:
    """The value as JSON, in escapes where standard output could not print it."""
    text = json.dumps(plain(value), ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return json.dumps(plain(value), indent=indent)
    return text


def show_json(value: Any) -> None:
    click.echo(json_of(value, indent=2))


def show_line(line: Line) -> str:
    return f"{line.seq:>6}  {line.said_at:%Y-%m-%d %H:%M}  {sentence(line)}"


def show_hit(hit: Hit, signals: bool) -> str:
    text = f"{hit.relevance:4.0%}  {heading(hit.line)} #{hit.line.seq}\n"
    rows = (f"{'>' if line.seq == hit.line.seq else ' '} {sentence(line)}" for line in hit.passage)
    text += "\n".join(f"    {row}".replace("\n", "\n    ") for row in rows)
    if signals:
        text += "\n      " + "  ".join(f"{name} {value:.2f}" for name, value in hit.signals.items() if value)
    return text


# ---------------------------------------------------------------------- commands


@main.command()
@bank_option
@click.option("--speaker", default="user", show_default=True, help="Your name, as it will be remembered.")
@json_option
@click.pass_context
def chat(ctx: click.Context, /, bank: str, speaker: str, as_json: bool) -> None:
    """Talk in the terminal; everything you say is remembered.

    With --json each line of standard input is answered by one JSON object on a line: what was recalled for it, or, for
    a command such as /stats, {"command": …, "answer": …}, or {"error": …}, after which it goes on.
    """
    with opened(ctx, bank, make=True) as memory:
        if not as_json:
            talk(memory, speaker)
            return
        last: Context | None = None
        for raw in filter(None, map(bytes.strip, sys.stdin.buffer)):
            if raw == b"/quit":
                return
            answer = answered(memory, speaker, raw, last)
            last = answer if isinstance(answer, Context) else last
            click.echo(json_of(answer))


def answered(memory: Memory, speaker: str, raw: bytes, last: Context | None) -> Context | dict[str, str]:
    """What a line of a chat in JSON is answered with."""
    try:
        said = decoded(raw).strip()
        if said.startswith("/"):
            return {"command": said, "answer": command(memory, said, last)}
        return turn(memory, speaker, said)
    except EverthreadError as error:
        return {"error": str(error)}


@main.command()
@click.argument("text")
@bank_option
@click.option("--speaker", help="Who said it. Default: the role.")
@click.option("--role", type=click.Choice(get_args(Role)), default="user", show_default=True)
@click.option("--session", help="The conversation. Default: the current one; a new one after an hour of silence.")
@click.option("--said-at", metavar="TIME", help="When it was said. Default: now.")
@click.option("--key", help="Its name at its source; a line with a known key is not kept twice.")
@json_option
@click.pass_context
def observe(ctx: click.Context, /, text: str, bank: str, said_at: str | None, as_json: bool, **values: Any) -> None:
    """Remember one line. TEXT - reads it from standard input."""
    said, at = piped() if text == "-" else text, moment(said_at)
    with opened(ctx, bank, make=True) as memory:
        line = memory.observe(said, said_at=at, **values)
        show_json(line) if as_json else click.echo(show_line(line))


def piped() -> str:
    """All of standard input, without the line end that a shell puts behind it."""
    return decoded(sys.stdin.buffer.read()).removesuffix("\n").removesuffix("\r")


def decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"standard input is not UTF-8: {error}; convert it first") from None


@main.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@bank_option
@click.option("--format", "form", metavar="NAME", help=f"{', '.join(opening.FORMATS)}. Default: by the file.")
@click.option("--only", multiple=True, help="Only this conversation of the file (locomo, realtalk).")
@click.option("--assistant", multiple=True, help="A name that is the bot's (transcript, whatsapp).")
@click.option("--tz", help="The zone of times without one. Default: UTC.")
@json_option
@click.pass_context
def import_(
    ctx: click.Context,
    file: Path,
    bank: str,
    form: str | None,
    only: tuple[str, ...],
    assistant: tuple[str, ...],
    tz: str | None,
    as_json: bool,
) -> None:
    """Remember a file of conversations, with the dates they were held.

    The whole file is checked before the first line is kept. Importing it again adds nothing, or what the file has
    gained, and completes an import that was cut off. A bank's own export adds nothing to it.
    """
    at = None if tz is None else zone(tz)
    with lasting(file) as path:
        counts = imported(ctx, path, bank, form, only=only, assistant=assistant, tz=at)
    if as_json:
        show_json({"bank": bank, **counts})
        return
    click.echo(
        f"{counts['added']} of {counted(counts['read'], 'line')} {'was' if counts['read'] == 1 else 'were'} new; "
        f"{bank} has {counts['lines']} now{skips(counts['skipped'])}"
    )


def imported(ctx: click.Context, file: Path, bank: str, form: str | None, **options: Any) -> dict[str, Any]:
    """Check the file and keep its lines; what was read, added and skipped."""
    skipped, places = Counter[str](), dict[str, str]()
    reader = opening.reader(file, form, skipped=skipped, places=places, **options)
    total, left_out = sum(1 for _ in reader()), dict(skipped)
    if not total:
        raise BadFile(f"{file}: there is nothing in it to remember{skips(left_out)}; nothing was imported")
    with opened(ctx, bank, make=True) as memory:
        before = memory.stats().lines
        if before:
            check(memory, reader(), file, dict(places))
        with click.progressbar(length=total, label=f"{file.name} → {bank}", file=sys.stderr) as bar:
            for batch in batches(reader()):
                memory.observe_many(strange(memory, batch))
                bar.update(len(batch))
        after = memory.stats()
    counts = {"read": total, "added": after.lines - before, "lines": after.lines, "pending": after.pending}
    return {**counts, "skipped": left_out}


def skips(counts: Mapping[str, int]) -> str:
    """What was left out of an import, as the end of a sentence."""
    return f" (skipped: {', '.join(f'{count} {kind}' for kind, count in counts.items())})" if counts else ""


def zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # the last where it names a folder of zones, like Europe
        raise ConfigError(f"time zone {name!r} is unknown; use one like Europe/Berlin or UTC") from None


def batches(lines: Iterator[NewLine]) -> Iterator[list[NewLine]]:
    """The lines in lists of BATCH."""
    batch: list[NewLine] = []
    for line in lines:
        batch.append(line)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


@main.command()
@click.argument("query")
@bank_option
@click.option("-k", default=5, show_default=True, help="How many hits.")
@where_options
@click.option("--as-of", metavar="TIME", help="What was known then.")
@click.option("--why", is_flag=True, help="Show the signals behind each score.")
@json_option
@click.pass_context
def recall(
    ctx: click.Context, /, query: str, bank: str, k: int, as_of: str | None, why: bool, as_json: bool, **values: Any
) -> None:
    """Find the lines that bear on QUERY, best first, each among its neighbours."""
    chosen = where(values)
    none_found = "nothing is remembered here yet" if chosen == Where() and not as_of else "no line fits these filters"
    with opened(ctx, bank) as memory:
        hits = memory.recall(query, k, where=chosen, as_of=moment(as_of))
    if as_json:
        show_json(hits)
    else:
        rows = [show_hit(hit, why) for hit in hits] or [none_found]
        click.echo("\n\n".join([*rows, LEGEND] if why and hits else rows))


@main.command()
@click.argument("query")
@bank_option
@click.option("--budget", default=1000, show_default=True, help="Tokens at most.")
@click.option("--all", "everything", is_flag=True, help="Also when nothing seems relevant.")
@where_options
@click.option("--as-of", metavar="TIME", help="What was known then.")
@json_option
@click.pass_context
def context(
    ctx: click.Context,
    /,
    query: str,
    bank: str,
    budget: int,
    everything: bool,
    as_of: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Print what bears on QUERY as text for a prompt; nothing when nothing is relevant."""
    chosen = where(values)
    with opened(ctx, bank) as memory:
        found = memory.context(
            query, budget, where=chosen, as_of=moment(as_of), gated=not everything, floor=0.0 if everything else None
        )
    if as_json:
        show_json(found)
        return
    if found.text:
        click.echo(found.text)
    cut = f"; {counted(len(found.cut), 'hit')} cut" if found.cut else ""
    click.echo(f"({found.tokens} tokens, relevance {found.relevance:.0%}{cut})", err=True)


@main.command()
@bank_option
@where_options
@click.option("--after", default=0, help="Only lines behind this number.")
@click.option("--limit", type=int, help="At most so many.")
@click.option("--retracted", is_flag=True, help="Retracted lines too.")
@json_option
@click.pass_context
def lines(
    ctx: click.Context, /, bank: str, after: int, limit: int | None, retracted: bool, as_json: bool, **values: Any
) -> None:
    """List what was said, in order."""
    chosen = where(values)
    with opened(ctx, bank) as memory:
        found = memory.lines(chosen, after=after, limit=limit, retracted=retracted)
        if as_json:
            show_json(list(found))
            return
        for line in found:
            click.echo(show_line(line))


@main.command()
@json_option
@click.pass_context
def banks(ctx: click.Context, /, as_json: bool) -> None:
    """List the banks."""
    found, none = [], "there are no banks yet; begin with: everthread chat"
    try:
        store = opening.store(ctx.obj["store"], make=False)
        found = store.banks()
        store.close()
    except NotFound as error:
        none = str(error)
    show_json(found) if as_json else click.echo("\n".join(found) or none)


@main.command()
@bank_option
@json_option
@click.pass_context
def stats(ctx: click.Context, /, bank: str, as_json: bool) -> None:
    """Count what a bank holds."""
    with opened(ctx, bank) as memory:
        found = memory.stats()
    if as_json:
        show_json(found)
        return
    for name, value in plain(found).items():
        if isinstance(value, dict):
            value = [f"{key}: {count}" for key, count in value.items()]
        click.echo(f"{name:>15}  {', '.join(value) if isinstance(value, list) else '-' if value is None else value}")


@main.command()
@click.argument("seq", type=int)
@bank_option
@json_option
@click.pass_context
def retract(ctx: click.Context, /, seq: int, bank: str, as_json: bool) -> None:
    """Take line SEQ out of recall for good; its text stays in the record. `forget` removes it."""
    with opened(ctx, bank) as memory:
        line = memory.retract(seq)
    show_json(line) if as_json else click.echo(f"retracted: {show_line(line).lstrip()}")


@main.command()
@bank_option
@click.option("--seq", type=int, help="The line of this number.")
@click.option("--session", help="All lines of this session.")
@click.option("--speaker", help="Everything this speaker said.")
@click.option("--everything", is_flag=True, help="The whole bank.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@json_option
@click.pass_context
def forget(ctx: click.Context, /, bank: str, yes: bool, as_json: bool, **scope: Any) -> None:
    """Remove a line, a session, a speaker or a bank for good, and print the receipt.

    In a folder no byte of it is left. Postgres overwrites its bytes only when it uses their pages again; to be sure,
    run: everthread db scrub URL.
    """
    phrases = {"seq": "line {}", "session": "session {!r}", "speaker": "all that {!r} said", "everything": "everything"}
    given = {name: value for name, value in scope.items() if value is not None and value is not False}
    named = " and ".join(phrases[name].format(value) for name, value in given.items())
    if not named:
        raise BadInput("nothing is named to be forgotten; give --seq, --session, --speaker or --everything")
    if as_json and not yes:
        raise BadInput(f"with --json nothing is asked; give --yes, too, to forget {named} of bank {bank!r} for good")
    if not yes:
        with kept(ctx, bank):  # nothing is asked about a bank that isn't there
            click.confirm(f"Forget {named} of bank {bank!r} for good?", abort=True, err=True)
    if given == {"everything": True}:  # also a bank so damaged that it can't be opened
        with kept(ctx, bank) as store:
            receipt = store.forget(bank, "bank", None, datetime.now(UTC))
    else:
        with opened(ctx, bank) as memory:
            receipt = memory.forget(**scope)
    show_json(receipt) if as_json else click.echo(
        f"forgotten: {counted(receipt.lines, 'line')}, {receipt.forgotten_at:%Y-%m-%d %H:%M:%S} UTC"
    )


@main.command()
@bank_option
@json_option
@click.pass_context
def reindex(ctx: click.Context, /, bank: str, as_json: bool) -> None:
    """Give every line a vector of the present embedder. May be stopped and started again."""
    with opened(ctx, bank) as memory:
        with click.progressbar(length=memory.stats().pending, label=f"reindex {bank}", file=sys.stderr) as bar:
            done = memory.reindex(lambda count: bar.update(count - bar.pos))
        result = {"bank": bank, "embedded": done, "embedder": memory.embedder.name}
    show_json(result) if as_json else click.echo(
        f"{counted(done, 'line')} of {bank} {'was' if done == 1 else 'were'} embedded by {result['embedder']}"
    )


@main.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--bank", "-b", multiple=True, help="Only this bank. May be given again.")
@json_option
@click.pass_context
def move(ctx: click.Context, /, source: str, target: str, bank: tuple[str, ...], as_json: bool) -> None:
    """Copy banks from one store to another, each a folder or a postgresql:// URL, and compare them.

    May be stopped and started again. The source stays as it is.
    """
    moved: list[tuple[str, int, str]] = []
    with closing(opening.store(source, make=False)) as here:
        names = bank or here.banks()
        if missing := [name for name in names if not here.has(name)]:
            raise NotFound(f"there is no bank {missing[0]!r} in {url.shown(source)}; nothing was moved")
        with closing(opening.store(target)) as there:
            for name in names:
                old, new = (Memory.open(name, store=store, embedder=ctx.obj["embedder"]) for store in (here, there))
                counts = old.stats()
                with click.progressbar(
                    length=counts.lines + counts.retracted, label=f"move {name}", file=sys.stderr
                ) as bar:
                    moved.append((name, *moving.move(old, new, bar.update)))
    if as_json:
        show_json([{"bank": name, "lines": lines, "sha256": digest} for name, lines, digest in moved])
    else:
        for name, lines, digest in moved:
            click.echo(f"{name}: {counted(lines, 'line')}, the same in both ({digest[:12]})")


@main.command()
@bank_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file. Default: standard output.")
@click.option("--retracted", is_flag=True, help="Retracted lines too.")
@json_option
@click.pass_context
def export(ctx: click.Context, /, bank: str, output: Path | None, retracted: bool, as_json: bool) -> None:
    """Write a bank as JSON Lines, which `import` reads back. To a file, say how many lines were written."""
    with opened(ctx, bank) as memory:
        found = memory.lines(retracted=retracted)
        if output is None:
            jsonl.write(found, sys.stdout)
            return
        try:
            with output.open("w", encoding="utf-8") as file:
                count = jsonl.write(found, file)
        except OSError as error:
            raise BadFile(f"{output} can't be written ({error.strerror}); name a file with room for it") from None
    show_json({"bank": bank, "lines": count, "file": str(output)}) if as_json else click.echo(
        f"{counted(count, 'line')} written to {output}", err=True
    )


@main.command("doctor")
@click.option("-b", "--bank", multiple=True, help="Only this bank. May be given again. Default: all.")
@json_option
@click.pass_context
def doctor_(ctx: click.Context, /, bank: tuple[str, ...], as_json: bool) -> None:
    """Check what is installed, where the data is, whether the model loads and whether the banks are sound."""
    findings = list(doctor.examine(ctx.obj["store"], ctx.obj["embedder"], bank))
    if as_json:
        show_json(findings)
    else:
        for finding in findings:
            click.echo(f"{'ok ' if finding.ok else 'BAD'}  {finding.what:<22} {finding.detail}")
    ctx.exit(0 if all(finding.ok for finding in findings) else 1)

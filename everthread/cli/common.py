"""Error reporting, options and rendering, which all commands share."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from textwrap import indent
from typing import Any, NoReturn, TypeVar, get_args

import click

from everthread.cli.docstrings import read_docstring
from everthread.cli.excerpts import shorten_to_match
from everthread.cli.sanitize import escape_control_chars
from everthread.cli.usage_errors import JSON_OPTION, explain_arguments, explain_early_option, unknown_command_error
from everthread.common.fast_imports import without_garbage_collection
from everthread.common.installation import extra_command
from everthread.common.shell import quote
from everthread.errors import BadInput, ConfigError, EverthreadError
from everthread.stores.conditions import parse_condition_text
from everthread.text import indentation
from everthread.text.formatting import day_of, format_heading
from everthread.types import Context, Filter, FoundUnit, Hit, Line, Role, Unit

Command = TypeVar("Command", bound=Callable[..., None])
META_AS_JSON = "everthread.as_json"  # in click's metadata: whether --json was given
LAZY_COMMANDS = {
    "accounts": "everthread.cli.accounts",
    "backup": "everthread.cli.backup",
    "bench": "everthread.bench.commands",
    "characters": "everthread.cli.characters",
    "chat": "everthread.cli.chat",
    "db": "everthread.cli.db",
    "demo": "everthread.cli.demo",
    "export": "everthread.cli.export",
    "facts": "everthread.cli.facts",
    "forget": "everthread.cli.forget",
    "hook": "everthread.cli.hook",
    "import": "everthread.cli.importing",
    "keys": "everthread.cli.keys",
    "mcp": "everthread.cli.mcp",
    "model": "everthread.cli.model",
    "move": "everthread.cli.move",
    "profile": "everthread.cli.facts",
    "recipes": "everthread.cli.recipes",
    "reindex": "everthread.cli.reindex",
    "restore": "everthread.cli.backup",
    "serve": "everthread.cli.serve",
    "search": "everthread.cli.search",
    "sessions": "everthread.cli.sessions",
    "telegram": "everthread.cli.telegram",
    "title": "everthread.cli.sessions",
    "train": "everthread.cli.train",
    "write": "everthread.cli.write",
}
EXTRAS = {
    "accounts": "server",
    "db": "postgres",
    "mcp": "mcp",
    "serve": "server",
    "telegram": "server",
}  # command -> the extra that it needs


COLUMN_GAPS = 6  # columns that click leaves beside the names and the help of commands


def _name_function(name: str) -> str:
    """Return the name of the function of a command."""
    return f"{name}_" if iskeyword(name) else name


class Group(click.Group):
    """Reports errors on one line of standard error, with an exit status and without a traceback.

    With --json, a command also prints {"error": …}. LAZY_COMMANDS are imported only when they are called, so that the
    others start faster.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *LAZY_COMMANDS])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in LAZY_COMMANDS:
            return super().get_command(ctx, name)
        try:
            with without_garbage_collection():
                return getattr(import_module(LAZY_COMMANDS[name]), _name_function(name))  # type: ignore[no-any-return]
        except ModuleNotFoundError as error:
            return missing_extra_command(name, error)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        limit = formatter.width - COLUMN_GAPS - max(map(len, names))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._describe(ctx, name).get_short_help_str(limit)) for name in names])

    def _describe(self, ctx: click.Context, name: str) -> click.Command:
        """Return a command with its help at least. Importing all of LAZY_COMMANDS would take over a second."""
        if name in LAZY_COMMANDS:
            return click.Command(name, help=read_docstring(LAZY_COMMANDS[name], _name_function(name)))
        return self.commands[name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_unknown = not args[0].startswith("-") and self.get_command(ctx, args[0]) is None
        if is_unknown and not ctx.resilient_parsing:
            raise unknown_command_error(args[0], self.list_commands(ctx), ctx)
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        prepare_output()
        as_json = JSON_OPTION in args_before_double_dash(args)
        try:
            ctx = super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            error = explain_early_option(error, self.commands.values())
            print_json_error(error.format_message(), as_json)
            raise error from None
        ctx.meta[META_AS_JSON] = as_json
        return ctx

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except click.ClickException as error:
            error = explain_arguments(error, ctx)
            print_json_error(error.format_message(), ctx.meta[META_AS_JSON])
            raise error from None  # click adds the usage
        except EverthreadError as error:
            fail(ctx, error.render(to_flag), 2 if isinstance(error, BadInput | ConfigError) else 1)
        except KeyboardInterrupt:
            click.echo(err=True)
            fail(ctx, "interrupted; what was stored so far remains; run the same command again to finish", 130)
        except BrokenPipeError:
            raise  # the reader closed the pipe; click exits quietly
        except OSError as error:
            if error.filename is not None:
                fail(ctx, f"{error.filename} can't be used ({error.strerror})", 1)
            with suppress(OSError, ValueError):  # otherwise flushing fails again at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            fail(ctx, f"the output can't be written ({error.strerror}); free some disk space or redirect it", 1)


def missing_extra_command(name: str, error: ModuleNotFoundError) -> click.Command:
    """Build the placeholder for a command whose packages are not installed; it explains how to install them."""
    remedy = f"an extra: {extra_command(EXTRAS.get(name, name))}"

    def refuse(arguments: tuple[str, ...]) -> None:
        raise ConfigError(f"{name} needs {remedy} ({error})")

    any_arguments = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    return click.Command(
        name, callback=refuse, params=[any_arguments], help=f"Needs {remedy}", context_settings=settings
    )


def to_flag(option: str) -> str:
    """Write an option as the command line does: `--date-order`."""
    return f"--{option.replace('_', '-')}"


def decode_utf8(raw: bytes) -> str:
    """Decode standard input. Raises BadInput if it is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"standard input is not UTF-8: {error}; convert it first") from None


def args_before_double_dash(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments before "--", which may be options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def print_json_error(message: str, as_json: bool) -> None:
    """Print an error as JSON on standard output, if JSON was requested."""
    if as_json:
        click.echo(to_json({"error": message}))


def fail(ctx: click.Context, message: str, status: int) -> NoReturn:
    """Print an error, and exit with this status."""
    print_json_error(message, ctx.meta[META_AS_JSON])
    click.echo(f"everthread: {escape_control_chars(message)}", err=True)
    ctx.exit(status)


def prepare_output() -> None:
    """Escape the characters that the terminal can't encode, and write UTF-8 to files and pipes on Windows.

    Input is read as UTF-8 everywhere. The encoding that Python chooses for Windows' pipes lacks most languages.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            if sys.platform == "win32" and not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(encoding="utf-8")
            stream.reconfigure(errors="backslashreplace")


def confirm(question: str) -> None:
    """Ask for confirmation, and abort unless the answer is yes.

    Raises:
        BadInput: there is no terminal for confirmation; the message names --yes.
    """
    try:
        if click.confirm(question, err=True):
            return
    except click.Abort:
        click.echo(err=True)  # ends the question's line
        if not sys.stdin.isatty():
            raise BadInput("no terminal for confirmation; pass --yes to continue without confirmation") from None
    raise click.Abort


def progress_bar(length: int, label: str) -> Any:
    """Return click's progress bar, on standard error."""
    return click.progressbar(length=length, label=escape_control_chars(label), file=sys.stderr)


# ------------------------------------------------------------------------ options


DEFAULT_BANK = "default"


def bank_option(command: Command) -> Command:
    return click.option(
        "-b", "--bank", default=DEFAULT_BANK, show_default=True, help="Name of the bank: any text, such as alice."
    )(command)


def bank_argument(bank: str) -> str:
    """Return the argument that names a bank, for a command in a message; nothing for the default one."""
    return "" if bank == DEFAULT_BANK else f" --bank {quote(bank)}"


def set_option(command: Command) -> Command:
    return click.option(
        "--set",
        "options",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_parse_pairs,
        help="Set an option of the recipe; `everthread recipes NAME` lists them. Repeatable.",
    )(command)


def _parse_pairs(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parse NAME=VALUE arguments."""
    pairs = [value.partition("=") for value in values]
    for value, (name, equals, _) in zip(values, pairs, strict=True):
        if not equals or not name.strip():
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE; write it like threshold=0.3")
    return {name.strip(): value for name, _, value in pairs}


def json_option(command: Command) -> Command:
    return click.option(JSON_OPTION, "as_json", is_flag=True, help="Print JSON.")(command)


def yes_option(command: Command) -> Command:
    return click.option("-y", "--yes", is_flag=True, help="Don't ask.")(command)


def filter_options(command: Command) -> Command:
    for option in (
        click.option("--session", multiple=True, help="Only this session: its name or its title. Repeatable."),
        click.option("--speaker", multiple=True, help="Only lines of this speaker. Repeatable."),
        click.option(
            "--role", multiple=True, type=click.Choice(get_args(Role)), help="Only lines with this role. Repeatable."
        ),
        click.option(
            "--since", metavar="TIME", help="Only lines said at this time or later (ISO 8601; without a zone: UTC)."
        ),
        click.option("--until", metavar="TIME", help="Only lines said before this time."),
        click.option(
            "--where",
            metavar="JSON",
            help="Only lines for which a condition is true: "
            '{"field": "metadata.year", "op": ">", "value": 2020}, {"all": […]}, {"any": […]} or {"not": …}.',
        ),
    ):
        command = option(command)
    return command


def category_option(command: Command) -> Command:
    return click.option("--category", multiple=True, help="Only summaries of this category. Repeatable.")(command)


def parse_time(text: str | None) -> datetime | None:
    """Parse a time in ISO 8601; without an offset it is UTC. Raises BadInput."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"invalid time: got {text!r}, expected a time like 2024-05-01 or 2024-05-01T18:30+02:00"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def build_filter(values: dict[str, Any]) -> Filter:
    """Build a filter from the values of `filter_options`, and remove these from the command's values."""
    session, speaker, role, since, until, where = (
        values.pop(name) for name in ("session", "speaker", "role", "since", "until", "where")
    )
    category = values.pop("category", ())
    kind = "summary" if category else None
    return Filter(
        session=session or None,
        speaker=speaker or None,
        role=role or None,
        kind=kind,
        since=parse_time(since),
        until=parse_time(until),
        category=category or None,
        condition=None if where is None else parse_condition_text(where),
    )


# ---------------------------------------------------------------------- printing


def to_jsonable(value: Any) -> Any:
    """Convert dataclasses and times to values that JSON can represent."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_jsonable(item) for name, item in _get_fields(value).items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(item) for item in value]
    if isinstance(value, dict):
        return {key: to_jsonable(item) for key, item in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value


def _get_fields(value: Any) -> dict[str, object]:
    """Return the fields of a dataclass under their names in JSON: a hit has a line or a unit, a context both."""
    values = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, FoundUnit):
        return {**_get_fields(values.pop("unit")), **values}
    if isinstance(value, Hit):
        source = values.pop("source")
        return {"line" if value.kind == "line" else "unit": source, **values, "kind": value.kind}
    if isinstance(value, Context):
        del values["sources"]
        return {**values, "lines": value.lines, "units": value.units}
    return values


def to_json(value: Any, indent: int | None = None) -> str:
    """Serialise a value as JSON, in ASCII if standard output can't encode it."""
    text = json.dumps(to_jsonable(value), ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return json.dumps(to_jsonable(value), indent=indent)
    return text


def show_json(value: Any) -> None:
    click.echo(to_json(value, indent=2))


NO_TIME = " " * len("2024-05-01 18:30")


def render_line(line: Line, *, match: str | None = None) -> str:
    """Write a line with its number and time.

    Args:
        line: the line.
        match: what was searched for, by which a long text is shortened; "" for its beginning, None for all of it.
    """
    mark = "(retracted) " if line.retracted_at else ""
    text = line.text if match is None else shorten_to_match(line.text, match)
    said = indentation.indent(text, line.speaker) if text else f"{line.speaker}: {to_json(line.metadata)}"
    return escape_control_chars(f"{line.seq:>6}  {_render_time(line)}  {mark}{said}")


def render_unit(unit: Unit) -> str:
    category = f", {unit.category}" if unit.category else ""
    span = f"lines {unit.first_seq} to {unit.last_seq}" if unit.last_seq else "no line"
    time = _render_time(unit) if unit.last_seq else NO_TIME  # general knowledge is about no time
    heading = f"{time}  {unit.kind} {unit.id}{category}, of {span}"
    return escape_control_chars(f"{heading}\n{indent(unit.text, '  ')}")


def _render_time(source: Line | Unit) -> str:
    """Return the time of a line or a unit; blanks if it is unknown."""
    return NO_TIME if source.is_undated else f"{source.said_at:%Y-%m-%d %H:%M}"


def render_hit(hit: Hit, signals: bool, query: str) -> str:
    bank = f" in {hit.bank}" if hit.bank else ""
    text = f"{hit.relevance:4.0%}  {format_heading(hit.source)} #{hit.seq}{bank}\n"
    text += "\n".join(f"    {row}".replace("\n", "\n    ") for row in _render_passage(hit, query))
    if signals:
        text += "\n      " + "  ".join(f"{name} {value:.2f}" for name, value in hit.signals.items() if value)
    return escape_control_chars(text)


def _render_passage(hit: Hit, query: str) -> Iterator[str]:
    """Yield the lines of a passage, with a heading where one is of another day than the line before it or the hit."""
    shown = day_of(hit.source)  # its heading is above the passage
    for source in hit.passage if hit.passage and hit.kind == "line" else (hit.source, *hit.passage):
        if day_of(source) != shown:
            yield f"  {format_heading(source)}"
            shown = day_of(source)
        said = indentation.indent(shorten_to_match(source.text, query), source.speaker)
        yield f"{'>' if source == hit.source else ' '} {said}"


def pluralize(number: int, noun: str) -> str:
    """Return a number with a noun: "1 line", "2 lines"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

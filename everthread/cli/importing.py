"""`everthread import`: stores a file of conversations, lists what is in it, or forgets its lines again."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from everthread.bank import kept_backups
from everthread.cli.common import bank_option, confirm, json_option, pluralize, progress_bar, show_json, yes_option
from everthread.cli.forget import name_backups, show_receipt
from everthread.cli.main import open_memory, open_store
from everthread.cli.sanitize import escape_control_chars
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory
from everthread.transfer import importing, many_banks
from everthread.transfer.dates import parse_zone
from everthread.transfer.encodings import recode
from everthread.transfer.files import spool_input
from everthread.transfer.formats import FORMATS
from everthread.transfer.types import DATE_ORDERS, AmbiguousDate, FileContents, FileConversation

MAX_SHOWN_BROKEN = 20  # conversations that are named; --json names all


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@bank_option
@click.option("--list", "only_list", is_flag=True, help="Show what is in the file; import nothing.")
@click.option("--forget", "forgets", is_flag=True, help="Undo an import: forget the lines in the file for good.")
@click.option("--me", metavar="NAME", help="Your name, where the file calls you 'user', 'You' or 'Me'.")
@click.option("--assistant", multiple=True, metavar="NAME", help="A speaker who is the assistant. Repeatable.")
@click.option("--only", multiple=True, metavar="TITLE", help="Only the conversation with this title or id. Repeatable.")
@click.option(
    "--strict", is_flag=True, help="Import nothing if a conversation, or one of several files, can't be read."
)
@click.option(
    "--as",
    "facts_as",
    type=click.Choice(["facts", "lines"]),
    default="facts",
    help="Store the facts of another memory (mem0) as facts, or as lines, which chats recall. Default: facts.",
)
@click.option(
    "--attachments", is_flag=True, help="Store the texts of attachments with their lines (Claude, Open WebUI)."
)
@click.option("--disappearing", is_flag=True, help="Store messages of Signal that were to disappear, too.")
@click.option(
    "--date-order",
    type=click.Choice(list(DATE_ORDERS)),
    help="The order of day, month and year in dates of WhatsApp, a table or a transcript. Default: inferred.",
)
@click.option("--format", "form", metavar="NAME", help=f"{', '.join(FORMATS)}. Default: detected.")
@click.option(
    "--encoding", metavar="NAME", help="The encoding of FILE, such as gb18030 or cp1252. Default: UTF-8 or UTF-16."
)
@click.option("--tz", help="The time zone of times without one. Default: UTC.")
@yes_option
@json_option
@click.pass_context
def import_(
    ctx: click.Context,
    /,
    files: tuple[Path, ...],
    bank: str,
    only_list: bool,
    forgets: bool,
    form: str | None,
    encoding: str | None,
    tz: str | None,
    facts_as: str,
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Store a file of conversations, with their dates. If FILE is -, standard input is read.

    The whole file is checked before the first line is stored. Importing it again adds only new lines, and completes an
    import that was interrupted. A bank's own export adds nothing to it.

    The export of another service may be a zip archive, a folder, or several files. A --bank such as 'nora/{title}'
    imports each of its conversations into a bank of its own.

    With --forget, and the options of the import, it is undone: the lines of the bank that are in the file are removed
    permanently, as by `everthread forget`, also those that the bank had before.
    """
    if forgets and as_json and not yes:
        raise BadInput("with --json there is no confirmation; pass --yes as well, to forget the lines for good")
    zone = None if tz is None else parse_zone(tz)
    with ExitStack() as stack:
        paths = [stack.enter_context(spool_input(file, copies_files=encoding is not None)) for file in files]
        if encoding is not None:
            for path in paths:
                recode(path, encoding)
        if sys.stderr.isatty():  # an export of gigabytes is read for a while before the bar begins
            click.echo(escape_control_chars(f"reading {', '.join(path.name for path in paths)} …"), err=True)
        source = importing.check_file(paths, form, tz=zone, facts_as_lines=facts_as == "lines", **options)
        if only_list:
            show_json(source.contents) if as_json else _show_contents(source.contents)
            return
        if forgets:
            _forget(ctx, source, bank, yes, as_json)
            return
        is_pattern = many_banks.TITLE in bank
        results = _import_into_banks(ctx, source, bank) if is_pattern else {bank: _import(ctx, source, bank)}
        has_choices = (options["me"] or tz) and not is_pattern
        kept = _describe_kept(ctx, source, bank) if has_choices and results[bank]["added"] < source.line_count else ""
    if as_json:
        show_json({"banks": results} if is_pattern else {"bank": bank, **results[bank]})
        return
    for name, counts in results.items():
        _show_counts(name, counts, is_pattern)
    _show_doubts(source.contents)
    if kept:
        click.echo(escape_control_chars(kept), err=True)


def _import(ctx: click.Context, source: importing.CheckedFile, bank: str) -> dict[str, Any]:
    """Import a file into one bank; return the counts."""
    with open_memory(ctx, bank, create=True) as memory:
        importing.check_compatible(memory, source)
        with progress_bar(source.line_count, f"{source.path.name} → {bank}") as bar:
            counts = importing.import_lines(memory, source, bar.update, embed=False)
        if source.is_export:
            _embed(memory)
            counts["pending"] = memory.stats().pending
        _read_facts(memory)
    return counts


def _forget(ctx: click.Context, source: importing.CheckedFile, bank: str, yes: bool, as_json: bool) -> None:
    """Forget the lines of a bank that are in a file, and print the receipt."""
    if many_banks.TITLE in bank:
        raise BadInput(f"invalid bank {bank!r}: --forget takes one bank after the other; give the name of each")
    with open_memory(ctx, bank) as memory:
        seqs = importing.find_stored(memory, source)
        if not seqs:
            raise NotFound(f"no line of {source.path.name} is in bank {bank!r}; nothing was forgotten")
        if not yes:
            backups = name_backups(len(kept_backups.read(memory.store, bank)))
            count = f"{pluralize(len(seqs), 'line')} of {source.path.name}"
            confirm(f"Forget {count} in bank {bank!r} for good{backups}?")
        show_receipt(memory.forget(seq=seqs), as_json)


def _import_into_banks(ctx: click.Context, source: importing.CheckedFile, pattern: str) -> dict[str, dict[str, Any]]:
    """Import each conversation of an export into its own bank; return the counts of each bank."""
    if not source.contents.services or source.units:
        what = "only conversations in the export of a service have titles; give the name of one bank"
        raise BadInput(f"invalid bank {pattern!r}: {what}")
    memories: dict[str, Memory] = {}
    with open_store(ctx, pattern, create=True) as store:

        def open_bank(bank: str) -> Memory:
            memories[bank] = Memory.open(bank, **{**ctx.obj, "store": store})
            return memories[bank]

        with progress_bar(source.line_count, f"{source.path.name} → {pattern}") as bar:
            results = many_banks.import_into_banks(open_bank, source, pattern, bar.update)
        for bank, memory in memories.items():
            _embed(memory)
            results[bank]["pending"] = memory.stats().pending
            _read_facts(memory)
    return results


def _embed(memory: Memory) -> None:
    """Embed the lines without a vector, which are found by their words already."""
    if pending := memory.stats().pending:
        with progress_bar(pending, f"vectors of {memory.bank}") as bar:
            memory.backlog.embed_missing(bar.update)


def _read_facts(memory: Memory) -> None:
    """Read the new lines for facts, which otherwise the first question about facts would do."""
    if unread := memory.fact_cache.count_unread():
        with progress_bar(unread, f"facts of {memory.bank}") as bar:
            memory.read_facts(bar.update)


def _describe_kept(ctx: click.Context, source: importing.CheckedFile, bank: str) -> str:
    """Describe the lines that the bank had under other names or at other times, which an import leaves so."""
    with open_memory(ctx, bank) as memory:
        names, times = importing.count_kept(memory, source)
    known = [f"{pluralize(number, 'line')} under the name {name!r}" for name, number in names.most_common()]
    known += [f"{pluralize(times, 'line')} with other times"] * bool(times)
    remedy = "an import does not change them: import into a new bank, or undo the import with --forget before"
    return f"here already: {', '.join(known)}; {remedy}" if known else ""


def _show_counts(bank: str, counts: dict[str, Any], is_one_of_many: bool) -> None:
    if counts["units"] or not counts["read"]:
        click.echo(escape_control_chars(f"facts and notes of another memory new to {bank}: {counts['units']}"))
    if not counts["read"]:
        return
    retracted = f" and {counts['retracted']} retracted" if counts["retracted"] else ""
    skipped = "" if is_one_of_many else importing.format_skipped(counts["skipped"])
    pending = f"; {counts['pending']} have no vectors yet: run `everthread reindex`" if counts["pending"] else ""
    click.echo(
        escape_control_chars(
            f"{counts['added']} of {pluralize(counts['read'], 'line')} {'was' if counts['read'] == 1 else 'were'} new; "
            f"{bank} has {counts['lines']} now{retracted}{skipped}{pending}"
        )
    )


def _show_doubts(contents: FileContents) -> None:
    """Name the chats with ambiguous dates, and the conversations that could not be read."""
    for chat, example in contents.ambiguous_dates.items():
        click.echo(escape_control_chars(f"{chat}: {_describe_ambiguous(example)}"), err=True)
    for name, reason in list(contents.broken.items())[:MAX_SHOWN_BROKEN]:
        click.echo(escape_control_chars(f"left out: {name}: {reason}"), err=True)
    if (more := len(contents.broken) - MAX_SHOWN_BROKEN) > 0:
        click.echo(f"left out: {more} more; --json names all", err=True)


def _describe_ambiguous(example: AmbiguousDate) -> str:
    taken = f"the {DATE_ORDERS[example.order]} comes first in dates: {example.text} is {example.day}"
    remedy = f"--date-order {example.other_order} reads it as {example.other_day}"
    return f"it is not certain that {taken}; {remedy}"


def _show_contents(contents: FileContents) -> None:
    """Show what is in a file: a summary, and a row for each conversation."""
    services = f"{' and '.join(contents.services)}: " if contents.services else ""
    counts = f"{pluralize(len(contents.conversations), 'conversation')}, {pluralize(contents.messages, 'message')}"
    retracted = f" and {contents.retracted} discarded" if contents.retracted else ""
    click.echo(f"{services}{counts}{retracted}, {_format_span(contents.first_at, contents.last_at)}")
    speakers = ", ".join(f"{speaker.name} ({speaker.messages})" for speaker in contents.speakers)
    click.echo(escape_control_chars(f"speakers: {speakers}"))
    names = [("you", contents.me, "--me"), ("assistant", contents.assistant, "--assistant")]
    known = [f"{what}: {name} ({option} NAME changes it)" for what, name, option in names if name is not None]
    if known and contents.services:
        click.echo(escape_control_chars(", ".join(known)))
    if contents.skipped:
        click.echo(importing.format_skipped(contents.skipped).strip(" ()"))
    if contents.units:
        click.echo(f"facts and notes of another memory: {contents.units}")
    click.echo()
    for conversation in contents.conversations:
        click.echo(escape_control_chars(_render_conversation(conversation)))
    _show_doubts(contents)


def _render_conversation(conversation: FileConversation) -> str:
    span = _format_span(conversation.first_at, conversation.last_at)
    name = conversation.title or conversation.opening or conversation.id
    return f"{span:<24} {conversation.messages:>6}  {name}"


def _format_span(first: datetime | None, last: datetime | None) -> str:
    """Format the days from a time to another."""
    if first is None or last is None:
        return "without dates"
    days = [f"{moment:%Y-%m-%d}" for moment in (first, last)]
    return days[0] if days[0] == days[1] else " – ".join(days)

"""`everthread facts` and `everthread profile`: what is known, and the person's changes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from everthread.cli.common import (
    bank_argument,
    bank_option,
    confirm,
    json_option,
    parse_time,
    show_json,
    yes_option,
)
from everthread.cli.main import open_memory
from everthread.facts.types import Entity, Fact
from everthread.memory import Memory

NOTHING_KNOWN = "nothing is known yet; facts are read from what people say, such as: My sister Mia lives in Porto."
UNKNOWN_TIME = "at an unknown time"


class FactsGroup(click.Group):
    """Lists facts, unless its first argument is the name of one of its commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not any(argument in self.commands for argument in args[:1]) and "--help" not in args and "-h" not in args:
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=FactsGroup)
def facts() -> None:
    """Show what is known about people and things, or change it.

    \b
    everthread facts                     what holds now
    everthread facts list Mia --ended    about Mia, also what no longer holds
    everthread facts correct 12 Porto    the right value of fact 12
    """


ended_option = click.option("--ended", is_flag=True, help="Also show facts that have ended or were replaced.")


@facts.command("list")
@click.argument("subject", required=False)
@bank_option
@click.option("--attribute", help="Only facts of this attribute, such as home, employer or likes.")
@click.option("--as-of", metavar="TIME", help="Show what held at this time.")
@click.option("--known-at", metavar="TIME", help="Use only what had been said until this time.")
@ended_option
@json_option
@click.pass_context
def list_(
    ctx: click.Context,
    /,
    subject: str | None,
    bank: str,
    attribute: str | None,
    as_of: str | None,
    known_at: str | None,
    ended: bool,
    as_json: bool,
) -> None:
    """Show what is known, about SUBJECT or about all: each fact with its number, its lines and its time."""
    moments = {"as_of": parse_time(as_of), "known_at": parse_time(known_at)}
    with open_memory(ctx, bank) as memory:
        found = memory.facts(subject, attribute, include_ended=ended, **moments)
        is_empty = not found and not memory.entities()
    show(found, as_json)
    if not found:
        about = f" about {subject!r}" if subject else ""
        known = f"nothing is known{about}; everthread facts entities{bank_argument(bank)} lists who and what is known"
        click.echo(NOTHING_KNOWN if is_empty else known, err=True)


def show(found: Iterable[Fact], as_json: bool) -> None:
    """Print facts, one a row, or as JSON."""
    if as_json:
        show_json([*found])
        return
    by_subject: dict[str, list[Fact]] = {}
    for fact in found:
        by_subject.setdefault(fact.subject, []).append(fact)
    for each in by_subject.values():
        click.echo("\n".join(map(render_fact, each)))


def render_fact(fact: Fact) -> str:
    """Render a fact: its number, its sentence, and the lines that state it."""
    marks = [name_lines(fact.seqs), f"said {UNKNOWN_TIME if fact.undated else f'{fact.said_at:%Y-%m-%d}'}"]
    marks += ["confirmed"] if fact.is_confirmed else [f"{fact.confidence:.0%} sure"] if fact.confidence < 1 else []
    return f"{fact.id:>6}  {fact.text}  ({', '.join(marks)})"


def name_lines(seqs: tuple[int, ...]) -> str:
    """Name the lines of a fact: "line 3", "lines 3, 9"; "no line" for one that came from another memory."""
    if not seqs:
        return "no line"
    return f"line{'s' * (len(seqs) > 1)} {', '.join(map(str, seqs))}"


@click.command()
@click.argument("name", required=False)
@bank_option
@ended_option
@json_option
@click.pass_context
def profile(ctx: click.Context, /, name: str | None, bank: str, ended: bool, as_json: bool) -> None:
    """Show what is known of NAME, or of the person who talks with the bank's character."""
    with open_memory(ctx, bank) as memory:
        found = memory.profile(name, include_ended=ended)
    if as_json:
        show_json(found)
        return
    click.echo(render_entity(found.entity))
    for each in found.facts.values():
        show(each, as_json=False)


def render_entity(entity: Entity) -> str:
    """Render an entity: its name, what it is, and what else it is called."""
    relations = [f"{owner}'s {relation}" for owner, relation in entity.relations]
    known_as = [alias for alias in entity.aliases if alias not in relations]
    parts = [entity.kind, *relations, *(f"also called {alias}" for alias in known_as)]
    days = dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in (entity.first_at, entity.last_at) if moment is not None)
    return f"{entity.name} ({', '.join(parts)}; mentioned {' to '.join(days) or UNKNOWN_TIME})"


@facts.command()
@bank_option
@json_option
@click.pass_context
def entities(ctx: click.Context, /, bank: str, as_json: bool) -> None:
    """List the people, pets, places, organisations and things that facts name."""
    with open_memory(ctx, bank) as memory:
        found = memory.entities()
    if as_json:
        show_json(found)
        return
    for entity in found:
        click.echo(render_entity(entity))
    if not found:
        click.echo(NOTHING_KNOWN, err=True)


# ------------------------------------------------------------------------- changes

fact_argument = click.argument("fact_id", metavar="FACT", type=int)


def change(ctx: click.Context, bank: str, as_json: bool, act: Callable[[Memory], Fact]) -> None:
    """Change a fact, and show it as it is now."""
    with open_memory(ctx, bank) as memory:
        changed = act(memory)
    show([changed], as_json)


@facts.command("confirm")
@fact_argument
@bank_option
@json_option
@click.pass_context
def confirm_(ctx: click.Context, /, fact_id: int, bank: str, as_json: bool) -> None:
    """Note that a fact is right."""
    change(ctx, bank, as_json, lambda memory: memory.confirm_fact(fact_id))


@facts.command()
@fact_argument
@click.argument("value")
@bank_option
@json_option
@click.pass_context
def correct(ctx: click.Context, /, fact_id: int, value: str, bank: str, as_json: bool) -> None:
    """Replace the value of a fact, also in the past. Its lines stay as they are."""
    change(ctx, bank, as_json, lambda memory: memory.correct_fact(fact_id, value))


@facts.command()
@fact_argument
@bank_option
@click.option("--moment", metavar="DATE", help="The year, month or day when it ended, such as 2024-05. Default: now.")
@json_option
@click.pass_context
def end(ctx: click.Context, /, fact_id: int, bank: str, moment: str | None, as_json: bool) -> None:
    """Note that a fact is no longer true, or since when. `resume` undoes it."""
    change(ctx, bank, as_json, lambda memory: memory.end_fact(fact_id, moment))


@facts.command()
@fact_argument
@bank_option
@json_option
@click.pass_context
def resume(ctx: click.Context, /, fact_id: int, bank: str, as_json: bool) -> None:
    """Note that a fact that has ended is still true."""
    change(ctx, bank, as_json, lambda memory: memory.resume_fact(fact_id))


@facts.command()
@fact_argument
@bank_option
@click.option("--with-lines", is_flag=True, help="Forget the lines that state it as well.")
@yes_option
@click.pass_context
def forget(ctx: click.Context, /, fact_id: int, bank: str, with_lines: bool, yes: bool) -> None:
    """Delete a fact for good. Its lines are never read for facts again."""
    with open_memory(ctx, bank) as memory:
        fact = memory.get_fact(fact_id)
        lines = name_lines(fact.seqs)
        also = f" and {lines}" if with_lines and fact.seqs else ""
        if not yes:
            confirm(f"Forget for good: {fact.text}{also}")
        memory.forget_fact(fact_id, with_lines=with_lines)
    click.echo(f"forgot fact {fact_id}{also}")


@facts.command()
@click.argument("name")
@click.argument("other")
@bank_option
@json_option
@click.pass_context
def merge(ctx: click.Context, /, name: str, other: str, bank: str, as_json: bool) -> None:
    """Note that NAME and OTHER are one. `split` undoes it."""
    with open_memory(ctx, bank) as memory:
        show_entity(memory.merge_entities(name, other), as_json)


@facts.command()
@click.argument("name")
@click.argument("fact_ids", metavar="FACT...", type=int, nargs=-1, required=True)
@bank_option
@json_option
@click.pass_context
def split(ctx: click.Context, /, name: str, fact_ids: tuple[int, ...], bank: str, as_json: bool) -> None:
    """Note that these facts about NAME are about another one of that name. `merge` undoes it."""
    with open_memory(ctx, bank) as memory:
        statements = {statement for number in fact_ids for statement in memory.get_fact(number).statements}
        show_entity(memory.split_entity(name, statements), as_json)


def show_entity(entity: Entity, as_json: bool) -> None:
    """Print an entity, or show it as JSON."""
    if as_json:
        show_json(entity)
    else:
        click.echo(render_entity(entity))

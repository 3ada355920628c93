"""`everthread sessions` and `everthread title`: list the sessions of a bank, and give one a title."""

from __future__ import annotations

import click

from everthread.cli.common import bank_option, json_option, pluralize, show_json
from everthread.cli.main import open_memory
from everthread.cli.sanitize import escape_control_chars
from everthread.types import Session


@click.command()
@bank_option
@json_option
@click.pass_context
def sessions(ctx: click.Context, /, bank: str, as_json: bool) -> None:
    """List the sessions of a bank, whose names `lines`, `recall` and `forget` take as --session."""
    with open_memory(ctx, bank) as memory:
        all_sessions = memory.sessions()
    if as_json:
        show_json(all_sessions)
        return
    for session in all_sessions:
        click.echo(_render(session))


@click.command()
@click.argument("session")
@click.argument("title")
@bank_option
@json_option
@click.pass_context
def title(ctx: click.Context, /, session: str, title: str, bank: str, as_json: bool) -> None:
    """Set the title of a session. An empty TITLE removes it."""
    with open_memory(ctx, bank) as memory:
        titled = memory.set_session(session, title=title)
    show_json(titled) if as_json else click.echo(_render(titled))


def _render(session: Session) -> str:
    """Return the row of a session."""
    ended = "" if session.ended_at is None else "  ended"
    shown_title = f"  {session.title}" if session.title else ""
    count = pluralize(session.lines, "line")
    return escape_control_chars(f"{session.id:<24} {session.started_at:%Y-%m-%d %H:%M}  {count}{ended}{shown_title}")

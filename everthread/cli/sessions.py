"""`everthread sessions` and `everthread title`: list the sessions of a bank, and give one a title."""

from __future__ import annotations

from dataclasses import replace

import click

from everthread.chat.session_title import read_titles
from everthread.cli.common import bank_option, json_option, pluralize, show_json
from everthread.cli.local_times import with_local_times
from everthread.cli.main import open_memory
from everthread.cli.names import find_session
from everthread.cli.sanitize import escape_control_chars
from everthread.text.sentences import shorten
from everthread.types import Filter, Session

MAX_OPENING_TOKENS = 15  # of what was said first, for a session without a title


@click.command()
@bank_option
@json_option
@click.pass_context
def sessions(ctx: click.Context, /, bank: str, as_json: bool) -> None:
    """List the sessions of a bank, whose names and titles `lines`, `recall` and `forget` take as --session.

    Each is shown with its title, else the one that a model gave it, else what was said first. An ended session is
    continued only on request.
    """
    with open_memory(ctx, bank) as memory:
        all_sessions = memory.sessions()
        if as_json:
            show_json(all_sessions)
            return
        titles = read_titles(memory)
        for session in with_local_times(memory, all_sessions):
            session = replace(session, title=session.title or titles.get(session.id))
            first_lines = () if session.title else memory.lines(Filter(session=session.id, role="user"), limit=1)
            click.echo(_render(session, *(line.text for line in first_lines)))


@click.command()
@click.argument("session")
@click.argument("title")
@bank_option
@json_option
@click.pass_context
def title(ctx: click.Context, /, session: str, title: str, bank: str, as_json: bool) -> None:
    """Set the title of a session. An empty TITLE removes it."""
    with open_memory(ctx, bank) as memory:
        titled = memory.set_session(find_session(memory, session), title=title)
        (local,) = with_local_times(memory, [titled])
    show_json(titled) if as_json else click.echo(_render(local))


def _render(session: Session, opening: str = "") -> str:
    """Return the row of a session. opening: what was said first."""
    ended = "" if session.ended_at is None else "  ended"
    name = session.title or shorten(" ".join(opening.split()), MAX_OPENING_TOKENS)
    shown_title = f"  {name}" if name else ""
    count = pluralize(session.lines, "line")
    return escape_control_chars(f"{session.id:<24} {session.started_at:%Y-%m-%d %H:%M}  {count}{ended}{shown_title}")

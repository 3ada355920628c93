"""Explains mistakes on a command line: unknown commands, options in the wrong place, and texts without quotes."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click

JSON_OPTION = "--json"
TEXT_ARGUMENTS = frozenset(("text", "query", "title", "value"))  # of which people forget the quotes

OTHER_NAMES = {  # of commands, in other programs
    **dict.fromkeys(("add", "remember", "store"), "observe"),
    **dict.fromkeys(("delete", "remove", "rm"), "forget"),
    **dict.fromkeys(("ask", "query"), "recall"),
    **dict.fromkeys(("proxy", "server", "start", "web"), "serve"),
    **dict.fromkeys(("list", "ls"), "lines"),
}


def unknown_command_error(name: str, commands: Iterable[str], ctx: click.Context) -> click.UsageError:
    """Build the error for a command that doesn't exist, which names similar ones.

    Args:
        name: what was given.
        commands: the names of all commands.
        ctx: the context of their group.
    """
    other = OTHER_NAMES.get(name)
    similar = [other] if other is not None else get_close_matches(name, commands, 2)
    hint = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    return click.UsageError(f"No such command {name!r}.{hint}", ctx)


def explain_early_option(error: click.UsageError, commands: Iterable[click.Command]) -> click.UsageError:
    """Explain an unknown option that belongs after the command; return other errors unchanged."""
    if not isinstance(error, click.NoSuchOption):
        return error
    name = error.option_name
    if not any(name in option.opts for command in commands for option in command.params):
        return error
    return click.UsageError(f"{name} goes after the command: everthread COMMAND … {name} …", error.ctx)


def explain_arguments(error: click.ClickException, ctx: click.Context) -> click.ClickException:
    """Explain an error in what follows a command; return other errors unchanged.

    Args:
        error: the error, of the command.
        ctx: the context of the main command.
    """
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return error
    if isinstance(error, click.NoSuchOption):
        return _explain_option(error, error.ctx, ctx)
    takes_text = any(parameter.name in TEXT_ARGUMENTS for parameter in error.ctx.command.params)
    if takes_text and error.message.startswith("Got unexpected extra argument"):
        return click.UsageError(f"{error.message}; put a text of several words in quotes", error.ctx)
    return error


def _explain_option(error: click.NoSuchOption, of_command: click.Context, ctx: click.Context) -> click.UsageError:
    """Explain an unknown option that belongs before the command, or `--json`."""
    name, command = error.option_name, of_command.command_path.removeprefix(ctx.command_path)
    if name == JSON_OPTION:
        return click.UsageError(f"everthread{command} has no result that it could print as JSON", of_command)
    if not any(name in option.opts for option in ctx.command.params):
        return error
    return click.UsageError(f"{name} goes before the command: everthread {name} …{command} …", of_command)

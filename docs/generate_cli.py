"""The reference of the command line, made from the command line: `python docs/generate_cli.py > docs/cli.md`.

It knows click, and of Everthread only where the commands begin. `tests/test_docs.py` finds a stale cli.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from everthread.cli.main import main

WIDTH = 100  # columns of the help, whatever the terminal's
HEAD = """\
# The command line

Every command, as `--help` shows it. Errors are one line on standard error, and with `--json` an object {"error": …} on
standard output as well; the exit status is 2 where the input or a setting was wrong, 130 after Ctrl-C, and 1 for
everything else. Made by `python docs/generate_cli.py > docs/cli.md`.
"""


def commands(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """Yield the command and all its subcommands, each with its whole name."""
    context = click.Context(command, parent, name, terminal_width=WIDTH, max_content_width=WIDTH)
    context.help_option_names = ["-h", "--help"]
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from commands(found, below, context)


def section(context: click.Context) -> str:
    shown = "\n".join(row.rstrip() for row in context.get_help().splitlines())
    return f"## {context.command_path}\n\n```text\n{shown}\n```\n"


def reference() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *map(section, commands(main, "everthread"))])


if __name__ == "__main__":
    print(reference(), end="")

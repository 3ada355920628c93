"""`everthread mcp`: offers banks to agents over standard input and output."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from everthread import config, factory
from everthread.cli.common import DEFAULT_BANK, to_flag
from everthread.common.json_logs import JSONFormatter
from everthread.errors import BadInput
from everthread.mcp.banks import ChatTurn, Keep, OpenBanks
from everthread.mcp.hosts import HOSTS, format_config
from everthread.mcp.server import MemoryServer
from everthread.memory import Memory
from everthread.server.proxy.kept_turn import keep_turn
from everthread.server.proxy.lineage import Lineage
from everthread.server.proxy.message_text import ChatMessage

SECRET_BYTES = 32


@click.command()
@click.option(
    "-b",
    "--bank",
    "banks",
    multiple=True,
    help="A bank to offer; default: default. Repeatable: the first is then the usual one.",
)
@click.option("--store", metavar="PLACE", help="Location of the banks, as before the command.")
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@click.option("--tools", metavar="NAMES", help="Offer only these tools: recall,remember. Default: all.")
@click.option("--chatgpt", is_flag=True, help="Offer `search` and `fetch`, too; OpenAI's own clients always see them.")
@click.option(
    "--print-config", "host", type=click.Choice(list(HOSTS)), help="Print the configuration of a host, and exit."
)
@click.pass_context
def mcp(
    ctx: click.Context,
    /,
    banks: tuple[str, ...],
    store: str | None,
    read_only: bool,
    tools: str | None,
    chatgpt: bool,
    host: str | None,
) -> None:
    """Offer banks to agents over the Model Context Protocol, on standard input and output.

    A host, such as Claude Desktop, starts this command itself: --print-config shows how.
    """
    options = {**ctx.obj, "store": store or ctx.obj["store"]}
    if host is not None:
        _print_config(host, options, banks, read_only, tools)
        return
    if sys.stdin.isatty():
        click.echo("everthread: waiting for a host's messages on standard input; Ctrl-C stops it", err=True)
    names = None if tools is None else [name.strip() for name in tools.split(",") if name.strip()]
    _install_logs()
    with _open_memories(options, banks or (DEFAULT_BANK,), create=not read_only) as memories:
        offered = OpenBanks(memories, os.urandom(SECRET_BYTES), make_keep())
        MemoryServer(offered, tools=names, read_only=read_only, chatgpt=chatgpt).run("stdio")


def make_keep() -> Keep:
    """Return a function that stores what is new in conversations of the banks of this process."""
    lineages: dict[str, Lineage] = {}

    def keep(memory: Memory, messages: Sequence[ChatTurn], session: str | None) -> str:
        lineage = lineages.setdefault(memory.bank, Lineage(memory))
        said = [ChatMessage(role, text, said_at=said_at) for role, text, said_at in messages]
        return keep_turn(lineage, said, session)

    return keep


@contextmanager
def _open_memories(options: dict[str, Any], banks: Sequence[str], create: bool) -> Iterator[dict[str, Memory]]:
    """Open the memories of banks in one store. Raises BadInput for a bank that doesn't exist, unless `create`."""
    embedder = factory.open_embedder(options["embedder"])
    with ExitStack() as stack:
        store = factory.open_store(options["store"], create)
        stack.callback(store.close)
        if missing := [bank for bank in banks if not create and not store.exists(bank)]:
            raise BadInput(f"there is no bank {missing[0]!r}, and {to_flag('read-only')} creates none")
        common = {**options, "store": store, "embedder": embedder}
        yield {bank: stack.enter_context(Memory.open(bank, **common)) for bank in banks}


def _install_logs() -> None:
    """Write warnings to standard error, where hosts collect them, without anything that was said."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSONFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _program() -> list[str]:
    """Return the command that runs this program, with absolute paths."""
    path = Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute()
    return [sys.executable, "-m", "everthread"] if path.name == "__main__.py" else [str(path)]


def _configured_store() -> str | None:
    """Return the location of the banks if it is set for this shell; hosts start programs without its environment."""
    store = config.load().store
    return None if store == config.Config().store else store


def _print_config(host: str, options: dict[str, Any], banks: Sequence[str], read_only: bool, tools: str | None) -> None:
    """Print a configuration to standard output, and where it belongs to standard error."""
    arguments = []
    for name in ("embedder", "recipe", "tokens"):
        if options[name] is not None:
            arguments += [to_flag(name), options[name]]
    arguments.append("mcp")
    store = options["store"] or _configured_store()
    for bank in banks or (DEFAULT_BANK,):
        arguments += [to_flag("bank"), bank]
    if store is not None:
        arguments += [to_flag("store"), store if "://" in store else str(Path(store).expanduser().absolute())]
    if read_only:
        arguments.append(to_flag("read-only"))
    if tools is not None:
        arguments += [to_flag("tools"), tools]
    text, place = format_config(host, [*_program(), *arguments])
    click.echo(text)
    click.echo(f"# {place}", err=True)

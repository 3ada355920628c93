"""`everthread hook`: runs as a hook of Claude Code or Codex. It never delays or blocks a prompt.

A running server is asked first, because loading the engine takes longer; `everthread.__main__` runs this module
without the rest of the command line. If a hook fails or its deadline passes, it prints nothing and exits with 0. The
last error is in a file; a deadline that passes leaves nothing there.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

SERVER_URL = "http://127.0.0.1:7391"
CONNECT_TIMEOUT_S = 0.3
DEADLINES_S = {"recall": 5.0, "remember": 30.0, "end": 10.0}
LOG_NAME = "hook.log"  # in the user's folder for logs
DEADLINE_HELP = "How long it may take. Default: 5 for recall, 30 for remember, 10 for end."


class HookCommand(click.Command):
    """Reports a wrong option without blocking the prompt."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            raise click.ClickException(error.format_message()) from None  # exits with 1; at 2 a prompt is blocked


@click.command(cls=HookCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("action", type=click.Choice(list(DEADLINES_S)))
@click.option("-b", "--bank", default="default", show_default=True, help="The bank.")
@click.option("--url", default=SERVER_URL, show_default=True, help="The server to ask, if it runs.")
@click.option("--key-variable", metavar="NAME", help="An environment variable with a key of that server.")
@click.option("--store", metavar="PLACE", help="Use the banks at this location, and no server.")
@click.option("--deadline", type=click.FloatRange(0.1, 600), metavar="SECONDS", help=DEADLINE_HELP)
@click.pass_context
def hook(ctx: click.Context, /, action: str, deadline: float | None, **options: Any) -> None:
    """Recall for a prompt, remember a turn, or end a session, as the JSON on standard input says.

    \b
    recall     prints the memories to add to a prompt (UserPromptSubmit)
    remember   stores what was said in the transcript (Stop)
    end        stores the rest, and ends the session (SessionEnd)

    It belongs in the settings of Claude Code or Codex, as docs/mcp.md shows. A hook that fails, or takes longer than
    its deadline, prints nothing and exits with 0.
    """
    timer = threading.Timer(deadline or DEADLINES_S[action], os._exit, (0,))
    timer.daemon = True
    timer.start()
    logging.disable()  # agents show what is written to standard error
    try:
        output = run(action, options, ctx.obj or {})
    # Whatever the reason, a hook must not fail a prompt. The log has it, and the next hook stores what this one has
    # missed: it reads more than one turn of the transcript.
    except Exception as error:  # noqa: BLE001
        output = None
        log_failure(error)
    timer.cancel()
    if output is not None:
        click.echo(json.dumps(output))


def log_failure(error: Exception) -> None:
    """Write where and of what a hook failed into a file, instead of the failure before."""
    import platformdirs

    from everthread.common.atomic_write import write_atomically
    from everthread.errors import StoreUnavailable

    folder = Path(platformdirs.user_log_dir("everthread"))
    with suppress(OSError, StoreUnavailable):  # there is no other place to report it
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LOG_NAME).touch(mode=0o600)
        write_atomically(folder / LOG_NAME, "".join(describe_failure(error)).encode())


def describe_failure(error: BaseException) -> Iterator[str]:
    """Yield the frames and the kinds of an error and of those that led to it.

    Messages may quote what was said, which a later `forget` must find nowhere. So only those that say what can't be
    used are written.
    """
    from traceback import format_tb

    from everthread.errors import ConfigError, StoreUnavailable

    if (cause := error.__cause__ or error.__context__) is not None:
        yield from describe_failure(cause)
    yield from format_tb(error.__traceback__)
    message = f": {error}" if isinstance(error, ConfigError | StoreUnavailable) else ""
    yield f"{type(error).__module__}.{type(error).__qualname__}{message}\n"


def run(action: str, options: dict[str, Any], global_options: dict[str, Any]) -> dict[str, Any] | None:
    """Read an event from standard input, act on it, and return the output, if any.

    Args:
        action: one of DEADLINES_S.
        options: of the hook.
        global_options: of the command line, for the engine.
    """
    from everthread.errors import ConfigError
    from everthread.hooks.events import ACTIONS

    event = json.loads(sys.stdin.buffer.read())
    if not isinstance(event, dict):
        return None
    if options["store"] is None and global_options.get("store") is None and is_listening(options["url"]):
        from everthread.client.client import Client

        try:
            key = os.environ.get(options["key_variable"] or "") or None
            with Client(options["url"], options["bank"], key) as client:
                return ACTIONS[action](event, client)
        except ConfigError:
            pass  # another program, or a server that requires another key
    from everthread import factory
    from everthread.memory import Memory

    place = options["store"] or global_options.get("store")
    with closing(factory.open_store(place, create=action != "recall")) as store:
        if action == "recall" and not store.exists(options["bank"]):
            return None
        with Memory.open(options["bank"], **{**global_options, "store": store}) as memory:
            return ACTIONS[action](event, memory)


def is_listening(url: str) -> bool:
    """Return whether a server accepts connections at a URL."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname, port), CONNECT_TIMEOUT_S):
            return True
    except (OSError, ValueError):
        return False

"""`everthread serve`: serves the page and the API."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from everthread.common.fast_imports import without_garbage_collection
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.server import configuration, logs, runner, start_checks, tracing
from everthread.server.proxy.upstream import find_upstream, has_upstream
from everthread.server.services import Services
from everthread.server.settings import Settings

DEFAULT_PORT = 7391
UNENCRYPTED = "Passwords and texts are not encrypted on their way: for https, put a reverse proxy in front of it."


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Any other than this machine needs an account or a key.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 for any free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser, if there is one.")
@click.option(
    "-m", "--model", metavar="NAME", help="A model's name, http://host/v1#model, or none. Default: as for chat."
)
@click.option(
    "--scribe-model",
    metavar="NAME",
    help="Another model for notes and summaries; none writes them without a model.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Worker processes.")
@click.option("--require-key", is_flag=True, help="Require an account or a key on this machine, too.")
@click.option(
    "--first-key",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="If a key is required and there is neither an account nor a key, create a key for everything in FILE.",
)
@click.option("--mem0", is_flag=True, help="Serve the paths of mem0's self-hosted server, such as /memories, too.")
@click.option(
    "--log-level",
    type=click.Choice(logs.LEVELS),
    help="Minimum level of log messages. Default: info; on a terminal, warning.",
)
@click.pass_context
def serve(
    ctx: click.Context,
    /,
    host: str,
    port: int,
    opens: bool,
    model: str | None,
    scribe_model: str | None,
    workers: int,
    require_key: bool,
    first_key: Path | None,
    mem0: bool,
    log_level: str | None,
) -> None:
    """Serve the page and the API until Ctrl-C; running replies are finished first.

    On this machine neither an account nor a key is needed. At any other address the server starts only if there is one;
    create an account for a person with `everthread accounts add NAME`, a key for a program with `everthread keys new
    NAME`, or let the first start create a key with `--first-key FILE`. Requests are logged to standard error as JSON,
    without any text of a conversation.
    """
    key_required = require_key or not runner.is_loopback(host)
    settings = replace(configuration.build_settings(host, key_required), serves_mem0=mem0)
    level = log_level or ("warning" if sys.stderr.isatty() else "info")
    app_factory = runner.AppFactory(
        **ctx.obj, model=model, scribe=scribe_model, settings=settings, log_level=level, multi_process=workers > 1
    )
    tracing.install()
    logs.install(level)
    check_callers = partial(start_checks.require_caller, host=settings.host, first_key=first_key)
    start_checks.check_location(app_factory.store, check_callers if _needs_caller(settings, first_key) else None)
    with runner.open_socket(host, port, workers) as listener:
        services = app_factory.build_services()
        with closing(services.store):
            url = runner.local_url(listener)
            greeting = _format_greeting(services, settings, url, runner.network_url(listener), first_key)
            on_listening = partial(_announce, greeting, url, opens)
            if workers == 1:
                with without_garbage_collection():
                    from everthread.server.app import create_app
                runner.run(lambda: create_app(services, settings, closes=True), listener, on_listening=on_listening)
                return
        # Each worker opens its own services.
        runner.run(app_factory, listener, workers=workers, on_listening=on_listening)


def _needs_caller(settings: Settings, first_key: Path | None) -> bool:
    """Return whether there must be a key or an account."""
    is_local, signs_in = runner.is_loopback(settings.host), settings.account_header or settings.openid_issuer
    return not signs_in and (not is_local or (settings.key_required and first_key is not None))


def _format_greeting(services: Services, settings: Settings, url: str, network_url: str, first_key: Path | None) -> str:
    llm = services.llm
    if llm is None:
        remedy = f"set by {setting}" if (setting := services.connection.set_by) else "connect one on the page"
        model = f"no language model: it shows what it remembers; {remedy}"
    else:
        model = f"{llm.name} at {llm.url}" if isinstance(llm, OpenAICompatible) else llm.name
    rows = [f"replies by  {model}", f"memories in {services.store.location}"]
    rows.append(f"proxy at    {url}/v1, {_describe_upstream(settings, services)}")
    if first_key and first_key.exists():
        rows.append(f"first key   {first_key}")
    if network_url:
        rows.insert(0, f"for others  {network_url}")
    notes = ["Ctrl-C stops it."] if runner.is_loopback(settings.host) else [UNENCRYPTED, "Ctrl-C stops it."]
    return "\n".join(("\n  ".join((f"Everthread is at {url}", *rows)), *notes))


def _describe_upstream(settings: Settings, services: Services) -> str:
    upstream = find_upstream(settings, services)
    if has_upstream(settings, services):
        hint = " (if it answers 404, its address lacks a path, usually /v1)" if upstream.lacks_path else ""
        return f"passed on to {upstream.address}{hint}"
    return "once a model is connected, or EVERTHREAD_PROXY_URL names its server"


def _announce(greeting: str, url: str, opens: bool) -> None:
    """Print the greeting, and open the page in the browser if `opens` and there is a screen for one."""
    click.echo(greeting)
    if opens and _has_screen():
        threading.Thread(
            target=webbrowser.open, args=(url,), daemon=True
        ).start()  # some browsers block until they are closed


def _has_screen() -> bool:
    """Return whether a browser would open in a window; one for the terminal would hide the greeting."""
    names = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in names)

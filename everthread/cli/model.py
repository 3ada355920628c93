"""`everthread model …`: connects, shows, tests and disconnects the language model, as the page does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from everthread import factory
from everthread.cli.common import decode_utf8, json_option, show_json
from everthread.cli.sanitize import escape_control_chars
from everthread.errors import ConfigError, NotFound
from everthread.llms.base import LLM
from everthread.llms.discovery import get_openai_key
from everthread.llms.errors import redact_url
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.server.models import probe
from everthread.server.models.connection import find_setting, open_current
from everthread.server.models.connection_file import ConnectionFile, StoredModel

MAX_NAMES = 12  # of a server's models in an error


@contextmanager
def _open_file(ctx: click.Context) -> Iterator[ConnectionFile]:
    """Open the file of the model that is connected."""
    with closing(factory.open_store(ctx.obj["store"])) as store:
        yield ConnectionFile.beside(store)


@click.group()
def model() -> None:
    """Connect a language model, for the terminal and the page alike.

    A model that --model, EVERTHREAD_LLM_URL, EVERTHREAD_LLM_MODEL or the configuration file names comes first, then the
    connected one. If none was ever connected, an Ollama that runs on this machine is used.
    """


@model.command()
@json_option
@click.pass_context
def show(ctx: click.Context, /, as_json: bool) -> None:
    """Show the model that replies, and what names it. No request is sent to it."""
    llm, origin = _find_model(ctx)
    address = redact_url(llm.url) if isinstance(llm, OpenAICompatible) else None
    if as_json:
        has_key = isinstance(llm, OpenAICompatible) and bool(llm.key)
        show_json({"model": llm.name if llm else None, "url": address, "has_key": has_key, "from": origin})
    elif llm is None:
        click.echo(f"no model ({origin}); connect one with: everthread model connect URL NAME")
    else:
        click.echo(escape_control_chars(f"{llm.name} at {address} ({origin})"))


@model.command()
@click.argument("url")
@click.argument("name", required=False)
@click.option("--key", "asks_for_key", is_flag=True, help="Ask for the server's key; without a terminal, read it from "
              "the first line of standard input.")  # fmt: skip
@click.pass_context
def connect(ctx: click.Context, /, url: str, name: str | None, asks_for_key: bool) -> None:
    """Connect the model NAME of the OpenAI-compatible server at URL, after it has been tested.

    A server with only one model needs no NAME. A running server of Everthread uses the model at once. The key is stored
    in the system's keyring or, without one, in a file that only you can read; it is never shown.
    """
    url = probe.complete_address(url)
    with _open_file(ctx) as file:
        key = _ask_key() if asks_for_key else file.find_key(url)
        sent_key = key or get_openai_key(url)
        names = probe.list_models(url, sent_key)
        name = name or _only_name(url, names)
        probe.try_model(url, name, sent_key, names)
        file.write(StoredModel(url, name, key))
    click.echo(escape_control_chars(f"connected {name} at {redact_url(url)}"))
    if setting := find_setting(None):
        click.echo(f"{setting} names a model, which comes first; remove it to use this one", err=True)


@model.command()
@click.pass_context
def test(ctx: click.Context, /) -> None:
    """Let the model that replies write a few words."""
    llm, origin = _find_model(ctx)
    if not isinstance(llm, OpenAICompatible):
        raise NotFound(f"there is no model to test ({origin}); connect one with: everthread model connect URL NAME")
    probe.try_model(llm.url, llm.name, llm.key or "", None)
    click.echo(escape_control_chars(f"{llm.name} at {redact_url(llm.url)} replies"))


@model.command()
@click.pass_context
def disconnect(ctx: click.Context, /) -> None:
    """Use no model from now on, and delete its key."""
    with _open_file(ctx) as file:
        file.write(StoredModel())
    click.echo("disconnected; replies now show what is remembered")
    if setting := find_setting(None):
        click.echo(f"{setting} names a model, which is still used; remove it to have none", err=True)


def _find_model(ctx: click.Context) -> tuple[LLM | None, str]:
    """Return the model that replies, and in words what names it."""
    with _open_file(ctx) as file:
        setting, was_chosen = find_setting(None), file.get_version() is not None
        llm = open_current(file, None)
    if setting:
        return llm, f"set by {setting}"
    if was_chosen:
        return llm, "connected" if llm else "disconnected"
    return llm, "found" if llm else "none connected, none found"


def _ask_key() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Key", hide_input=True)).strip()
    return decode_utf8(sys.stdin.buffer.readline()).strip()


def _only_name(url: str, names: list[str] | None) -> str:
    if names is not None and len(names) == 1:
        return names[0]
    listed = f"; it has {', '.join(names[:MAX_NAMES])}{' …' if len(names) > MAX_NAMES else ''}" if names else ""
    raise ConfigError(f"give the name of a model of {redact_url(url)} after its address{listed}")

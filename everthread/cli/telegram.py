"""`everthread telegram`: runs the Telegram bot, and invites people to it."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack, closing, suppress

import click

from everthread import config, factory
from everthread.cli.common import json_option, show_json
from everthread.errors import ConfigError
from everthread.llms.event_loop import INTERRUPT_DELAY_S
from everthread.server import logs, runner
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.data_location import find_location
from everthread.server.settings import Settings
from everthread.server.telegram.bot_api import BotAPI, BotAPIError, BotAPIUnavailable
from everthread.server.telegram.chat_store import ChatStore
from everthread.server.telegram.service import TelegramService

SHUTDOWN_TIMEOUT_S = 10.0  # for the batch of lines that is being embedded
NO_TOKEN = (
    "there is no Telegram bot yet; create one with @BotFather on Telegram, and set its token: export "
    "EVERTHREAD_TELEGRAM_TOKEN=123456:ABC-DEF…"
)


@click.group(invoke_without_command=True)
@click.option(
    "-m", "--model", metavar="NAME", help="A model's name, http://host/v1#model, or none. Default: as for chat."
)
@click.option("--scribe-model", metavar="NAME", help="Another model for notes and summaries; none: without a model.")
@click.option(
    "--log-level", type=click.Choice(logs.LEVELS), default="warning", show_default=True, help="Of what is logged."
)
@click.pass_context
def telegram(ctx: click.Context, /, model: str | None, scribe_model: str | None, log_level: str) -> None:
    """Run the Telegram bot until Ctrl-C; replies in progress are finished first.

    It needs a token of @BotFather, in the setting telegram_token. With that, `everthread serve` runs it, too.
    """
    if ctx.invoked_subcommand is not None:
        return
    settings = _load_settings()
    if not settings.telegram_token:
        raise ConfigError(NO_TOKEN)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    logs.install(log_level)
    parts = runner.AppFactory(**ctx.obj, model=model, scribe=scribe_model, settings=settings)
    with ExitStack() as stack:
        services = parts.build_services()
        stack.callback(services.store.close)
        stack.callback(services.vectors.close, SHUTDOWN_TIMEOUT_S)
        conversations = ConversationRegistry(services)
        stack.callback(conversations.close)
        with config.name_source("telegram_token", "telegram_url"):
            service = TelegramService(conversations, settings)
        stack.callback(service.close)
        name = _find_name(service.api)
        service.start()
        click.echo(_greet(name))
        services.warm_up()
        while not stopped.wait(INTERRUPT_DELAY_S):  # Windows delivers no interrupt to a wait without a timeout
            pass


def _load_settings() -> Settings:
    configured = config.load()
    return Settings(
        telegram_token=configured.telegram_token.strip(),
        telegram_language=configured.telegram_language,
        telegram_url=configured.telegram_url.strip(),
    )


def _find_name(api: BotAPI) -> str:
    """Return the bot's user name; "" if Telegram can't be reached. Raises ConfigError for an unknown token."""
    with suppress(BotAPIError, BotAPIUnavailable):
        return api.get_name()
    return ""


def _greet(name: str) -> str:
    who = f"The bot is @{name}." if name else "Telegram can't be reached at present; the bot keeps trying."
    return f"{who} Invite people with: everthread telegram invite\nCtrl-C stops it."


@telegram.command()
@json_option
@click.pass_context
def invite(ctx: click.Context, /, as_json: bool) -> None:
    """Print an invitation to the bot: a link, or without one a code for /start. It works once, for a week."""
    settings = _load_settings()
    with (
        closing(factory.open_store(ctx.obj["store"])) as banks,
        closing(ChatStore(find_location(banks))) as chats,
    ):
        code = chats.invite()
    name = ""
    if settings.telegram_token:
        with closing(BotAPI(settings.telegram_token, settings.telegram_url)) as api:
            name = _find_name(api)
    link = f"https://t.me/{name}?start={code}" if name else None
    if as_json:
        show_json({"code": code, "link": link})
        return
    click.echo(link or f"/start {code}")
    where = "Open it on the phone" if link else "Send it to the bot"
    command = f"/start@{name} {code}" if name else f"/start {code}"
    click.echo(f"{where}, once within a week. In a group, send there: {command}", err=True)

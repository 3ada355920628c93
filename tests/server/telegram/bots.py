"""Runs a bot over the stand-in for Telegram, and banks that survive a restart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hardship import llm
from hardship.telegram import TOKEN, Telegram

from everthread.chat.character import Character
from everthread.common.keys import SETTING_CHARACTER, SETTING_REMEMBER
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.services import Services
from everthread.server.telegram.bot import TelegramBot
from everthread.server.telegram.bot_api import BotAPI
from everthread.server.workers.bank_leases import BankLeases
from everthread.stores.sqlite.bank_file import file_name
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import JSONValue

NEMO = Character("Nemo")  # without a greeting


@dataclass
class RunningBot:
    """A bot, its banks and the requests to its model."""

    telegram: Telegram
    bot: TelegramBot
    services: Services
    asked: list[llm.Request]
    folder: Path

    def invite(self, chat: int = 7, remember: JSONValue = "always") -> None:
        """Begin a chat without the bot's welcome."""
        assert self.bot.chats.claim(chat, self.bot.chats.invite())
        memory = self.get_memory(chat)
        memory.set_setting(SETTING_CHARACTER, NEMO.to_json())
        memory.set_setting(SETTING_REMEMBER, remember)

    def get_memory(self, chat: int = 7) -> Memory:
        return self.services.get_memory(f"telegram/{chat}", create=True)

    def lines(self, chat: int = 7) -> list[str]:
        """Return the lines of a chat's bank, with their speakers."""
        return [f"{line.speaker}: {line.text}" for line in self.get_memory(chat).lines()]

    @contextmanager
    def full_disk(self, chat: int = 7) -> Iterator[None]:
        """Let SQLite reject all lines of a chat's bank."""
        with closing(sqlite3.connect(self.folder / file_name(f"telegram/{chat}"))) as db:
            db.execute("CREATE TRIGGER full BEFORE INSERT ON line BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
            yield
            db.execute("DROP TRIGGER full")

    def prompts(self) -> list[str]:
        """Return the last message of each prompt."""
        return [request.body["messages"][-1]["content"] for request in self.asked if request.body]


@contextmanager
def run_bot(
    telegram: Telegram,
    folder: Path,
    *behaviours: llm.ServerBehaviour,
    turn_delay_s: float = 0.0,
    edit_interval_s: float = 0.01,
    starts: bool = True,
    leases: BankLeases | None = None,
) -> Iterator[RunningBot]:
    """Run a bot over the banks of a folder."""
    with ExitStack() as stack:
        server = stack.enter_context(llm.llm_server(*behaviours))
        store = SQLiteStore(folder)
        stack.callback(store.close)
        services = Services(store, HashEmbedder(64), OpenAICompatible(server.url, "m"), Default())
        conversations = ConversationRegistry(services, leases=leases)
        stack.callback(conversations.close)
        bot = TelegramBot(
            conversations,
            BotAPI(TOKEN, telegram.url),
            folder / "server.sqlite",
            turn_delay_s=turn_delay_s,
            edit_interval_s=edit_interval_s,
        )
        stack.callback(bot.close)
        if starts:
            bot.start()
        yield RunningBot(telegram, bot, services, server.requests, folder)

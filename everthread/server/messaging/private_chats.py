"""Open incognito chats, whose lines exist nowhere else."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime

from everthread.chat.chat import Chat
from everthread.stores.shared_rows import SESSION_GAP

MAX_PRIVATE_CHATS = 256


class PrivateChats:
    """The latest incognito chats, one for each bank."""

    def __init__(self) -> None:
        self._chats: OrderedDict[str, Chat] = OrderedDict()  # by bank

    def get_current(self, bank: str, at: datetime) -> Chat | None:
        """Return the chat of a bank, or None if nothing was said in it for an hour."""
        chat = self._chats.get(bank)
        return chat if chat and chat.lines and at - chat.lines[-1].said_at <= SESSION_GAP else None

    def add(self, chat: Chat) -> None:
        """Hold a chat in place of an earlier one of its bank."""
        self._chats[chat.memory.bank] = chat
        while len(self._chats) > MAX_PRIVATE_CHATS:
            self._chats.popitem(last=False)

    def drop(self, bank: str) -> None:
        """Drop the chat of a bank, with what was said in it."""
        self._chats.pop(bank, None)

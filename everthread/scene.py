"""A scene: several characters and one person. Each character has a bank of its own, in which stands what it was present
for and nothing else; so none can tell what it did not hear.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from everthread.chat import Chat
from everthread.errors import BadInput, NotFound
from everthread.reply import Reply
from everthread.stores.text import unspaced
from everthread.types import Line


class Scene:
    """Those who are present hear every line, whoever says it.

    scene = Scene([captain, cook])          # two chats, each with its own character and bank
    scene.say("Who has seen the map?")
    print("".join(scene.reply("Cook")))     # the captain has heard it, too
    """

    def __init__(self, chats: Sequence[Chat]) -> None:
        """A scene with these present. BadInput where two share a name or a bank."""
        self._present: list[Chat] = []
        for chat in chats:
            self.enter(chat)

    @property
    def present(self) -> tuple[str, ...]:
        """The names of those who are there."""
        return tuple(chat.character.name for chat in self._present)

    def enter(self, chat: Chat) -> None:
        """Someone comes in, and hears what is said from now on."""
        for other in self._present:
            if other.character.name.casefold() == chat.character.name.casefold():
                raise BadInput(f"there are two called {chat.character.name!r}; give one of them another name")
            if other.memory.bank == chat.memory.bank and other.memory.store is chat.memory.store:
                raise BadInput(
                    f"{other.character.name} and {chat.character.name} share the bank {chat.memory.bank!r}, so each "
                    "would remember what only the other heard; open a bank for each"
                )
        self._present.append(chat)

    def leave(self, name: str) -> Chat:
        """Someone goes, and hears nothing more. NotFound if nobody of the name is there."""
        chat = self._named(name)
        self._present.remove(chat)
        return chat

    def say(self, text: str) -> list[Line]:
        """What the person says is kept by everybody present; the line in each one's bank. Raises as `Chat.reply`."""
        return [chat.hear(text, chat.character.person) for chat in self._present]

    def reply(self, name: str) -> Generator[str]:
        """What this character says to the scene as it stands, piece by piece. The others have heard it once it is over,
        as far as it came. Raises as `Reply`, and NotFound."""
        chat = self._named(name)
        return self._heard(chat, chat.answer())

    def _heard(self, chat: Chat, reply: Reply) -> Generator[str]:
        try:
            yield from reply
        finally:
            reply.stop()
            if reply.line is not None and not reply.refused:
                for other in self._present:
                    if other is not chat:
                        other.hear(reply.line.text, chat.character.name, of_character=True)

    def addressed(self, text: str) -> str:
        """Who should answer: whose name stands first in a text, else whoever is there and has not spoken for longest.
        NotFound in an empty scene."""
        found = {name: match.start() for name in self.present if (match := _called(name, text))}
        if found:
            return min(found, key=lambda name: found[name])
        if not self._present:
            raise NotFound("nobody is there who could answer; let someone enter")
        return max(self._present, key=_silent).character.name

    def _named(self, name: str) -> Chat:
        for chat in self._present:
            if chat.character.name.casefold() == name.strip().casefold():
                return chat
        there = ", ".join(self.present) or "nobody"
        raise NotFound(f"{name!r} is not there; present are: {there}")


def _called(name: str, text: str) -> re.Match[str] | None:
    """Where a text names someone: as a word of its own, unless the script has no spaces between words."""
    word = re.escape(name) if unspaced(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
    return re.search(word, text, re.IGNORECASE)


def _silent(chat: Chat) -> int:
    """How many lines were said since the character spoke last, or came."""
    spoken = [place for place, line in enumerate(chat.lines) if line.speaker == chat.character.name]
    return len(chat.lines) - (spoken[-1] if spoken else -1)

"""A scene: several characters and one person. Each character has a bank of its own, in which stands what it was present
for and nothing else; so none can tell what it did not hear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from everthread.chat import Chat
from everthread.errors import BadInput, NotFound
from everthread.reply import Reply
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

    def reply(self, name: str) -> Iterator[str]:
        """What this character says to the scene as it stands, piece by piece. The others have heard it once it is over,
        as far as it came. Raises as `Reply`, and NotFound."""
        chat = self._named(name)
        return self._heard(chat, chat.answer())

    def _heard(self, chat: Chat, reply: Reply) -> Iterator[str]:
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
        places = {name: text.casefold().find(name.casefold()) for name in self.present}
        named = [name for name in sorted(places, key=lambda name: places[name]) if places[name] >= 0]
        if named:
            return named[0]
        if not self._present:
            raise NotFound("nobody is there who could answer; let someone enter")
        return min(self._present, key=_last_spoken).character.name

    def _named(self, name: str) -> Chat:
        for chat in self._present:
            if chat.character.name.casefold() == name.strip().casefold():
                return chat
        there = ", ".join(self.present) or "nobody"
        raise NotFound(f"{name!r} is not there; present are: {there}")


def _last_spoken(chat: Chat) -> int:
    """Where in its own bank the character spoke last; 0 where it has not."""
    return max((line.seq for line in chat.lines if line.speaker == chat.character.name), default=0)

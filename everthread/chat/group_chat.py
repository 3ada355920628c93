"""A group chat: several characters and one user. Each character has its own bank, with the lines said in its presence.

A line is stored in one bank after the other. If one of them can't be written, the line is still stored in the others,
and then the first error is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence

from everthread.chat.addressee import find_last_spoken, find_named
from everthread.chat.character import is_same_name
from everthread.chat.chat import Chat
from everthread.chat.reply import Reply
from everthread.errors import BadInput, EverthreadError, NotFound
from everthread.types import Line


class GroupChat:
    """Distributes each line to all characters that are present.

    group = GroupChat([captain, cook])      # two chats, each with its own character and bank
    group.say("Who has seen the map?")
    print("".join(group.reply("Cook")))     # the captain's bank has the reply, too
    """

    def __init__(self, chats: Sequence[Chat]) -> None:
        """Begin with these characters. Raises BadInput if two share a name or a bank."""
        self._present: list[Chat] = []
        for chat in chats:
            self.enter(chat)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the characters that are present."""
        return tuple(chat.character.name for chat in self._present)

    def enter(self, chat: Chat) -> None:
        """Add a character, which gets all lines from now on. Raises BadInput if its name or bank is present already."""
        for other in self._present:
            for one, another in ((chat, other), (other, chat)):
                name, taken_names = one.character.name, (another.character.name, another.character.person)
                if any(is_same_name(name, taken) for taken in taken_names):
                    raise BadInput(f"two participants are named {name!r}; rename one of them")
            if (other.memory.bank, other.memory.store.location) == (chat.memory.bank, chat.memory.store.location):
                raise BadInput(
                    f"{other.character.name} and {chat.character.name} share the bank {chat.memory.bank!r}, so each "
                    "would remember what only the other heard; open a bank for each"
                )
        self._present.append(chat)

    def leave(self, name: str) -> Chat:
        """Remove a character, which gets no further lines. Raises NotFound if it is not present."""
        chat = self.chat(name)
        self._present.remove(chat)
        return chat

    def say(self, text: str) -> list[Line]:
        """Store what the user says in each bank, and return the lines. Raises the same errors as `Chat.add_line`."""
        return _broadcast(self._present, lambda chat: chat.add_line(text, chat.character.person))

    def reply(self, name: str) -> Generator[str]:
        """Stream a character's reply. When it ends, its text is stored in the other banks too, unless it was refused.
        Raises the same errors as `Reply`, and NotFound if the character is not present."""
        chat = self.chat(name)
        chat.responder.participants = [name for name in self.names if name != chat.character.name]
        return self._stream(chat, chat.answer())

    def _stream(self, chat: Chat, reply: Reply) -> Generator[str]:
        try:
            yield from reply
        finally:
            reply.stop()
            if (line := reply.line) is not None and not reply.refused:
                others = [other for other in self._present if other is not chat]
                _broadcast(others, lambda other: other.add_line(line.text, line.speaker, of_character=True))

    def find_addressee(self, text: str) -> str:
        """Return the name of the character that should answer a text: the first it names, else the longest silent.

        If one name begins with another, the longer one counts. Raises NotFound if no character is present.
        """
        if (named := find_named(text, self.names)) is not None:
            return named
        if not self._present:
            raise NotFound("no character is present to answer; add one with enter")
        return max(self._present, key=_count_lines_since_spoken).character.name

    def chat(self, name: str) -> Chat:
        """Return the chat of a character. Raises NotFound if it is not present."""
        for chat in self._present:
            if is_same_name(chat.character.name, name):
                return chat
        present = ", ".join(self.names) or "none"
        raise NotFound(f"{name!r} is not present; present: {present}")


def _broadcast(chats: Iterable[Chat], add: Callable[[Chat], Line]) -> list[Line]:
    """Add a line to each chat; raise the first error after all have been tried."""
    lines, errors = [], []
    for chat in chats:
        try:
            lines.append(add(chat))
        except EverthreadError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return lines


def _count_lines_since_spoken(chat: Chat) -> int:
    """Count the lines since the character spoke last, or entered."""
    return len(chat.lines) - find_last_spoken(chat.character.name, chat.lines)

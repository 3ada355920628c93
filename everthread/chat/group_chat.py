"""A scene: several characters and one person. Each character has a bank of its own, in which stands what it was present
for and nothing else; so none can tell what it did not hear.

A line is kept in one bank after the other. Where one of them can't be written, the others have the line all the same,
and the first error is raised then: what was said is missing from that bank alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence

from everthread.chat.chat import Chat
from everthread.chat.reply import Reply
from everthread.errors import BadInput, EverthreadError, NotFound
from everthread.text.analyzer import is_unspaced_script
from everthread.types import Line


class GroupChat:
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
    def names(self) -> tuple[str, ...]:
        """The names of those who are there."""
        return tuple(chat.character.name for chat in self._present)

    def enter(self, chat: Chat) -> None:
        """Someone comes in, and hears what is said from now on. BadInput for a name or a bank that is there already."""
        for other in self._present:
            for one, two in ((chat, other), (other, chat)):
                if _same(one.character.name, two.character.name) or _same(one.character.name, two.character.person):
                    raise BadInput(f"there are two called {one.character.name!r}; give one of them another name")
            if (other.memory.bank, other.memory.store.location) == (chat.memory.bank, chat.memory.store.location):
                raise BadInput(
                    f"{other.character.name} and {chat.character.name} share the bank {chat.memory.bank!r}, so each "
                    "would remember what only the other heard; open a bank for each"
                )
        self._present.append(chat)

    def leave(self, name: str) -> Chat:
        """Someone goes, and hears nothing more. NotFound if nobody of the name is there."""
        chat = self.chat(name)
        self._present.remove(chat)
        return chat

    def say(self, text: str) -> list[Line]:
        """What the person says is kept by everybody present; the line in each one's bank. Raises as `Chat.reply`."""
        return _broadcast(self._present, lambda chat: chat.add_line(text, chat.character.person))

    def reply(self, name: str) -> Generator[str]:
        """What this character says to the scene as it stands, piece by piece. The others have heard it once it is over,
        as far as it came; a refusal they don't hear. Raises as `Reply`, and NotFound."""
        chat = self.chat(name)
        chat.responder.participants = [name for name in self.names if name != chat.character.name]
        return self._overheard(chat, chat.answer())

    def _overheard(self, chat: Chat, reply: Reply) -> Generator[str]:
        try:
            yield from reply
        finally:
            reply.stop()
            if (line := reply.line) is not None and not reply.refused:
                others = [other for other in self._present if other is not chat]
                _broadcast(others, lambda other: other.add_line(line.text, line.speaker, of_character=True))

    def find_addressee(self, text: str) -> str:
        """Who should answer: whose name stands first in a text, else whoever is there and has not spoken for longest.
        Where one name begins with another, it is the longer. NotFound in an empty scene."""
        found = {name: (match.start(), -len(name)) for name in self.names if (match := _find_name(name, text))}
        if found:
            return min(found, key=lambda name: found[name])
        if not self._present:
            raise NotFound("nobody is there who could answer; let someone enter")
        return max(self._present, key=_turns_silent).character.name

    def chat(self, name: str) -> Chat:
        """The chat of someone who is there. NotFound if nobody of the name is."""
        for chat in self._present:
            if _same(chat.character.name, name):
                return chat
        there = ", ".join(self.names) or "nobody"
        raise NotFound(f"{name!r} is not there; present are: {there}")


def _broadcast(chats: Iterable[Chat], hear: Callable[[Chat], Line]) -> list[Line]:
    """The line in the bank of each; what goes wrong with one of them is raised once all the others have it."""
    lines, errors = [], []
    for chat in chats:
        try:
            lines.append(hear(chat))
        except EverthreadError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return lines


def _same(name: str, other: str) -> bool:
    return name.strip().casefold() == other.strip().casefold()


def _find_name(name: str, text: str) -> re.Match[str] | None:
    """Where a text names someone: as a word of its own, unless the script has no spaces between words."""
    word = re.escape(name) if is_unspaced_script(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
    return re.search(word, text, re.IGNORECASE)


def _turns_silent(chat: Chat) -> int:
    """How many lines were said since the character spoke last, or came."""
    spoken = [place for place, line in enumerate(chat.lines) if line.speaker == chat.character.name]
    return len(chat.lines) - (spoken[-1] if spoken else -1)

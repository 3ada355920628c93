"""The characters of a group whose chats are not open: their banks store what is said in the session of the same name.

Unlike `GroupChat`, which holds the open chats of a group, `Listeners` writes to banks only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from everthread.bank.settings import remember_policy
from everthread.chat.character import is_same_name
from everthread.chat.character_banks import character_name, person_name
from everthread.chat.chat import Chat
from everthread.chat.conversation import Conversation
from everthread.chat.reply import Reply
from everthread.common.keys import META_HEARD, SESSION_GROUP
from everthread.errors import BadInput, EverthreadError
from everthread.memory import Memory
from everthread.types import JSONValue, Line


class Listeners:
    """The banks of a group, in which each line of a chat is stored as well."""

    def __init__(self, chat: Chat, memories: Sequence[Memory]) -> None:
        """Gather a group.

        Args:
            chat: the chat of the character that replies.
            memories: the banks of the group in the order in which they are shown, with or without the chat's own.

        Raises:
            BadInput: two characters have the same name, or one of them is not to remember what is said.
        """
        own = chat.memory.bank
        self._members = [chat.memory if memory.bank == own else memory for memory in memories]
        if own not in [memory.bank for memory in memories]:
            self._members.insert(0, chat.memory)
        self._others = [memory for memory in self._members if memory.bank != own]
        self._check_names()
        for memory in self._members:
            if remember_policy(memory.settings()) is False or (memory.bank == own and chat.incognito):
                raise BadInput(
                    f"{_name(memory)} is not to remember this conversation, so it can't be in a group; turn off "
                    f"incognito, or set `remember` of bank {memory.bank!r} to always or ask"
                )

    def _check_names(self) -> None:
        for one, other in combinations(self._members, 2):
            if one.bank == other.bank:
                raise BadInput(f"the group has bank {one.bank!r} twice; name each bank once")
            if is_same_name(_name(one), _name(other)):
                raise BadInput(f"two characters of the group are named {_name(one)!r}; rename one of them")

    @property
    def names(self) -> list[str]:
        """The names of the other characters."""
        return list(map(_name, self._others))

    def say(self, chat: Chat, text: str, key: str | None = None) -> Reply:
        """Store what the user says in all banks, and return the reply of the chat's character.

        A goodbye is an ordinary line. Raises the same errors as `Chat.add_line` and `Chat.answer`.
        """
        chat.responder.check_fits()
        self.hear(chat.add_line(text, chat.character.person, key=key))
        return self.answer(chat)

    def answer(self, chat: Chat) -> Reply:
        """Return the reply of the chat's character. When it ends, the other banks store it too, unless it was refused.

        Raises the same errors as `Chat.answer`.
        """
        self._record(chat.session)
        reply = chat.answer()
        reply.on_saved = self.hear
        return reply

    def hear(self, line: Line) -> None:
        """Store a line in the other banks, except those that were forgotten while the reply was being written. If one
        of them can't be written, the others store it, and then the first error is raised."""
        if line.retracted_at is None:
            self._drop_forgotten()
            _try_each(self._others, lambda memory: _store_copy(memory, line))
            self._record(line.session)

    def _drop_forgotten(self) -> None:
        """Remove the other members whose banks don't exist any more; a line would create them again."""
        gone = [memory for memory in self._others if not memory.store.exists(memory.bank)]
        self._members = [memory for memory in self._members if memory not in gone]
        self._others = [memory for memory in self._others if memory not in gone]

    def _record(self, session: str) -> None:
        """Store in each bank who takes part in the session, if the bank has that session."""
        group: list[JSONValue] = [{"bank": memory.bank, "name": _name(memory)} for memory in self._members]

        def record(memory: Memory) -> None:
            found = next((stored for stored in memory.sessions() if stored.id == session), None)
            if found is not None and found.metadata.get(SESSION_GROUP) != group:
                memory.set_session(session, metadata={**found.metadata, SESSION_GROUP: group})

        _try_each(self._members, record)


def _name(memory: Memory) -> str:
    return character_name(memory.settings())


def _store_copy(memory: Memory, line: Line) -> None:
    conversation = Conversation(memory, line.session)
    of_character = line.role == "assistant"
    speaker = line.speaker if of_character else person_name(memory.settings())
    metadata: dict[str, JSONValue] = {META_HEARD: True} if of_character else {}
    conversation.add(conversation.new_line(line.text, speaker, line.role, line.said_at, metadata), defer_embedding=True)


def _try_each(memories: Iterable[Memory], act: Callable[[Memory], None]) -> None:
    """Call a function with each memory; raise the first error after all have been tried."""
    errors = []
    for memory in memories:
        try:
            act(memory)
        except EverthreadError as error:
            errors.append(error)
    if errors:
        raise errors[0]

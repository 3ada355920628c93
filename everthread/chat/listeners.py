"""The characters of a group whose chats are not open: their banks store what is said in the session of the same name.

Unlike `GroupChat`, which holds the open chats of a group, `Listeners` writes to banks only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from itertools import combinations

from everthread.bank.line_versions import get_recorded
from everthread.bank.settings import remember_policy
from everthread.chat.character import is_same_name
from everthread.chat.character_banks import character_name, person_name
from everthread.chat.chat import Chat
from everthread.chat.conversation import Conversation, find_session
from everthread.chat.heard_lines import discard_copies, edit_copy, edit_line, store_copy, try_each
from everthread.chat.line_copies import find_copy, read_listeners
from everthread.chat.prompt_builder import is_character_line
from everthread.chat.reply import Reply
from everthread.common.keys import SESSION_GROUP, SESSION_HEARD_BY
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.types import JSONValue, Line, Metadata


class Listeners:
    """The banks of a group, in which each line of a chat is stored as well, and changed when it is changed there."""

    def __init__(self, chat: Chat, memories: Sequence[Memory], former: Sequence[Memory] = ()) -> None:
        """Gather a group.

        Args:
            chat: the chat of the character that replies.
            memories: the banks of the group in the order in which they are shown, with or without the chat's own.
            former: banks of characters that have left; lines that they heard are changed there, too.

        Raises:
            BadInput: two characters have the same name, or one of them is not to remember what is said.
        """
        own, self._user = chat.memory.bank, chat.character.person
        self._members = [chat.memory if memory.bank == own else memory for memory in memories]
        if own not in [memory.bank for memory in memories]:
            self._members.insert(0, chat.memory)
        self._others = [memory for memory in self._members if memory.bank != own]
        self._former = list(former)
        self._check_names()
        for memory in self._members:
            if remember_policy(memory.settings()) is False or (memory.bank == own and chat.incognito):
                raise BadInput(
                    f"{_name(memory)} is not to remember this conversation, so it can't be in a group; turn off "
                    f"incognito, or set `remember` of bank {memory.bank!r} to always or ask",
                    reason="group-incognito",
                    values={"name": _name(memory)},
                )

    def _check_names(self) -> None:
        for one, other in combinations(self._members, 2):
            if one.bank == other.bank:
                raise BadInput(f"the group has bank {one.bank!r} twice; name each bank once")
            if is_same_name(_name(one), _name(other)):
                raise BadInput(
                    f"two characters of the group are named {_name(one)!r}; rename one of them",
                    reason="group-names",
                    values={"name": _name(one)},
                )

    @property
    def names(self) -> list[str]:
        """The names of the other characters."""
        return list(map(_name, self._others))

    def say(
        self,
        chat: Chat,
        text: str,
        key: str | None = None,
        *,
        speaker: str | None = None,
        said_at: datetime | None = None,
        metadata: Metadata | None = None,
    ) -> Reply:
        """Store what the user says in all banks, and return the reply of the chat's character.

        A goodbye is an ordinary line. Raises the same errors as `Chat.add_line` and `Chat.answer`.

        Args:
            chat: the chat of the character that replies.
            text: what the user says.
            key: as for `Chat.reply`.
            speaker: the name of the user, if several people talk with the group; default: the person's.
            said_at: the time of the line; default: now.
            metadata: of the line.
        """
        chat.responder.check_fits()
        self.hear(chat.add_line(text, speaker or self._user, key=key, said_at=said_at, metadata=metadata))
        return self.answer(chat)

    def answer(self, chat: Chat) -> Reply:
        """Return the reply of the chat's character. When it ends, the other banks store it too, unless it was refused.

        Raises the same errors as `Chat.answer`.
        """
        self._record(chat.session)
        reply = chat.answer()
        reply.on_saved = self._hear_later(chat.session)
        return reply

    def regenerate(self, chat: Chat) -> Reply:
        """Return another reply in place of the last one, if the chat's character said that, also in the other banks.

        Raises the same errors as `Chat.regenerate`.
        """
        chat.refresh()
        replaced = [line for line in chat.lines[-1:] if is_character_line(line)]
        self._record(chat.session)
        reply = chat.regenerate()
        reply.on_saved = self._hear_later(chat.session, replaced)
        return reply

    def edit(self, chat: Chat, seq: int, text: str, *, answer: bool = True) -> Reply | None:
        """Replace the text of a line, and discard the lines after it, in all banks.

        Returns the reply of the chat's character, and raises errors, as `Chat.edit` does.
        """
        reply, removed = edit_line(chat, seq, text, answer=answer)
        edited = chat.lines[-1]
        self._each_other(
            lambda memory: edit_copy(
                Conversation(memory, edited.session), removed, edited, self._name_user(memory, edited)
            ),
            lambda memory: edit_copy(Conversation(memory, edited.session), removed, edited),
        )
        self._record(chat.session)
        if reply is not None:
            reply.on_saved = self._hear_later(edited.session)
        return reply

    def undo(self, chat: Chat) -> None:
        """Discard the user's last line and all lines after it in all banks. Raises the same errors as `Chat.undo`."""
        removed = chat.undo()
        self._each_other(lambda memory: discard_copies(Conversation(memory, chat.session), removed))

    def branch(self, chat: Chat, seq: int) -> None:
        """Continue from a line, which may be a discarded one, in all banks.

        Raises the same errors as `Chat.branch`, and BadQuery if a line that led to it was forgotten in one of them.
        """
        chat.refresh()
        line = get_recorded(chat.memory.store, chat.memory.bank, seq)
        removed = chat.branch(seq)

        def follow(memory: Memory) -> None:
            copy = find_copy(memory.store, memory.bank, line) if line else None
            if copy is None:
                discard_copies(Conversation(memory, chat.session), removed)
            else:
                Conversation(memory, chat.session).branch(copy.seq)

        self._each_other(follow)

    def hear(self, line: Line, replaced: Sequence[Line] = ()) -> None:
        """Store a line in the other banks, except those that were forgotten while the reply was being written. If one
        of them can't be written, the others store it, and then the first error is raised.

        Args:
            line: the line.
            replaced: lines that it replaces.
        """
        if line.retracted_at is None:
            self._each_other(
                lambda memory: store_copy(
                    Conversation(memory, line.session), line, self._name_user(memory, line), replaced
                ),
                lambda memory: discard_copies(Conversation(memory, line.session), replaced),
            )
            self._record(line.session)

    def _hear_later(self, session: str, replaced: Sequence[Line] = ()) -> Callable[[Line], None]:
        """Return a function that stores a reply in the other banks once it is saved, except in those in which the
        session was forgotten while it was being written: it may quote what was forgotten."""
        heard = [memory for memory in self._others if find_session(memory, session) is not None]

        def hear(line: Line) -> None:
            self._drop_forgotten()
            self._remove(
                [memory for memory in heard if memory in self._others and find_session(memory, session) is None]
            )
            self.hear(line, replaced)

        return hear

    def _each_other(self, act: Callable[[Memory], None], act_on_former: Callable[[Memory], None] | None = None) -> None:
        """Call a function with each other member, and one with each former member (None: the same)."""
        self._drop_forgotten()
        former = {memory.bank for memory in self._former}
        try_each(
            [*self._others, *self._former],
            lambda memory: (act_on_former or act if memory.bank in former else act)(memory),
        )

    def _name_user(self, memory: Memory, line: Line) -> str:
        """Return the speaker of a user's line in a bank: the person, as named there, or another one."""
        return person_name(memory.settings()) if line.speaker == self._user else line.speaker

    def _drop_forgotten(self) -> None:
        """Remove the others whose banks don't exist any more; a line would create them again."""
        self._remove([memory for memory in (*self._others, *self._former) if not memory.store.exists(memory.bank)])

    def _remove(self, gone: Collection[Memory]) -> None:
        self._members = [memory for memory in self._members if memory not in gone]
        self._others = [memory for memory in self._others if memory not in gone]
        self._former = [memory for memory in self._former if memory not in gone]

    def _record(self, session: str) -> None:
        """Store in each bank who takes part in the session, and who heard some of it, if the bank has that session."""
        group: list[JSONValue] = [{"bank": memory.bank, "name": _name(memory)} for memory in self._members]
        listening = [memory.bank for memory in (*self._members, *self._former)]

        def record(memory: Memory) -> None:
            found = find_session(memory, session)
            if found is None:
                return
            heard_by: list[JSONValue] = list(dict.fromkeys([*read_listeners(found.metadata), *listening]))
            changes: Metadata = {SESSION_GROUP: group, SESSION_HEARD_BY: heard_by}
            if any(found.metadata.get(name) != value for name, value in changes.items()):
                memory.set_session(session, metadata=changes)

        try_each(self._members, record)


def _name(memory: Memory) -> str:
    return character_name(memory.settings())

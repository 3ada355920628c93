"""A group chat: several characters and one user. Each character has its own bank, with the lines said in its presence.

A line is stored in one bank after the other. If one of them can't be written, the line is still stored in the others,
and then the first error is raised. A change of a line changes its copies in all banks in which it was heard, those of
characters that have left included, unless their chats were closed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from everthread.bank.settings import remember_policy
from everthread.chat.addressee import find_last_spoken, find_named
from everthread.chat.character import is_same_name
from everthread.chat.chat import Chat
from everthread.chat.heard_lines import discard_copies, edit_copy, edit_line, store_copy, try_each
from everthread.chat.line_copies import find_copy, is_copy
from everthread.chat.reply import Reply
from everthread.errors import BadInput, BadQuery, NotFound
from everthread.types import EndResult, Line, Receipt


class GroupChat:
    """Distributes each line to all characters that are present.

    group = GroupChat([captain, cook])      # two chats, each with its own character and bank
    group.say("Who has seen the map?")
    print("".join(group.reply("Cook")))     # the captain's bank has the reply, too
    """

    def __init__(self, chats: Sequence[Chat]) -> None:
        """Begin with these characters. Raises BadInput if two share a name or a bank."""
        self._present: list[Chat] = []
        self._former: list[Chat] = []  # of characters that have left
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
        self._former = [other for other in self._former if other is not chat]

    def leave(self, name: str) -> Chat:
        """Remove a character, which gets no further lines. Raises NotFound if it is not present."""
        chat = self.chat(name)
        self._present.remove(chat)
        self._former.append(chat)
        return chat

    @property
    def lines(self) -> list[Line]:
        """The lines of the conversation with their numbers, as the present character that heard most of it has them."""
        chat = self._find_fullest()
        return chat.lines if chat else []

    def list_versions(self, lines: Sequence[Line]) -> list[Line]:
        """Return lines of `lines` with their earlier and later versions, all of which `forget` removes."""
        chat = self._find_fullest()
        return chat.list_versions(lines) if chat else []

    def _find_fullest(self) -> Chat | None:
        """Return the chat of the present character that heard most of the conversation."""
        return max(self._present, key=lambda chat: len(chat.lines), default=None)

    def say(self, text: str) -> list[Line]:
        """Store what the user says in each bank, and return the lines. Raises the same errors as `Chat.add_line`."""
        lines: list[Line] = []

        def hear(chat: Chat) -> None:
            if lines:
                _hear(chat, lines[0])
                lines.append(chat.lines[-1])
            else:
                lines.append(chat.add_line(text, chat.character.person))

        try_each(self._present, hear)
        return lines

    def reply(self, name: str) -> Generator[str]:
        """Stream a character's reply. When it ends, its text is stored in the other banks too, unless it was refused.
        Raises the same errors as `Reply`, and NotFound if the character is not present."""
        chat = self.chat(name)
        chat.responder.participants = [name for name in self.names if name != chat.character.name]
        return self._stream(chat, chat.answer())

    def regenerate(self) -> Generator[str]:
        """Stream another reply in place of the last one, in all banks.

        Raises the same errors as `reply`, and BadQuery if the last line is no reply of a character that is present.
        """
        last = self.lines[-1] if self.lines else None
        if last is None or last.role != "assistant":
            raise BadQuery("there is no reply yet to regenerate; say something first")
        chat = self.chat(last.speaker)
        chat.responder.participants = [name for name in self.names if name != chat.character.name]
        return self._stream(chat, chat.regenerate(), [last])

    def _stream(self, chat: Chat, reply: Reply, replaced: Sequence[Line] = ()) -> Generator[str]:
        try:
            yield from reply
        finally:
            reply.stop()
            if (line := reply.line) is not None and not reply.refused:
                self._each_other(
                    chat,
                    lambda other: _hear(other, line, replaced),
                    lambda former: discard_copies(former.conversation, replaced),
                )

    # ------------------------------------------------------------------- changes

    def undo(self) -> list[Line]:
        """Discard the user's last line and all lines after it in all banks. Return them as `lines` had them."""
        chat = next((chat for chat in self._present if chat.lines == self.lines), None)
        removed = chat.undo() if chat else []
        if chat and removed:
            self._each_other(chat, lambda other: discard_copies(other.conversation, removed))
        return removed

    def branch(self, line: Line) -> list[Line]:
        """Continue from a line, which may be a discarded one, in all banks. Return the lines that this discards.

        Args:
            line: the line, as any of the banks has it.

        Raises:
            NotFound: no character that is present heard the line.
            EverthreadError: the same errors as `Chat.branch`.
        """
        present = sorted(self._present, key=lambda chat: len(chat.lines), reverse=True)
        found = ((chat, _find_recorded(chat, line)) for chat in present)
        chat, own = next(((chat, copy) for chat, copy in found if copy is not None), (None, None))
        if chat is None or own is None:
            raise _unheard(line)
        removed = chat.branch(own.seq)

        def follow(other: Chat) -> None:
            if (copy := _find_recorded(other, line)) is None:
                discard_copies(other.conversation, removed)
            else:
                other.branch(copy.seq)

        self._each_other(chat, follow)
        return removed

    def end(self, remember: bool | None = None) -> list[EndResult]:
        """End the conversation in all banks; the next line begins another.

        Args:
            remember: as for `Chat.end`.

        Returns:
            How it ended in each bank. If the user has to be asked first for one of them, nothing is changed, and the
            only result has the question.
        """
        chats = self._list_open()
        for chat in chats if remember is None else ():
            if remember_policy(chat.memory.settings()) is None and (ending := chat.end()).question:
                return [ending]
        endings: list[EndResult] = []
        try_each(chats, lambda chat: endings.append(chat.end(remember)))
        return endings

    def edit(self, line: Line, text: str) -> None:
        """Replace the text of a line, and discard the lines after it, in all banks. `reply` then answers it.

        Args:
            line: the line, as any of the banks has it.
            text: the new text.

        Raises:
            NotFound: no character that is present heard the line.
            EverthreadError: the same errors as `Chat.edit`.
        """
        chat, own = self._find_heard(line)
        _, removed = edit_line(chat, own.seq, text, answer=False)
        edited = chat.lines[-1]
        self._each_other(
            chat,
            lambda other: edit_copy(other.conversation, removed, edited, other.character.person),
            lambda former: edit_copy(former.conversation, removed, edited),
        )

    def correct(self, line: Line, text: str) -> list[Line]:
        """Replace the text of a line in all banks in which it was heard, and nothing else. Return the new lines.

        Raises the same errors as `Memory.correct`, and NotFound as `edit` does.
        """
        corrected: list[Line] = []

        def act(chat: Chat, copy: Line) -> None:
            corrected.append(chat.memory.correct(copy.seq, text))
            chat.refresh()

        self._each_copy(line, act)
        return corrected

    def forget(self, line: Line) -> list[Receipt]:
        """Remove a line permanently from all banks in which it was heard. Return the receipt of each.

        Raises the same errors as `Chat.forget`, and NotFound as `edit` does.
        """
        receipts: list[Receipt | None] = []
        self._each_copy(line, lambda chat, copy: receipts.append(chat.forget(copy.seq)))
        return [receipt for receipt in receipts if receipt is not None]

    def _find_heard(self, line: Line) -> tuple[Chat, Line]:
        """Return the first chat with a character that is present and heard a line, and its copy of the line."""
        for chat in self._present:
            if (copy := _find_copy(chat, line)) is not None:
                return chat, copy
        raise _unheard(line)

    def _each_copy(self, line: Line, act: Callable[[Chat, Line], object]) -> None:
        """Call a function with each chat in which a line was heard, and its copy."""
        self._find_heard(line)
        found = [(chat, _find_copy(chat, line)) for chat in self._list_open()]
        try_each([(chat, copy) for chat, copy in found if copy is not None], lambda pair: act(*pair))

    def _each_other(
        self, chat: Chat, act: Callable[[Chat], object], act_on_former: Callable[[Chat], object] | None = None
    ) -> None:
        """Call a function with each other chat, and one with those of characters that have left (None: the same)."""

        def follow(other: Chat) -> None:
            other.refresh()
            (act if other in self._present or act_on_former is None else act_on_former)(other)

        try_each([other for other in self._list_open() if other is not chat], follow)

    def _list_open(self) -> list[Chat]:
        """List the chats of all characters, except those that have left and were closed."""
        return [*self._present, *(chat for chat in self._former if not chat.is_closed)]

    # ----------------------------------------------------------------- addressees

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


def _hear(chat: Chat, line: Line, replaced: Sequence[Line] = ()) -> None:
    """Store a line that was said in another chat."""
    chat.refresh()
    store_copy(chat.conversation, line, chat.character.person, replaced)


def _find_copy(chat: Chat, line: Line) -> Line | None:
    return next((copy for copy in chat.lines if is_copy(copy, line)), None)


def _find_recorded(chat: Chat, line: Line) -> Line | None:
    """Find the copy of a line in a chat, also a discarded one."""
    session_line = replace(line, session=chat.session)
    return _find_copy(chat, line) or find_copy(chat.memory.store, chat.memory.bank, session_line)


def _unheard(line: Line) -> NotFound:
    return NotFound(f"no character that is present heard the line {line.seq}; `lines` has those that can be changed")


def _count_lines_since_spoken(chat: Chat) -> int:
    """Count the lines since the character spoke last, or entered."""
    return len(chat.lines) - find_last_spoken(chat.character.name, chat.lines)

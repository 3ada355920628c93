"""Changes the copies of a line of a group chat, in the conversations of the other characters that heard it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from everthread.chat.character_banks import person_name
from everthread.chat.chat import Chat
from everthread.chat.conversation import Conversation
from everthread.chat.line_copies import is_copy
from everthread.chat.reminders import Reminders
from everthread.chat.reply import Reply
from everthread.common.keys import META_HEARD
from everthread.errors import EverthreadError
from everthread.types import JSONValue, Line

T = TypeVar("T")


def store_copy(conversation: Conversation, line: Line, person: str, replaced: Sequence[Line] = ()) -> None:
    """Store a copy of a line, in place of the copies of those that it replaces. `person` is the user's name there."""
    _replace_from(conversation, _find_first(conversation, replaced), line, person)


def edit_line(chat: Chat, seq: int, text: str, *, answer: bool) -> tuple[Reply | None, list[Line]]:
    """Edit a line of a chat; return the reply to it and the discarded lines, the edited one first.

    Raises the same errors as `Chat.edit`.
    """
    chat.refresh()
    before = list(chat.lines)
    reply = chat.edit(seq, text, answer=answer)
    remaining = {line.seq for line in chat.lines}
    return reply, [line for line in before if line.seq not in remaining]


def edit_copy(conversation: Conversation, removed: Sequence[Line], edited: Line, person: str | None = None) -> None:
    """Edit the copy of a line as the line was edited, and discard the lines after it.

    Args:
        conversation: the conversation with the copy.
        removed: the lines that the edit discarded, the edited one first.
        edited: the new line.
        person: the user's name in the conversation, for a character that takes part: without a copy it hears the line
            for the first time. None: it doesn't.
    """
    start = _find_first(conversation, removed)
    if any(is_copy(line, removed[0]) for line in conversation.lines[start : start + 1]):
        discarded = conversation.lines[start:]
        conversation.edit(start, edited.text, edited.said_at, _copied_metadata(edited))
        _discard_reminders(conversation, discarded)
    else:
        _replace_from(conversation, start, edited if person is not None else None, person or "")


def discard_copies(conversation: Conversation, removed: Sequence[Line]) -> None:
    """Discard the copies of lines that were discarded, and what was said after the first of them."""
    _replace_from(conversation, _find_first(conversation, removed), None, "")


def _find_first(conversation: Conversation, lines: Sequence[Line]) -> int:
    """Return the position of the first copy of one of the lines; without copies, the position after the last line."""
    copies = (n for n, line in enumerate(conversation.lines) if any(is_copy(line, other) for other in lines))
    return next(copies, len(conversation.lines))


def _replace_from(conversation: Conversation, start: int, line: Line | None, person: str) -> None:
    """Discard the lines from a position on, and store a copy of a line in their place, if one is given."""
    discarded = conversation.lines[start:]
    if line is None:
        conversation.truncate(start)
    else:
        speaker = line.speaker if line.role == "assistant" else person
        by_person = line.role == "user" and person == person_name(conversation.memory.settings())
        copy = conversation.new_line(line.text, speaker, line.role, line.said_at, _copied_metadata(line))
        conversation.add(copy, replacing=discarded, defer_embedding=True, by_person=by_person)
    _discard_reminders(conversation, discarded)


def _copied_metadata(line: Line) -> dict[str, JSONValue]:
    return {META_HEARD: True} if line.role == "assistant" else {}


def _discard_reminders(conversation: Conversation, removed: Sequence[Line]) -> None:
    if removed and not conversation.incognito:
        Reminders(conversation.memory).record(conversation.lines, removed)


def try_each(items: Iterable[T], act: Callable[[T], object]) -> None:
    """Call a function with each item; raise the first error after all have been tried."""
    errors = []
    for item in items:
        try:
            act(item)
        except EverthreadError as error:
            errors.append(error)
    if errors:
        raise errors[0]

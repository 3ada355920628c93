"""Finds what the person said in the conversation that a request contains, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from everthread.server.proxy.front_end_tasks import is_final_task, is_quiet_prompt, is_task, is_task_instruction
from everthread.server.proxy.message_text import META_MESSAGE_ID, ChatMessage
from everthread.server.proxy.question_template import find_question
from everthread.types import Metadata

META_OTHER_PARTS = "other_parts"  # the number of parts of a message without words, such as pictures

EntryRole = Literal["user", "assistant", "instruction", "result", "remark", "other"]


class Entry(NamedTuple):
    """A message, or another item of the conversation in a request.

    Attributes:
        role: its author: instructions are the program's, results are those of tools, and a remark is the program's
            about the message before it.
        text: its words, without memories.
        name: of the speaker; None: the role.
        calls_tools: whether the assistant calls tools in it.
        other_parts: the number of its parts without words.
        message_id: its id.
        is_reference: whether it is a reply of the assistant of which only the id is given.
    """

    role: EntryRole
    text: str = ""
    name: str | None = None
    calls_tools: bool = False
    other_parts: int = 0
    message_id: str = ""
    is_reference: bool = False

    @property
    def has_words(self) -> bool:
        """True if something is said in it."""
        return self.is_reference or not (self.text == "" or self.text.isspace())

    @property
    def continues_turn(self) -> bool:
        """True if the person's turn continues with it: for calls of tools, their results, and remarks."""
        return self.role in ("result", "remark") or (self.role == "assistant" and self.calls_tools)

    @property
    def begins_reply(self) -> bool:
        """True if, at the end of a request, it is the beginning of the reply."""
        return self.role == "assistant" and not self.calls_tools and bool(self.text.strip())

    def to_message(self, metadata: Metadata) -> ChatMessage | None:
        """Return the message of the person or the assistant; None if it is another's, or has no words.

        A reference becomes a message without text.

        Args:
            metadata: of each message.
        """
        if self.role not in ("user", "assistant") or not self.has_words:
            return None
        if self.other_parts or self.message_id:
            parts = {META_OTHER_PARTS: self.other_parts} if self.other_parts else {}
            metadata = {**metadata, **parts, **({META_MESSAGE_ID: self.message_id} if self.message_id else {})}
        text = find_question(self.text) if self.role == "user" else self.text
        return ChatMessage(self.role, text, self.name, metadata)


@dataclass(frozen=True, slots=True)
class PersonTurn:
    """The person's newest message, with the conversation before it.

    Attributes:
        messages: the messages with words of the person and the assistant; the last is the newest of the person. Empty
            if the request has nothing new but results of tools.
        index: the position of the newest message in the request.
        continues: whether tools have been called since, so that the request continues the turn.
        upstream_has_history: whether the request leaves out what was said before, because the upstream has it.
        response: the id of the response that it continues, if the upstream has the history.
        has_words: whether the newest message has words; without, such as one that is a picture, it is not in messages.
        beginning: the beginning of the reply, which the client gives.
        is_retry: whether the client sends the request again, because it got no answer.
    """

    messages: list[ChatMessage]
    index: int
    continues: bool
    upstream_has_history: bool = False
    response: str = ""
    has_words: bool = True
    beginning: str = ""
    is_retry: bool = False

    @property
    def text(self) -> str:
        """The text of the newest message."""
        return self.messages[-1].text if self.messages else ""


def join_results(entries: Sequence[Entry]) -> list[Entry]:
    """Return the conversation with the results of tools complete: a picture that follows them belongs to them.

    Args:
        entries: the conversation.
    """
    if all(entry.role != "result" for entry in entries):
        return list(entries)
    joined: list[Entry] = []
    follows_result = False
    for entry in entries:
        is_part = follows_result and entry.role == "user" and entry.other_parts > 0 and not entry.has_words
        joined.append(Entry("result") if is_part else entry)
        follows_result = joined[-1].role == "result" or (follows_result and entry.role in ("instruction", "remark"))
    return joined


def find_turn(entries: list[Entry], metadata: Metadata) -> PersonTurn | None:
    """Find the person's newest message.

    Args:
        entries: the conversation.
        metadata: of each message.

    Returns:
        The turn; None if the person has said nothing: the request is a task of a front end, ends with a quiet prompt,
        or with another message than the person's, instructions, the results of tools, or the beginning of the reply.
    """
    index = next((place for place in reversed(range(len(entries))) if entries[place].role == "user"), None)
    if index is None:
        return None
    later = entries[index + 1 :]
    beginning = later.pop().text if later and later[-1].begins_reply else ""
    if not all(entry.continues_turn or entry.role == "instruction" for entry in later):
        return None
    if any(entry.role == "instruction" and is_quiet_prompt(entry.text) for entry in later):
        return None
    if any(entry.role == "instruction" and is_task_instruction(entry.text) for entry in entries[:index]):
        return None
    newest = entries[index].to_message(metadata)
    continues = any(entry.continues_turn for entry in later)
    messages = list(_read_messages(entries[:index], metadata))
    if newest is None:
        is_unworded = entries[index].other_parts > 0 and not beginning
        return PersonTurn(messages, index, continues, has_words=False) if is_unworded else None
    is_only = all(entry.role in ("instruction", "remark") for entry in (*entries[:index], *later))
    if is_final_task(newest.text) or (is_only and is_task(newest.text)):
        return None
    return PersonTurn([*messages, newest], index, continues, beginning=beginning)


def find_continued_reply(entries: Sequence[Entry]) -> list[ChatMessage] | None:
    """Return the messages with words if the last is the assistant's, which the reply continues; else None."""
    if not entries or not entries[-1].begins_reply:
        return None
    return list(_read_messages(entries, {}))


def _read_messages(entries: Sequence[Entry], metadata: Metadata) -> Iterator[ChatMessage]:
    """Read the messages with words. Words before a call of a tool count only if no later words end the turn."""
    calls = any(entry.calls_tools for entry in entries)
    followed = _are_followed_by_words(entries) if calls else [False] * len(entries)
    for entry, is_followed in zip(entries, followed, strict=True):
        if entry.calls_tools and entry.role == "assistant" and is_followed:
            continue
        if (message := entry.to_message(metadata)) is not None:
            yield message


def _are_followed_by_words(entries: Sequence[Entry]) -> list[bool]:
    """Return for each entry whether the assistant says something after it before the person does."""
    followed, is_followed = [], False
    for entry in reversed(entries):
        followed.append(is_followed)
        if entry.role == "user":
            is_followed = False
        elif entry.role == "assistant" and entry.has_words:
            is_followed = True
    return followed[::-1]

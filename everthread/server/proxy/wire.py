"""Reads the body of a request for a chat completion: its messages, and the client's hints about bank and session.

Source: OpenAI's API reference, "Create chat completion". Fields that are not named here are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from everthread.errors import BadInput
from everthread.server.proxy.front_end_tasks import is_task
from everthread.server.proxy.memory_block import without_block
from everthread.server.proxy.message_text import ChatMessage
from everthread.server.proxy.raw_json import Scanner, Span
from everthread.types import Metadata

OPTIONS_FIELD = "everthread"  # of the body: options for SDKs that can't send headers
METADATA_FIELD = "metadata"
TEXT_PARTS = ("text", "input_text", "output_text")
INSTRUCTION_ROLES = ("system", "developer")
RESULT_ROLES = ("tool", "function")
MAX_MESSAGES = 20_000  # of a request; a longer one is not read
META_OTHER_PARTS = "other_parts"  # the number of parts of a message without words, such as pictures
META_MESSAGE_ID = "message_id"  # the client's


@dataclass(frozen=True, slots=True)
class BodyOptions:
    """The options in the body's field `everthread`; None where one is not given."""

    bank: str | None = None
    session: str | None = None
    memory: bool | None = None
    budget: int | None = None

    @classmethod
    def parse(cls, value: object) -> BodyOptions:
        """Parse the value of the field.

        Raises:
            BadInput: it is not an object, or has an unknown or invalid member.
        """
        if value is None:
            return cls()
        if not isinstance(value, dict):
            raise BadInput(f"invalid {OPTIONS_FIELD}: got {str(value)[:40]!r}, expected an object")
        types = {"bank": str, "session": str, "memory": bool, "budget": int}
        for name, option in value.items():
            if name not in types:
                expected = ", ".join(types)
                raise BadInput(f"unknown member {name[:40]!r} of {OPTIONS_FIELD}; expected one of {expected}")
            if option is not None and type(option) is not types[name]:
                raise BadInput(
                    f"invalid {OPTIONS_FIELD}.{name}: got {str(option)[:40]!r}, expected a {types[name].__name__}"
                )
        if (budget := value.get("budget")) is not None and budget < 1:
            raise BadInput(f"invalid {OPTIONS_FIELD}.budget: got {budget}, expected a number of tokens from 1")
        return cls(**value)


@dataclass(frozen=True, slots=True)
class PersonTurn:
    """The person's newest message, with the conversation before it.

    Attributes:
        messages: the messages with words of the person and the assistant; the last is the newest of the person.
        index: the position of the newest message in the request.
        continues: whether tools have been called since, so that the request continues the turn.
    """

    messages: list[ChatMessage]
    index: int
    continues: bool

    @property
    def text(self) -> str:
        """The text of the newest message."""
        return self.messages[-1].text


@dataclass(frozen=True)
class ChatRequest:
    """A request for a chat completion.

    Attributes:
        body: the body as it was sent.
        text: the same as text.
        members: the members of the body; that of the messages has no value.
        messages: the messages, with their positions.
    """

    body: bytes
    text: str
    members: dict[str, Span]
    messages: list[Span]

    @classmethod
    def parse(cls, body: bytes) -> ChatRequest:
        """Parse a body.

        Raises:
            ValueError, RecursionError: it is not an object with an array of messages, or there are more than
                MAX_MESSAGES.
        """
        text = body.decode()
        scanner = Scanner(text)
        members: dict[str, Span] = {}
        messages: list[Span] = []
        for name, start in scanner.read_names():
            if name in members:
                raise ValueError(f"two members are named {name}")
            if name == "messages":
                messages = scanner.read_items(MAX_MESSAGES)
                members[name] = Span(start, scanner.at, None, start)
            else:
                members[name] = scanner.read_value(start)
        scanner.require_end()
        if not messages or not all(isinstance(message.value, dict) for message in messages):
            raise ValueError("no messages")
        return cls(body, text, members, messages)

    def get(self, name: str) -> Any:
        """Return the value of a member, or None."""
        return self.members[name].value if name in self.members else None

    def get_text(self, name: str) -> str:
        """Return the value of a member that is a text, or an empty text."""
        return _text(self.get(name))

    def get_metadata(self, name: str) -> str:
        """Return a text in the metadata, or an empty text."""
        metadata = self.get(METADATA_FIELD)
        return _text(metadata.get(name)) if isinstance(metadata, dict) else ""

    def find_session(self) -> str:
        """Return the session that a field of other front ends names, or an empty text."""
        conversation = self.get("conversation")
        named = _text(conversation.get("id")) if isinstance(conversation, dict) else _text(conversation)
        return named or self.get_text("session_id") or self.get_metadata("session_id")

    def find_continued_reply(self) -> list[ChatMessage] | None:
        """Return the messages with words if the last is the assistant's, which the reply continues; else None."""
        values = [message.value for message in self.messages]
        if values[-1].get("role") != "assistant" or calls_tools(values[-1]) or _read_message(values[-1], {}) is None:
            return None
        return list(_read_history(values, {}))

    def find_turn(self, metadata: Metadata) -> PersonTurn | None:
        """Find the person's newest message.

        Args:
            metadata: of each message.

        Returns:
            The turn; None if the person has said nothing: the request is a task of a front end, or ends with another
            message than the person's or the results of tools.
        """
        values = [message.value for message in self.messages]
        said = [index for index, value in enumerate(values) if value.get("role") == "user"]
        if not said or not all(_belongs_to_tools(value) for value in values[said[-1] + 1 :]):
            return None
        index = said[-1]
        newest = _read_message(values[index], metadata)
        if newest is None or (_is_only_message(values) and is_task(newest.text)):
            return None
        return PersonTurn([*_read_history(values[:index], metadata), newest], index, index < len(values) - 1)


def read_content(content: object) -> tuple[str, int]:
    """Return the text of a message's content, and the number of its parts without words."""
    if not isinstance(content, list):
        return _text(content), 0
    texts = [
        part["text"]
        for part in content
        if isinstance(part, dict) and part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str)
    ]
    return "\n".join(texts), len(content) - len(texts)


def calls_tools(message: dict[str, Any]) -> bool:
    """Return whether a message of the assistant calls tools."""
    return bool(message.get("tool_calls") or message.get("function_call"))


def _read_history(values: Sequence[dict[str, Any]], metadata: Metadata) -> Iterator[ChatMessage]:
    """Read the messages with words. Words before a call of a tool count only if no later words end the turn."""
    for value, is_followed in zip(values, _are_followed_by_words(values), strict=True):
        if value.get("role") == "assistant" and calls_tools(value) and is_followed:
            continue
        if (message := _read_message(value, metadata)) is not None:
            yield message


def _are_followed_by_words(values: Sequence[dict[str, Any]]) -> list[bool]:
    """Return for each message whether the assistant says something after it before the person does."""
    followed, is_followed = [], False
    for value in reversed(values):
        followed.append(is_followed)
        if value.get("role") == "user":
            is_followed = False
        elif value.get("role") == "assistant" and read_content(value.get("content"))[0].strip():
            is_followed = True
    return followed[::-1]


def _read_message(value: dict[str, Any], metadata: Metadata) -> ChatMessage | None:
    """Return a message of the person or the assistant; None if it is another's, or has no words."""
    role = value.get("role")
    text, others = read_content(value.get("content"))
    text = without_block(text)
    if role not in ("user", "assistant") or not text.strip():
        return None
    message_id = _text(value.get("id"))
    if others or message_id:
        parts = {META_OTHER_PARTS: others} if others else {}
        metadata = {**metadata, **parts, **({META_MESSAGE_ID: message_id} if message_id else {})}
    return ChatMessage(role, text, _text(value.get("name")).strip() or None, metadata)


def _belongs_to_tools(message: dict[str, Any]) -> bool:
    role = message.get("role")
    return role in RESULT_ROLES or (role == "assistant" and calls_tools(message))


def _is_only_message(values: Sequence[dict[str, Any]]) -> bool:
    return sum(value.get("role") not in INSTRUCTION_ROLES for value in values) == 1


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

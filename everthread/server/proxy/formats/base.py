"""A request to a language model: what the proxy reads of its body, and where memories go in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from everthread.server.proxy.content import read_content, read_text, read_text_or_number
from everthread.server.proxy.front_end_tasks import is_task_instruction
from everthread.server.proxy.history import Entry, PersonTurn, find_continued_reply, find_turn, join_results
from everthread.server.proxy.memory_block import BLOCK_ROLES, BlockRole
from everthread.server.proxy.message_text import ChatMessage
from everthread.server.proxy.raw_json import Edit, Scanner, Span, locate_object
from everthread.server.proxy.reply import Reply
from everthread.types import Metadata

METADATA_FIELD = "metadata"
USER_FIELDS = ("user", "safety_identifier")  # the second has replaced the first in OpenAI's API
BANK_FIELD = "bank"  # of the metadata
MAX_MESSAGES = 20_000  # of a request; a longer one is not read


@dataclass(frozen=True)
class ModelRequest(ABC):
    """A request to a language model. Each format is a subclass.

    Attributes:
        body: the body as it was sent.
        text: the same, decoded.
        members: the members of the body.
        messages: the messages, which are objects.
        history_field: the member with the messages.
        instructions_field: the member with instructions; empty if only messages have them.
        block_roles: the roles in which the format can have memories.
        may_be_empty: whether it may have no messages.
        reply_type: reads the reply in an answer.
    """

    body: bytes
    text: str
    members: dict[str, Span]
    messages: list[dict[str, Any]]

    history_field: ClassVar[str] = "messages"
    instructions_field: ClassVar[str] = ""
    block_roles: ClassVar[tuple[BlockRole, ...]] = BLOCK_ROLES
    may_be_empty: ClassVar[bool] = False
    reply_type: ClassVar[type[Reply]]

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Parse a body.

        Raises:
            ValueError, RecursionError: it is not an object with messages, or there are more than MAX_MESSAGES.
        """
        text = body.decode()
        scanner = Scanner(text)
        members: dict[str, Span] = {}
        for name, start in scanner.read_names():
            if name in members:
                raise ValueError(f"two members are named {name}")
            members[name] = scanner.read_value(start)
        scanner.require_end()
        messages = cls.list_messages(members[cls.history_field].value) if cls.history_field in members else []
        if not (messages or cls.may_be_empty) or not all(isinstance(message, dict) for message in messages):
            raise ValueError("no messages")
        if len(messages) > MAX_MESSAGES:
            raise ValueError(f"more than {MAX_MESSAGES} messages")
        return cls(body, text, members, messages)

    @classmethod
    def list_messages(cls, history: Any) -> list[Any]:
        """Return the messages in the value of their member. Raises ValueError if it is no list."""
        if not isinstance(history, list):
            raise ValueError("no list of messages")
        return history

    @abstractmethod
    def read_entry(self, message: dict[str, Any]) -> Entry:
        """Read a message."""

    @abstractmethod
    def insert_block(self, scanner: Scanner, message: Span, block: str, role: BlockRole) -> Edit:
        """Return the edit that inserts memories.

        Args:
            scanner: of the text of the request.
            message: the message of the person for which they are.
            block: the memories.
            role: the role in which they are sent; one of block_roles.
        """

    @property
    def user(self) -> str:
        """The person, if the body names one; else empty."""
        named = (read_text_or_number(self.get(name)) for name in USER_FIELDS)
        return next((name for name in named if name.strip()), "")

    @cached_property
    def entries(self) -> list[Entry]:
        """The messages, as far as the memory needs them."""
        return join_results([self.read_entry(message) for message in self.messages])

    @property
    def upstream_has_history(self) -> bool:
        """True if the request leaves out what was said before."""
        return False

    @property
    def continued_response(self) -> str:
        """The id of the response that the request continues, if the upstream has the history; else empty."""
        return ""

    @property
    def continues_turn(self) -> bool:
        """True if the request, which leaves out the history, has nothing new of the person: only results of tools."""
        has_results = any(entry.role == "result" for entry in self.entries)
        return has_results and all(entry.continues_turn or entry.role == "instruction" for entry in self.entries)

    def locate_message(self, index: int) -> Span:
        """Find the position of a message: from the end of the list, because it is usually the last."""
        end = self._history.end
        if not isinstance(self._history.value, list):
            return self._history
        for message in reversed(self.messages[index:]):
            end = self.text.rfind("}", 0, end) + 1
            start = locate_object(self.text, end)
            span = Span(start, end, message, start)
            end = span.start
        return span

    def locate_messages(self, scanner: Scanner) -> list[Span]:
        """Find the positions of all messages.

        Args:
            scanner: of the text of the request.
        """
        is_list = isinstance(self._history.value, list)
        return scanner.move_to(self._history.value_start).read_items() if is_list else [self._history]

    @property
    def _history(self) -> Span:
        """The messages, or a text that is the only one, without the name of the member."""
        history = self.members[self.history_field]
        return history._replace(start=history.value_start)

    def get(self, name: str) -> Any:
        """Return the value of a member, or None."""
        return self.members[name].value if name in self.members else None

    def get_text(self, name: str) -> str:
        """Return the value of a member that is a text, or an empty text."""
        return read_text(self.get(name))

    def get_metadata(self, name: str) -> str:
        """Return a text or a number in the metadata, or an empty text."""
        metadata = self.get(METADATA_FIELD)
        return read_text_or_number(metadata.get(name)) if isinstance(metadata, dict) else ""

    def find_session(self) -> str:
        """Return the session that a field of other front ends names, or an empty text."""
        conversation = self.get("conversation")
        named = read_text_or_number(conversation.get("id") if isinstance(conversation, dict) else conversation)
        return named or read_text_or_number(self.get("session_id")) or self.get_metadata("session_id")

    def open_reply(self) -> Reply:
        """Return a reply without words, to which an answer is added as it is read."""
        return self.reply_type()

    def find_continued_reply(self) -> list[ChatMessage] | None:
        """Find the reply that the request continues. Returns as `history.find_continued_reply`."""
        return find_continued_reply(self.entries)

    def find_turn(self, metadata: Metadata) -> PersonTurn | None:
        """Find the person's newest message; None if it has no words, or the request has the beginning of its reply.

        Args:
            metadata: of each message.
        """
        turn = self.read_turn(metadata)
        return None if turn is None or not turn.has_words or turn.beginning else turn

    def read_turn(self, metadata: Metadata) -> PersonTurn | None:
        """Read the person's newest message. Returns as `history.find_turn`.

        Args:
            metadata: of each message.
        """
        is_task = is_task_instruction(read_content(self.get(self.instructions_field))[0])
        turn = None if is_task else find_turn(self.entries, metadata)
        if not self.upstream_has_history:
            return turn
        if self.continues_turn:
            turn = PersonTurn([], 0, continues=True)
        return None if turn is None else replace(turn, upstream_has_history=True, response=self.continued_response)

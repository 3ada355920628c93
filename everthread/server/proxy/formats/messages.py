"""Requests of Anthropic's Messages API, and the replies in their answers.

Sources: Anthropic's API reference, "Create a Message", "Count tokens in a Message", "Streaming Messages" and
"Mid-conversation system messages"; Anthropic's SDK for Python, `BetaMessageThreadParam`, for threads, in which the
upstream has the history; LLM gateway protocol of Claude Code, for what that client sends.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, ClassVar

from everthread.hooks.transcript import extract_said, is_by_program
from everthread.server.proxy.content import insert_part, read_id, read_text
from everthread.server.proxy.formats.base import ModelRequest
from everthread.server.proxy.history import Entry, PersonTurn
from everthread.server.proxy.memory_block import BlockRole, without_block
from everthread.server.proxy.raw_json import Edit, Scanner, Span
from everthread.server.proxy.reply import Reply
from everthread.types import Metadata

CALL_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use")
RESULT_BLOCKS = ("tool_result",)  # in a message of the person; they have to come first in it
MAX_PROBE_TOKENS = 1  # a request for so few tests the server, or fills its cache


class MessagesReply(Reply):
    """The words of a message: those of its text blocks."""

    def __init__(self, *, is_in_thread: bool = False) -> None:
        """Begin without words.

        Args:
            is_in_thread: whether later requests may continue the message by its id.
        """
        super().__init__()
        self._is_in_thread = is_in_thread
        self._gap = ""  # before the next text block

    def add(self, event: object) -> None:
        """Add an answer, or an event of a stream."""
        if not isinstance(event, dict):
            return
        match event.get("type"):
            case "message_start":
                self._add_message(event.get("message"))
            case "content_block_start":
                self._add_block(event.get("content_block"))
            case "content_block_delta":
                delta = event.get("delta")
                if isinstance(delta, dict) and delta.get("type") == "text_delta":
                    self.say(read_text(delta.get("text")))
            case "message_delta":
                delta = event.get("delta")
                self.finish(delta.get("stop_reason") if isinstance(delta, dict) else None)
            case "message_stop":
                self.end()
            case "message":
                self._add_message(event)

    def _add_message(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        self.model = read_text(message.get("model")) or self.model
        self.response_id = read_id(message.get("id")) if self._is_in_thread else ""
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            self._add_block(block)
        self.finish(message.get("stop_reason"))

    def _add_block(self, block: object) -> None:
        """Add a block. Text blocks that follow each other are one text, which has been split for its citations."""
        if not isinstance(block, dict):
            return
        if block.get("type") == "text":
            self.say(self._gap + read_text(block.get("text")))
            self._gap = ""
            return
        self._gap = "\n" if self._pieces else ""
        if block.get("type") == "tool_use":
            self.note_call()


class MessagesRequest(ModelRequest):
    """A request for a message.

    Memories are the first block of the person's message: no system message may precede it.
    """

    instructions_field: ClassVar[str] = "system"
    block_roles: ClassVar[tuple[BlockRole, ...]] = ("user-prefix",)
    may_be_empty: ClassVar[bool] = True  # in a thread, to resume a turn that the upstream has paused
    reply_type: ClassVar[type[Reply]] = MessagesReply

    @property
    def upstream_has_history(self) -> bool:
        """True if the request continues a thread, with the new messages only."""
        return bool(self.continued_response)

    @property
    def continued_response(self) -> str:
        """The id of the message that the request continues, in a thread; else empty."""
        return read_id(self._thread.get("previous_message_id"))

    @property
    def continues_turn(self) -> bool:
        """True if the request has only results of tools, or nothing. See `ModelRequest`."""
        return not self.entries or super().continues_turn

    @cached_property
    def _thread(self) -> dict[str, Any]:
        """The thread that the request creates or continues; empty without one."""
        thread = self.get("thread")
        return thread if isinstance(thread, dict) else {}

    def open_reply(self) -> Reply:
        """Return a reply without words, to which an answer is added as it is read."""
        return MessagesReply(is_in_thread=bool(self._thread))

    def read_entry(self, message: dict[str, Any]) -> Entry:
        """Read a message."""
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        if not isinstance(content, list):
            blocks = [{"type": "text", "text": content}]
        match message.get("role"):
            case "assistant":
                calls = any(block.get("type") in CALL_BLOCKS for block in blocks)
                return Entry("assistant", _join_reply(blocks), calls_tools=calls)
            case "user":
                return _read_person(blocks)
            case "system":
                return Entry("remark")
        return Entry("other")

    def insert_block(self, scanner: Scanner, message: Span, block: str, role: BlockRole) -> Edit:
        """Insert memories as the first block of the person's message, after the results of tools. As in
        `ModelRequest`."""
        return insert_part(scanner, message, block, after=RESULT_BLOCKS)

    @property
    def user(self) -> str:
        """The person that the metadata name, or an empty text."""
        return self._user[0]

    def find_session(self) -> str:
        """Return the session that a field of other front ends names, or an empty text."""
        return super().find_session() or self._user[1]

    def read_turn(self, metadata: Metadata) -> PersonTurn | None:
        """Read the person's newest message, as in `ModelRequest`; None also if the client tests the server."""
        limit = self.get("max_tokens")
        if isinstance(limit, int) and limit <= MAX_PROBE_TOKENS:
            return None
        return super().read_turn(metadata)

    @cached_property
    def _user(self) -> tuple[str, str]:
        """The person and the session in the metadata. Claude Code names both in one text, since 2.1.78 as JSON."""
        named = self.get_metadata("user_id")
        user, separator, session = named.rpartition("_session_")
        if separator and user.startswith("user_"):
            return user, session
        try:
            fields = json.loads(named) if named.startswith("{") else None
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or "session_id" not in fields:
            return named, ""
        user = read_text(fields.get("account_uuid")) or read_text(fields.get("device_id"))
        return user, read_text(fields["session_id"])


def _read_person(blocks: list[dict[str, Any]]) -> Entry:
    """Read a message of the person, which may consist of results of tools, or of what a coding agent inserted."""
    types = [block.get("type") for block in blocks]
    texts = [without_block(read_text(block.get("text"))) for block in blocks if block.get("type") == "text"]
    said = [words for words in map(extract_said, texts) if words]
    others = sum(kind != "text" and kind not in RESULT_BLOCKS for kind in types)
    if not said and any(map(is_by_program, texts)):
        return Entry("user")
    if not said and any(kind in RESULT_BLOCKS for kind in types):
        return Entry("result")
    if not said and not others and any(map(str.strip, texts)):
        return Entry("remark")
    return Entry("user", "\n".join(said), other_parts=others)


def _join_reply(blocks: list[dict[str, Any]]) -> str:
    """Return the text of a message of the assistant, as it was read in its answer."""
    reply = MessagesReply()
    reply.add({"type": "message", "content": blocks})
    return reply.text

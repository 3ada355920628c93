"""Requests for chat completions, and the replies in their answers.

Sources: OpenAI's API reference, "Create chat completion", "The chat completion object" and "The chat completion chunk
object". Fields that are not named here are ignored. Of a reply only the choice with index 0 is read, and of it
only the words: neither reasoning nor calls of tools.
"""

from __future__ import annotations

from typing import Any, ClassVar

from everthread.server.proxy.content import insert_block, read_content, read_id, read_name, read_text
from everthread.server.proxy.formats.base import ModelRequest
from everthread.server.proxy.history import Entry, EntryRole
from everthread.server.proxy.memory_block import BlockRole, without_block
from everthread.server.proxy.raw_json import Edit, Scanner, Span, to_json
from everthread.server.proxy.reply import Reply

ENTRY_ROLES: dict[str, EntryRole] = {
    "user": "user",
    "assistant": "assistant",
    "system": "instruction",
    "developer": "instruction",
    "tool": "result",
    "function": "result",
}


class ChatReply(Reply):
    """The words of a chat completion."""

    def add(self, event: object) -> None:
        """Add an answer, or a chunk of one."""
        if not isinstance(event, dict):
            return
        self.model = read_text(event.get("model")) or self.model
        if event.get("error"):  # in a stream, which vLLM then ends with [DONE] as if it was complete
            self.finish("error")
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):
                self.add_message(self._select_message(choice), choice.get("finish_reason"))

    def _select_message(self, choice: dict[str, Any]) -> object:
        """Return the message of a choice, or the piece of one. Perplexity sends both: the message so far, and a piece,
        which has no words if the message is whole."""
        message, piece = choice.get("message"), choice.get("delta")
        is_piece = isinstance(piece, dict) and (self._pieces or read_content(piece.get("content"))[0])
        return piece if is_piece or not message else message

    def add_message(self, message: object, reason: object) -> None:
        """Add a message, or a piece of one.

        Args:
            message: the message.
            reason: why it ends; None or empty, as some upstreams send with every chunk, if it does not end.
        """
        if isinstance(message, dict):
            self.say(read_content(message.get("content"))[0])
            audio = message.get("audio")
            if isinstance(audio, dict):
                self.message_id = read_id(audio.get("id")) or self.message_id
                self.speak(read_text(audio.get("transcript")))
            if calls_tools(message):
                self.note_call()
        self.finish(reason)


class ChatRequest(ModelRequest):
    """A request for a chat completion."""

    reply_type: ClassVar[type[Reply]] = ChatReply

    def read_entry(self, message: dict[str, Any]) -> Entry:
        """Read a message."""
        text, others = read_content(message.get("content"))
        audio = message.get("audio")  # of an earlier reply, by its id
        audio_id = read_id(audio.get("id")) if isinstance(audio, dict) else ""
        return Entry(
            ENTRY_ROLES.get(read_text(message.get("role")), "other"),
            without_block(text),
            read_name(message.get("name")),
            calls_tools(message),
            others,
            audio_id or read_id(message.get("id")),
            is_reference=bool(audio_id) and not text and message.get("role") == "assistant",
        )

    def insert_block(self, scanner: Scanner, message: Span, block: str, role: BlockRole) -> Edit:
        """Insert memories as a message before the newest, or at its beginning. See `ModelRequest`."""
        if role == "user-prefix":
            return insert_block(scanner, message, block)
        return Edit(message.start, message.start, f"{to_json({'role': role, 'content': block})}, ")


def calls_tools(message: dict[str, Any]) -> bool:
    """Return whether a message of the assistant calls tools."""
    return bool(message.get("tool_calls") or message.get("function_call"))

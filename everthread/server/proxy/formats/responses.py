"""Requests of the Responses API, and the replies in their answers.

Sources: OpenAI's API reference, "Create a model response", "The response object" and "Streaming events". Fields that
are not named here are ignored. Of a reply only the words are read: neither reasoning nor refusals nor calls of
tools. The upstream may have the history: then a request names the response or the conversation that it continues, or
names each reply by its id.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, ClassVar

from everthread.server.proxy.content import insert_block, read_content, read_id, read_text, write_part
from everthread.server.proxy.formats.base import ModelRequest
from everthread.server.proxy.history import Entry, EntryRole
from everthread.server.proxy.memory_block import BlockRole, without_block
from everthread.server.proxy.message_text import ChatMessage
from everthread.server.proxy.raw_json import Edit, Scanner, Span, to_json
from everthread.server.proxy.reply import Reply

ENTRY_ROLES: dict[str, EntryRole] = {
    "user": "user",
    "assistant": "assistant",
    "system": "instruction",
    "developer": "instruction",
}
MESSAGE, REFERENCE = "message", "item_reference"  # types of items
MESSAGE_ID_PREFIX = "msg"  # of the ids of messages, among those of other items
TEXT_PART = "input_text"
# Texts that Codex writes in the person's name, by their tags or their beginning: what it knows of the project, and its
# own task.
INSERTED_TEXT = re.compile(
    r"\s*(# AGENTS\.md instructions.*</INSTRUCTIONS>"
    r"|<(environment_context|user_instructions|extension_context|codex_internal_context|goal_context|hook_prompt|skill"
    r"|user_shell_command|turn_aborted|subagent_notification|recommended_plugins)\b.*</\2>"
    r"|Another language model started to solve this problem and produced a summary)",
    re.DOTALL,
)
COMPACTION_TASK = "You are performing a CONTEXT CHECKPOINT COMPACTION"
SEPARATOR = "\n\n"  # between the messages of one response
ENDINGS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}


class ResponsesReply(Reply):
    """The words of a response."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, dict[str, Any]] = {}  # of the output, as far as they are complete
        self._deltas: dict[int, list[str]] = {}  # the words of the others

    def join_words(self) -> str:
        """Return the words with thoughts."""
        indexes = sorted(self._items.keys() | self._deltas.keys())
        texts = (
            _read_words(self._items[index]) if index in self._items else "".join(self._deltas[index])
            for index in indexes
        )
        return SEPARATOR.join(filter(str.strip, texts))

    def add(self, event: object) -> None:
        """Add an answer, or an event of a stream of them."""
        if not isinstance(event, dict):
            return
        kind, response = read_text(event.get("type")), event.get("response")
        if isinstance(response, dict):
            self._add_response(response, ENDINGS.get(kind))
        elif isinstance(event.get("output"), list):
            self._add_response(event, event.get("status"))
        elif not isinstance(index := event.get("output_index"), int):
            return
        elif kind == "response.output_text.delta":
            self._deltas.setdefault(index, []).append(read_text(event.get("delta")))
        elif kind == "response.output_item.done" and isinstance(item := event.get("item"), dict):
            self._items[index] = item

    def _add_response(self, response: dict[str, Any], status: object) -> None:
        """Add a response, as far as it has been written.

        Args:
            response: the response; its output may be left out while it is streamed.
            status: how it ended; None if it did not.
        """
        self.model = read_text(response.get("model")) or self.model
        self.response_id = read_id(response.get("id")) or self.response_id
        output = response.get("output")
        listed = enumerate(output) if isinstance(output, list) else ()
        items = {index: item for index, item in listed if isinstance(item, dict)}
        if any(map(_read_words, items.values())) or not self._deltas:
            self._items = items or self._items
            self._deltas = {index: words for index, words in self._deltas.items() if not items}
        if status is None:
            return
        said = (item for item in self._items.values() if _read_words(item))
        self.message_id = read_id(next(said, {}).get("id"))
        if _awaits_results(self._items.values()):
            self.note_call()
        self.finish("stop" if status == "completed" else status)


class BackgroundReply(ResponsesReply):
    """The reply of a response that is written in the background: its words are not read, because they come later."""

    def join_words(self) -> str:
        """Return no words."""
        return ""


class ResponsesRequest(ModelRequest):
    """A request of the Responses API."""

    history_field: ClassVar[str] = "input"
    instructions_field: ClassVar[str] = "instructions"
    may_be_empty: ClassVar[bool] = True  # with a prompt template, or after another response
    reply_type: ClassVar[type[Reply]] = ResponsesReply

    @classmethod
    def list_messages(cls, history: Any) -> list[Any]:
        """Return the items; a text is a message of the person. Raises as `ModelRequest.list_messages`."""
        return [{"role": "user", "content": history}] if isinstance(history, str) else super().list_messages(history)

    @cached_property
    def entries(self) -> list[Entry]:
        """The items, as far as the memory needs them."""
        return _join_replies(super().entries)

    @property
    def upstream_has_history(self) -> bool:
        """True if the request leaves out what was said before."""
        return bool(self.get("previous_response_id") or self.get("conversation"))

    @property
    def continued_response(self) -> str:
        """The id of the response that the request continues; empty if it names none."""
        return read_id(self.get("previous_response_id"))

    def read_entry(self, message: dict[str, Any]) -> Entry:
        """Read an item."""
        kind = read_text(message.get("type")) or (MESSAGE if "role" in message else REFERENCE)
        item_id = read_id(message.get("id"))
        if kind == REFERENCE and item_id.startswith(MESSAGE_ID_PREFIX):
            return Entry("assistant", message_id=item_id, is_reference=True)
        if kind != MESSAGE:
            return Entry("result") if _is_result(kind) else Entry("assistant", calls_tools=True)
        role = ENTRY_ROLES.get(read_text(message.get("role")), "other")
        if role == "user":
            return _read_person(message.get("content"), item_id)
        text, others = read_content(message.get("content"))
        return Entry(role, without_block(text), other_parts=others, message_id=item_id)

    def insert_block(self, scanner: Scanner, message: Span, block: str, role: BlockRole) -> Edit:
        """Insert memories as an item before the newest message, or at its beginning. See `ModelRequest`."""
        if role == "user-prefix":
            return insert_block(scanner, message, block, part=TEXT_PART)
        item = to_json({"type": MESSAGE, "role": role, "content": [{"type": TEXT_PART, "text": block}]})
        if not scanner.move_to(message.start).next_is('"'):
            return Edit(message.start, message.start, f"{item}, ")
        part = write_part(scanner, scanner.read_value(), TEXT_PART)
        items = f'[{item}, {{"type": "{MESSAGE}", "role": "user", "content": [{part}]}}]'
        return Edit(message.value_start, message.end, items)

    def open_reply(self) -> Reply:
        """Return a reply without words, to which an answer is added as it is read."""
        return BackgroundReply() if self.get("background") is True else ResponsesReply()

    def find_continued_reply(self) -> list[ChatMessage] | None:
        """Return None: a response is always a message of its own."""
        return None


def _read_person(content: object, item_id: str) -> Entry:
    """Read a message of the person, without the texts that Codex inserts."""
    parts = content if isinstance(content, list) else [{"type": TEXT_PART, "text": content}]
    said = [part for part in parts if not INSERTED_TEXT.match(read_content([part])[0])]
    text, others = read_content(said)
    if text.lstrip().startswith(COMPACTION_TASK):
        return Entry("other")
    role: EntryRole = "user" if said or not parts else "remark"
    return Entry(role, without_block(text), other_parts=others, message_id=item_id)


def _join_replies(entries: Sequence[Entry]) -> list[Entry]:
    """Join the messages of each response into its last, and mark those that results of tools follow."""
    joined = list(entries)
    reply: list[int] = []  # the positions of the messages of one response
    for index, entry in enumerate(entries):
        is_message = entry.role == "assistant" and entry.has_words
        is_named = is_message and (entry.is_reference or bool(reply and entries[reply[0]].is_reference))
        if is_named or entry.role in ("user", "result", "other"):
            _join_reply(joined, reply, calls_tools=entry.role == "result")
            reply = []
        if is_message:
            reply.append(index)
    _join_reply(joined, reply, calls_tools=False)
    return joined


def _join_reply(entries: list[Entry], positions: Sequence[int], *, calls_tools: bool) -> None:
    """Join the messages at these positions into the last of them."""
    if positions:
        last, text = entries[positions[-1]], SEPARATOR.join(entries[position].text for position in positions)
        for position in positions:
            entries[position] = Entry("assistant", calls_tools=True)
        entries[positions[-1]] = last._replace(text=text, calls_tools=calls_tools)


def _read_words(item: dict[str, Any]) -> str:
    """Return the text of a message in the output; empty for another item."""
    return read_content(item.get("content"))[0] if item.get("type") == MESSAGE else ""


def _is_result(kind: str) -> bool:
    """Return whether the client sends items of this type after calls of tools."""
    return kind.endswith("_output") or kind == "mcp_approval_response"


def _awaits_results(items: Collection[dict[str, Any]]) -> bool:
    """Return whether an output calls tools of the client. Calls of the upstream's have no id, or a result."""
    answered = {""} | {read_text(item.get("call_id")) for item in items if _is_result(read_text(item.get("type")))}
    return any(
        item.get("type") == "mcp_approval_request" or read_text(item.get("call_id")) not in answered for item in items
    )

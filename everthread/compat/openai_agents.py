"""The `Session` of OpenAI's Agents SDK in a bank: an item is a line, and its session a session of the bank.

Messages are lines with words. Calls of tools, their outputs and reasoning are lines without words, which are kept in
their place and not recalled. This module needs nothing of the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from reprlib import repr as shortly
from typing import TYPE_CHECKING, Any

from everthread.compat.hits import HEADING
from everthread.errors import BadInput, NotFound
from everthread.types import Filter, Line, NewLine, Role

if TYPE_CHECKING:
    from agents import SessionSettings
    from agents.run import CallModelData, ModelInputData

    from everthread.client.client import Client
    from everthread.memory import Memory

ITEM = "item"  # name in the metadata of a line: the item, if it is more than a role and a text
MEMORY_TOKENS = 1000
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class EverthreadSession:
    """A conversation of agents in a bank, on this machine or on a server.

    with Memory.open("alice") as memory:
        session = EverthreadSession("conversation_123", memory)
        result = await Runner.run(agent, "Where does my sister live?", session=session)
    """

    def __init__(
        self, session_id: str, memory: Memory | Client, session_settings: SessionSettings | None = None
    ) -> None:
        """Use a session of a bank, which the caller closes.

        Args:
            session_id: the id of the session.
            memory: the bank.
            session_settings: how many items `get_items` returns by default.
        """
        self.session_id, self.session_settings = session_id, session_settings
        self._memory = memory

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the latest items, in their order.

        Args:
            limit: the maximum number of items; None: that of the settings; without one, or below 0, all.
        """
        return [_to_item(line) for line in await asyncio.to_thread(self._read, limit)]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Store items. Raises BadInput if one is not a JSON object; nothing is stored then."""
        lines = [_to_line(item, self.session_id) for item in items]
        if lines:
            await asyncio.to_thread(self._memory.observe_many, lines)

    async def pop_item(self) -> Any | None:
        """Retract the latest item, and return it; None for an empty session."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Forget all items of the session, with those that were retracted."""
        with suppress(NotFound):  # nothing is stored in it
            await asyncio.to_thread(self._memory.forget, session=self.session_id)

    async def add_memories(self, data: CallModelData[Any]) -> ModelInputData:
        """Insert what the bank knows of the newest user message before it: `RunConfig(call_model_input_filter=…)`.

        Args:
            data: the input of a call of the model.
        """
        items = list(data.model_data.input)
        found = ((index, _read_text(item)) for index, item in reversed(list(enumerate(items))) if _is_user(item))
        index, query = next(found, (0, ""))
        shown = {_read_text(item).strip() for item in items if isinstance(item, Mapping)}
        text = await asyncio.to_thread(self._recall, query, shown) if query.strip() else ""
        if text:
            items.insert(index, {"role": "system", "content": f"{HEADING}\n{text}"})
        return replace(data.model_data, input=items)

    # ---------------------------------------------------------------- in a thread

    def _read(self, limit: int | None) -> list[Line]:
        """Return the latest lines, in the order of the conversation: a corrected one in its place."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        try:
            lines = list(self._memory.lines(Filter(session=self.session_id), include_wordless=True))
        except NotFound:  # a server has no bank before its first line
            return []
        lines.sort(key=lambda line: line.position)
        return lines if limit is None or limit < 0 else lines[max(len(lines) - limit, 0) :]

    def _pop(self) -> Any | None:
        while lines := self._read(-1):
            with suppress(NotFound):  # retracted by another call since it was read
                return _to_item(self._memory.retract(lines[-1].seq))
        return None

    def _recall(self, query: str, shown: Collection[str]) -> str:
        """Return what the bank knows about a query, without the lines of the session that the model is given anyway."""
        seqs = [line.seq for line in self._read(-1) if line.text in shown]
        try:
            return self._memory.context(query, MEMORY_TOKENS, exclude=seqs).text
        except NotFound:  # as above
            return ""


def _to_line(item: Any, session: str) -> NewLine:
    """Return the line of an item, which is in the metadata unless the line has all of it."""
    if not isinstance(item, Mapping):
        raise BadInput(f"an item must be a JSON object, got {shortly(item)}")
    kind = str(item.get("type", "message"))
    role = ROLES.get(str(item.get("role")), "tool" if kind.endswith("_output") else "assistant")
    text = _read_text(item).strip() if kind == "message" else ""
    metadata = {} if text and dict(item) == {"role": role, "content": text} else {ITEM: dict(item)}
    return NewLine(text, role, role, session=session, metadata=metadata)


def _to_item(line: Line) -> Any:
    return line.metadata.get(ITEM, {"role": line.role, "content": line.text})


def _is_user(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("role") == "user"


def _read_text(item: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, or the texts in its parts."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))

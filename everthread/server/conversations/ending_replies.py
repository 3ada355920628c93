"""Replies that end a conversation, or ask whether to remember it, as events."""

from __future__ import annotations

from collections import OrderedDict, deque

from everthread.chat.reply import Reply
from everthread.server.chat_schemas import done_event, ending_event, line_event
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.problems import Problem

MAX_SAVED = 256  # ended conversations whose last reply can be repeated under its key


class EndingReplies:
    """Emits replies that end a conversation. The answer that ends one is not a line, so its key is stored only here."""

    def __init__(self) -> None:
        self._by_key = OrderedDict[str, ReplyStream]()

    def find(self, key: str | None, said: str) -> ReplyStream | None:
        """Return the reply that ended a conversation under this key.

        Raises:
            Problem: if the key belongs to another text.
        """
        found = None if key is None else self._by_key.get(key)
        return found if found is None or found.user_text == said else raise_key_conflict()

    def emit(self, stream: ReplyStream, reply: Reply, echo_user_line: bool) -> bool:
        """Emit all events of a reply.

        Args:
            stream: the stream.
            reply: the reply.
            echo_user_line: whether the goodbye, if it was stored, is the first event.

        Returns:
            True if the conversation has ended.
        """
        if echo_user_line and reply.goodbye is not None:
            stream.emit("line", line_event(reply.goodbye))
        name, data = ending_event(reply)
        stream.emit(name, data)
        deque(reply, 0).clear()
        stream.finish("done", done_event(None, reply))
        if name == "ended" and stream.key is not None and reply.goodbye is None:
            self._by_key[stream.key] = stream
            while len(self._by_key) > MAX_SAVED:
                self._by_key.popitem(last=False)
        return name == "ended"


def raise_key_conflict() -> ReplyStream:
    """Raise the problem that the key belongs to another text."""
    raise Problem(
        422, "idempotency-conflict", "another text was sent with this Idempotency-Key; use a new key for a new text"
    )

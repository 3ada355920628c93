"""Emits the replies that end a conversation or ask whether to remember it."""

from __future__ import annotations

from collections import OrderedDict, deque

from everthread.chat.reply import Reply
from everthread.server.chat_schemas import done_event, ending_event, line_event
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.problems import Problem

MAX_SAVED = 256  # replies that can be repeated under their keys


class EndingReplies:
    """Emits the events of ending replies, and saves their keys.

    An answer to a question about the end is not a line, so its key is not stored in the bank.
    """

    def __init__(self) -> None:
        self._by_key = OrderedDict[tuple[str, str], ReplyStream]()  # by bank and key

    def find(self, bank: str, key: str | None, text: str) -> ReplyStream | None:
        """Return the reply to the answer with this key in a bank, or None.

        Raises:
            Problem: if the key belongs to another text.
        """
        stream = None if key is None else self._by_key.get((bank, key))
        if stream is not None and stream.user_text != text:
            raise key_conflict()
        return stream

    def emit(self, bank: str, stream: ReplyStream, reply: Reply, echo_user_line: bool) -> bool:
        """Emit all events of a reply.

        Args:
            bank: the id of its bank.
            stream: receives the events.
            reply: the reply, whose `ending` is set.
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
        if stream.key is not None and reply.goodbye is None:
            self._by_key[bank, stream.key] = stream
            while len(self._by_key) > MAX_SAVED:
                self._by_key.popitem(last=False)
        return name == "ended"


def key_conflict() -> Problem:
    """Return the problem for a key that belongs to another text."""
    return Problem(
        422, "idempotency-conflict", "another text was sent with this Idempotency-Key; use a new key for a new text"
    )

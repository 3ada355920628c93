"""Runs replies: starts them, forwards the model's pieces to their streams, and finishes or stops them.

The thread of the request takes a free slot, saves the line and recalls; other threads then read the model. A reply
doesn't depend on its readers: it continues when they disconnect, and is saved when it is done. No resource of the store
is held while a model replies.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

from everthread.chat.chat import Chat
from everthread.chat.reply import Reply
from everthread.errors import EverthreadError, ModelError
from everthread.server import problems
from everthread.server.chat_schemas import context_event, done_event, line_event, lines_to_json
from everthread.server.conversations.ending_replies import EndingReplies
from everthread.server.conversations.open_conversations import OpenConversation
from everthread.server.conversations.priority import PriorityGate
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.problems import RETRY_AFTER_S, Problem
from everthread.server.workers.bank_leases import BankLeases, reply_in_progress

log = logging.getLogger("everthread.server")

STOP_TIMEOUT_S = 30.0  # for another thread to publish the end of a reply that it has claimed

Act = Callable[[Chat], Reply | None]


class ReplyRunner:
    """Runs up to `max_replies` replies at once. Thread-safe."""

    def __init__(
        self,
        leases: BankLeases,
        priority: PriorityGate,
        endings: EndingReplies,
        max_replies: int,
        on_ended: Callable[[OpenConversation], None],
    ) -> None:
        """Create a runner.

        Args:
            leases: hold a bank while a reply in it is in progress.
            priority: prepares replies before background work.
            endings: emits the replies that end a conversation.
            max_replies: replies at a time; further ones are refused.
            on_ended: called with a conversation that has ended with its reply.
        """
        self._leases, self._priority, self._endings = leases, priority, endings
        self._on_ended = on_ended
        self._pool = ThreadPoolExecutor(max_replies, thread_name_prefix="everthread reply")
        self._slots = threading.BoundedSemaphore(max_replies)
        self._is_closed = False

    def start(
        self,
        conversation: OpenConversation,
        act: Act,
        *,
        echo_user_line: bool,
        key: str | None = None,
        user_text: str | None = None,
    ) -> ReplyStream:
        """Start a reply, which another thread then reads. If an error is raised, no reply was started.

        Args:
            conversation: locked by the caller.
            act: makes the conversation reply, and returns the reply, or None if it does something else.
            echo_user_line: whether the person's line is the first event.
            key: the idempotency key of the request.
            user_text: the text that is replied to.

        Raises:
            Problem: 503 when too many replies are in progress, 409 when another worker holds the bank.
        """
        if self._is_closed or not self._slots.acquire(blocking=False):
            raise Problem(
                503, "busy", "too many replies are in progress; try again", {"Retry-After": str(RETRY_AFTER_S)}
            )
        with ExitStack() as slot:
            slot.callback(self._slots.release)
            with self._priority.interactive():
                reply = act(conversation.chat)
            stream = ReplyStream(reply, key=key, user_text=user_text)
            if reply is None:
                stream.finish("done", done_event(conversation.chat.lines[-1]))
                return stream
            if reply.ending is not None:
                if self._endings.emit(conversation.chat.memory.bank, stream, reply, echo_user_line):
                    self._on_ended(conversation)
                return stream
            if echo_user_line:
                stream.emit("line", line_event(conversation.chat.lines[-1]))
            stream.emit("context", context_event(reply))
            if not self._leases.acquire(conversation.chat.memory.bank, stream):  # normally the request holds it already
                reply.stop()
                raise reply_in_progress()
            conversation.stream = stream
            self._pool.submit(self._read, conversation, stream, reply)
            slot.pop_all()  # `_read` releases the slot
        return stream

    def _read(self, conversation: OpenConversation, stream: ReplyStream, reply: Reply) -> None:
        """Emit a reply's pieces as they arrive, without a waiting thread."""

        def emit_piece(piece: str) -> None:
            stream.emit("piece", {"text": piece})

        def submit_finish() -> None:
            # The server is shutting down, and has stopped the reply; or no thread can be started, and the next that
            # is free in the pool takes the task from its queue, such as the one that has called `_read`.
            with suppress(RuntimeError):
                self._pool.submit(self.finish, conversation, stream, reply, read_rest)

        def read_rest() -> None:
            try:
                for piece in reply:
                    emit_piece(piece)
            finally:
                self._slots.release()

        reply.listen(emit_piece, submit_finish)

    def stop(self, conversation: OpenConversation) -> None:
        """Stop the conversation's reply if one is in progress.

        The reply is finished when this returns, even if its thread still waits for a model that sends nothing.
        """
        if (stream := conversation.stream) is not None and stream.reply is not None and not stream.is_finished:
            self.finish(conversation, stream, stream.reply, stream.reply.stop)

    def finish(
        self, conversation: OpenConversation, stream: ReplyStream, reply: Reply, end: Callable[[], None]
    ) -> None:
        """End a reply and emit its last event, unless another thread does.

        Args:
            conversation: the conversation of the reply.
            stream: the stream of the reply.
            reply: the reply.
            end: reads the rest of the reply, or stops it. An exception from it becomes an `error` event.
        """
        last_event: tuple[str, dict[str, object]] = (
            "error",
            problems.build_document(500, "internal", "the reply failed"),
        )
        try:
            end()
            last_event = "done", done_event(reply.line, reply)
        except EverthreadError as error:
            saved_line = {"line": lines_to_json([reply.line])[0]} if reply.line else {}
            last_event = "error", {**problems.build_error_document(error), **saved_line}
            log.warning("a reply failed: %s", error if isinstance(error, ModelError) else type(error).__name__)
        except Exception:  # of any kind, as the pool of threads would drop it; the client gets the error 500
            log.exception("a reply failed")
            raise
        finally:
            if stream.try_claim_end():
                conversation.usage += reply.usage
                if self._leases.are_shared and not conversation.chat.incognito:
                    conversation.forget_reply()  # its events would outlive lines that another process forgets
                stream.finish(*last_event)
                self._leases.release(conversation.chat.memory.bank, stream)
            else:
                stream.wait(STOP_TIMEOUT_S)

    def refuse_new(self) -> None:
        """Refuse to start further replies."""
        self._is_closed = True

    def close(self) -> None:
        """Wait for the threads that finish replies."""
        self._pool.shutdown()

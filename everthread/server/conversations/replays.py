"""Builds finished streams: the outcome of an earlier request, from the saved lines, and the request to confirm a no."""

from __future__ import annotations

from everthread.memory import Memory
from everthread.server.chat_schemas import done_event, line_event
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.types import Filter, Line


def find_next_line(memory: Memory, line: Line) -> Line | None:
    """Return the line after this one in its session, or None."""
    return next(memory.lines(Filter(session=line.session), after=line.seq, limit=1), None)


def replay_request(line: Line, following: Line | None) -> ReplyStream:
    """Return the outcome of the request that saved `line`, given the line after it."""
    is_answer = following is not None and following.parent == line.seq and following.role == "assistant"
    return replay_answer(following if is_answer else None, line)


def replay_answer(answer: Line | None, user_line: Line | None = None) -> ReplyStream:
    """Return a finished stream of a saved answer, after the person's line if it is given."""
    stream = ReplyStream()
    if user_line is not None:
        stream.emit("line", line_event(user_line))
    stream.finish("done", done_event(answer))
    return stream


def confirm_forgetting(question: str) -> ReplyStream:
    """Return a finished stream that repeats the question, because the no to it has to be confirmed."""
    stream = ReplyStream()
    stream.emit("question", {"question": question, "confirm_forget": True})
    stream.finish("done", {**done_event(None), "kind": "ending"})
    return stream

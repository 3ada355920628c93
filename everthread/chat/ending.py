"""Parting: how a conversation ends, and the question whether it is to be remembered, as a reply."""

from __future__ import annotations

from everthread.chat.offline_reply import PassthroughFilter, StaticStream, discard
from everthread.chat.reply import Reply
from everthread.types import Context, EndResult, Line

QUESTION = "Shall I remember this conversation?"


def build_consent_question(session: str, goodbye: Line | None) -> Reply:
    """Returns the reply that asks whether to remember the conversation: to a goodbye, or to an unclear answer."""
    lead = "Goodbye!" if goodbye else "Please answer yes or no, or go on talking."
    return build_ending_reply(EndResult(session, None, QUESTION), goodbye, f"{lead} {QUESTION}")


def build_ending_reply(ending: EndResult, goodbye: Line | None = None, text: str = "") -> Reply:
    """Returns a reply that says how the conversation ended. It is never kept as a line."""
    text = text or ("I will remember it." if ending.remembered else "Nothing of it is left.")
    reply = Reply(Context("", 0, (), (), (), 0.0), None, lambda: StaticStream(text), PassthroughFilter(), discard)
    reply.ending, reply.goodbye = ending, goodbye
    return reply

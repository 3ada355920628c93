"""Parting: how a conversation ends, and the question whether it is to be remembered, as a reply."""

from __future__ import annotations

from everthread.reply import Reply
from everthread.showing import AsItIs, Spoken, unkept
from everthread.types import Context, Ending

QUESTION = "Shall I remember this conversation?"
ASKED_AT = "goodbye"  # the bank's setting that holds the number of the goodbye for which the question is pending


def asked(session: str, again: bool = False) -> Reply:
    """Returns the reply that asks whether to remember the conversation."""
    lead = "Please answer yes or no, or go on talking." if again else "Goodbye!"
    return spoken(Ending(session, None, QUESTION), f"{lead} {QUESTION}")


def spoken(ending: Ending, text: str = "") -> Reply:
    """Returns a reply that says how the conversation ended. It is never kept as a line."""
    text = text or ("I will remember it." if ending.remembered else "Nothing of it is left.")
    reply = Reply(Context("", 0, (), (), (), 0.0), None, lambda: Spoken(text), AsItIs(), unkept)
    reply.ending = ending
    return reply

"""Ends a conversation, and builds the replies that ask whether to remember it or report the end.

If the user answers "Shall I remember this conversation?" with "no", nothing is forgotten yet: the user is asked whether
to forget it for good. Which question is pending is stored in the bank, so that another process can read the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from everthread.bank.settings import remember_policy
from everthread.chat.conversation import Conversation
from everthread.chat.goodbye import Question
from everthread.chat.reply import Reply
from everthread.chat.scribe_worker import ScribeWorker
from everthread.chat.static_reply import build_static_reply
from everthread.common.keys import SETTING_ASKED_AT, SETTING_FORGET_ASKED_AT
from everthread.languages.wording import Wording
from everthread.types import EndResult, Filter, JSONValue, Line


def end_conversation(
    conversation: Conversation, scribe_worker: ScribeWorker, remember: bool | None, at: datetime, words: Wording
) -> EndResult:
    """End a conversation in its bank: queue its summary, or forget it.

    Args:
        remember: True to remember it, False to forget it, None to follow the bank's setting `remember`.
        at: the time of the end.
        words: the language of the question.

    Returns:
        How it ended. If the user has to be asked first, nothing is changed, and `question` is the question.
    """
    memory, session = conversation.memory, conversation.session
    settings = memory.settings()
    if remember is None and remember_policy(settings):
        remember = True
    has_lines = next(memory.lines(Filter(session=session), limit=1), None) is not None
    if remember is None and has_lines:
        return EndResult(session, None, words("chat.remember"))
    receipt = None
    for setting in (SETTING_FORGET_ASKED_AT, SETTING_ASKED_AT):
        if settings.get(setting) is not None:
            memory.set_setting(setting, None)
    if next(memory.lines(Filter(session=session), limit=1, include_retracted=True), None) is not None:
        if remember is False:
            receipt = memory.forget(session=session)
        else:
            scribe_worker.end_session(session, at)
    return EndResult(session, bool(remember) and has_lines, receipt=receipt)


def find_question(settings: Mapping[str, JSONValue], last: Line | None) -> Question:
    """Return which question about the end of a conversation is pending; "" for none.

    Args:
        settings: the settings of the bank.
        last: the last line of the conversation.
    """
    if last is None or last.seq != settings.get(SETTING_ASKED_AT):
        return ""
    return "forget" if last.seq == settings.get(SETTING_FORGET_ASKED_AT) else "remember"


def build_question(session: str, question: Question, words: Wording, lead: str, goodbye: Line | None = None) -> Reply:
    """Build the reply that asks a question, after a lead: the name of a text, or "" for none."""
    text = words(f"chat.{question}")
    opening = words(f"chat.{lead}") if lead else ""
    return build_ending_reply(EndResult(session, None, text), words.paragraph(opening, text), goodbye)


def build_ending_reply(ending: EndResult, text: str, goodbye: Line | None = None) -> Reply:
    """Build a reply that reports how the conversation ended. It is never saved as a line."""
    reply = build_static_reply(text)
    reply.ending, reply.goodbye = ending, goodbye
    return reply

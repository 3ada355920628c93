"""Limits the conversations in an answer, as `shown_lines` does the lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from everthread.mcp.shown_lines import MAX_TOKENS, cut_text
from everthread.mcp.views import SessionView
from everthread.text.tokens import estimate_tokens

SESSION_TOKENS = 50  # of the times and numbers of a conversation, on average of text and data
MIN_SUMMARY_TOKENS = 20


def select_sessions(views: Sequence[SessionView]) -> list[SessionView]:
    """Return as many of the first conversations as an answer can have, with summaries that are cut if necessary.

    Args:
        views: the conversations.
    """
    share, room, shown = MAX_TOKENS // max(1, len(views)), MAX_TOKENS, list[SessionView]()
    for view in views:
        head = SESSION_TOKENS + estimate_tokens(f"{view.session} {view.title or ''}")
        summary = view.summary and cut_text(view.summary, max(share - head, MIN_SUMMARY_TOKENS))
        room -= head + estimate_tokens(summary or "")
        if shown and room < 0:
            break
        shown.append(view.model_copy(update={"summary": summary}))
    return shown

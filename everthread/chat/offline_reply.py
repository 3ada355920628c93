"""Replies of a chat without a language model: they show what is remembered.

They are labelled as such, and never saved: recall would find them again.
"""

from __future__ import annotations

from everthread.chat.reply import Reply
from everthread.chat.static_reply import build_static_reply
from everthread.types import Context

LABEL = "(no language model configured)"
BUDGET_TOKENS = 150  # of recalled lines: about six, as many as a person reads at a glance
MIN_RELEVANCE = 0.02  # of a recalled line; a less relevant one is not worth reading


def build_reply(context: Context, is_first: bool, incognito: bool) -> Reply:
    """Build the reply that shows a context. `is_first`: nothing was said before in the bank."""
    return build_static_reply(render(context, is_first, incognito), context)


def render(context: Context, is_first: bool, incognito: bool) -> str:
    """Render the remembered lines, or a message that nothing is remembered."""
    if is_first:
        return f"{LABEL} I remember nothing yet; this is the first thing you have told me."
    if not context.text:
        will = "" if incognito else " I will remember that you said it."
        return f"{LABEL} I remember nothing that bears on this.{will}"
    shown = "\n".join(f"  {row}" for row in context.text.splitlines())
    return f"{LABEL} This is what I remember that bears on it:\n{shown}"


def without_label(text: str) -> str:
    """Return the text of an offline reply without its label."""
    return text.removeprefix(f"{LABEL} ")

"""Finds the question of the person in the template in which a front end sends it, with documents found for it.

Source: Open WebUI, config.py: DEFAULT_RAG_TEMPLATE. Some versions put the question into the template, others before or
after it. The next turn resends the question alone.
"""

from __future__ import annotations

import re

# No document is read by these expressions, so that they take no longer for a long one.
TEMPLATE = re.compile(r"###\s+Task:\s+Respond to the user query using the provided context", re.IGNORECASE)
CONTEXT_END = "</context>"
QUERY_START, QUERY_END = "<user_query>", "</user_query>"


def find_question(text: str) -> str:
    """Return the question in a message; the whole message if it has no known template, or no question is found."""
    end = text.rfind(CONTEXT_END)
    template = TEMPLATE.search(text, 0, end) if end >= 0 else None
    if template is None:
        return text
    before, after = text[: template.start()].strip(), text[end + len(CONTEXT_END) :].strip()
    if after.startswith(QUERY_START) and after.endswith(QUERY_END):
        after = after[len(QUERY_START) : -len(QUERY_END)].strip()
    return text if before and after else before or after or text

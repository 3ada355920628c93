"""Recognises questions for all that is remembered ("What do you remember?", "What have we talked about?"). Pure.

They share no topic with any line, so they are recognised by their form alone. The forms are data, in
`overview_question.toml`.
"""

from __future__ import annotations

import re

from everthread.text.address import remove_address
from everthread.text.analyzer import fold
from everthread.text.chat_spelling import expand_chat_spelling
from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 150  # of a question; a longer one asks for more than a form has

_EDGES = " \t\n?!.…？！。¿¡"
_FORMS = {
    language: re.compile(fold(f"{lists['openings']}{alternation(lists['forms'])}"))
    for language, lists in load_word_lists(__file__).items()
}


def asks_for_everything(question: str, language: str) -> bool:
    """Return whether a question asks for all that is remembered, or was talked about, at any time.

    Args:
        question: the question.
        language: the code of its language.
    """
    text, form = question.strip(_EDGES), _FORMS.get(language)
    if form is None or not text or len(text) > MAX_CHARS:
        return False
    readings = (each for reading in (text, remove_address(text)) for each in (reading, expand_chat_spelling(reading)))
    return any(form.fullmatch(fold(reading).strip(_EDGES)) is not None for reading in readings)

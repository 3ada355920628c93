"""Parses a dialogue given as one text: the turns before a text or query, and the sentence that asks. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from everthread.text.sentences import split_sentences
from everthread.types import Line

UNNAMED = "Someone"  # the speaker of text without a name before it
_NEXT_SPEAKER = re.compile(r"(?:^|\n)[^\W\d_][^\n:.!?]{0,39}:\s*$")
_QUESTION_END = re.compile(r"[?？][\"'”’」』）)*_]*$")
_TURN = re.compile(r"(?:^|(?<!\s)(?=[^\S\n]*+\n)|(?<=[.!?…。！？]))\s*+(?P<name>[^\W\d_][^\n:.!?]{0,39}):\s++(?=\S)")


def parse_lines(context: Sequence[Line] | str, at: datetime) -> list[Line]:
    """Parse the turns of a dialogue as lines; lines are returned unchanged.

    Args:
        context: lines, or a text in which a name and a colon begin each turn, on separate rows or in one. Text before
            the first name, and a text without names, is one line.
        at: the time of the parsed lines.
    """
    if not isinstance(context, str):
        return list(context)
    return [Line(seq, "", "user", name, said, at) for seq, (name, said) in enumerate(_turns(context), 1)]


def split_last_turn(text: str) -> tuple[str, str]:
    """Split a dialogue before its last turn; in a text without names, the last sentence counts as the last turn."""
    starts = [match.start() for match in _TURN.finditer(text)]
    if not starts:
        rows = split_sentences(text)
        starts = [text.rfind(rows[-1])] if rows else [0]
    return text[: starts[-1]].strip(), text[starts[-1] :].strip()


def find_question(text: str) -> str:
    """Return the sentence that asks: the last one of the last turn with a question mark, else that turn.

    The name of who speaks next, at the end of a dialogue, is no turn.
    """
    said = _NEXT_SPEAKER.sub("", text).strip()
    turns = _turns(said)
    if not turns:
        return text.strip()
    asking = [sentence for sentence in split_sentences(turns[-1][1]) if _QUESTION_END.search(sentence)]
    return asking[-1] if asking else turns[-1][1]


def _turns(text: str) -> list[tuple[str, str]]:
    matches = list(_TURN.finditer(text))
    starts = [match.start() for match in matches] + [len(text)]
    turns = [(UNNAMED, text[: starts[0]].strip())]
    for match, end in zip(matches, starts[1:], strict=True):
        turns.append((match["name"].strip(), text[match.end() : end].strip()))
    return [turn for turn in turns if turn[1]]

"""Loads the first things that people tell a bot: fourteen small banks in English and Chinese, written for this project.

As in real use, most questions share no word with the line that answers them. Each bank also has questions and small
talk that it knows nothing about. Large datasets have no such questions and no such small talk, and a gate fitted on
those datasets alone rejects nearly every question to a new user's bank.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal, TypedDict

from everthread.bench.questions import AnnotatedConversation, Question
from everthread.types import NewLine

FIRST_SAID_AT = datetime(2024, 3, 4, 9, tzinfo=UTC)
DATA_FILES = {"en": "firsts.json", "zh": "firsts_zh.json"}
_REPLIES = {
    "en": ("Thanks for telling me.", "Good to know.", "I'll remember that.", "Oh, I see!"),
    "zh": ("谢谢你告诉我。", "知道了，很好。", "我会记住的。", "哦，原来如此！"),
}

Language = Literal["en", "zh"]


class _Bank(TypedDict):
    id: str
    speaker: str
    lines: list[str]
    questions: list[tuple[str, list[int]]]  # with the indices of the lines that answer
    unrelated: list[str]


def load_first_facts(language: Language = "en") -> list[AnnotatedConversation]:
    """Return the banks with the person's lines only, without replies."""
    return read_banks(files("everthread.bench").joinpath(DATA_FILES[language]))


def read_banks(file: Traversable) -> list[AnnotatedConversation]:
    """Read the banks of a file."""
    banks: list[_Bank] = json.loads(file.read_text("utf-8"))
    return [_build_conversation(bank) for bank in banks]


def load_requests() -> list[AnnotatedConversation]:
    """Return the banks with lasting facts, and with requests for advice on which they bear though none names them."""
    return read_banks(files("everthread.bench").joinpath("requests.json"))


def hide_among(bank: AnnotatedConversation, other: AnnotatedConversation) -> AnnotatedConversation:
    """Return a bank whose lines are spread over those of another conversation, of which its person is one speaker."""
    speaker = bank.lines[0].speaker
    renamed = [replace(line, speaker=speaker) if line.speaker == other.speakers[0] else line for line in other.lines]
    parts = len(bank.lines)
    lines, ids = [], []
    for start, (line, id) in enumerate(zip(bank.lines, bank.ids, strict=True)):
        before = slice(start * len(renamed) // parts, (start + 1) * len(renamed) // parts)
        last = renamed[before][-1]
        lines += [*renamed[before], replace(line, session=last.session, said_at=last.said_at)]
        ids += [*other.ids[before], id]
    return replace(bank, lines=tuple(lines), ids=tuple(ids), speakers=(speaker, *other.speakers[1:]))


def with_replies(conversation: AnnotatedConversation, language: Language = "en") -> AnnotatedConversation:
    """Return the conversation with a bot's short reply after every line."""
    texts = _REPLIES[language]
    replies = [
        replace(line, text=texts[n % len(texts)], speaker="Bot", role="assistant", key=f"{line.key}:reply")
        for n, line in enumerate(conversation.lines)
    ]
    lines = tuple(line for pair in zip(conversation.lines, replies, strict=True) for line in pair)
    ids = tuple(id for line_id in conversation.ids for id in (line_id, f"{line_id}:reply"))
    return replace(conversation, lines=lines, ids=ids, speakers=(*conversation.speakers, "Bot"))


def merge(banks: Sequence[AnnotatedConversation], name: str) -> AnnotatedConversation:
    """Merge several banks into one."""
    lines = tuple(line for bank in banks for line in bank.lines)
    ids = tuple(f"{bank.id}:{id}" for bank in banks for id in bank.ids)
    questions = tuple(
        replace(question, gold=frozenset(f"{bank.id}:{id}" for id in question.gold))
        for bank in banks
        for question in bank.questions
    )
    speakers = tuple(dict.fromkeys(speaker for bank in banks for speaker in bank.speakers))
    return AnnotatedConversation(name, lines, ids, questions, speakers)


def _build_conversation(bank: _Bank) -> AnnotatedConversation:
    name, speaker = bank["id"], bank["speaker"]
    lines = tuple(
        NewLine(text, speaker, said_at=FIRST_SAID_AT + timedelta(minutes=n), session=name, key=f"{name}:{n}")
        for n, text in enumerate(bank["lines"])
    )
    questions = tuple(Question(text, frozenset(map(str, gold)), "first") for text, gold in bank["questions"])
    ids = tuple(str(n) for n in range(len(lines)))
    return AnnotatedConversation(name, lines, ids, questions, (speaker,), unrelated=tuple(bank["unrelated"]))

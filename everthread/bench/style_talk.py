"""Provides the conversations whose style is measured: a bank's own, and scripted ones with and without the sample."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, repeat
from pathlib import Path

from everthread.bench.style import WINDOW_REPLIES, Drift, measure_drift
from everthread.chat import style_sample
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recipes.snapshots import Snapshots
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Filter, Line, Message

REPLY_COUNT = 120
NOTES_TIMEOUT_S = 60.0  # seconds to wait until notes are written
REPLY_SENTENCES = 5  # sentences of a scripted reply
STYLE_LOSS = 0.06  # share of its style that the scripted model loses with each reply
IMITATED_REPLIES = 8  # latest replies in the prompt that the scripted model imitates
TITLE = "talks, in a reply of"  # part of the heading above the sample in a prompt

STYLED = (
    "Arr, blow me down, that be a fine tale, me hearty!",
    "By the beard of Neptune, I never saw the like of it!",
    "Ye have the right of it, matey, aye, that ye do!",
    "Hoist the sails and pass the rum, says I!",
    "Shiver me timbers, it be colder than a mermaid's heart out here!",
    "Aye, and me old parrot would tell ye just the same!",
    "Avast, let me tell ye of the night when the kraken came!",
    "'Tis the sea that calls us, me hearty, and who be we to say no!",
)
NEUTRAL = (
    "That is an interesting point, and I can see why you would think about it.",
    "It is important to consider the different options that are available to you.",
    "There are several ways in which this could be done.",
    "I hope that this information is helpful for you.",
    "Please let me know if there is anything else that you would like to discuss.",
    "In general, it is a good idea to take some time for this.",
    "This can depend on a number of factors, such as the situation and the people.",
    "I understand that this has been on your mind.",
)
USER_LINES = (
    "I went to the market this morning.",
    "My brother has bought a boat.",
    "What should I cook tonight?",
    "It rained all week.",
    "I am reading a book about the stars.",
    "My knee hurts when I climb the stairs.",
    "We are painting the kitchen.",
)
CAPTAIN = Character("Flint", "{{char}} is the captain of a pirate ship.", person="Nora")


@dataclass(frozen=True, slots=True)
class StyleTalk:
    """The sample of style of a conversation, and the replies after it."""

    sample: str
    replies: tuple[str, ...]


def read_bank(memory: Memory) -> StyleTalk:
    """Read a bank's sample of style, and the complete replies after it.

    Raises:
        BadInput: if no reply of the bank shows a style.
    """
    replies = [line for line in memory.lines(Filter(role="assistant")) if not line.metadata.get("partial")]
    sample = _find_sample_line(memory, replies)
    if sample is None:
        raise BadInput(
            f"bank {memory.bank!r} has no reply of {style_sample.MIN_SAMPLE_WORDS} words or more; talk with it first"
        )
    return StyleTalk(sample.text, tuple(line.text for line in replies if line.seq > sample.seq))


def _find_sample_line(memory: Memory, replies: Sequence[Line]) -> Line | None:
    chosen_seq = memory.settings().get("sample")
    chosen = next((line for line in replies if line.seq == chosen_seq), None)
    return chosen or next(filter(style_sample.is_sample, replies), None)


def run_scripted(replies: int = REPLY_COUNT, *, sample: bool = True) -> StyleTalk:
    """Talk with a scripted model that loses its style, with the recipe `character`.

    Args:
        replies: number of replies after the first, which is the sample.
        sample: whether prompts contain the sample of style.
    """
    llm = ScriptedLLM(repeat(FadingModel(0)))
    with (
        tempfile.TemporaryDirectory(prefix="everthread-style-") as folder,
        Memory.open("style", store=Path(folder), embedder=HashEmbedder(64), recipe=Snapshots()) as memory,
        Chat(memory, CAPTAIN, llm, scribe=ExtractiveScribe()) as chat,
    ):
        if not sample:
            chat.responder.find_sample = _find_no_sample  # type: ignore[method-assign]
        first, *rest = (_get_reply(chat, USER_LINES[number % len(USER_LINES)]) for number in range(1 + replies))
    return StyleTalk(first, tuple(rest))


def _get_reply(chat: Chat, text: str) -> str:
    """Return the reply after the notes are written, because they are part of the next prompt."""
    reply = "".join(chat.reply(text))
    chat.wait(NOTES_TIMEOUT_S)
    return reply


def compare_samples(replies: int = REPLY_COUNT, window: int = WINDOW_REPLIES) -> dict[str, list[Drift]]:
    """Measure the scripted conversation with and without the sample, with the same mean and spread.

    Raises:
        BadInput: for fewer than three windows.
    """
    talks = {"with the sample": run_scripted(replies), "without": run_scripted(replies, sample=False)}
    reference = ["\n".join(talk.replies) for talk in talks.values()]
    return {name: measure_drift(talk.sample, talk.replies, window, reference) for name, talk in talks.items()}


def _find_no_sample(replaces: Line | None = None) -> str:
    return ""


class FadingModel:
    """A scripted model that imitates its replies in the prompt, and loses a little of their style with each.

    A sample in the prompt counts as much as all replies together.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._turns = count()

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the next reply to these messages."""
        own = [styled_share(message.content) for message in messages if message.role == "assistant"][-IMITATED_REPLIES:]
        share = (1 - STYLE_LOSS) * sum(own) / len(own) if own else 1.0
        if shown := find_sample(messages):
            share = (share + styled_share(shown)) / 2
        choice = random.Random(f"{self._seed} {next(self._turns)}")
        return " ".join(choice.choice(STYLED if choice.random() < share else NEUTRAL) for _ in range(REPLY_SENTENCES))


def find_sample(messages: Sequence[Message]) -> str:
    """Return the sample of style in a prompt; empty without one."""
    _, _, after = messages[0].content.partition(TITLE)
    return after.partition("]\n")[2].partition("\n\n")[0]


def styled_share(text: str) -> float:
    """Return the share of the captain's sentences among the scripted ones of a text; 1 if it has none."""
    styled, neutral = (sum(text.count(sentence) for sentence in sentences) for sentences in (STYLED, NEUTRAL))
    return styled / (styled + neutral) if styled + neutral else 1.0

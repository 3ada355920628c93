"""Talks whose style is measured: a bank's own, and a scripted one with and without the sample in the prompt."""

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
NOTES_TIMEOUT_S = 60.0  # seconds for the notes
REPLY_SENTENCES = 5  # of a scripted reply
STYLE_LOSS = 0.06  # of its style the scripted model loses against the replies that it sees
IMITATED_REPLIES = 8  # latest replies of its own that it imitates
TITLE = "talks, in a reply of"  # in the heading of a prompt's sample

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
    """A talk's sample of style and the replies after it."""

    sample: str
    replies: tuple[str, ...]


def read_bank(memory: Memory) -> StyleTalk:
    """Read a bank's sample of style, and the whole replies after it.

    Raises:
        BadInput: where no reply of the bank shows a style.
    """
    kept = [line for line in memory.lines(Filter(role="assistant")) if not line.metadata.get("partial")]
    sample = _sample(memory, kept)
    if sample is None:
        raise BadInput(
            f"bank {memory.bank!r} has no reply of {style_sample.MIN_SAMPLE_WORDS} words or more; talk with it first"
        )
    return StyleTalk(sample.text, tuple(line.text for line in kept if line.seq > sample.seq))


def _sample(memory: Memory, replies: Sequence[Line]) -> Line | None:
    chosen = memory.settings().get("sample")
    return next((line for line in replies if line.seq == chosen), next(filter(style_sample.is_sample, replies), None))


def run_scripted(replies: int = REPLY_COUNT, *, sample: bool = True, seed: int = 0) -> StyleTalk:
    """Talk with a scripted model that fades, by the recipe `character`.

    Args:
        replies: how many replies follow the first, which is the sample.
        sample: whether prompts hold the sample of style.
        seed: of its choices.
    """
    llm = ScriptedLLM(repeat(FadingModel(seed)))
    with (
        tempfile.TemporaryDirectory(prefix="everthread-style-") as folder,
        Memory.open("style", store=Path(folder), embedder=HashEmbedder(64), recipe=Snapshots()) as memory,
        Chat(memory, CAPTAIN, llm, scribe=ExtractiveScribe()) as chat,
    ):
        if not sample:
            chat.responder.find_sample = _find_no_sample  # type: ignore[method-assign]
        first, *rest = (_get_reply(chat, USER_LINES[number % len(USER_LINES)]) for number in range(1 + replies))
    return StyleTalk(first, tuple(rest))


def _get_reply(chat: Chat, said: str) -> str:
    """Return the reply, once the notes are written: when they are decides what the next prompt holds."""
    reply = "".join(chat.reply(said))
    chat.wait(NOTES_TIMEOUT_S)
    return reply


def compare_samples(replies: int = REPLY_COUNT, window: int = WINDOW_REPLIES) -> dict[str, list[Drift]]:
    """Measure the scripted talk with and without the sample, against the same mean and spread.

    Raises:
        BadInput: for fewer than three windows.
    """
    talks = {"with the sample": run_scripted(replies), "without": run_scripted(replies, sample=False)}
    reference = ["\n".join(talk.replies) for talk in talks.values()]
    return {name: measure_drift(talk.sample, talk.replies, window, reference) for name, talk in talks.items()}


def _find_no_sample(replaces: Line | None = None) -> str:
    return ""


class FadingModel:
    """A model that imitates its own replies in the prompt and loses a little of their style with each; a sample in the
    prompt counts as much as all of them. It knows nothing but its prompt."""

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
    """Return the sample of style that a prompt holds, or nothing."""
    _, _, after = messages[0].content.partition(TITLE)
    return after.partition("]\n")[2].partition("\n\n")[0]


def styled_share(text: str) -> float:
    """Return the share of the captain's sentences among the known ones of a text, 1 where it has none."""
    theirs, others = (sum(text.count(each) for each in pool) for pool in (STYLED, NEUTRAL))
    return theirs / (theirs + others) if theirs + others else 1.0

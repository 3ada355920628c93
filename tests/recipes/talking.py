"""The twenty lines as a conversation of Mara with Jonas, who answers with his own lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.factory import RECIPES
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.recipes.snapshots import Snapshots
from everthread.scribes.base import Scribe
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import ScriptedLLM
from everthread.types import Message, NewLine
from recipes.twenty import APART, BOT, PERSON, TWENTY

JONAS = Character(BOT, "{{char}} keeps a lighthouse.", person=PERSON)


LATER = datetime(2026, 7, 4, 21, tzinfo=UTC)

# Every recipe as it is registered, and one that also notes so short a talk while it goes on.
EVERY: dict[str, Recipe] = {**RECIPES, "character in small": Snapshots(window_max=6, evict=3)}


class Clock:
    """Returns the time that it is set to."""

    def __init__(self, now: datetime | None = TWENTY[0].said_at) -> None:
        self.now = now

    def __call__(self) -> datetime:
        assert self.now is not None
        return self.now


def talk(
    memory: Memory,
    *,
    scribe: Scribe | None = None,
    lines: Sequence[NewLine] = TWENTY,
    after: Callable[[int], None] = lambda seq: None,
) -> list[str]:
    """Say the lines, and end each conversation before the next, with consent to remember it.

    Args:
        after: called with the number of each of Jonas's lines once all work on it is written or has failed, and with 0
            at the ends.

    Returns:
        The prompts of the replies, each as one text.
    """
    clock = Clock()
    model = ScriptedLLM([_answer(line, clock) for line in lines if line.role == "assistant"])
    for session, said in groupby(lines, lambda line: str(line.session)):
        own = [line for line in said if line.role == "user"]
        with Chat(memory, JONAS, model, scribe=scribe or ExtractiveScribe(), session=session, clock=clock) as chat:
            for line in own:
                clock.now = line.said_at
                reply = chat.reply(line.text)
                assert "".join(reply)
                assert chat.wait(60)
                after(reply.line.seq if reply.line else 0)
            chat.end(remember=True)
            assert chat.wait(60)
            after(0)
    return ["\n\n".join(message.content for message in prompt) for prompt in model.prompts]


def _answer(line: NewLine, clock: Clock) -> Callable[[Sequence[Message]], str]:
    def answer(_: Sequence[Message]) -> str:
        clock.now = clock() + APART
        return line.text

    return answer


def asked(memory: Memory, question: str) -> str:
    """Return the prompt of a question asked later, in incognito."""
    model = ScriptedLLM(["I will think about it."])
    with Chat(memory, JONAS, model, session="later", incognito=True, clock=Clock(LATER)) as chat:
        "".join(chat.reply(question))
    return "\n\n".join(message.content for message in model.prompts[-1])


def written_up(memory: Memory, scribe: Scribe | None = None) -> None:
    """Try each pending job once."""
    with Chat(memory, JONAS, None, scribe=scribe or ExtractiveScribe(), session="later", clock=Clock(LATER)) as chat:
        assert chat.wait(60)

"""Pinned lines are in every prompt until they are unpinned, retracted or forgotten."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial

import pytest
from hardship import forked

from everthread.chat import pins
from everthread.chat.chat import Chat
from everthread.common.keys import SETTING_PINNED
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import ScriptedLLM
from everthread.text.tokens import estimate_tokens

MAY = datetime(2026, 5, 3, 12, tzinfo=UTC)


def keep(memory: Memory, *texts: str) -> list[int]:
    return [memory.observe(text, speaker="Alice", said_at=MAY, session="spring").seq for text in texts]


def open_chat(memory: Memory, replies: int = 3) -> tuple[Chat, ScriptedLLM]:
    model = ScriptedLLM(["Yes."] * replies)
    return Chat(memory, llm=model, scribe=ExtractiveScribe(), session="today"), model


def test_a_pinned_line_is_in_the_prefix_of_every_prompt_with_date_and_speaker(memory: Memory) -> None:
    (seq,) = keep(memory, "I am allergic to nuts.")
    pins.add(memory, seq)
    chat, model = open_chat(memory)
    with chat:
        for text in ("What a fine day.", "And the sea!"):
            list(chat.reply(text))
    firsts = [prompt[0].content for prompt in model.prompts]
    assert firsts[0] == firsts[1]
    assert "[Sunday, 3 May 2026, 12:00]\nAlice: I am allergic to nuts." in firsts[0]
    assert all(
        "remembers that may be relevant" not in message.content for prompt in model.prompts for message in prompt
    )


def test_a_retracted_or_forgotten_line_is_no_longer_pinned(memory: Memory) -> None:
    one, two, three = keep(memory, "One.", "Two.", "Three.")
    for seq in (three, one, two, one):
        pins.add(memory, seq)
    assert [line.seq for line in pins.list_pins(memory)] == [one, two, three]
    memory.retract(one)
    assert [line.seq for line in pins.list_pins(memory)] == [two, three]
    memory.forget(seq=two)
    assert memory.settings()[SETTING_PINNED] == [three]
    memory.forget(session="spring")
    assert SETTING_PINNED not in memory.settings()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_concurrent_processes_lose_no_pin(memory: Memory) -> None:
    seqs = keep(memory, *(f"Line {number}." for number in range(pins.MAX_PINS)))

    def pin(these: list[int]) -> None:
        for seq in these:
            pins.add(memory, seq)
            pins.remove(memory, seq)
            pins.add(memory, seq)

    children = [forked.fork_child(partial(pin, seqs[first::2])) for first in range(2)]
    assert [forked.exits_cleanly(child) for child in children] == [True, True]
    assert [line.seq for line in pins.list_pins(memory)] == seqs


def test_only_current_lines_can_be_pinned_up_to_a_limit(memory: Memory) -> None:
    seqs = keep(memory, *(f"Line {number}." for number in range(pins.MAX_PINS + 1)))
    with pytest.raises(NotFound, match="no line 99"):
        pins.add(memory, 99)
    for seq in seqs[:-1]:
        pins.add(memory, seq)
    with pytest.raises(BadInput, match="20 lines are pinned already"):
        pins.add(memory, seqs[-1])
    assert len(pins.remove(memory, seqs[0])) == pins.MAX_PINS - 1
    assert pins.add(memory, seqs[-1])[-1].seq == seqs[-1]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["A few words that are said. " * 3, "endless " * 5_000, "无" * 3_000])
def test_rendered_pins_fit_their_budget(memory: Memory, text: str) -> None:
    for seq in keep(memory, *([text] * pins.MAX_PINS)):
        pins.add(memory, seq)
    rendered = pins.render(pins.list_pins(memory))
    assert 0 < estimate_tokens(rendered) <= pins.PINS_BUDGET_TOKENS
    assert text[:5] in rendered


def test_pinned_lines_are_not_recalled(memory: Memory) -> None:
    (seq,) = keep(memory, "Mia moved to Lisbon in May.")
    pins.add(memory, seq)
    chat, _ = open_chat(memory)
    with chat:
        reply = chat.reply("Where did Mia move to, Lisbon?")
        list(reply)
    assert reply.context.hits == ()

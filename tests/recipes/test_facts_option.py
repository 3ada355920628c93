"""The option `facts` of the recipes that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.factory import RECIPES
from everthread.memory import Memory
from everthread.recipes.options import with_options
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import NewLine

HOME = "Nora lives in York (since March 2024; before: Leeds)."
WORK = "Mia works at Acme."
TALK = (
    ("user", "I live in Leeds."),
    ("assistant", "Leeds has fine museums."),
    ("user", "My sister Mia works at Acme."),
    ("user", "I moved to York in March 2024."),
)

Opened = Callable[..., Memory]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Opened]:
    """Return a function that opens a bank in which Nora has talked, with a recipe and its options."""
    opened: list[Memory] = []

    def open_(recipe: str, **options: object) -> Memory:
        memory = Memory.open("nora", store=tmp_path, embedder=HashEmbedder(), recipe=recipe, options=options)
        opened.append(memory)
        if not memory.stats().lines:
            at = datetime(2024, 4, 1, tzinfo=UTC)
            memory.observe_many(
                NewLine(text, "Nora" if role == "user" else "Ines", role, said_at=at)  # type: ignore[arg-type]
                for role, text in TALK
            )
        return memory

    yield open_
    for memory in opened:
        memory.close()


def texts(memory: Memory, question: str) -> list[str]:
    return [fact.text for fact in memory.context(question).facts]


@pytest.mark.parametrize("name", ["emi", "character"])
def test_a_context_has_what_is_known_of_those_that_the_question_names(bank: Opened, name: str) -> None:
    memory = bank(name, facts=True)
    assert texts(memory, "Where does Nora live?") == [HOME]
    assert texts(memory, "Where does Mia work?") == [WORK]
    assert texts(memory, "Where is the museum?") == []


@pytest.mark.parametrize("name", ["emi", "character"])
def test_the_option_is_off_by_default(bank: Opened, name: str) -> None:
    assert with_options(RECIPES[name], {}).facts is False
    assert texts(bank(name), "Where does Nora live?") == []


def test_facts_come_beside_the_reply_that_emi_recalls(bank: Opened) -> None:
    question = "Where does Nora live, and what of the museums of Leeds?"
    context, plain = bank("emi", facts=True).context(question), bank("emi", facts=False).context(question)
    assert [hit.text for hit in context.hits] == [hit.text for hit in plain.hits] == ["Leeds has fine museums."]
    assert context.text == f"[What is known]\n{HOME}\n\n{plain.text}"


@pytest.mark.parametrize("name", ["emi", "character"])
def test_the_prompt_of_a_chat_has_facts_without_an_empty_part_of_memories(bank: Opened, name: str) -> None:
    memory, llm = bank(name, facts=True), ScriptedLLM(["Acme."])
    with Chat(memory, Character("Ines", person="Nora"), llm=llm, scribe=ExtractiveScribe()) as chat:
        "".join(chat.reply("Where does Mia work?"))
        assert chat.last_reply is not None
        assert chat.last_reply.prompt is not None
        last = chat.last_reply.prompt.messages[-1].content
    assert f"[What Ines knows]\n{WORK}" in last
    assert "For reference" not in last
    assert "Older notes" not in last

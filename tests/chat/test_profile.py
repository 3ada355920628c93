from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.profile import MAX_TOKENS, PersonProfile
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.text.tokens import estimate_tokens
from everthread.types import NewLine

CAPTAIN = Character("Captain", "{{char}} sails with {{user}}.", person="Nora")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder(), recipe=Default(profile=True)) as opened:
        yield opened


def tell(memory: Memory, *texts: str) -> None:
    memory.observe_many(NewLine(text, "Nora", session="earlier") for text in texts)


def choose(profile: PersonProfile, first: int = 100) -> list[str]:
    return profile.choose([first], (), "en", "Nora").splitlines()


def test_allergies_come_first_and_the_budget_holds(memory: Memory) -> None:
    tell(memory, *(f"I love walking in the mountains number {number}." for number in range(40)))
    tell(memory, "I live in Leeds.", "I'm allergic to walnuts.")
    sentences = choose(PersonProfile(memory, estimate_tokens))
    assert sentences[:2] == ["Nora is allergic to walnuts.", "Nora lives in Leeds."]
    assert estimate_tokens("\n".join(sentences)) <= MAX_TOKENS


def test_a_new_fact_waits_until_the_window_begins_elsewhere(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    profile = PersonProfile(memory, estimate_tokens)
    assert choose(profile) == ["Nora lives in Leeds."]
    tell(memory, "I'm a nurse.")
    assert choose(profile) == ["Nora lives in Leeds."]
    assert choose(profile, first=101) == ["Nora is a nurse.", "Nora lives in Leeds."]


def test_a_forgotten_fact_leaves_at_once(memory: Memory) -> None:
    tell(memory, "I live in Leeds.", "I'm a nurse.")
    profile = PersonProfile(memory, estimate_tokens)
    assert len(choose(profile)) == 2
    memory.forget(seq=1)
    assert choose(profile) == ["Nora is a nurse."]


def test_discarded_lines_give_no_profile(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    assert PersonProfile(memory, estimate_tokens).choose([100], {1}, "en", "Nora") == ""


def test_each_person_has_their_own_profile(memory: Memory) -> None:
    memory.observe_many(
        NewLine("I live in Leeds." if name == "Nora" else "I live in Bath.", name) for name in ("Nora", "Zoe")
    )
    profiles = [PersonProfile(memory, estimate_tokens).choose([100], (), "en", name) for name in ("Nora", "Zoe")]
    assert profiles == ["Nora lives in Leeds.", "Zoe lives in Bath."]


def test_the_profile_is_in_the_first_message_of_a_prompt(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    llm = ScriptedLLM(["Aye."] * 3)
    with Chat(memory, CAPTAIN, llm, session="later") as chat:
        for text in ("A fine day!", "I'm a nurse.", "Off we go."):
            "".join(chat.reply(text))
    systems = {prompt[0].content for prompt in llm.prompts}
    assert len(systems) == 1
    assert "[What Captain knows of Nora]\nNora lives in Leeds." in systems.pop()


def test_a_bank_that_never_remembers_has_no_profile(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    memory.set_setting("remember", "never")
    llm = ScriptedLLM(["Aye."])
    with Chat(memory, CAPTAIN, llm, session="later") as chat:
        "".join(chat.reply("A fine day!"))
    assert "Leeds" not in llm.prompts[0][0].content

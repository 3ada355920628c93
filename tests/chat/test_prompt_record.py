"""The prompt of a reply is recorded by part, and put together again from what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from everthread.bank.evidence import build_metadata
from everthread.chat import pins
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.prompt_record import ReplyPrompt, read_prompt
from everthread.common.keys import META_RECALLED, SETTING_CHARACTER, SETTING_RECALL_FROM
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Context, Evidence

CAPTAIN = Character("Captain", "{{char}} sails with {{user}}.", person="Nora", examples="{{user}}: Ready?")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory("nora", SQLiteStore(tmp_path), HashEmbedder(), Default()) as memory:
        yield memory
        memory.store.close()


def say(memory: Memory, llm: ScriptedLLM, *texts: str, session: str = "later") -> Evidence:
    """Say texts in a conversation, and return the evidence of the last reply."""
    with Chat(memory, CAPTAIN, llm, session=session) as chat:
        for text in texts:
            reply = chat.reply(text)
            "".join(reply)
    assert reply.line is not None
    assert reply.prompt is not None
    assert sum(reply.prompt.sizes.values()) == reply.prompt.tokens
    return memory.evidence(reply.line.seq)


def texts_of(prompt: ReplyPrompt) -> dict[str, str]:
    return {part.name: part.text for part in prompt.parts}


def test_a_prompt_is_put_together_again_from_the_lines_and_notes_in_it(memory: Memory) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Nora", session="earlier")
    pinned = memory.observe("I never eat fish.", speaker="Nora", session="earlier")
    pins.add(memory, pinned.seq)
    llm = ScriptedLLM(["Aye.", "Lisbon."])
    evidence = say(memory, llm, "A fine day!", "Where did my sister Mia move, to Lisbon?")
    memory.observe("Said after it.", speaker="Nora", session="later")
    assert texts_of(read_prompt(memory, evidence))["instructions"].startswith("You are Ever")
    memory.set_setting(SETTING_CHARACTER, CAPTAIN.to_json())
    prompt = read_prompt(memory, evidence)
    assert [part.name for part in prompt.parts] == list(evidence.prompt) == [
        "instructions", "character", "examples", "pinned", "window", "memories", "scene", "message",
    ]  # fmt: skip
    assert prompt.tokens == sum(part.tokens for part in prompt.parts)
    sent = "\n\n".join(message.content for message in llm.prompts[-1])
    texts = texts_of(prompt)
    for name in ("instructions", "character", "examples", "pinned", "window", "scene", "message"):
        assert texts[name] in sent
    assert "Nora: My sister Mia moved to Lisbon." in texts["memories"]
    assert texts["window"] == "Nora: A fine day!\n\nCaptain: Aye."
    assert [part.name for part in prompt.parts if part.is_current] == [
        "instructions", "character", "examples", "scene",
    ]  # fmt: skip
    record = memory.get(evidence.seq).metadata[META_RECALLED]["prompt"]  # type: ignore[union-attr,index,call-overload]
    assert (record["window"], record["pinned"]) == ([[3, 4]], [2])  # type: ignore[index,call-overload]
    assert not any(word in str(record) for word in ("Nora", "fish", "Aye"))


def test_what_was_forgotten_or_corrected_since_shows_in_the_prompt(memory: Memory) -> None:
    evidence = say(memory, ScriptedLLM(["Aye.", "Aye again."]), "The chest is here.", "And the key?")
    memory.correct(1, "The chest is there.")
    memory.forget(seq=2)
    prompt = read_prompt(memory, memory.evidence(evidence.seq))
    assert texts_of(prompt)["window"] == "Nora: The chest is here."  # as it was then, without what was forgotten
    assert evidence.prompt["window"] == {part.name: part.tokens for part in prompt.parts}["window"]


def test_memories_of_other_banks_are_shown_while_they_are_shared(memory: Memory) -> None:
    with Memory("nora/cook", memory.store, HashEmbedder(), Default()) as cook:
        for text in ("The soup needs salt.", "Salt is in the soup chest."):
            cook.observe(text, speaker="Nora", session="galley")
        memory.set_setting(SETTING_RECALL_FROM, ["nora/cook"])
        seq = say(memory, ScriptedLLM(["Salt."]), "What does the soup need, salt?").seq
        evidence = memory.evidence(seq)
        assert [line.text for line in evidence.shared["nora/cook"]] == [
            "The soup needs salt.",
            "Salt is in the soup chest.",
        ]
        assert "The soup needs salt." in texts_of(read_prompt(memory, evidence))["memories"]
        cook.forget(seq=1)
        assert [line.seq for line in memory.evidence(seq).shared["nora/cook"]] == [2]
        memory.set_setting(SETTING_RECALL_FROM, None)
        evidence = memory.evidence(seq)
        assert (dict(evidence.shared), list(evidence.others)) == ({}, ["nora/cook"])
        assert texts_of(read_prompt(memory, evidence))["memories"] == ""


@pytest.mark.parametrize(
    "prompt",
    [
        {"sizes": [["window", 3]], "window": 3, "pinned": "x", "notes": [1], "cut": {}},
        {"sizes": [["window", 3], ["x"], 4, [5, 6]], "window": [[1], [0, 2], "x"], "notes": [2**70, 1], "cut": [1]},
    ],
)
def test_an_invalid_record_in_imported_metadata_does_no_harm(memory: Memory, prompt: object) -> None:
    line = memory.observe("Aye.", role="assistant", metadata={META_RECALLED: {"prompt": prompt}})  # type: ignore[dict-item]
    shown = read_prompt(memory, memory.evidence(line.seq))
    assert [(part.name, part.tokens, part.text) for part in shown.parts] == [("window", 3, "")]
    assert shown.cut == ()


def test_a_reply_without_a_recorded_prompt_has_none(memory: Memory) -> None:
    line = memory.observe("Aye.", role="assistant", metadata=build_metadata(Context("", 0, (), (), (), 0.0)))
    with pytest.raises(NotFound, match="of the prompt of line 1 nothing is recorded; expected the number of a reply"):
        read_prompt(memory, memory.evidence(line.seq))
    with pytest.raises(NotFound, match="of the prompt of line 9 nothing is recorded"):
        read_prompt(memory, replace(memory.evidence(line.seq), seq=9))

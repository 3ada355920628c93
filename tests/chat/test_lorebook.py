"""Entries of a lorebook are in a prompt while their keywords are in the conversation."""

from __future__ import annotations

from typing import Any

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.lorebook import MAX_KEYS, SCAN_DEPTH_LINES, find_entries
from everthread.memory import Memory
from everthread.testing import ScriptedLLM
from everthread.text.tokens import estimate_tokens


def book(*entries: Any, **fields: Any) -> dict[str, Any]:
    return {"data": {"character_book": {"entries": list(entries), **fields}}}


def found(card: dict[str, Any], *lines: str) -> list[str]:
    return find_entries(card, lines, estimate_tokens)


LAMP = {"keys": ["lamp", "灯"], "content": "It is lit at dusk."}


@pytest.mark.parametrize(
    ("entry", "line", "applies"),
    [
        ({}, "Is the Lamp lit?", True),
        ({}, "Those lamps are old.", False),
        ({}, "那盏灯呢", True),
        ({}, "Hello.", False),
        ({"constant": True}, "Hello.", True),
        ({"enabled": False}, "The lamp!", False),
        ({"case_sensitive": True}, "The Lamp!", False),
        ({"selective": True, "secondary_keys": ["oil"]}, "The lamp!", False),
        ({"selective": True, "secondary_keys": ["oil"]}, "Oil for the lamp!", True),
        ({"secondary_keys": ["oil"]}, "The lamp!", True),
        ({"use_regex": True}, "The lamp!", False),
        ({"content": " "}, "The lamp!", False),
        ({"keys": None}, "The lamp!", False),
        ({"keys": [*["x"] * MAX_KEYS, "lamp"]}, "The lamp!", False),
    ],
)
def test_an_entry_applies_if_its_keywords_were_said(entry: dict[str, Any], line: str, applies: bool) -> None:
    assert found(book({**LAMP, **entry}), line) == (["It is lit at dusk."] if applies else [])


def test_keywords_are_searched_in_the_newest_lines() -> None:
    lines = ["The lamp!", *["Yes."] * SCAN_DEPTH_LINES]
    assert found(book(LAMP), *lines) == []
    assert found(book(LAMP, scan_depth=SCAN_DEPTH_LINES + 1), *lines) == ["It is lit at dusk."]
    assert found(book(LAMP, scan_depth=0), "The lamp!") == []


def test_entries_are_ordered_and_kept_within_the_budget() -> None:
    entries = [
        {"constant": True, "content": text, "insertion_order": at} for at, text in ((2, "b"), (3, "c " * 99), (1, "a"))
    ]
    assert found(book(*entries)) == ["a", "b", ("c " * 99).strip()]
    assert found(book(*entries, token_budget=10)) == ["a", "b"]


@pytest.mark.parametrize(
    "card", [{}, {"data": []}, {"data": {"character_book": {"entries": {}}}}, book(1, {}, {"keys": "x"})]
)
def test_a_malformed_book_has_no_entries(card: dict[str, Any]) -> None:
    assert found(card, "x") == []


def test_the_prompt_of_a_turn_has_its_entries_with_the_names_filled_in(memory: Memory) -> None:
    card = book({"keys": ["lamp"], "content": "{{char}} lights the lamp for {{user}}."})
    model = ScriptedLLM(["Yes."] * 2)
    with Chat(memory, Character("Nora", person="Ben", card=card), model) as chat:
        list(chat.reply("Hello."))
        list(chat.reply("Is the lamp lit?"))
    last = [prompt[-1].content for prompt in model.prompts]
    assert "Nora lights the lamp for Ben." not in last[0]
    assert "[What Nora knows of what is being talked about]\nNora lights the lamp for Ben." in last[1]

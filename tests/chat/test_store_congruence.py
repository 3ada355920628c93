"""The same conversation has the same lines, units and prompts in both stores."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.common.keys import META_RECALLED
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Filter, Metadata

CAPTAIN = Character("Captain", "{{char}} sails with {{user}}.", person="Nora", greeting="Ahoy!")


def conversation(memory: Memory) -> dict[str, Any]:
    """Return all stored data of a conversation, and all prompts of its model."""
    moment = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def clock() -> datetime:
        nonlocal moment
        moment += timedelta(seconds=30)
        return moment

    model = ScriptedLLM(
        [f"Aye, that was the {n}th of the islands that we saw together." for n in range(99)], context=2600
    )
    with Chat(memory, CAPTAIN, model, scribe=ExtractiveScribe(), clock=clock) as chat:
        for n in range(30):
            "".join(chat.reply(f"On day {n} my sister Mia sailed to island number {n} with her yellow boat."))
            chat.wait(60)
        "".join(chat.regenerate())
        chat.wait(60)
        at = chat.lines[-4].seq
        chat.undo()
        chat.wait(60)
        "".join(chat.edit(at, "On this day we stayed at home and mended the sails.") or ())
        chat.wait(60)
        chat.branch(chat.lines[-3].seq)
        chat.wait(60)
        chat.forget(chat.lines[3].seq)
        chat.wait(60)
        chat.edit_character(location="the open sea")
        "".join(chat.reply("My exam is tomorrow."))
        chat.wait(60)
        chat.end(remember=True)
        chat.wait(60)
        moment += timedelta(days=1)
        "".join(chat.reply("Where did Mia sail on day 2 with her yellow boat?"))
        memory.facts()  # reads the last lines, unless the chat has in the background, before they are retracted
        chat.end(remember=False)
    return {
        "lines": [
            (
                replace(line, retracted_at=None, metadata=without_measurements(line.metadata)),
                line.retracted_at is not None,
            )
            for line in memory.lines(include_retracted=True)
        ],
        "units": [(u.kind, u.text, u.first_seq, u.last_seq, u.valid_to is None, u.category) for u in memory.units()],
        "found": [hit.source.text for hit in memory.recall("yellow boat", where=Filter(kind=("note", "summary")))],
        "sessions": [(session.id, session.lines, session.ended_at is not None) for session in memory.sessions()],
        "settings": dict(memory.settings()),
        "queued": memory.jobs(),
        "prompts": model.prompts,
    }


def without_measurements(metadata: Metadata) -> Metadata:
    """Return metadata with the numbers of the recalled lines instead of their signals, which differ by rounding."""
    recalled: Any = metadata.get(META_RECALLED, {})
    hits = [(hit.get("seq"), hit["passage"]) for hit in recalled.get("hits", ())]
    return {**metadata, META_RECALLED: [hits, recalled.get("kept"), recalled.get("forgotten")]}


def test_a_conversation_is_the_same_in_a_folder_and_in_a_database(tmp_path: Path, any_database: str) -> None:
    left: list[dict[str, Any]] = []
    for store in (str(tmp_path), any_database):
        with Memory.open("nora", store=store, embedder=HashEmbedder(128)) as memory:
            left.append(conversation(memory))
    for what in left[0]:
        assert left[0][what] == left[1][what], what
    assert any(kind == "note" for kind, *_ in left[0]["units"])
    assert any(kind == "summary" for kind, *_ in left[0]["units"])
    assert left[0]["queued"] == []

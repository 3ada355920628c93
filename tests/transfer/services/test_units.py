from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from everthread.memory import Memory
from everthread.transfer.importing import check_file, import_lines
from everthread.transfer.services.units import store_units
from everthread.types import NewUnit
from transfer.services.companion_examples import LETTA, MEM0, plain

SAID_AT = datetime(2025, 6, 2, tzinfo=UTC)


def fact(text: str, fact_id: str = "f1") -> NewUnit:
    return NewUnit("fact", text, 0, 0, SAID_AT, metadata={"source": "mem0", "id": fact_id})


def current(memory: Memory, kind: str) -> list[str]:
    return [unit.text for unit in memory.units(kind, only_current=True)]


def test_facts_are_stored_once_and_a_changed_one_supersedes(memory: Memory) -> None:
    assert store_units(memory, [fact("Likes tea"), fact("Has a dog", "f2")]) == 2
    assert store_units(memory, [fact("Likes tea")]) == 0
    assert store_units(memory, [fact("Likes coffee"), fact("Has a dog", "f2")]) == 1
    assert current(memory, "fact") == ["Has a dog", "Likes coffee"]
    assert store_units(memory, [fact("Likes tea")]) == 0


def test_what_was_changed_in_the_bank_stays(memory: Memory) -> None:
    store_units(memory, [fact("Likes tea")])
    memory.edit_unit("fact", memory.units("fact")[0].id, "Likes green tea")
    assert store_units(memory, [fact("Likes tea")]) == 0
    assert current(memory, "fact") == ["Likes green tea"]


def test_an_export_of_facts_alone_is_imported(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_bytes(plain(MEM0))
    counts = [import_lines(memory, check_file(path)) for _ in range(2)]
    assert [(count["read"], count["units"]) for count in counts] == [(0, 2), (0, 0)]
    assert current(memory, "fact") == ["Likes blue doors", "Has a dog"]


def test_the_note_of_an_agent_is_stored_in_a_bank_without_one(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "Aria.af"
    path.write_bytes(plain(LETTA))
    assert [import_lines(memory, check_file(path))["units"] for _ in range(2)] == [1, 0]
    assert current(memory, "note") == ["human:\nHer name is Nora."]
    assert [unit.text for unit in memory.units()] == current(memory, "note")


def test_facts_and_notes_are_chosen_by_name(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_bytes(plain([{**MEM0["results"][0], "user_id": "nora"}, {**MEM0["results"][1], "user_id": "emil"}]))
    assert import_lines(memory, check_file(path, only=["Emil"]))["units"] == 1


def test_a_fact_that_no_bank_can_store_is_left_out_by_name(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_text(json.dumps([{**MEM0["results"][0], "id": "half a \ud800"}, MEM0["results"][1]]))
    source = check_file(path)
    assert import_lines(memory, source)["units"] == 1
    assert list(source.contents.broken) == ["a fact or a note"]

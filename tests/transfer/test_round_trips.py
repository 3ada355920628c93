"""Banks that are exported for another program and imported again have the same words, dates and discarded replies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.transfer import importing
from everthread.transfer.exporting import export_files
from everthread.transfer.writers.session_record import read_records
from everthread.types import NewLine

NOON = datetime(2024, 5, 1, 12, 0, 0, 123456, timezone(timedelta(hours=2)))
BANKS = (f"bank {number}" for number in count())
texts = st.text("ab cß\n你😀\"'\\<>&#*é", min_size=1, max_size=12).filter(lambda text: text == text.strip())
turns = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3, unique=True)), min_size=1, max_size=4)


def open_bank(memory: Memory) -> Memory:
    return Memory.open(next(BANKS), store=memory.store, embedder=HashEmbedder())


def say(memory: Memory, session: str, turns: list[tuple[str, list[str]]]) -> None:
    """Say something, and regenerate each reply as often as it has further versions."""
    clock = (NOON + timedelta(minutes=number) for number in count())
    parent: int | None = None
    for said, replies in turns:
        line = memory.observe(said, speaker="Nora", session=session, said_at=next(clock), parent=parent)
        last: list[int] = []
        for text in replies:
            new = NewLine(text, "Vey", "assistant", next(clock), session, parent=line.seq)
            last = [memory.replace_lines(last, [new])[0].seq]
        parent = last[0]


def read(memory: Memory, *, with_dates: bool) -> list[Any]:
    """Return the words and the dates of each session, with the versions that were discarded, in any order."""
    return sorted(
        [
            (turn.line.text, with_dates and turn.line.said_at.isoformat(), sorted(other.text for other in turn.others))
            for turn in record.turns
        ]
        for record in read_records(memory)
    )


def carry(source: Memory, target: Memory, name: str, folder: Path) -> list[int]:
    """Export a bank, import the files twice, and return the numbers of lines that were added."""
    paths = []
    for number, (file, chunks) in enumerate(export_files(source, name)):
        paths.append(folder / f"{number} {file}")
        paths[-1].write_text("".join(chunks), encoding="utf-8")
    added = []
    for _ in range(2):
        checked = importing.check_file(paths)
        added.append(importing.import_lines(target, checked)["added"])
    return added


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(turns=turns)
def test_a_chat_comes_back_from_sillytavern(
    memory: Memory, tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, list[str]]]
) -> None:
    with open_bank(memory) as source, open_bank(memory) as target:
        say(source, "one", turns)
        added = carry(source, target, "sillytavern", tmp_path_factory.mktemp("chats"))
        assert read(target, with_dates=True) == read(source, with_dates=True)
        assert added == [sum(1 + len(replies) for _, replies in turns), 0]
        assert {line.speaker for line in target.lines()} == {"Nora", "Vey"}


@pytest.mark.parametrize("name", ["sillytavern", "openwebui"])
def test_several_chats_come_back(memory: Memory, tmp_path: Path, name: str) -> None:
    with open_bank(memory) as source, open_bank(memory) as target:
        say(source, "one", [("Which boat?", ["The blue one.", "The red one."]), ("Thank you.", ["Welcome."])])
        say(source, "two", [("Good morning.", ["Morning!"])])
        assert carry(source, target, name, tmp_path) == [7, 0]
        assert read(target, with_dates=name == "sillytavern") == read(source, with_dates=name == "sillytavern")
        first = next(target.lines())
        assert first.said_at.replace(microsecond=0) == NOON.astimezone(UTC).replace(microsecond=0)

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.transfer import exporting
from everthread.transfer.importing import check_file, import_lines

START = datetime(2024, 6, 2, 20, 11, 5, tzinfo=UTC)


def list_lines(memory: Memory) -> set[tuple[str, str, str, datetime, bool]]:
    lines = memory.lines(include_retracted=True)
    return {(line.speaker, line.role, line.text, line.said_at, line.retracted_at is not None) for line in lines}


@pytest.mark.parametrize("format", ["sillytavern", "openwebui"])
def test_an_export_read_back_has_the_same_words_dates_and_versions(memory: Memory, tmp_path: Path, format: str) -> None:
    asked = memory.observe("Which door?  ", speaker="user", said_at=START)
    later = [START + timedelta(minutes=minute) for minute in range(1, 6)]
    first = memory.observe("The red one.", speaker="Aria", role="assistant", said_at=later[0], parent=asked.seq)
    memory.retract(first.seq)
    memory.observe(
        "The blue one\nand <i>not</i> the red.", speaker="Aria", role="assistant", said_at=later[1], parent=asked.seq
    )
    memory.observe("Thank you.", speaker="user", said_at=later[2])
    memory.observe(
        "Hello again.", speaker="Aria", role="assistant", said_at=later[4] + timedelta(days=3), session="two"
    )
    path = tmp_path / "export.zip"
    with path.open("wb") as file:
        exporting.export_zip(memory, format, file, retracted=True)
    other = Memory("bob", memory.store, memory.embedder, memory.recipe)
    assert [import_lines(other, check_file(path))["added"] for _ in range(2)] == [5, 0]
    assert list_lines(other) == list_lines(memory)
    assert len(other.sessions()) == 2

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.bench.bank_files import list_banks, read_bank

BANK = '''
bot = "Fern"
lines = """
2024-03-03
Ruth: The shed arrived: second-hand, from Otley.
Fern: How nice!
2024-04-14
Ruth: I painted it green.
"""
questions = [["Where is the shed from?", "from Otley"]]
broad = [["What have I told you about the shed?", ["from Otley", "painted it"]]]
untold = ["What did the shed cost?"]
'''


def test_a_file_gives_lines_in_sessions_of_a_day_with_the_bot_as_the_assistant(tmp_path: Path) -> None:
    (tmp_path / "shed.toml").write_text(BANK, "utf-8")
    bank = read_bank(tmp_path, "shed", "detail")
    assert [(line.speaker, line.role, line.text) for line in bank.lines] == [
        ("Ruth", "user", "The shed arrived: second-hand, from Otley."),
        ("Fern", "assistant", "How nice!"),
        ("Ruth", "user", "I painted it green."),
    ]
    assert [line.session for line in bank.lines] == ["shed-2024-03-03"] * 2 + ["shed-2024-04-14"]
    assert bank.lines[2].said_at == datetime(2024, 4, 14, 18, 1, tzinfo=UTC)
    assert bank.speakers == ("Ruth", "Fern")


def test_questions_have_the_lines_that_contain_their_parts_as_gold(tmp_path: Path) -> None:
    (tmp_path / "shed.toml").write_text(BANK, "utf-8")
    bank = read_bank(tmp_path, "shed", "detail")
    assert [(each.category, sorted(each.gold)) for each in bank.questions] == [
        ("detail", [bank.ids[0]]),
        ("broad", [bank.ids[0], bank.ids[2]]),
    ]
    assert bank.unrelated == ("What did the shed cost?",)


@pytest.mark.parametrize("part", ["nowhere", "e"])
def test_a_part_must_occur_in_exactly_one_line(tmp_path: Path, part: str) -> None:
    (tmp_path / "shed.toml").write_text(BANK.replace('"from Otley"]]', f'"{part}"]]'), "utf-8")
    with pytest.raises(ValueError, match=r"Where is the shed from\?: \['.*'\] must each occur in one line"):
        read_bank(tmp_path, "shed", "detail")


def test_banks_are_listed_by_name(tmp_path: Path) -> None:
    for name in ("b.toml", "a.toml", "README.md"):
        (tmp_path / name).write_text(BANK, "utf-8")
    assert list_banks(tmp_path) == ["a", "b"]

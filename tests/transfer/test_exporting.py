from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest

from everthread.errors import BadQuery, NotFound
from everthread.memory import Memory
from everthread.transfer.exporting import EXPORT_FORMATS, export, export_files, export_zip
from everthread.types import NewLine

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def talk(memory: Memory) -> Memory:
    memory.observe("Which boat?", speaker="Nora", session="one", said_at=NOON)
    old = memory.observe("The blue one.", speaker="Vey", role="assistant", session="one", said_at=NOON, parent=1)
    memory.replace_lines([old.seq], [NewLine("The red one.", "Vey", "assistant", NOON, "one", parent=1)])
    memory.observe("Good morning.", speaker="Nora", session="two", said_at=NOON)
    for session in ("one", "two"):
        memory.set_session(session, title="Boats: a/b?\u202e")
    return memory


def test_discarded_replies_are_written_on_request_or_where_the_format_has_a_place_for_them(talk: Memory) -> None:
    for name in EXPORT_FORMATS:
        for retracted in (False, True):
            text = "".join(export(talk, name, session="one", retracted=retracted))
            assert "The red one." in text
            assert "Good morning." not in text
            assert ("The blue one." in text) == (
                name != "openai" and (retracted or name in ("sillytavern", "openwebui"))
            )


def test_markdown_and_html_have_every_line_that_json_lines_have(talk: Memory) -> None:
    talk.correct(1, "Which boat is yours?")
    edited = talk.replace_lines([3, 5], [NewLine("Which ship?", "Nora", "user", NOON, "one")])[0].seq
    talk.observe("No ship.", speaker="Vey", role="assistant", session="one", said_at=NOON, parent=edited)
    talk.retract(4)  # the only line of its session
    counts: dict[str, list[int]] = {"jsonl": [], "markdown": [], "html": []}
    written = {name: "".join(export(talk, name, retracted=True, progress=counts[name].append)) for name in counts}
    texts = [line.text for line in talk.lines(include_retracted=True)]
    for name in ("markdown", "html"):
        assert [text for text in texts if f"{text}\n" not in written[name] and f">{text}<" not in written[name]] == []
        assert sum(counts[name]) == sum(counts["jsonl"]) == len(texts)


def test_one_session_in_json_lines_is_no_whole_bank(talk: Memory) -> None:
    rows = [json.loads(row) for row in "".join(export(talk, session="two")).splitlines()]
    assert [row.get("text") for row in rows] == [None, "Good morning."]
    assert rows[0]["title"].startswith("Boats")


def test_lines_are_counted(talk: Memory) -> None:
    for name in ("jsonl", "html"):
        counts: list[int] = []
        list(export(talk, name, progress=counts.append))
        assert sum(counts) == 3


def test_each_session_has_a_file_with_a_name_that_every_system_accepts(talk: Memory) -> None:
    files = {name: "".join(texts) for name, texts in export_files(talk, "markdown")}
    assert list(files) == ["2024-05-01 Boats a b.md", "2024-05-01 Boats a b (2).md"]
    assert [text.count("# Boats: a/b?") for text in files.values()] == [1, 1]
    assert [name for name, _ in export_files(talk, "sillytavern")] == [
        "Vey - 2024-05-01@12h00m00s.jsonl", "assistant - 2024-05-01@12h00m00s.jsonl",
    ]  # fmt: skip
    archive = io.BytesIO()
    export_zip(talk, "markdown", archive)
    with ZipFile(archive) as opened:
        assert {name: opened.read(name).decode() for name in opened.namelist()} == files


def test_the_name_of_a_file_is_not_too_long_in_any_script(memory: Memory, tmp_path: Path) -> None:
    memory.observe("Ahoy!", session="one")
    memory.set_session("one", title="\N{SPEEDBOAT}" * 100)
    for name, texts in export_files(memory, "markdown"):
        (tmp_path / name).write_text("".join(texts), encoding="utf-8")
    assert [path.name for path in tmp_path.glob("*.md")] == [name]


def test_what_can_not_be_exported_is_refused_by_name(talk: Memory) -> None:
    with pytest.raises(BadQuery, match=r"unknown format 'pdf' of an export; expected one of jsonl, markdown, html"):
        export(talk, "pdf")
    for wrong, meant in (("md", "markdown"), ("Markdwn", "markdown"), ("json", "openai")):
        with pytest.raises(BadQuery, match=f"did you mean {meant}? There are jsonl".replace("?", r"\?")):
            export(talk, wrong)
    with pytest.raises(NotFound, match="bank 'alice' has no session 'three' with lines"):
        export(talk, session="three")
    with pytest.raises(BadQuery, match="bank 'alice' has 2 sessions, and a file of sillytavern has one; choose"):
        export(talk, "sillytavern")
    with pytest.raises(BadQuery, match="jsonl has all sessions of a bank in one file"):
        export_files(talk, "jsonl")


def test_a_bank_without_lines_is_exported_in_every_format(memory: Memory) -> None:
    for name in EXPORT_FORMATS:
        text = "".join(export(memory, name))
        assert EXPORT_FORMATS[name].suffix != "json" or json.loads(text) == []

"""Transcripts of Claude Code and Codex: what was said is read, and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.hooks import transcript
from everthread.hooks.transcript import BLOCK_BYTES, MAX_LINES, read_lines, remove_inserted

NOON = "2026-11-20T12:00:00.000Z"


def claude(kind: str, content: object, number: int = 1, **flags: object) -> dict[str, Any]:
    """Return an entry of Claude Code's."""
    message = {"role": kind, "content": content}
    return {"type": kind, "message": message, "uuid": f"u{number}", "timestamp": NOON, "sessionId": "s", **flags}


def codex(kind: str, text: object) -> dict[str, Any]:
    """Return an event of Codex's."""
    return {"timestamp": NOON, "type": "event_msg", "payload": {"type": kind, "message": text}}


def codex_item(kind: str, part: str, text: object) -> dict[str, Any]:
    """Return an event of Codex's, as of version 0.169."""
    item = {"type": kind, "id": "i", "content": [{"type": part, "text": text}]}
    return {"timestamp": NOON, "type": "event_msg", "payload": {"type": "item_completed", "item": item}}


def write(folder: Path, *entries: object) -> Path:
    file = folder / "transcript.jsonl"
    file.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    return file


def said(file: Path) -> list[tuple[str, str]]:
    return [(line.role, line.text) for line in read_lines(file, "s")]


def test_texts_of_the_user_and_the_assistant_are_read_with_their_times_and_keys(tmp_path: Path) -> None:
    reply = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}, {"type": "tool_use", "id": "t"}]
    file = write(tmp_path, claude("user", "Rename it."), claude("assistant", reply, 2))
    first, second = read_lines(file, "session")
    assert (first.text, first.role, first.speaker, first.session) == ("Rename it.", "user", "user", "session")
    assert first.said_at == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert (second.text, second.role) == ("Done.", "assistant")
    assert len({first.key, second.key}) == 2
    assert [line.key for line in read_lines(file, "session")] == [first.key, second.key]


@pytest.mark.parametrize(
    "entry",
    [
        claude("user", [{"type": "tool_result", "content": "secret"}]),
        claude("user", "a note to itself", isMeta=True),
        claude("assistant", [{"type": "text", "text": "of a helper"}], isSidechain=True),
        claude("user", "This session is being continued …", isCompactSummary=True),
        claude("user", "<command-name>/clear</command-name>"),
        claude("user", "<local-command-stdout>ok</local-command-stdout>"),
        claude("user", "<task-notification>\n<status>completed</status>\n</task-notification>\nRead the output file."),
        claude("user", "[Request interrupted by user]"),
        claude("user", "[SUGGESTION MODE: Suggest what the user might naturally type next into Claude Code.]"),
        claude(
            "user", "Your task is to create a detailed summary of the conversation so far, paying close attention …"
        ),
        claude("user", "<system-reminder>be brief</system-reminder>"),
        claude("assistant", "  "),
        claude("assistant", "No response requested.")
        | {"message": {"role": "assistant", "model": "<synthetic>", "content": "No response requested."}},
        {"type": "summary", "summary": "Renaming", "leafUuid": "u1"},
        {"type": "response_item", "timestamp": NOON, "payload": {"type": "message", "role": "user", "content": []}},
        codex("agent_reasoning", "hm"),
        codex("user_message", None),
        {"type": "user", "message": "?", "uuid": "u", "timestamp": NOON},
        {"type": "event_msg", "timestamp": NOON, "payload": []},
        claude("user", "without a time") | {"timestamp": "noon"},
        ["no", "entry"],
    ],
)
def test_what_is_no_part_of_the_conversation_is_left_out(tmp_path: Path, entry: object) -> None:
    assert said(write(tmp_path, entry, claude("user", "Hi."))) == [("user", "Hi.")]


def test_texts_that_the_program_inserted_are_cut_out(tmp_path: Path) -> None:
    text = "<ide_selection>x</ide_selection>Rename <b>it</b>.\n<system-reminder>be\nbrief</system-reminder>"
    assert said(write(tmp_path, claude("user", text))) == [("user", "Rename <b>it</b>.")]


def test_messages_of_codex_are_read_from_its_newer_events_alone_if_there_are_any(tmp_path: Path) -> None:
    newer = (
        codex_item("UserMessage", "text", "Rename it."),
        codex_item("Reasoning", "text", "Hm."),
        codex_item("AgentMessage", "Text", "Done."),
    )
    older = codex("user_message", "Rename it."), codex("agent_message", "Done.")
    for entries in (newer, (*newer, *older)):
        file = write(
            tmp_path, *entries, {"timestamp": NOON, "type": "event_msg", "payload": {"type": "item_completed"}}
        )
        assert said(file) == [("user", "Rename it."), ("assistant", "Done.")]


def test_messages_of_codex_are_read_once(tmp_path: Path) -> None:
    entries = [
        {"timestamp": NOON, "type": "session_meta", "payload": {"id": "x"}},
        codex("user_message", "Rename it."),
        codex("agent_message", "Done."),
    ]
    file = write(tmp_path, *entries)
    assert said(file) == [("user", "Rename it."), ("assistant", "Done.")]
    assert len({line.key for line in read_lines(file, "s")}) == 2


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    entries = [claude("user", f"line {number}", number) for number in range(MAX_LINES + 5)]
    assert said(write(tmp_path, *entries))[0] == ("user", "line 5")


@pytest.mark.parametrize("size", [BLOCK_BYTES // 4, BLOCK_BYTES, 3 * BLOCK_BYTES])
def test_a_turn_is_read_whole_although_the_results_of_its_tools_are_large(tmp_path: Path, size: int) -> None:
    results = [claude("user", [{"type": "tool_result", "content": "x" * size}]) for _ in range(5)]
    entries = claude("user", "Rename it."), *results, claude("assistant", "Done." * BLOCK_BYTES)
    assert said(write(tmp_path, *entries)) == [("user", "Rename it."), ("assistant", "Done." * BLOCK_BYTES)]


def test_a_turn_is_read_from_what_the_user_said_although_the_agent_says_more_than_usual(tmp_path: Path) -> None:
    steps = [claude("assistant", f"Step {number}.", number) for number in range(3 * MAX_LINES)]
    lines = said(write(tmp_path, claude("user", "Rename it."), *steps))
    assert (len(lines), lines[0], lines[-1][1]) == (1 + len(steps), ("user", "Rename it."), "Step 299.")


def test_no_more_than_the_last_part_of_a_transcript_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_READ_BYTES", BLOCK_BYTES)
    big = claude("user", [{"type": "tool_result", "content": "x" * BLOCK_BYTES}])
    assert said(write(tmp_path, claude("user", "early"), big, claude("user", "late"))) == [("user", "late")]


def test_an_incomplete_last_row_is_left_for_the_next_time(tmp_path: Path) -> None:
    file = write(tmp_path, claude("user", "Hi."))
    file.write_bytes(file.read_bytes() + b'{"type": "user", "mess')
    assert said(file) == [("user", "Hi.")]


@given(
    st.binary(max_size=200), st.recursive(st.none() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=3))
)
def test_any_bytes_and_any_values_are_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, value: object
) -> None:
    file = write(
        tmp_path_factory.mktemp("t"),
        claude("user", value),
        codex("user_message", value),
        codex_item("UserMessage", "text", value),
        value,
    )
    file.write_bytes(file.read_bytes() + raw)
    assert all(line.text for line in read_lines(file, "s"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <ide_x>b</ide_x> c", "a  c"),
        ("<system-reminder>a\nb</system-reminder>c", "c"),
        ("<ide_x>a<ide_y>b</ide_x>c</ide_y>", "c</ide_y>"),
        ("</ide_x>a<ide_x>b", "</ide_x>a<ide_x>b"),
        ("<ide_x>a<ide_x>b</ide_x>c</ide_x>", "c</ide_x>"),
        ("<ide_x>a</ide_x><ide_x>b</ide_x>", ""),
    ],
)
def test_inserted_texts_are_removed_up_to_their_next_closing_tag(text: str, left: str) -> None:
    assert remove_inserted(text) == left

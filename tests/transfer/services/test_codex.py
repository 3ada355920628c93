from __future__ import annotations

import tracemalloc
from pathlib import Path

from everthread.transfer.services.codex import build_session
from everthread.transfer.services.conversation import BrokenConversation, Conversation, ReadOptions
from transfer.services.companion_examples import CODEX, codex_message, codex_row, rows
from transfer.services.reading import read_entries, shown, times


def test_a_session_is_what_the_user_typed_and_codex_answered() -> None:
    session = build_session("rollout-x", CODEX)
    assert shown(session) == [("user", "Which door?"), ("Codex", "The blue one."), ("user", "Thank you.")]
    assert times(session)[0] == "2026-06-02T20:01:00+00:00"
    assert (session.id, session.metadata) == ("x1", {"folder": "/home/nora/doors"})
    assert session.skipped == {"instructions": 1, "thoughts": 1, "calls of tools": 1, "results of tools": 1}


def test_without_events_the_context_is_known_by_its_beginning() -> None:
    said = [codex_message(1, "user", "<environment_context>x"), codex_message(2, "user", "Hi.")]
    assert shown(build_session("r", said)) == [("user", "Hi.")]


def test_the_first_versions_wrote_rows_without_envelopes(tmp_path: Path) -> None:
    header = {"id": "x0", "timestamp": "2025-05-01T10:00:00Z", "instructions": None}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]}
    (session,) = read_entries("codex", tmp_path, {"rollout-x0.jsonl": rows(header, message)})
    assert isinstance(session, Conversation)
    assert (session.id, shown(session), times(session)) == ("x0", [("user", "Hi.")], [None])
    assert session.started_at is not None


def test_a_broken_row_is_counted_or_with_strict_an_error(tmp_path: Path) -> None:
    files = {"rollout-x1.jsonl": rows(*CODEX)[:-5]}
    (session,) = read_entries("codex", tmp_path, files)
    assert isinstance(session, Conversation)
    assert (session.skipped["broken lines"], len(session.messages)) == (1, 2)
    (broken,) = read_entries("codex", tmp_path, files, ReadOptions(strict=True))
    assert isinstance(broken, BrokenConversation)


def test_the_results_of_tools_are_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl"
    path.write_bytes(
        rows(
            CODEX[0],
            *(codex_row(1, "response_item", type="function_call_output", output="x" * 50_000) for _ in range(40)),
        )
    )
    tracemalloc.start()
    (session,) = read_entries("codex", tmp_path, {})
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(session, Conversation)
    assert session.skipped["results of tools"] == 40
    assert peak_bytes < path.stat().st_size / 3

from __future__ import annotations

import tracemalloc
from pathlib import Path

from everthread.transfer.services.claudecode import build_session
from everthread.transfer.services.conversation import BrokenConversation, Conversation, ReadOptions
from transfer.services.companion_examples import CLAUDE_CODE, claude_code_row, rows
from transfer.services.reading import hidden, read_entries, shown


def test_a_session_is_what_the_user_and_claude_said() -> None:
    session = build_session("s1", CLAUDE_CODE)
    assert shown(session) == [
        ("user", "Which door?"),
        ("Claude", "I look."),
        ("Claude", "The blue one."),
        ("user", "Thank you."),
    ]
    assert (session.id, session.title, session.metadata) == ("s1", "The blue door", {"folder": "/home/nora/doors"})


def test_results_of_tools_subagents_summaries_and_commands_are_counted() -> None:
    assert build_session("s1", CLAUDE_CODE).skipped == {
        "thoughts": 1,
        "calls of tools": 1,
        "results of tools": 1,
        "messages of subagents": 1,
        "notices": 1,
        "summaries": 1,
        "commands": 1,
    }


def test_a_reply_that_the_user_went_back_from_is_a_branch() -> None:
    session = build_session("s1", CLAUDE_CODE)
    assert list(hidden(session)) == ["The red one."]


def test_the_lines_before_a_compaction_are_shown() -> None:
    without_link = claude_code_row(2, None, "user", "After.")
    assert len(shown(build_session("s", [claude_code_row(1, None, "user", "Before."), without_link]))) == 2


def test_reminders_and_hidden_rows_are_not_said() -> None:
    session = build_session(
        "s",
        [
            claude_code_row(
                1, None, "user", [{"type": "text", "text": "<ide_opened_file>x"}, {"type": "text", "text": "Hi."}]
            ),
            claude_code_row(2, 1, "user", "x", isMeta=True),
            claude_code_row(3, 2, "assistant", [{"type": "text", "text": "Overloaded"}], isApiErrorMessage=True),
            {"type": "custom-title", "customTitle": "Mine", "sessionId": "s"},
        ],
    )
    assert (shown(session), session.title) == ([("user", "Hi.")], "Mine")
    assert session.skipped == {"hidden messages": 1, "errors": 1}


def test_a_broken_row_is_counted_or_with_strict_an_error(tmp_path: Path) -> None:
    files = {"s1.jsonl": rows(*CLAUDE_CODE) + b'{"type": "us', "summary.jsonl": rows(CLAUDE_CODE[-1], *CLAUDE_CODE)}
    session, other = read_entries("claudecode", tmp_path, files)
    assert isinstance(session, Conversation)
    assert isinstance(other, Conversation)
    assert (session.skipped["broken lines"], len(shown(session)), len(shown(other))) == (1, 4, 4)
    broken, _ = read_entries("claudecode", tmp_path, files, ReadOptions(strict=True))
    assert isinstance(broken, BrokenConversation)


def test_the_results_of_tools_are_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        rows(
            *(
                claude_code_row(number, None, "user", [{"type": "tool_result", "content": "x" * 50_000}])
                for number in range(40)
            )
        )
    )
    tracemalloc.start()
    (session,) = read_entries("claudecode", tmp_path, {})
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(session, Conversation)
    assert session.skipped["results of tools"] == 40
    assert peak_bytes < path.stat().st_size / 3

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from everthread.chat.session_writing import list_unwritten, write_sessions
from everthread.common.keys import META_NEEDS_CONSENT
from everthread.errors import BadInput, LLMUnavailable, ScribeFailed
from everthread.memory import Memory
from everthread.scribes.base import SUMMARY_TOKENS
from everthread.scribes.extractive import ExtractiveScribe
from everthread.types import Line, NewLine, now

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def talk(memory: Memory, session: str, day: int, *texts: str) -> None:
    memory.observe_many(
        NewLine(text, "Nora", session=session, said_at=NOON + timedelta(days=day, minutes=number))
        for number, text in enumerate(texts)
    )


@pytest.fixture
def imported(memory: Memory) -> Memory:
    talk(memory, "one", 1, "My sister Mia moved to Lisbon in May.", "She rents a flat near the harbour.")
    talk(memory, "two", 2, "I sold my blue sailing boat to Joost.")
    talk(memory, "three", 3, "Our daughter Ida was born this Monday.")
    return memory


def test_sessions_without_summaries_get_them_and_the_notes_follow_in_order(imported: Memory) -> None:
    progress: list[int] = []
    counts = write_sessions(imported, ExtractiveScribe(), list_unwritten(imported), progress.append)
    assert (counts, progress, imported.jobs()) == ({"summary": 3, "note": 3}, [1, 1, 1], [])
    summaries = {unit.metadata["session"]: unit.text for unit in imported.units("summary")}
    assert "Lisbon" in summaries["one"]
    assert "Ida" in summaries["three"]
    (notes,) = imported.units("note", only_current=True)
    assert notes.text.index("Lisbon") < notes.text.index("boat") < notes.text.index("Ida")
    assert list_unwritten(imported) == []
    talk(imported, "zero", 0, "Long ago I lived in Utrecht with my aunt.")
    assert write_sessions(imported, ExtractiveScribe(), list_unwritten(imported)) == {"summary": 1, "note": 0}
    assert "Utrecht" not in next(iter(imported.units("note", only_current=True))).text


class Faltering(ExtractiveScribe):
    """Fails when it is asked for the second summary."""

    asked = 0

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        self.asked += 1
        if self.asked == 2:
            raise LLMUnavailable("the model is away")
        return super().summarize(lines, person, limit)


def test_a_failure_is_reported_and_the_next_call_does_the_rest(imported: Memory) -> None:
    with pytest.raises(ScribeFailed, match=r"could not write the summary of session 'two' \(LLMUnavailable\).*again"):
        write_sessions(imported, Faltering(), list_unwritten(imported))
    assert [unit.metadata["session"] for unit in imported.units("summary")] == ["one"]
    assert [session.id for session in list_unwritten(imported)] == ["two", "three"]
    assert write_sessions(imported, ExtractiveScribe(), list_unwritten(imported))["summary"] == 2
    assert (list_unwritten(imported), imported.jobs()) == ([], [])


def test_a_conversation_that_goes_on_and_one_that_waits_for_consent_are_left_out(imported: Memory) -> None:
    imported.observe("May you write this down?", metadata={META_NEEDS_CONSENT: True}, session="asked", said_at=NOON)
    imported.observe("I am still here.", session="now", said_at=now())
    sessions = list_unwritten(imported)
    assert "now" not in [session.id for session in sessions]
    write_sessions(imported, ExtractiveScribe(), sessions)
    assert {unit.metadata["session"] for unit in imported.units("summary")} == {"one", "two", "three"}


def test_nothing_is_written_where_nothing_is_remembered_or_used(imported: Memory) -> None:
    imported.set_setting("remember", "never")
    with pytest.raises(BadInput, match="never remembers conversations; change its setting 'remember'"):
        list_unwritten(imported)
    with (
        Memory.open("emi", store=imported.store, embedder="hash", recipe="emi") as other,
        pytest.raises(BadInput, match="'emi' of bank 'emi' uses neither summaries nor notes"),
    ):
        list_unwritten(other)

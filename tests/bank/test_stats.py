"""Statistics by month."""

from datetime import UTC, datetime, timedelta, timezone

from everthread import Memory, NewLine
from everthread.bank.stats import MonthStats, lines_by_month


def test_months_are_those_of_the_speakers_time_zones(memory: Memory) -> None:
    memory.observe("Happy new year!", said_at=datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2))))
    memory.observe("Still the old one here.", said_at=datetime(2023, 12, 31, 22, 31, tzinfo=UTC))
    assert lines_by_month(memory.store, memory.bank) == [MonthStats("2023-12", 1, 1), MonthStats("2024-01", 1, 1)]


def test_retracted_and_forgotten_lines_are_not_counted(memory: Memory) -> None:
    assert lines_by_month(memory.store, memory.bank) == []
    said = [NewLine("a", said_at=datetime(2024, n, 1, tzinfo=UTC), session="one") for n in (1, 2, 2, 3)]
    memory.observe_many(said)
    memory.retract(1)
    memory.forget(seq=4)
    assert lines_by_month(memory.store, memory.bank) == [MonthStats("2024-02", 2, 1)]

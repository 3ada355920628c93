"""Measures what reading facts costs a line, on annotated talk and on synthetic lines."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from everthread.bench import synthetic
from everthread.bench.fact_sets import GoldConversation
from everthread.bench.facts import Reader, group_sessions, number_lines, read_sessions
from everthread.types import Line

SYNTHETIC_LINES = 500
PASSES = 3  # of which the fastest counts


@dataclass(frozen=True, slots=True)
class Cost:
    """The mean time that a line takes, in microseconds, and the characters of a line."""

    source: str
    lines: int
    characters: float
    microseconds: float


def measure_costs(reader: Reader, conversations: Iterable[GoldConversation]) -> list[Cost]:
    """Measure a reader on annotated conversations, and on synthetic lines."""
    talk = [conversation.talk for conversation in conversations]
    invented = number_lines(synthetic.lines(SYNTHETIC_LINES))
    return [_measure("talk", talk, reader), _measure("synthetic", [invented], reader)]


def _measure(source: str, banks: Sequence[Sequence[Line]], reader: Reader) -> Cost:
    sessions = [group_sessions(lines) for lines in banks]
    seconds = min(_time_pass(sessions, reader) for _ in range(PASSES))
    lines = [line for bank in banks for line in bank]
    characters = sum(len(line.text) for line in lines) / len(lines)
    return Cost(source, len(lines), round(characters, 1), round(1e6 * seconds / len(lines), 1))


def _time_pass(banks: Sequence[Sequence[Sequence[Line]]], reader: Reader) -> float:
    started = time.process_time()  # other processes of a busy machine do not count
    for sessions in banks:
        read_sessions(sessions, reader)
    return time.process_time() - started


def table(costs: Sequence[Cost]) -> str:
    """Return the costs as text."""
    rows = [f"{cost.source:<12}{cost.lines:>7}{cost.characters:>12}{cost.microseconds:>12}" for cost in costs]
    return "\n".join([f"{'cost':<12}{'lines':>7}{'characters':>12}{'us a line':>12}", *rows])

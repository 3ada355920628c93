"""Draws statements that were read from the conversations of a dataset, with their lines, to be judged by hand."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from everthread.bench.facts import Reader, group_sessions, number_lines, read_sessions
from everthread.bench.questions import AnnotatedConversation
from everthread.facts.types import Statement
from everthread.types import Line

SEED = 0
COLUMNS = ("true", "conversation", "subject", "attribute", "value", "ends", "moment", "said", "lines")


@dataclass(frozen=True, slots=True)
class SampledStatement:
    """A statement with its conversation and its lines."""

    conversation: str
    statement: Statement
    lines: tuple[Line, ...]

    def row(self) -> tuple[str, ...]:
        """Return the cells of its row; the first is empty, for the verdict."""
        statement = self.statement
        return (
            "",
            self.conversation,
            statement.subject,
            statement.attribute,
            statement.value,
            "ends" if statement.ends else "",
            statement.moment or "",
            f"{statement.said_at:%Y-%m-%d}",
            " / ".join(f"{line.speaker}: {line.text}" for line in self.lines),
        )


def sample_statements(
    conversations: Iterable[AnnotatedConversation], reader: Reader, count: int
) -> tuple[list[SampledStatement], int]:
    """Draw statements at random, the same ones each time.

    Args:
        conversations: of any dataset.
        reader: reads the statements.
        count: how many to draw; all if there are fewer.

    Returns:
        The statements drawn, in the order of their lines, and the number of all.
    """
    found = [statement for conversation in conversations for statement in _read(conversation, reader)]
    chosen = random.Random(SEED).sample(range(len(found)), min(count, len(found)))
    return [found[number] for number in sorted(chosen)], len(found)


def _read(conversation: AnnotatedConversation, reader: Reader) -> Iterator[SampledStatement]:
    lines = number_lines(conversation.lines)
    for statement in read_sessions(group_sessions(lines), reader):
        yield SampledStatement(conversation.id, statement, tuple(lines[seq - 1] for seq in statement.seqs))


def write_tsv(sampled: Sequence[SampledStatement]) -> str:
    """Return a table of tab-separated values with an empty first column, for the verdict."""
    rows = [COLUMNS, *(each.row() for each in sampled)]
    return "\n".join("\t".join(" ".join(cell.split()) for cell in row) for row in rows)

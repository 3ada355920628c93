from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.bank.corrections import sort_by_position
from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.memory import Memory
from everthread.transfer.writers.branches import build_branches
from everthread.transfer.writers.session_record import read_records
from everthread.types import Line, NewLine, Role

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def say(memory: Memory, text: str, parent: int | None, *replacing: int) -> int:
    """Say a line, as the assistant if its text ends with a full stop; return its number."""
    role: Role = "assistant" if text.endswith(".") else "user"
    return memory.replace_lines(replacing, [NewLine(text, role, role, NOON, "s", parent=parent)])[0].seq


def shown(memory: Memory) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the texts of each turn, and of its branches with their names; those before the first turn as one of ""."""
    (record,) = read_records(memory, retracted=True)
    groups = [("", record.branches), *((turn.line.text, turn.branches) for turn in record.turns)]
    return [(text, [(each.name, [line.text for line in each.lines]) for each in group]) for text, group in groups]


def test_an_edited_question_is_an_earlier_version_with_all_that_followed_it(memory: Memory) -> None:
    first = say(memory, "Which boat?", None)
    reply = say(memory, "The blue one.", first)
    asked = say(memory, "How many ropes?", reply)
    old = say(memory, "Nine.", asked)
    answer = say(memory, "Ten.", asked, old)
    thanks = say(memory, "Thanks!", answer)
    edited = say(memory, "How many sails?", reply, asked, answer, thanks)
    say(memory, "Two.", edited)
    assert shown(memory) == [
        ("", []),
        ("Which boat?", []),
        ("The blue one.", []),
        (
            "How many sails?",
            [("Earlier version", ["How many ropes?", "Nine."]), ("Another reply", ["Ten.", "Thanks!"])],
        ),
        ("Two.", []),
    ]
    edited = say(memory, "Which ship?", None, first, reply, edited, edited + 1)
    say(memory, "The red one.", edited)
    assert [texts for _, texts in shown(memory)[1][1]] == [
        ["Which boat?", "The blue one.", "How many ropes?", "Nine."], ["Ten.", "Thanks!"], ["How many sails?", "Two."],
    ]  # fmt: skip


def test_corrected_texts_and_lines_that_nothing_replaced_are_where_they_were_said(memory: Memory) -> None:
    for text in ("Good morning.", "Which bot?", "The blue one.", "Ten!"):
        say(memory, text, None)
    memory.correct(2, "Which boat?")
    for seq in (1, 3, 4):
        memory.retract(seq)
    assert shown(memory) == [
        ("", [("Retracted", ["Good morning."])]),
        ("Which boat?", [("Earlier version", ["Which bot?"]), ("Retracted", ["The blue one.", "Ten!"])]),
    ]
    memory.retract(5)
    assert list(read_records(memory)) == []
    assert sum(len(texts) for _, texts in shown(memory)[0][1]) == 5


@st.composite
def conversations(draw: st.DrawFn) -> list[Line]:
    """Draw lines with different texts, each with any parent, that correct or repeat any other or are retracted."""
    lines = []
    for seq in range(1, draw(st.integers(1, 9)) + 1):
        parent = draw(st.none() | st.integers(1, 10))
        metadata = draw(
            st.just({}) | st.dictionaries(st.sampled_from([META_CORRECTS, META_REPEATS]), st.integers(0, 9))
        )
        role = draw(st.sampled_from(["user", "assistant"]))
        retracted_at = draw(st.sampled_from([None, NOON]))
        lines.append(Line(seq, "s", role, role, str(seq), NOON, parent, metadata, retracted_at=retracted_at))  # type: ignore[arg-type]
    return lines


@settings(max_examples=15, deadline=None, database=None)
@given(lines=conversations())
def test_every_discarded_line_is_in_exactly_one_branch_of_a_current_line(lines: list[Line]) -> None:
    current = sort_by_position([line for line in lines if line.retracted_at is None])
    placed = build_branches({line.seq: line for line in lines}, current)
    assert set(placed) <= {None, *(line.seq for line in current)}
    found = [line.seq for branches in placed.values() for branch in branches for line in branch.lines]
    assert sorted(found) == [line.seq for line in lines if line.retracted_at is not None]

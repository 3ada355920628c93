from __future__ import annotations

from datetime import UTC, datetime

from everthread.memory import Memory
from everthread.transfer.writers.session_record import read_records
from everthread.types import Line, NewLine, NewUnit

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def reply(memory: Memory, text: str, parent: int, *replacing: int, retracted: bool = False) -> Line:
    new = NewLine(
        text, "Vey", "assistant", NOON, "s", parent=parent, retracted_at=NOON if retracted else None,
        metadata={"refused": True} if retracted else {},
    )  # fmt: skip
    return memory.replace_lines(replacing, [new])[0]


def shown(memory: Memory) -> list[tuple[str, list[str]]]:
    (record,) = read_records(memory)
    return [(turn.line.text, [other.text for other in turn.others]) for turn in record.turns]


def test_discarded_replies_are_versions_of_the_current_one(memory: Memory) -> None:
    memory.observe("Which boat?", session="s", said_at=NOON)
    first = reply(memory, "The blue one.", 1)
    second = reply(memory, "The red one.", 1, first.seq)
    reply(memory, "I refuse.", 1, retracted=True)
    last = reply(memory, "The green one.", 1, second.seq)
    memory.observe("Thank you.", session="s", parent=last.seq)
    assert shown(memory) == [
        ("Which boat?", []), ("The green one.", ["The blue one.", "The red one."]), ("Thank you.", []),
    ]  # fmt: skip
    memory.restore(first.seq)  # a copy of a discarded reply is listed once
    assert shown(memory)[1] == ("The blue one.", ["The red one.", "The green one."])


def test_corrected_texts_are_no_versions_but_replies_before_a_correction_are(memory: Memory) -> None:
    memory.observe("Which bot?", session="s", said_at=NOON)
    first = reply(memory, "The blu one.", 1)
    second = reply(memory, "The red one.", 1, first.seq)
    memory.correct(1, "Which boat?")
    memory.correct(second.seq, "The red boat.")
    assert shown(memory) == [("Which boat?", []), ("The red boat.", ["The blu one."])]


def test_a_retracted_line_is_no_version_of_the_lines_of_an_import_without_parents(memory: Memory) -> None:
    for text in ("One.", "Two.", "Three."):
        memory.observe(text, session="s", said_at=NOON)
    memory.retract(2)
    assert shown(memory) == [("One.", []), ("Three.", [])]


def test_greetings_of_a_linked_session_are_versions_of_each_other(memory: Memory) -> None:
    old = memory.observe("Hello.", role="assistant", session="s", said_at=NOON)
    new = memory.replace_lines([old.seq], [NewLine("Hi!", "assistant", "assistant", NOON, "s")])[0]
    memory.observe("Hello, Vey.", session="s", parent=new.seq, said_at=NOON)
    assert shown(memory) == [("Hi!", ["Hello."]), ("Hello, Vey.", [])]


def test_titles_are_those_of_the_person_or_else_of_a_model_and_speakers_are_the_first(memory: Memory) -> None:
    memory.observe("Which boat?", speaker="Nora", session="s", said_at=NOON)
    memory.observe("", role="tool", metadata={"call": 1}, session="s")
    memory.observe("The blue one.", role="assistant", speaker="Vey", session="s")
    memory.observe("", role="tool", metadata={"call": 2}, session="only a call")
    memory.add_unit(NewUnit("title", "Boats", 1, 1, NOON, metadata={"session": "s"}))
    (record,) = read_records(memory)
    assert (record.title, record.person, record.character, len(record.turns)) == ("Boats", "Nora", "Vey", 2)
    memory.set_session("s", title="My boats")
    assert [each.title for each in read_records(memory)] == ["My boats"]
    assert list(read_records(memory, "another")) == []

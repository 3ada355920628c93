"""Manual corrections of lines and units, in both stores."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread import Filter, Memory
from everthread.bank.corrections import sort_by_position
from everthread.chat.conversation import Conversation
from everthread.common.keys import META_CORRECTS
from everthread.errors import BadInput, BadLine, NotFound
from everthread.recipes.membot import Membot
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder
from everthread.types import Line, NewUnit

AT = datetime(2024, 5, 6, 20, tzinfo=UTC)
NAMES = count()


@pytest.fixture(params=["sqlite", "postgres"])
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "sqlite":
        with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as opened:
            yield opened
        return
    store = PostgresStore(request.getfixturevalue("database"))
    with Memory.open(f"alice-{next(NAMES)}", store=store, embedder=HashEmbedder(64)) as opened:
        yield opened
    store.close()


def fill(bank: Memory) -> None:
    for n, text in enumerate(("My sister Mia lives in Porto.", "How nice!", "She has a dog.")):
        role = "assistant" if n == 1 else "user"
        bank.observe(text, role=role, session="one", said_at=AT + timedelta(minutes=n), metadata={"n": n})  # type: ignore[arg-type]


def test_a_corrected_line_is_found_only_by_its_new_words(bank: Memory) -> None:
    fill(bank)
    line = bank.correct(1, "My sister Mia lives in Lisbon.")
    assert (line.speaker, line.role, line.session, line.said_at, line.parent) == ("user", "user", "one", AT, None)
    assert line.metadata == {"n": 0, META_CORRECTS: 1}
    assert [hit.line.seq for hit in bank.recall("Lisbon", 1)] == [line.seq]
    assert "Porto" not in "".join(each.text for each in bank.lines())
    assert bank.store.check(bank.bank) == []


def test_a_corrected_line_takes_the_place_of_the_original(bank: Memory) -> None:
    fill(bank)
    conversation = Conversation(bank, "one")
    bank.correct(bank.correct(1, "My sister Mia lives in Lissabon.").seq, "My sister Mia lives in Lisbon.")
    conversation.refresh()
    for lines in (conversation.lines, Conversation(bank, "one").lines):
        assert [line.text for line in lines] == ["My sister Mia lives in Lisbon.", "How nice!", "She has a dog."]


def fill_with_piano(bank: Memory) -> None:
    """Store a session of five lines, of which the second names the piano, and a later session."""
    texts = [
        "Guess what I bought.",
        "A piano it is.",
        "It stands in the hall.",
        "Mia tunes it.",
        "She has perfect pitch.",
    ]
    for n, text in enumerate(texts):
        bank.observe(text, session="one", said_at=AT + timedelta(minutes=n))
    bank.observe("What else is new?", session="two", said_at=AT + timedelta(days=1))


def test_a_corrected_line_is_recalled_with_the_neighbours_of_the_original(bank: Memory) -> None:
    fill_with_piano(bank)
    bank.correct(bank.correct(2, "A harp it is.").seq, "A harpsichord it is.")
    (hit,) = (hit for hit in bank.recall("harpsichord") if "harpsichord" in hit.line.text)
    assert [line.text for line in hit.passage] == [
        "Guess what I bought.",
        "A harpsichord it is.",
        "It stands in the hall.",
    ]
    (before,) = (hit for hit in bank.recall("harpsichord", 20) if hit.line.seq == 3)
    assert before.passage[0].text == "A harpsichord it is."
    rows = bank.context("harpsichord", gate=False).text.splitlines()
    assert [row.partition(": ")[2] for row in rows[1:4]] == [line.text for line in hit.passage]
    assert "…" not in rows


def test_adjacent_corrected_lines_are_neighbours(bank: Memory) -> None:
    fill_with_piano(bank)
    bank.correct(3, "The harpsichord stands in the attic.")
    bank.correct(2, "A harpsichord it is.")
    hits = {hit.line.text: [line.text for line in hit.passage] for hit in bank.recall("harpsichord", 2)}
    assert hits == {
        "A harpsichord it is.": [
            "Guess what I bought.",
            "A harpsichord it is.",
            "The harpsichord stands in the attic.",
        ],
        "The harpsichord stands in the attic.": [
            "A harpsichord it is.",
            "The harpsichord stands in the attic.",
            "Mia tunes it.",
        ],
    }


def test_the_relevance_buffer_shows_a_corrected_line_in_its_place(bank: Memory) -> None:
    fill_with_piano(bank)
    bank.correct(2, "A harpsichord it is.")
    shown = bank.context("harpsichord", session="now", gate=False).text
    assert "harpsichord" in shown
    later = bank.context(" ", session="now", gate=False)  # only the relevance buffer
    texts = [line.text for line in later.lines]
    assert texts[:3] == ["Guess what I bought.", "A harpsichord it is.", "It stands in the hall."]


def test_a_block_of_lines_shows_a_corrected_line_in_its_place(bank: Memory) -> None:
    fill_with_piano(bank)
    bank.correct(2, "A harpsichord it is.")
    bank.recipe = Membot(threshold=0.0, neighbours=1)
    for query in ("A harpsichord it is.", " "):
        rows = bank.context(query, session="now").text.splitlines()
        index = next(n for n, row in enumerate(rows) if "harpsichord" in row)
        assert "Guess what I bought." in rows[index - 1]
        assert "It stands in the hall." in rows[index + 1]


def test_a_line_is_not_moved_by_a_corrects_number_of_another_bank(bank: Memory) -> None:
    fill_with_piano(bank)
    bank.observe("A harpsichord it is.", session="one", said_at=AT + timedelta(minutes=9), metadata={META_CORRECTS: 2})
    (hit,) = bank.recall("harpsichord", 1)
    assert hit.passage == (hit.line,)


def test_filtered_lines_are_not_shown_around_a_corrected_line(bank: Memory) -> None:
    fill_with_piano(bank)
    line = bank.correct(2, "A harpsichord it is.")
    (hit,) = bank.recall("harpsichord", 1, as_of=AT + timedelta(minutes=1))
    assert [each.seq for each in hit.passage] == [1, line.seq]
    (hit,) = bank.recall("harpsichord", 1, exclude=[1])
    assert [each.seq for each in hit.passage] == [line.seq, 3]


def test_forgetting_a_corrected_line_forgets_its_earlier_versions(bank: Memory) -> None:
    fill(bank)
    last = bank.correct(bank.correct(1, "Mia lives in Lissabon.").seq, "Mia lives in Lisbon.")
    assert bank.forget(seq=last.seq).lines == 3
    assert [line.seq for line in bank.lines(include_retracted=True)] == [2, 3]


def test_a_repeated_correction_with_a_key_stores_one_line(bank: Memory) -> None:
    fill(bank)
    assert bank.correct(1, "In Lisbon.", key="k") == bank.correct(1, "In Lisbon.", key="k")
    assert len(list(bank.lines(Filter(session="one"), include_retracted=True))) == 4


def test_correcting_a_retracted_line_or_to_empty_text_is_rejected(bank: Memory) -> None:
    fill(bank)
    bank.retract(2)
    with pytest.raises(NotFound, match="has no line 2 to correct"):
        bank.correct(2, "How sad!")
    with pytest.raises(BadLine, match="empty"):
        bank.correct(1, " ")
    assert bank.stats().retracted == 1


def test_an_edited_unit_supersedes_the_original(bank: Memory) -> None:
    fill(bank)
    bank.add_unit(NewUnit("fact", "Mia lives in Porto.", 1, 3, AT, importance=7, metadata={"a": 1}))
    edited = bank.edit_unit("fact", 1, "Mia lives in Lisbon.")
    assert (edited.supersedes, edited.importance, edited.metadata["a"]) == (1, 7, 1)
    assert [unit.text for unit in bank.units("fact", only_current=True)] == ["Mia lives in Lisbon."]
    for number in (1, 9):
        with pytest.raises(NotFound, match=f"no current fact {number}"):
            bank.edit_unit("fact", number, "Nothing of the kind.")


def test_set_notes_works_with_and_without_earlier_notes(bank: Memory) -> None:
    with pytest.raises(BadInput, match="no line yet"):
        bank.set_notes("She likes tea.")
    fill(bank)
    first = bank.set_notes("She likes tea.")
    assert (first.first_seq, first.last_seq) == (3, 3)
    assert bank.set_notes("She likes coffee.").supersedes == first.id
    assert [unit.text for unit in bank.units("note", only_current=True)] == ["She likes coffee."]


def test_forgetting_a_unit_deletes_only_it_and_its_superseded_versions(bank: Memory) -> None:
    fill(bank)
    for text in ("Mia lives in Porto.", "Mia lives in Lisbon.", "Mia lives in Faro."):
        before = [unit.id for unit in bank.units("fact", only_current=True)]
        bank.add_unit(NewUnit("fact", text, 1, 3, AT), supersedes=before[0] if before else None)
    bank.add_unit(NewUnit("note", "Mia has a dog.", 1, 3, AT))
    assert bank.forget_unit("fact", 2) == [2, 1]
    assert [(unit.id, unit.text, unit.supersedes) for unit in bank.units("fact")] == [(3, "Mia lives in Faro.", None)]
    assert bank.forget_unit("fact", 3) == [3]
    assert [unit.kind for unit in bank.units()] == ["note"]
    with pytest.raises(NotFound, match="no fact 3"):
        bank.forget_unit("fact", 3)
    with pytest.raises(BadInput, match="id"):
        bank.forget_unit("fact", 0)
    assert len(list(bank.lines())) == 3


def test_no_byte_of_a_forgotten_unit_is_left_in_a_folder(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as bank:
        fill(bank)
        bank.add_unit(NewUnit("fact", "Mia keeps an okapi.", 1, 3, AT))
        bank.forget_unit("fact", 1)
        assert not any(b"okapi" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.data())
def test_sort_by_position_puts_corrected_lines_in_their_original_places(
    minutes: list[int], data: st.DataObject
) -> None:
    minutes.sort()
    lines = [Line(n, "one", "user", "Ann", f"{n}", AT + timedelta(minutes=at)) for n, at in enumerate(minutes, 1)]
    chosen = data.draw(st.lists(st.sampled_from(lines), unique_by=lambda line: line.seq))
    new = [replace(line, seq=100 + n, metadata={META_CORRECTS: line.seq}) for n, line in enumerate(chosen)]
    corrected = {line.seq for line in chosen}
    ordered = sort_by_position([line for line in lines if line.seq not in corrected] + new)
    assert [line.text for line in ordered] == [line.text for line in lines]


def test_a_line_whose_parent_was_forgotten_can_be_corrected(bank: Memory) -> None:
    first = bank.observe("Do you like figs?", speaker="Bob")
    second = bank.observe("I like feegs.", speaker="Ann", parent=first.seq)
    bank.forget(seq=first.seq)
    corrected = bank.correct(second.seq, "I like figs.")
    assert (corrected.text, corrected.parent) == ("I like figs.", None)

"""A line that replaces the line with its key, in both stores."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread import BadLine, Filter, Line, Memory, NewLine
from everthread.bank.line_versions import find_versions
from everthread.common.keys import META_CORRECTS, META_REPLACES, SETTING_PINNED
from everthread.recall.reader import BankReader
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.stores.shared_rows import REQUEST_KEY_PREFIX
from everthread.testing import HashEmbedder
from everthread.types import JSONValue

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NAMES = count()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Return a store's folder or URL."""
    url: str | Path = request.getfixturevalue("database") if request.param == "postgres" else tmp_path
    return url


@pytest.fixture
def bank(place: str | Path) -> Iterator[Memory]:
    with open_memory(place) as memory:
        yield memory


def open_memory(place: str | Path | Store, name: str | None = None) -> Memory:
    """Open a bank in a store of its own, as another process would."""
    return Memory.open(name or f"alice-{next(NAMES)}", store=place, embedder=HashEmbedder(64))


def current(memory: Memory) -> list[tuple[int, str, str | None]]:
    return [(line.seq, line.text, line.key) for line in memory.lines()]


def test_a_put_under_a_known_key_replaces_the_line(bank: Memory) -> None:
    first = bank.observe("Mia lives in Porto.", key="k", replace=True)
    second = bank.observe("Mia lives in Lisbon.", key="k", replace=True)
    assert bank.get(key="k") == second
    assert current(bank) == [(second.seq, "Mia lives in Lisbon.", "k")]
    recorded = [(line.seq, line.key, line.retracted_at is None) for line in bank.lines(include_retracted=True)]
    assert recorded == [(first.seq, None, False), (second.seq, "k", True)]
    assert [hit.line.seq for hit in bank.recall("Where does Mia live?")] == [second.seq]
    assert bank.store.check(bank.bank) == []


def test_a_replacing_line_inherits_the_pin(bank: Memory) -> None:
    bank.observe("Mia lives in Porto.", key="k")
    bank.observe("She has a dog.")
    bank.set_setting(SETTING_PINNED, [1, 2])
    bank.observe("Mia lives in Lisbon.", key="k", replace=True)
    assert bank.settings()[SETTING_PINNED] == [2, 3]


def test_a_replacing_line_is_said_now_but_a_correction_keeps_the_time_and_the_session(bank: Memory) -> None:
    bank.observe("Let's meet at the Blue Door.", key="k", said_at=NOON, session="s")
    edited = bank.correct(1, "Let's meet at the Red Lion.")
    assert (edited.said_at, edited.session, edited.key, edited.position) == (NOON, "s", "k", 1)
    replaced = bank.observe("We met at the Red Lion.", key="k", replace=True)
    assert replaced.said_at > NOON
    assert (replaced.session == "s", replaced.position) == (False, replaced.seq)


def test_a_put_of_the_same_line_stores_nothing(bank: Memory) -> None:
    metadata: dict[str, JSONValue] = {"year": 2024, "tags": ["a", {"b": 1.5}]}
    line = bank.observe("Mia.", key="k", metadata=metadata, said_at=NOON, session="s")
    for session, said_at in ((None, None), (None, NOON), ("s", None)):
        again = bank.observe("Mia.", key="k", metadata=metadata, session=session, said_at=said_at, replace=True)
        assert again == line
    bank.correct(line.seq, "Mia and Ben.")
    corrected = bank.get(key="k")
    assert bank.observe("Mia and Ben.", key="k", metadata=metadata, replace=True) == corrected
    assert bank.stats().retracted == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"metadata": {"n": True}},
        {"speaker": "Ben"},
        {"role": "assistant"},
        {"said_at": NOON + timedelta(seconds=1)},
        {"session": "other"},
    ],
)
def test_a_put_of_a_line_that_differs_replaces_it(bank: Memory, changed: dict[str, object]) -> None:
    said = {"key": "k", "metadata": {"n": 1}, "said_at": NOON, "session": "s", "speaker": "Ann"}
    bank.observe("Hello.", **said)  # type: ignore[arg-type]
    line = bank.observe("Hello.", **{**said, **changed}, replace=True)  # type: ignore[arg-type]
    assert (line.seq, bank.get(key="k")) == (2, line)
    assert bank.stats().lines == 1


@pytest.mark.parametrize("day", [datetime(2024, 3, 31), datetime(2024, 10, 27)])
def test_a_put_of_a_line_said_while_the_clocks_are_changed_is_stored_once(bank: Memory, day: datetime) -> None:
    at = day.replace(hour=2, minute=30, tzinfo=ZoneInfo("Europe/Berlin"))
    lines = [bank.observe("Mia lives in Porto.", key="k", said_at=at, replace=True) for _ in range(2)]
    assert [line.seq for line in lines] == [1, 1]
    assert lines[0].said_at == at.astimezone(UTC)


def test_a_put_of_an_undated_line_replaces_a_dated_one_once(bank: Memory) -> None:
    bank.observe("Mia lives in Porto.", key="k")
    lines = [bank.observe("Mia lives in Porto.", key="k", undated=True, replace=True) for _ in range(2)]
    assert [(line.seq, line.is_undated) for line in lines] == [(2, True)] * 2


def test_a_put_after_a_retraction_or_a_deletion_is_a_new_line(bank: Memory) -> None:
    first = bank.observe("Mia lives in Porto.", key="k", replace=True)
    bank.retract(first.seq)
    second = bank.observe("Mia lives in Porto.", key="k", replace=True)
    assert (second.seq, META_REPLACES in second.metadata) == (2, False)
    bank.forget(seq=second.seq)
    assert bank.get(key="k") is None
    third = bank.observe("Mia lives in Porto.", key="k", replace=True)
    assert bank.get(key="k") == third
    assert [line.seq for line in bank.lines(include_retracted=True)] == [1, 3]


def test_a_put_replaces_the_correction_of_a_line_that_version_0_1_0_corrected(bank: Memory) -> None:
    bank.observe("Mia lives in Porto.", key="k", said_at=NOON, session="s")
    metadata = {META_CORRECTS: 1}  # as version 0.1.0 wrote it: without the key
    (line,) = bank.replace_lines([1], [NewLine("In Lisbon.", said_at=NOON, session="s", metadata=metadata)])
    assert bank.get(key="k") == line
    new = bank.observe("In Lagos.", key="k", replace=True)
    assert current(bank) == [(new.seq, "In Lagos.", "k")]
    assert find_versions(bank.store, bank.bank, [new.seq]) == [1, 2, 3]


def test_forgetting_a_line_deletes_the_lines_that_it_replaced_in_any_session(bank: Memory) -> None:
    for n, text in enumerate(("A okapi.", "A zebra.", "A horse.")):
        bank.observe(text, key="k", replace=True, session=f"s{n}", said_at=NOON + timedelta(days=n))
    bank.observe("A cat.", key="other")
    assert [find_versions(bank.store, bank.bank, [seq]) for seq in (1, 2, 3, 4)] == [[1, 2, 3]] * 3 + [[4]]
    assert bank.forget(seq=3).lines == 3
    assert [line.text for line in bank.lines(include_retracted=True)] == ["A cat."]


def test_no_byte_of_a_replaced_line_is_left_after_forgetting(tmp_path: Path) -> None:
    with open_memory(tmp_path) as bank:
        bank.observe("She keeps an okapi.", key="k")
        bank.forget(seq=bank.observe("She keeps a cat.", key="k", replace=True).seq)
    assert not any(b"okapi" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_imported_metadata_does_not_link_a_line_to_another(bank: Memory) -> None:
    bank.observe("Not to be forgotten.")
    bank.retract(1)
    line = bank.observe("From elsewhere.", key="k", metadata={META_REPLACES: 1, "n": 1})
    assert line.metadata == {"n": 1}
    assert bank.forget(seq=2).lines == 1
    assert [line.seq for line in bank.lines(include_retracted=True)] == [1]


@pytest.mark.parametrize("key", [None, f"{REQUEST_KEY_PREFIX}1"])
def test_a_put_without_a_key_from_the_source_is_rejected(bank: Memory, key: str | None) -> None:
    with pytest.raises(BadLine, match=f"got key={key!r}; expected"):
        bank.observe("Hello.", key=key, replace=True)
    with pytest.raises(BadLine, match="text is empty"):
        bank.observe(" ", key="k", replace=True)
    assert bank.stats().lines == 0


def test_puts_of_two_processes_at_once_leave_one_current_line_of_each_key(place: str | Path) -> None:
    name = f"bob-{next(NAMES)}"
    with ExitStack() as stack:
        memories = [stack.enter_context(open_memory(place, name)) for _ in range(2)]

        def put(number: int) -> list[Line]:
            turns = [[NewLine(f"Thread {number}, turn {n}.", key=key) for key in "kl"] for n in range(4)]
            return [line for turn in turns for line in memories[number % 2].observe_many(turn, replace=True)]

        with ThreadPoolExecutor(6) as pool:
            returned = [line for lines in pool.map(put, range(6)) for line in lines]
        lines = {line.key: line for line in memories[0].lines()}
        assert lines == {key: memories[1].get(key=key) for key in "kl"}
        assert all(line in returned for line in lines.values())
        assert sorted(line.text for line in memories[0].lines(include_retracted=True)) == sorted(
            f"Thread {number}, turn {n}." for number in range(6) for n in range(4) for _ in "kl"
        )
        assert memories[0].store.check(name) == []


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["put", "observe", "correct", "retract", "forget"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["one", "two", "three"]),
    ),
    max_size=12,
)


def act(memory: Memory, model: dict[str, str], action: str, key: str, text: str) -> None:
    """Change a bank, and a dictionary of the current texts by key in the same way."""
    line = memory.get(key=key)
    if action == "put":
        memory.observe(text, key=key, replace=True)
        model[key] = text
    elif action == "observe":
        memory.observe(text, key=key)
        model.setdefault(key, text)
    elif line is not None and action == "correct":
        memory.correct(line.seq, text)
        model[key] = text
    elif line is not None:
        memory.retract(line.seq) if action == "retract" else memory.forget(seq=line.seq)
        model.pop(key)


@examples(20)
@given(ACTIONS)
def test_every_key_has_the_line_that_was_last_stored_under_it(
    any_store: Store, actions: list[tuple[str, str, str]]
) -> None:
    with open_memory(any_store, f"carol-{next(NAMES)}") as memory:
        model: dict[str, str] = {}
        for action in actions:
            act(memory, model, *action)
            assert {key: line.text for key in "ab" if (line := memory.get(key=key))} == model
            assert sorted(line.key or "" for line in memory.lines(Filter())) == sorted(model)


def test_many_puts_replace_changed_lines_and_keep_the_others(bank: Memory) -> None:
    bank.observe_many(NewLine(f"Draft {n}.", key=f"k{n}", undated=True) for n in range(5))
    bank.set_setting(SETTING_PINNED, [1, 2])
    bank.retract(3)
    new = [NewLine("Draft 0.", key="k0", undated=True), *(NewLine(f"Final {n}.", key=f"k{n}") for n in (1, 2, 9, 1))]
    stored = bank.observe_many(new, replace=True)
    assert [(line.seq, line.text) for line in stored] == [
        (1, "Draft 0."),
        *((n, f"Final {key}.") for n, key in ((6, 1), (7, 2), (8, 9), (6, 1))),
    ]
    assert bank.settings()[SETTING_PINNED] == [1, 6]
    assert [META_REPLACES in line.metadata for line in stored] == [False, True, False, False, True]
    assert current(bank) == [
        (1, "Draft 0.", "k0"),
        *((n, f"Draft {n - 1}.", f"k{n - 1}") for n in (4, 5)),
        *((n, f"Final {key}.", f"k{key}") for n, key in ((6, 1), (7, 2), (8, 9))),
    ]
    assert bank.store.check(bank.bank) == []


def test_no_line_is_stored_if_one_of_many_puts_has_no_key(bank: Memory) -> None:
    with pytest.raises(BadLine, match="needs the key of both"):
        bank.observe_many([NewLine("One.", key="k"), NewLine("Two.")], replace=True)
    assert bank.stats().lines == 0


class Unsteady(Default):
    """A recipe of the caller's own whose update raises an error of its own."""

    def update(self, reader: BankReader) -> None:
        raise KeyError("chunks")


def test_a_line_is_stored_once_whatever_error_a_recipe_raises_after_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64), recipe=Unsteady()) as memory:
        assert memory.observe("Mia lives in Porto.").seq == 1
        assert current(memory) == [(1, "Mia lives in Porto.", None)]
    assert "recipe default could not update its units yet: recipe default failed: KeyError: 'chunks'" in caplog.text

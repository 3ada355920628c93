"""Moving a bank from a folder to Postgres and back: it is unchanged, or the error names the line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from hardship import postgres

from everthread import Filter, Memory, NewLine
from everthread.cli.main import main
from everthread.embedders import names
from everthread.errors import StoreError
from everthread.memory import BATCH_LINES
from everthread.recipes.goodai.recipe import GoodAI
from everthread.testing import HashEmbedder
from everthread.transfer.copy_bank import copy_bank
from everthread.types import NewUnit, ScribeJob

EAST, WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-3, minutes=-30))


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as made:
        yield made


def opened(store: Path | str, bank: str = "alice") -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(), recipe="default")


def filled(memory: Memory, lines: int = 12) -> None:
    """Fill a bank with lines with offsets, keys, parents and metadata, and with retracted and forgotten lines."""
    memory.observe_many(
        [
            NewLine(
                f"Line {n} about the lighthouse \U0001f9f5 {'and the sea ' * (n % 40)}",
                speaker="Ann" if n % 3 else "Bob",
                role="user" if n % 2 else "assistant",
                said_at=datetime(2019, 3, 1, 12, 0, 0, n, EAST if n % 2 else WEST) + timedelta(hours=n),
                session=f"session {n // 5}" if n % 7 else None,
                metadata={"n": n, "deep": {"b": [1.0, None], "a": "ü"}} if n % 4 == 0 else {},
                parent=n - 1 if n in (3, 6) else f"k{n - 2}" if n == 8 else None,
                key=f"k{n}" if n % 2 == 0 else None,
            )
            for n in range(1, lines + 1)
        ]
    )
    memory.retract(4)
    memory.forget(seq=5)  # the parent of line 6
    memory.forget(seq=9)


def known(memory: Memory) -> tuple[Any, ...]:
    """Return all contents of a bank, with the offsets of its times."""
    stats = memory.stats()
    return (
        [repr(line) for line in memory.lines(include_retracted=True)],
        [repr(session) for session in memory.sessions()],
        (stats.lines, stats.retracted, stats.sessions, stats.speakers, stats.first_said_at, stats.pending),
        [(hit.line, pytest.approx(hit.score, abs=2e-3)) for hit in memory.recall("lighthouse and sea", 5)],
        memory.store.check(memory.bank),
    )


def test_a_bank_moved_to_postgres_and_back_is_unchanged(tmp_path: Path, url: str) -> None:
    with opened(tmp_path / "old") as old, opened(url) as there, opened(tmp_path / "new") as new:
        filled(old)
        before = known(old)
        assert before[-1] == []
        gone, came = copy_bank(old, there), copy_bank(there, new)
        assert gone == came
        assert gone[0] == 10
        assert known(there) == known(new) == known(old) == before
        lines = {line.seq: line for line in there.lines(include_retracted=True)}
        assert list(lines) == [1, 2, 3, 4, 6, 7, 8, 10, 11, 12]
        assert lines[6].parent == 5
        assert lines[8].parent == 6
        assert lines[2].said_at.utcoffset() == timedelta(hours=-3, minutes=-30)
        assert lines[4].retracted_at is not None
        assert lines[8].metadata == {"n": 8, "deep": {"b": [1.0, None], "a": "ü"}}
        assert there.observe("Next.", key="k8").seq == 8
        assert there.observe("Next.", key="k13").seq == 13


def test_an_interrupted_move_is_continued(tmp_path: Path, url: str) -> None:
    with opened(tmp_path) as old, opened(url) as there:
        filled(old, BATCH_LINES + 100)
        done: list[int] = []

        def stop(count: int) -> None:
            done.append(count)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            copy_bank(old, there, stop)
        assert done == [BATCH_LINES]
        assert there.stats().lines == BATCH_LINES
        done.clear()
        assert copy_bank(old, there, done.append)[0] == BATCH_LINES + 98
        assert done == [98]
        assert known(there) == known(old)
        assert copy_bank(old, there, done.append)[0] == BATCH_LINES + 98
        assert done == [98]


def test_lines_added_since_the_last_move_are_copied(tmp_path: Path, url: str) -> None:
    with opened(tmp_path) as old, opened(url) as there:
        filled(old)
        copy_bank(old, there)
        old.observe("One more.")
        old.retract(7)
        old.forget(seq=13)
        old.observe("And one more.")
        assert copy_bank(old, there)[0] == 11
        assert known(there) == known(old)


@pytest.mark.parametrize("back", [False, True])
def test_the_number_of_a_forgotten_line_is_not_assigned_again_in_the_target(
    tmp_path: Path, url: str, back: bool
) -> None:
    places = (url, tmp_path) if back else (tmp_path, url)
    with opened(places[0]) as old, opened(places[1]) as there:
        filled(old)
        old.forget(seq=12)
        copy_bank(old, there)
        old.forget(seq=11)
        copy_bank(old, there)
        assert old.observe("Somebody else's.").seq == 13
        copy_bank(old, there)
        assert there.observe("Next.").seq == 14
        assert there.store.check("alice") == []


@pytest.mark.parametrize("back", [False, True])
def test_lines_forgotten_in_the_source_are_forgotten_in_the_target(tmp_path: Path, url: str, back: bool) -> None:
    places = (url, tmp_path) if back else (tmp_path, url)
    with opened(places[0]) as old, opened(places[1]) as there:
        filled(old, BATCH_LINES + 100)

        def stop(count: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            copy_bank(old, there, stop)
        old.forget(session="session 3")
        old.forget(seq=2)
        old.forget(seq=BATCH_LINES + 50)
        assert there.stats().lines > 0
        copy_bank(old, there)
        assert known(there) == known(old)
        old.forget(seq=BATCH_LINES + 100)
        old.forget(speaker="Bob")
        copy_bank(old, there)
        assert known(there) == known(old)
        assert there.observe("Next.").seq == BATCH_LINES + 101


def test_nothing_is_forgotten_in_a_target_that_shares_no_line_with_the_source(tmp_path: Path, url: str) -> None:
    with opened(tmp_path) as old, opened(url) as there:
        old.observe_many([NewLine(f"Line {n}.", session="s") for n in range(9)])
        there.observe_many([NewLine(f"Somebody else's line {n}.", session="s") for n in range(3)])
        for seq in (1, 2, 3):
            old.forget(seq=seq)
        with pytest.raises(StoreError, match="bank 'alice' differs at line 1 from the bank in the target"):
            copy_bank(old, there)
        assert there.stats().lines == 3


@pytest.mark.parametrize("what", ["other words", "longer", "retracted", "forgotten"])
def test_a_target_with_other_lines_is_not_changed(tmp_path: Path, url: str, what: str) -> None:
    with opened(tmp_path) as old, opened(url) as there:
        filled(old)
        line = 1 if what == "other words" else 13 if what == "longer" else 7
        if what == "other words":
            there.observe_many([NewLine(f"Somebody else's line {n}.") for n in range(8)])
        else:
            copy_bank(old, there)
        if what == "longer":
            there.observe("Only there.")
        if what == "retracted":
            there.retract(7)
        if what == "forgotten":
            there.forget(seq=7)
            old.forget(seq=8)
        before = known(there)
        with pytest.raises(StoreError, match=f"bank 'alice' differs at line {line} from the bank in the target. Move"):
            copy_bank(old, there)
        assert known(there) == before


# ---------------------------------------------------------------------- beside the lines


def furnished(memory: Memory) -> None:
    """Add units (one superseded, one retracted), settings, jobs and an ended session."""
    filled(memory)
    east = datetime(2024, 5, 1, 12, tzinfo=EAST)
    memory.add_unit(NewUnit("note", "The lighthouse.", 1, 6, east, 3.25, "place", {"n": [1]}))
    memory.add_unit(NewUnit("note", "The lighthouse and the sea.", 1, 8, east), supersedes=1)
    memory.add_unit(NewUnit("fact", "Bob has a boat.", 11, 11, east))
    memory.add_unit(NewUnit("summary", "They met.", 1, 3, east))
    memory.retract(11)
    memory.set_setting("character", {"voice": "dry"})
    memory.enqueue(ScribeJob("notes", "session 1", 6, 8, east, 2, "LLMUnavailable"))
    memory.end("session 1")


def beside(memory: Memory) -> list[str]:
    return [
        *map(repr, memory.store.units(memory.bank, include_retracted=True)),
        *map(repr, (memory.settings(), memory.jobs(), memory.sessions(), memory.stats().units)),
        *map(repr, memory.store.check(memory.bank)),
    ]


@pytest.mark.parametrize("back", [False, True])
def test_units_settings_and_jobs_are_copied_once(tmp_path: Path, url: str, back: bool) -> None:
    places = (url, tmp_path) if back else (tmp_path, url)
    with opened(places[0]) as old, opened(places[1]) as there:
        furnished(old)
        before = beside(old)
        for _ in range(2):
            copy_bank(old, there)
            assert beside(there) == beside(old) == before
        asked = Filter(kind=("note", "summary"))
        wanted, found = (memory.recall("the lighthouse", where=asked) for memory in (old, there))
        assert [hit.source for hit in found] == [hit.source for hit in wanted] != []


def test_later_changes_of_units_settings_and_jobs_are_copied(tmp_path: Path, url: str) -> None:
    with opened(tmp_path) as old, opened(url) as there:
        furnished(old)
        copy_bank(old, there)
        old.add_unit(NewUnit("note", "More of the sea.", 1, 12, datetime(2024, 5, 2, tzinfo=EAST)), supersedes=2)
        old.retract(2)
        old.forget(seq=7)
        old.add_unit(NewUnit("note", "All anew.", 1, 12, datetime(2024, 5, 2, tzinfo=EAST), sources=(1, 3)))
        old.set_setting("character", None)
        old.set_setting("voice", "wet")
        old.dequeue(old.jobs()[0])
        old.enqueue(ScribeJob("summary", "session 0", 1, 4, datetime(2024, 5, 2, tzinfo=EAST)))
        old.end("session 0")
        copy_bank(old, there)
        assert beside(there) == beside(old)


def test_a_unit_that_only_the_target_has_is_rejected(tmp_path: Path, url: str) -> None:
    with opened(tmp_path) as old, opened(url) as there:
        furnished(old)
        copy_bank(old, there)
        there.add_unit(NewUnit("fact", "Only there.", 1, 2, datetime(2024, 5, 2, tzinfo=EAST)))
        with pytest.raises(StoreError, match="bank 'alice' differs at fact 2 from the bank in the target"):
            copy_bank(old, there)
        old.add_unit(NewUnit("fact", "Only here.", 1, 2, datetime(2024, 5, 2, tzinfo=EAST)))
        with pytest.raises(StoreError, match="bank 'alice' differs at fact 2 from the bank in the target"):
            copy_bank(old, there)


# ------------------------------------------------------------------------ the command


def cli(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["--embedder", "hash", *map(str, arguments)])


def test_the_command_moves_every_bank_or_those_named(tmp_path: Path, url: str) -> None:
    for bank in ("alice", "bob", "carl"):
        with opened(tmp_path / "old", bank) as memory:
            filled(memory)
    result = cli("move", tmp_path / "old", url, "-b", "bob", "--json")
    assert result.exit_code == 0, result.stderr
    (moved,) = json.loads(result.stdout)
    assert (moved["bank"], moved["lines"], len(moved["sha256"])) == ("bob", 10, 64)
    assert cli("move", tmp_path / "old", url).exit_code == 0
    result = cli("move", url, tmp_path / "new")
    assert result.stdout.splitlines() == [
        f"{bank}: 10 lines, the same in both ({moved['sha256'][:12]})"
        if bank == "bob"
        else next(line for line in result.stdout.splitlines() if line.startswith(f"{bank}: 10 lines, the same in both"))
        for bank in ("alice", "bob", "carl")
    ]


def test_one_embedder_serves_all_banks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(HashEmbedder):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    for bank in ("alice", "bob"):
        with opened(tmp_path / "old", bank) as memory:
            memory.observe("Hello.")
    monkeypatch.setattr(names, "HashEmbedder", Counted)
    assert cli("move", tmp_path / "old", tmp_path / "new").exit_code == 0
    assert len(made) == 1


def test_a_missing_bank_is_reported_before_anything_is_moved(tmp_path: Path, url: str) -> None:
    with opened(tmp_path / "old", "bob") as memory:
        memory.observe("Hello.")
    result = cli("move", tmp_path / "old", tmp_path / "new", "-b", "bob", "-b", "nobody", "--json")
    assert result.exit_code == 1
    words = f"there is no bank 'nobody' in {tmp_path / 'old'}; nothing was moved"
    assert words in result.stderr
    assert words in json.loads(result.stdout)["error"]
    assert not (tmp_path / "new").exists()
    assert f"the folder {tmp_path / 'nowhere'} does not exist" in cli("move", tmp_path / "nowhere", url).stderr
    with_password = postgres.build_url(url, password="zqxsecret")
    result = cli("move", with_password, tmp_path / "new", "-b", "nobody")
    assert f"there is no bank 'nobody' in {url}" in result.stderr
    assert "zqxsecret" not in result.output


def test_a_target_that_differs_is_reported_in_one_line(tmp_path: Path, url: str) -> None:
    for store, text in ((tmp_path, "Hello."), (url, "Good morning.")):
        with opened(store) as memory:
            memory.observe(text, session="s")
    result = cli("move", tmp_path, url)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "everthread: bank 'alice' differs at line 1 from the bank in the target" in result.stderr


def test_a_copy_damaged_by_the_database_is_detected(tmp_path: Path, url: str) -> None:
    with opened(tmp_path) as old, opened(url) as there:
        filled(old)
        copy_bank(old, there)
        for column, value in (("text", "'Spoiled'"), ("said_offset", "0"), ("metadata", "'{\"n\": 8.0}'")):
            with psycopg.connect(url) as db, db.transaction(force_rollback=False):
                kept = db.execute(f"SELECT {column} FROM everthread.line WHERE seq = 8".encode()).fetchone()
                db.execute(f"UPDATE everthread.line SET {column} = {value} WHERE seq = 8".encode())
            with pytest.raises(StoreError, match="differs at line 8"):
                copy_bank(old, there)
            with psycopg.connect(url) as db:
                db.execute(f"UPDATE everthread.line SET {column} = %s WHERE seq = 8".encode(), kept)
        assert copy_bank(old, there)[0] == 10


def test_the_target_builds_its_own_chunks(tmp_path: Path) -> None:
    def goodai(folder: str) -> Memory:
        return Memory.open("alice", store=tmp_path / folder, embedder=HashEmbedder(), recipe="goodai")

    with goodai("old") as old, goodai("new") as new:
        filled(old, 30)
        copy_bank(old, new)
        assert new.units() == []
        old.recall("lighthouse")
        assert new.recall("lighthouse")
        assert cut(new) == cut(old)
        old.observe("One more line about the lighthouse.", session="session 5")  # the last chunks grow
        old.recall("lighthouse")
        copy_bank(old, new)
        new.recall("lighthouse")
        assert cut(new) == cut(old)


def test_a_copied_unit_with_the_number_of_a_chunk_loses_no_chunk(tmp_path: Path) -> None:
    with opened(tmp_path / "old") as old, opened(tmp_path / "new") as new:
        filled(old, 30)
        copy_bank(old, new)
        new.recipe = GoodAI()
        new.recall("lighthouse")
        before = cut(new)
        old.add_unit(NewUnit("chunk", "Somebody's own.", 1, 1, datetime(2019, 3, 2, tzinfo=EAST)))
        copy_bank(old, new)
        new.recall("lighthouse")
        assert cut(new) == before | {("Somebody's own.", 1, 1)}


def cut(memory: Memory) -> set[tuple[str, int, int]]:
    return {(unit.text, unit.first_seq, unit.last_seq) for unit in memory.units("chunk")}


def test_a_key_released_between_two_moves_is_moved_too(tmp_path: Path, url: str) -> None:
    with opened(tmp_path, "keys") as old, opened(url, "keys") as there:
        old.observe_many([NewLine("One.", key="a"), NewLine("Two.", key="b")])
        copy_bank(old, there)
        old.correct(1, "One, corrected.")
        old.retract(2)
        old.observe("Two, again.", key="b")
        assert copy_bank(old, there)[0] == 4
        assert list(there.lines(include_retracted=True)) == list(old.lines(include_retracted=True))

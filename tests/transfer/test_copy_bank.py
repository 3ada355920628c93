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
from everthread.stores.postgres import dsn
from everthread.testing import HashEmbedder
from everthread.transfer.copy_bank import copy_bank
from everthread.types import NewUnit, ScribeJob

EAST, WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-3, minutes=-30))


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as new:
        yield new


def open_bank(store: Path | str, bank: str = "alice") -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(), recipe="default")


def fill(memory: Memory, lines: int = 12) -> None:
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


def read_contents(memory: Memory) -> tuple[Any, ...]:
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
    with open_bank(tmp_path / "old") as source, open_bank(url) as target, open_bank(tmp_path / "new") as new:
        fill(source)
        before = read_contents(source)
        assert before[-1] == []
        first, second = copy_bank(source, target), copy_bank(target, new)
        assert first == second
        assert first[0] == 10
        assert read_contents(target) == read_contents(new) == read_contents(source) == before
        lines = {line.seq: line for line in target.lines(include_retracted=True)}
        assert list(lines) == [1, 2, 3, 4, 6, 7, 8, 10, 11, 12]
        assert lines[6].parent == 5
        assert lines[8].parent == 6
        assert lines[2].said_at.utcoffset() == timedelta(hours=-3, minutes=-30)
        assert lines[4].retracted_at is not None
        assert lines[8].metadata == {"n": 8, "deep": {"b": [1.0, None], "a": "ü"}}
        assert target.observe("Next.", key="k8").seq == 8
        assert target.observe("Next.", key="k13").seq == 13


def test_an_interrupted_move_is_continued(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        fill(source, BATCH_LINES + 100)
        counts: list[int] = []

        def stop(count: int) -> None:
            counts.append(count)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            copy_bank(source, target, stop)
        assert counts == [BATCH_LINES]
        assert target.stats().lines + target.stats().retracted == BATCH_LINES
        counts.clear()
        assert copy_bank(source, target, counts.append)[0] == BATCH_LINES + 98
        assert counts == [98]
        assert read_contents(target) == read_contents(source)
        assert copy_bank(source, target, counts.append)[0] == BATCH_LINES + 98
        assert counts == [98]


def test_titles_and_metadata_of_sessions_are_copied_and_updated(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        source.observe_many([NewLine("One.", session="a"), NewLine("Two.", session="b")])
        source.set_session("a", title="Ferries", metadata={"source": {"id": 1}})
        for changes in ({"title": "Boats"}, {"title": "", "metadata": {}}):
            copy_bank(source, target)
            assert target.sessions() == source.sessions()
            source.set_session("a", **changes)
        copy_bank(source, target)
        assert target.sessions()[0].title is None


def test_lines_added_since_the_last_move_are_copied(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        fill(source)
        copy_bank(source, target)
        source.observe("One more.")
        source.retract(7)
        source.forget(seq=13)
        source.observe("And one more.")
        assert copy_bank(source, target)[0] == 11
        assert read_contents(target) == read_contents(source)


@pytest.mark.parametrize("back", [False, True])
def test_the_number_of_a_forgotten_line_is_not_assigned_again_in_the_target(
    tmp_path: Path, url: str, back: bool
) -> None:
    places = (url, tmp_path) if back else (tmp_path, url)
    with open_bank(places[0]) as source, open_bank(places[1]) as target:
        fill(source)
        source.forget(seq=12)
        copy_bank(source, target)
        source.forget(seq=11)
        copy_bank(source, target)
        assert source.observe("Somebody else's.").seq == 13
        copy_bank(source, target)
        assert target.observe("Next.").seq == 14
        assert target.store.check("alice") == []


@pytest.mark.parametrize("back", [False, True])
def test_lines_forgotten_in_the_source_are_forgotten_in_the_target(tmp_path: Path, url: str, back: bool) -> None:
    places = (url, tmp_path) if back else (tmp_path, url)
    with open_bank(places[0]) as source, open_bank(places[1]) as target:
        fill(source, BATCH_LINES + 100)

        def stop(count: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            copy_bank(source, target, stop)
        source.forget(session="session 3")
        source.forget(seq=2)
        source.forget(seq=BATCH_LINES + 50)
        assert target.stats().lines > 0
        copy_bank(source, target)
        assert read_contents(target) == read_contents(source)
        source.forget(seq=BATCH_LINES + 100)
        source.forget(speaker="Bob")
        copy_bank(source, target)
        assert read_contents(target) == read_contents(source)
        assert target.observe("Next.").seq == BATCH_LINES + 101


def test_nothing_is_forgotten_in_a_target_that_shares_no_line_with_the_source(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        source.observe_many([NewLine(f"Line {n}.", session="s") for n in range(9)])
        target.observe_many([NewLine(f"Somebody else's line {n}.", session="s") for n in range(3)])
        for seq in (1, 2, 3):
            source.forget(seq=seq)
        with pytest.raises(StoreError, match="bank 'alice' differs at line 1 from the bank in the target"):
            copy_bank(source, target)
        assert target.stats().lines == 3
        assert target.store.receipts("alice") == []  # by which these lines would be forgotten in backups


@pytest.mark.parametrize("what", ["other words", "longer", "retracted", "forgotten"])
def test_a_target_with_other_lines_is_not_changed(tmp_path: Path, url: str, what: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        fill(source)
        line = 1 if what == "other words" else 13 if what == "longer" else 7
        if what == "other words":
            target.observe_many([NewLine(f"Somebody else's line {n}.") for n in range(8)])
        else:
            copy_bank(source, target)
        if what == "longer":
            target.observe("Only in the target.")
        if what == "retracted":
            target.retract(7)
        if what == "forgotten":
            target.forget(seq=7)
            source.forget(seq=8)
        before = read_contents(target)
        with pytest.raises(StoreError, match=f"bank 'alice' differs at line {line} from the bank in the target. Move"):
            copy_bank(source, target)
        assert read_contents(target) == before


# ------------------------------------------------------------------ units, settings, jobs


def fill_with_units_and_jobs(memory: Memory) -> None:
    """Add units (one superseded, one retracted), settings, jobs and an ended session."""
    fill(memory)
    east = datetime(2024, 5, 1, 12, tzinfo=EAST)
    memory.add_unit(NewUnit("note", "The lighthouse.", 1, 6, east, 3.25, "place", {"n": [1]}))
    memory.add_unit(NewUnit("note", "The lighthouse and the sea.", 1, 8, east), supersedes=1)
    memory.add_unit(NewUnit("fact", "Bob has a boat.", 11, 11, east))
    memory.add_unit(NewUnit("summary", "They met.", 1, 3, east))
    memory.retract(11)
    memory.set_setting("character", {"voice": "dry"})
    memory.enqueue(ScribeJob("notes", "session 1", 6, 8, east, 2, "LLMUnavailable"))
    memory.end("session 1")


def read_units_and_jobs(memory: Memory) -> list[str]:
    """Return units, settings, jobs and sessions of a bank, and the faults of its store."""
    return [
        *map(repr, memory.store.units(memory.bank, include_retracted=True)),
        *map(repr, (memory.settings(), memory.jobs(), memory.sessions(), memory.stats().units)),
        *map(repr, memory.store.check(memory.bank)),
    ]


@pytest.mark.parametrize("back", [False, True])
def test_units_settings_and_jobs_are_copied_once(tmp_path: Path, url: str, back: bool) -> None:
    places = (url, tmp_path) if back else (tmp_path, url)
    with open_bank(places[0]) as source, open_bank(places[1]) as target:
        fill_with_units_and_jobs(source)
        before = read_units_and_jobs(source)
        for _ in range(2):
            copy_bank(source, target)
            assert read_units_and_jobs(target) == read_units_and_jobs(source) == before
        where = Filter(kind=("note", "summary"))
        expected, hits = (memory.recall("the lighthouse", where=where) for memory in (source, target))
        assert [hit.source for hit in hits] == [hit.source for hit in expected] != []


def test_later_changes_of_units_settings_and_jobs_are_copied(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        fill_with_units_and_jobs(source)
        copy_bank(source, target)
        source.add_unit(NewUnit("note", "More of the sea.", 1, 12, datetime(2024, 5, 2, tzinfo=EAST)), supersedes=2)
        source.retract(2)
        source.forget(seq=7)
        source.add_unit(NewUnit("note", "All anew.", 1, 12, datetime(2024, 5, 2, tzinfo=EAST), sources=(1, 3)))
        source.set_setting("character", None)
        source.set_setting("voice", "wet")
        source.dequeue(source.jobs()[0])
        source.enqueue(ScribeJob("summary", "session 0", 1, 4, datetime(2024, 5, 2, tzinfo=EAST)))
        source.end("session 0")
        copy_bank(source, target)
        assert read_units_and_jobs(target) == read_units_and_jobs(source)


def test_a_unit_that_only_the_target_has_is_rejected(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        fill_with_units_and_jobs(source)
        copy_bank(source, target)
        target.add_unit(NewUnit("fact", "Only in the target.", 1, 2, datetime(2024, 5, 2, tzinfo=EAST)))
        with pytest.raises(StoreError, match="bank 'alice' differs at fact 2 from the bank in the target"):
            copy_bank(source, target)
        source.add_unit(NewUnit("fact", "Only in the source.", 1, 2, datetime(2024, 5, 2, tzinfo=EAST)))
        with pytest.raises(StoreError, match="bank 'alice' differs at fact 2 from the bank in the target"):
            copy_bank(source, target)


# ------------------------------------------------------------------------ the command


def cli(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["--embedder", "hash", *map(str, arguments)])


def test_facts_that_the_target_has_read_or_the_source_has_forgotten_give_way_to_those_of_the_source(
    tmp_path: Path,
) -> None:
    source, target = open_bank(tmp_path / "old"), open_bank(tmp_path / "new")
    source.observe("I live in Leeds. I like jazz.", speaker="Nora")
    copy_bank(source, target)
    assert len(target.facts()) == 2
    leeds, jazz = source.facts()
    source.correct_fact(leeds.id, "York")
    source.end_fact(jazz.id)
    copy_bank(source, target)
    assert target.facts(include_ended=True) == source.facts(include_ended=True)
    source.forget_fact(jazz.id)
    copy_bank(source, target)
    assert [fact.value for fact in target.facts(include_ended=True)] == ["York"]


def change_fact(memory: Memory, change: str) -> None:
    leeds = next(fact for fact in memory.facts() if fact.value == "Leeds")
    match change:
        case "corrected":
            memory.correct_fact(leeds.id, "York")
        case "ended":
            memory.end_fact(leeds.id)
        case "confirmed":
            memory.confirm_fact(leeds.id)


@pytest.mark.parametrize("change", ["corrected", "ended", "confirmed"])
@pytest.mark.parametrize("other_is_forgotten", [False, True])
def test_a_fact_that_was_changed_in_the_target_is_kept_and_reported(
    tmp_path: Path, change: str, other_is_forgotten: bool
) -> None:
    source, target = open_bank(tmp_path / "old"), open_bank(tmp_path / "new")
    source.observe("I live in Leeds. I like jazz.", speaker="Nora")
    source.read_facts()
    copy_bank(source, target)
    change_fact(target, change)
    before = target.facts(include_ended=True)
    if other_is_forgotten:
        source.forget_fact(next(fact.id for fact in source.facts() if fact.value == "jazz"))
    with pytest.raises(StoreError, match=r"bank 'alice' differs at fact .* forget the bank there and move it again"):
        copy_bank(source, target)
    assert target.facts(include_ended=True) == before


@pytest.mark.parametrize("change", ["corrected", "ended", "confirmed"])
def test_a_changed_fact_that_the_source_forgets_after_a_move_is_forgotten_in_the_target(
    tmp_path: Path, change: str
) -> None:
    source, target = open_bank(tmp_path / "old"), open_bank(tmp_path / "new")
    source.observe("I live in Leeds. I like jazz.", speaker="Nora")
    change_fact(source, change)
    copy_bank(source, target)
    changed = next(fact for fact in source.facts(include_ended=True) if fact.attribute == "home")
    source.forget_fact(changed.id)
    copy_bank(source, target)
    assert [fact.value for fact in target.facts(include_ended=True)] == ["jazz"]


def test_the_command_moves_every_bank_or_those_named(tmp_path: Path, url: str) -> None:
    for bank in ("alice", "bob", "carl"):
        with open_bank(tmp_path / "old", bank) as memory:
            fill(memory)
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


def test_receipts_are_copied_once_in_either_direction(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path / "old") as source, open_bank(url) as target, open_bank(tmp_path / "new") as new:
        fill(source)
        source.forget(seq=12)
        copy_bank(source, target)
        copy_bank(source, target)
        copy_bank(target, new)
        receipts = source.store.receipts("alice")
        assert receipts
        assert target.store.receipts("alice") == new.store.receipts("alice") == receipts


def test_the_command_says_that_keys_and_accounts_stay(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path / "old") as memory:
        fill(memory)
    assert "not moved" not in cli("move", tmp_path / "old", url).stderr
    (tmp_path / "old" / "server.sqlite").touch()
    moved = cli("move", tmp_path / "old", url)
    server = tmp_path / "old" / "server.sqlite"
    adopt = f"copy them with: everthread db adopt {dsn.redact_password(url)} {server}"
    assert f"not moved: keys and accounts of the server, in {server}; {adopt}" in moved.stderr


def test_one_embedder_serves_all_banks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedders = []

    class RecordedEmbedder(HashEmbedder):
        def __init__(self) -> None:
            super().__init__()
            embedders.append(self)

    for bank in ("alice", "bob"):
        with open_bank(tmp_path / "old", bank) as memory:
            memory.observe("Hello.")
    monkeypatch.setattr(names, "HashEmbedder", RecordedEmbedder)
    assert cli("move", tmp_path / "old", tmp_path / "new").exit_code == 0
    assert len(embedders) == 1


def test_a_missing_bank_is_reported_before_anything_is_moved(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path / "old", "bob") as memory:
        memory.observe("Hello.")
    result = cli("move", tmp_path / "old", tmp_path / "new", "-b", "bob", "-b", "nobody", "--json")
    assert result.exit_code == 1
    message = f"there is no bank 'nobody' in {tmp_path / 'old'}; nothing was moved"
    assert message in result.stderr
    assert message in json.loads(result.stdout)["error"]
    assert not (tmp_path / "new").exists()
    assert f"the folder {tmp_path / 'nowhere'} does not exist" in cli("move", tmp_path / "nowhere", url).stderr
    with_password = postgres.build_url(url, password="zqxsecret")
    result = cli("move", with_password, tmp_path / "new", "-b", "nobody")
    assert f"there is no bank 'nobody' in {url}" in result.stderr
    assert "zqxsecret" not in result.output


def test_a_target_that_differs_is_reported_in_one_line(tmp_path: Path, url: str) -> None:
    for store, text in ((tmp_path, "Hello."), (url, "Good morning.")):
        with open_bank(store) as memory:
            memory.observe(text, session="s")
    result = cli("move", tmp_path, url)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "everthread: bank 'alice' differs at line 1 from the bank in the target" in result.stderr


def test_a_copy_damaged_by_the_database_is_detected(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path) as source, open_bank(url) as target:
        fill(source)
        copy_bank(source, target)
        for column, value in (("text", "'Spoiled'"), ("said_offset", "0"), ("metadata", "'{\"n\": 8.0}'")):
            with psycopg.connect(url) as db, db.transaction(force_rollback=False):
                original = db.execute(f"SELECT {column} FROM everthread.line WHERE seq = 8".encode()).fetchone()
                db.execute(f"UPDATE everthread.line SET {column} = {value} WHERE seq = 8".encode())
            with pytest.raises(StoreError, match="differs at line 8"):
                copy_bank(source, target)
            with psycopg.connect(url) as db:
                db.execute(f"UPDATE everthread.line SET {column} = %s WHERE seq = 8".encode(), original)
        assert copy_bank(source, target)[0] == 10


def test_the_target_builds_its_own_chunks(tmp_path: Path) -> None:
    def goodai(folder: str) -> Memory:
        return Memory.open("alice", store=tmp_path / folder, embedder=HashEmbedder(), recipe="goodai")

    with goodai("old") as source, goodai("new") as new:
        fill(source, 30)
        copy_bank(source, new)
        assert new.units() == []
        source.recall("lighthouse")
        assert new.recall("lighthouse")
        assert read_chunks(new) == read_chunks(source)
        source.observe("One more line about the lighthouse.", session="session 5")  # the last chunks grow
        source.recall("lighthouse")
        copy_bank(source, new)
        new.recall("lighthouse")
        assert read_chunks(new) == read_chunks(source)


def test_a_copied_unit_with_the_number_of_a_chunk_loses_no_chunk(tmp_path: Path) -> None:
    with open_bank(tmp_path / "old") as source, open_bank(tmp_path / "new") as new:
        fill(source, 30)
        copy_bank(source, new)
        new.recipe = GoodAI()
        new.recall("lighthouse")
        before = read_chunks(new)
        source.add_unit(NewUnit("chunk", "Somebody's own.", 1, 1, datetime(2019, 3, 2, tzinfo=EAST)))
        copy_bank(source, new)
        new.recall("lighthouse")
        assert read_chunks(new) == before | {("Somebody's own.", 1, 1)}


def read_chunks(memory: Memory) -> set[tuple[str, int, int]]:
    return {(unit.text, unit.first_seq, unit.last_seq) for unit in memory.units("chunk")}


def test_a_key_released_between_two_moves_is_moved_too(tmp_path: Path, url: str) -> None:
    with open_bank(tmp_path, "keys") as source, open_bank(url, "keys") as target:
        source.observe_many([NewLine("One.", key="a"), NewLine("Two.", key="b")])
        copy_bank(source, target)
        source.correct(1, "One, corrected.")
        source.retract(2)
        source.observe("Two, again.", key="b")
        assert copy_bank(source, target)[0] == 4
        assert list(target.lines(include_retracted=True)) == list(source.lines(include_retracted=True))

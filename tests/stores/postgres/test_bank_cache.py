"""Banks in memory: a search finds in them what the database has, after any change by any process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hardship import postgres
from hardship.citus import FUNCTIONS, Citus

from everthread import Memory, NewLine
from everthread.errors import StoreUnavailable
from everthread.stores.base import Store
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.postgres import bank_cache, schema
from everthread.stores.postgres.arrays import read_bytes
from everthread.stores.postgres.bank_cache import CachedBank
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.pinned_store import PinnedStore
from everthread.stores.postgres.place import PostgresPlace
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder
from everthread.text.analyzer import ANALYZER_VERSION
from stores.aging import age_bank

NAMES = count()
DIM = 100
EMBEDDER = HashEmbedder(DIM)  # whose codes are padded
WORDS = "apple river candle winter garden violin harbour pepper mirror saddle lantern meadow".split()
LINES = 8
PAYLOAD = {"tool": "weather"}


@pytest.fixture(autouse=True)
def _small_banks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank_cache, "MIN_LINES", 0)


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(database)) as opened:
        yield opened


@pytest.fixture
def other(database: str) -> Iterator[PostgresStore]:
    """Yield the store of another process."""
    with closing(PostgresStore(database)) as opened:
        yield opened


def open_bank(store: Store, bank: str) -> Memory:
    return Memory.open(bank, store=store, embedder=EMBEDDER, recipe="default")


def fill(store: Store, lines: int = LINES, bank: str = "") -> Memory:
    memory = open_bank(store, bank or f"cached {next(NAMES)}")
    chance = np.random.default_rng(0)
    texts = [" ".join(chance.choice(WORDS, 4)) for _ in range(lines)]
    memory.observe_many([NewLine(text, "Ann", session=f"day {n // 3}", key=f"k{n}") for n, text in enumerate(texts)])
    return memory


def expect(text: str = "apple river") -> ExpectedReads:
    vector = EMBEDDER.embed_query(text).astype(np.float16).astype(np.float32)  # of the precision that Postgres compares
    return ExpectedReads(EMBEDDER.name, vector, ["appl"], 24, 1000)


def read(store: Store, bank: str, expected: ExpectedReads) -> list[Any]:
    """Read all lines, some of them as if there were no others, and which of them have vectors."""
    assert expected.vector is not None
    corpus = store.corpus_stats(bank)
    seqs = np.arange(1, corpus.last_seq + 1)
    rows, visible = store.scoring_rows(bank, seqs), store.scoring_rows(bank, seqs[::2], seqs[: len(seqs) // 2])
    return [
        corpus,
        rows.lines.tolist(),
        rows.sessions.tolist(),
        visible.lines.tolist(),
        visible.sessions.tolist(),
        store.nearest_seqs(bank, expected.model, expected.vector, 1000, None).tolist(),
        store.nearest_seqs(bank, expected.model, expected.vector, 1000, seqs[::3]).tolist(),
        np.nan_to_num(store.cosines(bank, expected.model, expected.vector, seqs)).round(3).tolist(),
    ]


def read_snapshot(memory: Memory) -> list[Any]:
    expected = expect()
    return memory.store.read_snapshot(memory.bank, lambda store: (read(store, memory.bank, expected), []), expected)[0]


def find(memory: Memory) -> CachedBank | None:
    """Return the bank in memory."""
    assert isinstance(memory.store, PostgresStore)
    return memory.store._cache.get((memory.bank, EMBEDDER.name, DIM))


def load(memory: Memory) -> CachedBank:
    """Read a bank until it is in memory."""
    read_snapshot(memory)
    read_snapshot(memory)
    bank = find(memory)
    assert bank is not None
    assert bank.last
    return bank


def last(memory: Memory) -> int:
    return memory.store.corpus_stats(memory.bank).last_seq


# -------------------------------------------------------------------------- changes of a bank


def add(memory: Memory) -> None:
    memory.observe("A lantern in the garden.", speaker="Bob", session="another day")


def add_to_session(memory: Memory) -> None:
    memory.observe_many(
        [
            NewLine("The meadow in winter.", "Ann", session="day 0"),
            NewLine("", "Ann", session="day 0", metadata=PAYLOAD),
        ]
    )


def add_wordless_session(memory: Memory) -> None:
    memory.observe_many([NewLine("", "Ann", session="an empty day", metadata=PAYLOAD)])


def add_unembedded(memory: Memory) -> None:
    Memory(memory.bank, memory.store, HashEmbedder(7), memory.recipe).observe("The saddle and the mirror.")


def embed_pending(memory: Memory) -> None:
    lines = list(memory.store.lines_without_vectors(memory.bank, EMBEDDER.name, DIM, 100))
    vectors = {line.seq: EMBEDDER.embed([line.text]) for line in lines}
    memory.store.put_vectors(memory.bank, EMBEDDER.name, vectors, lines)


def retract(memory: Memory) -> None:
    live = [line.seq for line in memory.lines()]
    memory.retract(live[len(live) // 2])


def replace(memory: Memory) -> None:
    newest = [line for line in memory.lines() if line.key][-1]
    memory.observe("Pepper instead.", speaker="Ann", key=newest.key, replace=True)


def forget(memory: Memory) -> None:
    memory.forget(seq=[line.seq for line in memory.lines()][-2])


def forget_last(memory: Memory) -> None:
    memory.forget(seq=[line.seq for line in memory.lines()][-1])


def drop_vectors(memory: Memory) -> None:
    memory.store.drop_vectors(memory.bank, "another model")


def embed_again(memory: Memory) -> None:
    lines = list(memory.lines())[:2]
    memory.store.put_vectors(memory.bank, EMBEDDER.name, {line.seq: EMBEDDER.embed(["x"]) for line in lines}, lines)


def recreate(memory: Memory) -> None:
    memory.forget(everything=True)
    fill(memory.store, LINES + 1, memory.bank)


def recreate_smaller(memory: Memory) -> None:
    memory.forget(everything=True)
    fill(memory.store, LINES - 1, memory.bank)


ADDITIONS = [add, add_to_session, add_wordless_session, add_unembedded]
REPLACEMENTS = [retract, replace, forget, forget_last, drop_vectors, embed_again, recreate, recreate_smaller]


@pytest.mark.parametrize("change", [*ADDITIONS, *REPLACEMENTS])
def test_a_change_by_another_process_is_seen(
    store: PostgresStore, other: PostgresStore, change: Callable[[Memory], None]
) -> None:
    memory = fill(store)
    before = load(memory)
    change(open_bank(other, memory.bank))
    for _ in range(3):
        assert read_snapshot(memory) == read(store, memory.bank, expect())
    after = find(memory)
    assert after is not None
    assert after is not before
    assert after.last == last(memory)


@pytest.mark.parametrize("change", ADDITIONS)
def test_after_an_addition_the_bank_is_not_read_again(store: PostgresStore, change: Callable[[Memory], None]) -> None:
    memory = fill(store)
    load(memory)
    change(memory)
    read_snapshot(memory)
    after = find(memory)
    assert after is not None
    assert after.last == last(memory) > LINES
    read_snapshot(memory)
    assert find(memory) is after


def test_lines_that_are_embedded_later_are_added(store: PostgresStore) -> None:
    memory = fill(store)
    add_unembedded(memory)
    add(memory)
    before = load(memory)
    assert before.newest_unembedded.tolist() == [LINES + 1]
    embed_pending(memory)
    assert read_snapshot(memory) == read(store, memory.bank, expect())
    after = find(memory)
    assert after is not None
    assert (after.last, after.codes.ids.tolist()) == (before.last, list(range(1, LINES + 3)))


@pytest.mark.parametrize("with_vectors", [0, 90, 1000])
def test_any_sequence_of_changes_is_seen(
    store: PostgresStore, other: PostgresStore, with_vectors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_cache, "MAX_VECTORS", with_vectors)
    memory, chance = fill(store, 80), np.random.default_rng(1)
    elsewhere = open_bank(other, memory.bank)
    changes = [*ADDITIONS, *REPLACEMENTS, embed_pending, embed_pending]
    for number in chance.integers(len(changes), size=60):
        changes[number](memory if chance.integers(2) else elsewhere)
        for each in (memory, elsewhere)[: chance.integers(1, 3)]:
            assert read_snapshot(each) == read(store, memory.bank, expect())


def test_lines_that_are_analysed_again_are_seen(store: PostgresStore) -> None:
    memory = fill(store)
    add(memory)  # with words that are no terms of this analyser
    age_bank(memory, ANALYZER_VERSION - 1)
    load(memory)
    before = read_snapshot(memory)
    memory.reindex()
    after = read_snapshot(memory)
    assert after == read(store, memory.bank, expect())
    assert after != before


@pytest.mark.parametrize("with_vectors", [0, 1000])
def test_the_nearest_lines_are_those_of_a_folder(
    store: PostgresStore, tmp_path: Path, with_vectors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_cache, "MAX_VECTORS", with_vectors)
    memory, folder = fill(store, 60), fill(Memory.open("x", store=tmp_path).store, 60, "folder")
    load(memory)
    for text in ("apple river candle", "a lantern", "winter"):
        assert find_nearest(memory, expect(text)) == find_nearest(folder, expect(text))


def find_nearest(memory: Memory, expected: ExpectedReads) -> list[int]:
    vector = expected.vector
    assert vector is not None
    seqs, _ = memory.store.read_snapshot(
        memory.bank, lambda store: (store.nearest_seqs(memory.bank, expected.model, vector, 7, None), []), expected
    )
    return [int(seq) for seq in seqs]


# ------------------------------------------------------------------------------ what is kept


def test_the_vectors_of_a_bank_are_kept_until_it_is_large(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_cache, "MAX_VECTORS", LINES + 1)
    memory = fill(store)
    kept = []
    for _ in range(3):
        bank = load(memory)
        kept.append(None if bank.codes.data is None else len(bank.codes.data))
        add(memory)
    assert kept == [LINES, LINES + 1, None]


def test_a_bank_is_read_from_its_second_snapshot_on(store: PostgresStore) -> None:
    memory = fill(store)
    assert find(memory) is None
    read_snapshot(memory)
    unread = find(memory)
    assert unread is not None
    assert not unread.last
    read_snapshot(memory)
    assert load(memory).last == LINES


def test_a_small_bank_is_not_kept(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank_cache, "MIN_LINES", LINES)
    memory = fill(store)
    read_snapshot(memory)
    assert find(memory) is None
    add(memory)
    read_snapshot(memory)
    assert find(memory) is not None


def test_the_banks_that_were_asked_last_are_kept(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = [fill(store) for _ in range(3)]
    size = load(memories[0]).nbytes
    monkeypatch.setattr(bank_cache, "MAX_BYTES", 2 * size + size // 2)
    for memory in memories:
        load(memory)
    assert find(memories[0]) is None
    assert store._cache._bytes == 2 * size
    monkeypatch.setattr(bank_cache, "MAX_LINES", LINES - 1)
    large = fill(store)
    read_snapshot(large)
    assert find(large) is None


def test_a_forgotten_bank_is_not_kept(store: PostgresStore) -> None:
    memory = fill(store)
    load(memory)
    memory.forget(everything=True)
    assert find(memory) is None
    assert store._cache._bytes == 0


def test_a_bank_that_was_moved_is_not_kept(store: PostgresStore) -> None:
    memory = fill(store)
    load(memory)
    with PostgresPlace(store).hold(memory.bank) as held:
        held.leave("another", "a1")
    assert find(memory) is None


def test_a_bank_that_another_process_has_forgotten_is_not_kept(store: PostgresStore, other: PostgresStore) -> None:
    memory = fill(store)
    load(memory)
    other.forget(memory.bank, "bank", None, datetime.now(UTC))
    read_snapshot(memory)
    assert find(memory) is None
    assert store._cache._bytes == 0


def test_a_bank_that_is_too_large_to_keep_drops_no_other_and_is_not_read_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = fill(store), fill(store, 4 * LINES)
    size = load(small).nbytes
    monkeypatch.setattr(bank_cache, "MAX_BYTES", 2 * size)
    for _ in range(4):
        assert read_snapshot(large) == read(store, large.bank, expect())
    assert find(large) is None
    assert find(small) is not None
    assert store._cache._bytes == size


def test_no_more_vectors_are_read_than_can_be_kept(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fill(store)
    key = memory.bank, EMBEDDER.name, DIM
    monkeypatch.setattr(bank_cache, "MAX_BYTES", 3 * 2 * DIM)  # of a line with many vectors 1 GB, more than a value has
    with store.database.read_transaction(memory.bank) as db:
        sent = bank_cache.send_changes(db, key, CachedBank.unread(DIM, LINES))
    assert len(read_bytes(sent, 3) or b"") <= 4 * 2 * DIM


def test_a_bank_that_is_created_again_with_the_same_counts_is_noticed(
    store: PostgresStore, other: PostgresStore
) -> None:
    memory = fill(store)
    store.reserve_seqs(memory.bank, 2 * LINES)  # as in a copy of a bank whose last lines were forgotten
    load(memory)
    other.forget(memory.bank, "bank", None, datetime.now(UTC))
    open_bank(other, memory.bank).observe_many([NewLine(word, "Bob", session=word) for word in WORDS[:LINES]])
    other.reserve_seqs(memory.bank, 2 * LINES)
    for _ in range(3):
        assert read_snapshot(memory) == read(store, memory.bank, expect())


def test_lines_that_the_server_has_lost_are_noticed(store: PostgresStore, database: str) -> None:
    memory = fill(store)
    load(memory)
    with psycopg.connect(database) as db:  # as if another line had got the number of the last one
        values = (memory.bank, memory.bank, LINES)
        db.execute(
            """UPDATE everthread.line SET batch = 1, session = 1, gist = (SELECT overlay(gist PLACING int4send(0)
               FROM 33) FROM everthread.line WHERE bank_id = %s AND seq = 8) WHERE bank_id = %s AND seq = %s""",
            values,
        )
    for _ in range(2):
        assert read_snapshot(memory) == read(store, memory.bank, expect())


def test_a_snapshot_that_began_before_another_one_sees_its_own_moment(store: PostgresStore) -> None:
    memory, expected = fill(store), expect()
    load(memory)
    before = read_snapshot(memory)

    def read_late(view: Store) -> tuple[list[Any], list[int]]:
        view.corpus_stats(memory.bank)  # from now on the transaction sees one moment
        add(memory)
        assert read_snapshot(memory) != before
        return read(view, memory.bank, expected), []

    assert store.read_snapshot(memory.bank, read_late, expected)[0] == before
    kept = find(memory)
    assert kept is not None
    assert kept.last == LINES + 1
    assert read_snapshot(memory) == read(store, memory.bank, expected)


def test_recall_finds_the_same_with_a_bank_in_memory(store: PostgresStore, other: PostgresStore) -> None:
    memory = fill(store, 30)  # a store compares the question in half precision, unlike a bank in memory
    load(memory)
    at = datetime(2030, 1, 1, tzinfo=UTC)
    elsewhere = open_bank(other, memory.bank)
    for text in ("apple in the garden", "what about winter?"):
        for as_of in (None, at):
            hits, of_queries = memory.recall(text, 5, as_of=as_of), elsewhere.recall(text, 5, as_of=as_of)
            assert [hit.line.seq for hit in hits] == [hit.line.seq for hit in of_queries]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in of_queries], abs=0.01)
            other._cache.renew()


def test_citus_accepts_the_queries_of_a_bank_in_memory(postgres_server: str) -> None:
    with postgres.database(postgres_server) as url:
        schema.migrate(Database(url))
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(FUNCTIONS.encode())
        schema.distribute(Database(url))
        with Citus(url) as citus, closing(PostgresStore(citus.url)) as distributed:
            memory = fill(distributed)
            load(memory)
            for change in (add, retract, add):
                change(memory)
                for _ in range(2):
                    assert read_snapshot(memory) == read(distributed, memory.bank, expect())


# -------------------------------------------------------------------------- what the server doesn't allow


@contextmanager
def secured(server: str) -> Iterator[tuple[str, PostgresStore]]:
    """Yield the URL of a database, and a store of it whose role sees one bank at a time."""
    with postgres.role(server) as role, postgres.database(server) as url:
        schema.migrate(Database(url))
        schema.secure(Database(url), role)
        with closing(PostgresStore(postgres.build_url(url, user=role, password="zqxsecret"))) as store:
            yield url, store


def test_a_connection_that_is_bound_to_another_bank_sees_nothing_of_a_bank_in_memory(postgres_server: str) -> None:
    with secured(postgres_server) as (_, store):
        alice, bob = fill(store), fill(store, 3)
        load(alice)
        expected = expect()
        with store.database.read_transaction(bob.bank) as db:
            snapshot = PinnedStore(store, db)
            snapshot._cache = store._cache
            answers, rows = snapshot.read_snapshot(
                alice.bank, lambda seen: (read(seen, alice.bank, expected), [1]), expected
            )
        assert answers[0].last_seq == 0
        assert not any(any(each) for each in answers[1:])
        assert rows == []
        load(alice)
        assert read_snapshot(alice) == read(store, alice.bank, expect()), "its own connections still do"


def test_a_role_that_loses_its_rights_gets_an_error_and_no_answers_from_memory(postgres_server: str) -> None:
    with secured(postgres_server) as (url, store):
        alice = fill(store)
        load(alice)
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("CREATE POLICY nothing ON everthread.bank AS RESTRICTIVE USING (false)")
            assert read_snapshot(alice)[0].last_seq == 0
            db.execute("DROP POLICY nothing ON everthread.bank")
            load(alice)
            db.execute(f"REVOKE ALL ON everthread.line FROM {store.database.url.split('//')[1].split(':')[0]}".encode())
            with pytest.raises(StoreUnavailable, match="grant this user the right"):
                read_snapshot(alice)


def test_a_bank_whose_reading_takes_longer_than_the_server_allows_is_not_kept(postgres_server: str) -> None:
    with secured(postgres_server) as (url, store):
        memory = fill(store)
        role = store.database.url.split("//")[1].split(":")[0]
        with psycopg.connect(url, autocommit=True) as db:  # only the statement that reads the bank is slow
            reads_all = "current_query() LIKE '%SELECT ARRAY[last_seq, revision%'"
            db.execute(
                "CREATE POLICY slow ON everthread.bank AS RESTRICTIVE "
                f"USING (CASE WHEN {reads_all} THEN pg_sleep(60) IS NOT NULL ELSE true END)".encode()
            )
            db.execute(f"ALTER ROLE {role} SET statement_timeout = '2s'".encode())
        store.close()  # the setting is that of new connections
        expected = read(store, memory.bank, expect())
        for _ in range(4):
            assert read_snapshot(memory) == expected
        assert find(memory) is None

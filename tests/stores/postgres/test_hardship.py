"""Killed servers, broken connections, poolers and many clients: no write is lost or duplicated, no call waits on."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest
from hardship import PATIENCE, crowd, forked, postgres
from hardship.citus import FUNCTIONS, Citus
from hardship.proxy import Pooler, Proxy
from hardship.python import start_python

from everthread import Memory, NewLine
from everthread.errors import BadLine, NotFound, StoreUnavailable
from everthread.stores.postgres import line_removal, schema
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.unit_store import UnitReplacement
from everthread.testing import HashEmbedder
from everthread.types import NewUnit, ScribeJob

PROCESSES, THREADS, LINES = 4, 4, 6
Made = TypeVar("Made")


def opened(store: PostgresStore, bank: str = "alice") -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(), recipe="default")


def texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


def url_of(store: PostgresStore) -> str:
    return postgres.build_url(store.database.conninfo)


@pytest.fixture(scope="module")
def own() -> Iterator[postgres.Own]:
    """Yield a server that tests may kill."""
    with postgres.Own() as server:
        yield server


@pytest.fixture
def store(postgres_server: str) -> Iterator[PostgresStore]:
    with postgres.database(postgres_server) as url:
        made = PostgresStore(url, timeout_s=PATIENCE)
        yield made
        made.close()


def retry(call: Callable[[], Made]) -> Made:
    """Call a function until the store is available; a busy machine may connect more slowly than the store waits."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except StoreUnavailable:
            if time.monotonic() > end:
                raise


# ------------------------------------------------------------------------------ kill -9


def test_a_server_killed_during_writes_loses_and_duplicates_nothing(own: postgres.Own) -> None:
    chance = random.Random(4)
    stop, kept = threading.Event(), list[tuple[int, str]]()
    with postgres.database(own.url) as url:
        store = PostgresStore(url, timeout_s=PATIENCE)
        memory = opened(store)

        def work(thread: int) -> None:
            n = 0
            while not stop.is_set():
                n += 1
                line = memory.observe(f"line {thread}-{n} of the storm", session=f"{thread}")
                kept.append((line.seq, line.text))

        with ThreadPoolExecutor(6) as pool:
            working = [pool.submit(work, thread) for thread in range(6)]
            for _ in range(3):
                time.sleep(chance.uniform(0.2, 0.5))
                own.kill()
                time.sleep(0.1)
                own.start()
            time.sleep(1.5)
            stop.set()
            for each in working:
                each.result()  # the store waits during a short restart: no thread has seen an error
        assert sorted(kept) == [(line.seq, line.text) for line in memory.lines()]
        assert [seq for seq, _ in sorted(kept)] == list(range(1, len(kept) + 1))
        assert store.check("alice") == []
        assert memory.stats().pending == 0
        store.close()


def test_a_store_reports_a_stopped_server_and_works_again_after_its_restart(own: postgres.Own) -> None:
    with postgres.database(own.url) as url:
        store = PostgresStore(url, timeout_s=1.5)
        memory = retry(lambda: opened(store))
        retry(lambda: memory.observe("Before the storm.", key="before"))
        own.kill()
        for call, is_write in (
            (lambda: memory.observe("Into the wind."), True),
            (lambda: memory.recall("storm"), False),
        ):
            began = time.monotonic()
            with pytest.raises(StoreUnavailable, match=r"can't be reached: .*\. Check that it runs") as caught:
                call()
            assert ("Nothing was stored. " in str(caught.value)) == is_write
            assert time.monotonic() - began < PATIENCE
        own.start()
        retry(lambda: memory.observe("After the storm.", key="after"))
        assert texts(memory) == ["Before the storm.", "After the storm."]
        assert store.check("alice") == []
        store.close()


def test_a_line_lost_in_a_crash_is_not_confused_with_another_of_its_number(own: postgres.Own) -> None:
    """After a crash the server reuses the numbers of transactions, and the store those of lines."""
    with postgres.database(own.url) as url, Proxy(url) as proxy:
        store = PostgresStore(proxy.url, timeout_s=PATIENCE)
        memory = opened(store)
        memory.observe("Before the storm.")

        def crash() -> bool:
            own.kill()
            own.start()
            with Memory.open("alice", store=url, embedder=HashEmbedder()) as other:
                assert other.observe("Another was quicker.").seq == 2
            return False

        proxy.set(crash)
        assert memory.observe("Into the wind.").seq == 3
        assert texts(memory) == ["Before the storm.", "Another was quicker.", "Into the wind."]
        assert store.check("alice") == []
        store.close()


# ------------------------------------------------------------- an acknowledgement that is lost


@pytest.fixture(params=[Proxy, Citus])
def proxy(request: pytest.FixtureRequest, store: PostgresStore) -> Iterator[Proxy]:
    """Yield a server that loses its client at a COMMIT, or one with Citus, which loses a worker then."""
    url = url_of(store)
    if request.param is Citus:
        schema.migrate(Database(url))
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(FUNCTIONS.encode())
        schema.distribute(Database(url))
    with request.param(url) as between:
        yield between


@pytest.fixture
def proxied(proxy: Proxy) -> Iterator[PostgresStore]:
    """Yield a store that connects through the proxy."""
    made = PostgresStore(proxy.url, max_connections=1, timeout_s=PATIENCE)
    opened(made).observe("Hello.")
    made.close()  # a new connection sends its first COMMITs unprepared, which the proxy recognises
    yield made
    made.close()


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("key", [None, "k1"])
def test_a_line_whose_acknowledgement_is_lost_is_stored_once(
    proxy: Proxy, proxied: PostgresStore, heard: bool, key: str | None
) -> None:
    memory = opened(proxied)
    proxy.set(lambda: heard)
    line = memory.observe("Is anybody there?", key=key)
    assert proxy.fault is None
    assert [each.text for each in memory.lines()] == ["Hello.", "Is anybody there?"]
    assert next(memory.lines(after=1)) == line
    if key:
        assert memory.observe("Is anybody there?", key=key) == line
    assert proxied.check("alice") == []


@pytest.mark.parametrize("heard", [True, False])
def test_a_batch_whose_acknowledgement_is_lost_is_stored_once_in_a_new_bank(
    proxy: Proxy, proxied: PostgresStore, heard: bool
) -> None:
    memory = opened(proxied, "bob")
    proxy.set(lambda: heard)
    lines = memory.observe_many([NewLine(f"Line {n}.", key=f"k{n % 20}") for n in range(30)])
    assert proxy.fault is None
    assert [line.seq for line in lines] == [*range(1, 21), *range(1, 11)]
    assert list(memory.lines()) == lines[:20]
    assert proxied.check("bob") == []


@pytest.mark.parametrize("heard", [True, False])
def test_a_superseding_unit_whose_acknowledgement_is_lost_is_stored_once(
    proxy: Proxy, proxied: PostgresStore, heard: bool
) -> None:
    memory = opened(proxied)
    line = next(memory.lines())
    first = memory.add_unit(NewUnit("note", "Somebody came.", 1, 1, line.said_at))
    work = ScribeJob("notes", line.session, 1, 1, line.said_at)
    memory.enqueue(work)
    proxy.set(lambda: heard)
    second = memory.add_unit(
        NewUnit("note", "Somebody said hello.", 1, 1, line.said_at), supersedes=1, finished_job=work
    )
    assert proxy.fault is None
    assert memory.units() == [replace(first, valid_to=second.valid_from), second]
    assert memory.jobs() == []


@pytest.mark.parametrize("heard", [True, False])
def test_replaced_units_whose_acknowledgement_is_lost_are_stored_once(
    proxy: Proxy, proxied: PostgresStore, heard: bool
) -> None:
    memory = opened(proxied)
    line = next(memory.lines())
    units = [NewUnit("chunk", text, 1, 1, line.said_at, sources=(1,)) for text in ("Hel", "lo.")]
    vectors = memory.reader.encoder.try_embed_vectors([unit.text for unit in units]) or []
    change = UnitReplacement("chunk", (), units, vectors, 0, "told", None, lambda first: {"first": first})
    proxy.set(lambda: heard)
    assert proxied.replace_units("alice", change, memory.embedder.name, line.said_at)
    assert proxy.fault is None
    assert [(unit.id, unit.text) for unit in memory.units()] == [(1, "Hel"), (2, "lo.")]
    assert memory.settings()["told"] == {"first": 1}


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("everything", [True, False])
def test_forgetting_writes_one_receipt_if_its_acknowledgement_is_lost(
    proxy: Proxy, proxied: PostgresStore, heard: bool, everything: bool
) -> None:
    memory = opened(proxied)
    proxy.set(lambda: heard)
    receipt = memory.forget(everything=True) if everything else memory.forget(seq=1)
    assert (receipt.lines, receipt.seqs) == (1, ((1, 1),))
    assert texts(memory) == []
    with proxied.database.dedicated_connection() as db:
        assert db.execute("SELECT count(*) FROM everthread.receipt").fetchone() == (1,)
    with pytest.raises(NotFound):
        memory.forget(seq=1)


@pytest.mark.parametrize("heard", [True, False])
def test_a_retraction_whose_acknowledgement_is_lost_is_made_once(
    proxy: Proxy, proxied: PostgresStore, heard: bool
) -> None:
    memory = opened(proxied)
    proxy.set(lambda: heard)
    assert memory.retract(1).retracted_at is not None
    assert proxy.fault is None
    assert (memory.stats().lines, memory.stats().retracted) == (0, 1)
    assert proxied.check("alice") == []


@pytest.mark.parametrize("proxy", [Citus], indirect=True)
def test_a_worker_that_is_gone_for_good_leaves_the_commit_unknown(proxy: Proxy, store: PostgresStore) -> None:
    hasty = PostgresStore(proxy.url, max_connections=1, timeout_s=1)
    memory = opened(hasty)
    memory.observe("Hello.")

    def heard_and_gone() -> bool:
        proxy.set(heard_and_gone)
        return True

    proxy.set(heard_and_gone)
    with pytest.raises(StoreUnavailable, match=r"could not commit transaction for shard .* may or may not be stored"):
        memory.observe("Is anybody there?", key="k1")
    hasty.close()
    assert texts(opened(store)) == ["Hello.", "Is anybody there?"]


def test_a_worker_lost_during_a_statement_is_waited_for(store: PostgresStore) -> None:
    memory = opened(store)
    memory.observe("Hello.")
    with store.database.dedicated_connection() as db:
        db.execute("CREATE SEQUENCE tries")
        db.execute(
            """CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               IF nextval('tries') < 3 THEN RAISE 'server closed the connection unexpectedly' USING ERRCODE = 'XX000';
               END IF; RETURN NEW; END $$"""
        )
        db.execute("CREATE TRIGGER lose BEFORE INSERT ON everthread.line FOR EACH ROW EXECUTE FUNCTION lose()")
    assert memory.observe("Is anybody there?").seq == 2
    with store.database.dedicated_connection() as db:
        assert db.execute("SELECT last_value FROM tries").fetchone() == (3,)
    assert store.check("alice") == []


def test_lines_that_are_written_again_are_recognised_as_another_write(store: PostgresStore) -> None:
    memory = opened(store)
    memory.observe("Hello.")
    with store.database.dedicated_connection() as db:
        db.execute("CREATE SEQUENCE attempted")  # which a rollback leaves as it is
        db.execute(
            """CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               IF NOT (SELECT is_called FROM attempted) THEN PERFORM setval('attempted', NEW.batch);
               RAISE 'server closed the connection unexpectedly' USING ERRCODE = 'XX000';
               END IF; RETURN NEW; END $$"""
        )
        db.execute("CREATE TRIGGER lose BEFORE INSERT ON everthread.line FOR EACH ROW EXECUTE FUNCTION lose()")
    assert memory.observe("Is anybody there?").seq == 2
    with store.database.dedicated_connection() as db:
        attempted = db.execute("SELECT last_value FROM attempted").fetchone()
        assert attempted != db.execute("SELECT batch FROM everthread.line WHERE seq = 2").fetchone()


@pytest.mark.parametrize("proxy", [Proxy], indirect=True)
@pytest.mark.usefixtures("proxied")
def test_a_lost_commit_on_a_stopped_server_is_reported_as_unknown(proxy: Proxy, store: PostgresStore) -> None:
    hasty = PostgresStore(proxy.url, max_connections=1, timeout_s=2)
    memory = retry(lambda: opened(hasty))

    def heard_and_gone() -> bool:
        proxy.shut()
        return True

    proxy.set(heard_and_gone)
    with pytest.raises(
        StoreUnavailable, match=r"may or may not be stored. Call again with the same keys; no line is stored twice"
    ):
        memory.observe("Is anybody there?", key="k1")
    hasty.close()
    direct = opened(store)
    assert direct.observe("Is anybody there?", key="k1").seq == 2
    assert texts(direct) == ["Hello.", "Is anybody there?"]


# ------------------------------------------------------------------------------- poolers


def test_a_pooler_may_give_each_transaction_another_connection(store: PostgresStore) -> None:
    with Pooler(url_of(store)) as pooler:
        careless = psycopg.connect(pooler.url, prepare_threshold=0, autocommit=True)
        with careless, pytest.raises(psycopg.errors.InvalidSqlStatementName):
            careless.execute("SELECT %s", (1,))
        made = PostgresStore(pooler.url, max_connections=3, timeout_s=PATIENCE)
        memory = opened(made)
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda n: memory.observe(f"Line {n} about the lighthouse."), range(40)))
        for _ in range(10):
            assert len(memory.recall("lighthouse", 5)) == 5
        memory.retract(1)
        assert memory.forget(seq=2).lines == 1
        assert made.check("alice") == []
        made.close()


# -------------------------------------------------------------------------------- threads


def test_many_threads_share_few_connections(store: PostgresStore) -> None:
    few = PostgresStore(url_of(store), max_connections=2, timeout_s=PATIENCE)
    memory = opened(few)

    def work(thread: int) -> int:
        for n in range(4):
            memory.observe(f"Line {n} of {thread}.", session=f"{thread}")
            memory.recall("line", 3)
        return thread

    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(work, range(32), timeout=PATIENCE)) == list(range(32))
    assert [line.seq for line in memory.lines()] == list(range(1, 129))
    few.close()


def test_a_closed_store_reopens_even_while_other_threads_use_it(store: PostgresStore) -> None:
    memory = opened(store)
    memory.observe("One.")
    store.close()
    store.close()
    assert memory.observe("Two.").seq == 2
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(memory.observe, f"Line {n}.") for n in range(40)]
        for _ in range(5):
            time.sleep(0.02)
            store.close()
        assert sorted(each.result().seq for each in writing) == list(range(3, 43))


def test_busy_connections_are_reported(store: PostgresStore) -> None:
    few = PostgresStore(url_of(store), max_connections=1, timeout_s=0.5)
    retry(lambda: opened(few).stats())
    with few.database.read_transaction("alice") as db:
        db.execute("SELECT 1").fetchone()
        with pytest.raises(StoreUnavailable, match=r"all 1 connections of this process were busy"):
            few.stats("alice", "hash")
    assert few.stats("alice", "hash").lines == 0
    few.close()


def test_an_error_leaves_no_open_transaction_and_a_usable_connection(store: PostgresStore) -> None:
    few = PostgresStore(url_of(store), max_connections=1, timeout_s=PATIENCE)
    memory = opened(few)
    memory.observe("Hello.")
    for _ in range(10):
        with pytest.raises(BadLine):
            memory.observe("To whom?", parent=77)
        with pytest.raises(NotFound):
            memory.retract(77)
        with pytest.raises(StoreUnavailable, match="division by zero"), few.database.read_transaction("alice") as db:
            db.execute("SELECT 1/0").fetchone()
        with pytest.raises(NotFound), few.database.write_transaction("alice") as db:
            line_removal.forget(db, "alice", "line", [77])
        undone = pytest.raises(StoreUnavailable, match="rolled back this call")
        with (
            undone,
            few.database.write_transaction("alice") as db,
            suppress(psycopg.Error),
        ):  # a caller must not suppress it
            db.execute("SELECT 1/0")
    assert memory.observe("And on.").seq == 2
    with few.database.dedicated_connection() as db:
        left = db.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
        )
        assert left.fetchone() == (0,)
        ours = "application_name = 'everthread' AND datname = current_database()"
        shown = db.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {ours}")
        assert shown.fetchone() == (2,)  # the pool's connection, and this one
    few.close()


# ---------------------------------------------------------------------------- many writers


def test_many_processes_and_threads_write_shared_and_separate_banks(store: PostgresStore) -> None:
    url = url_of(store)
    crowding = [
        start_python(crowd.__file__, "apart", url, who, THREADS, LINES, stdout=subprocess.PIPE)
        for who in range(PROCESSES)
    ]
    assert [process.communicate(timeout=PATIENCE)[0] for process in crowding] == [""] * PROCESSES
    assert [process.returncode for process in crowding] == [0] * PROCESSES
    assert store.banks() == ["alice", *(f"bank {who}" for who in range(PROCESSES))]
    for bank, whose in (("alice", range(PROCESSES)), *((f"bank {who}", [who]) for who in range(PROCESSES))):
        lines = list(opened(store, bank).lines())
        assert [line.seq for line in lines] == list(range(1, len(whose) * THREADS * LINES + 1))
        assert all(crowd.is_complete(line.text) for line in lines)
        said = {tuple(map(int, line.text.split()[2].split("-"))) for line in lines}
        assert said == {(p, t, n) for p in whose for t in range(THREADS) for n in range(LINES)}
        assert store.check(bank) == []


def test_a_forked_process_has_its_own_connections(store: PostgresStore) -> None:
    command = [sys.executable, str(Path(forked.__file__)), url_of(store), "beside"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("40 [] True\n", "", 0)


def test_writers_wait_only_for_writers_of_the_same_bank(store: PostgresStore) -> None:
    alice, bob = opened(store, "alice"), opened(store, "bob")
    alice.observe("Hello.")
    with ThreadPoolExecutor(1) as pool:
        with store.database.dedicated_connection() as db, db.transaction():
            db.execute("SELECT 1 FROM everthread.bank WHERE bank_id = 'alice' FOR UPDATE")
            waiting = pool.submit(alice.observe, "Is it my turn?")
            for n in range(5):
                assert bob.observe("Me first.").seq == n + 1
            assert [hit.line.text for hit in alice.recall("hello")] == ["Hello."]  # readers don't wait
            assert not waiting.done()
        assert waiting.result(PATIENCE).seq == 2


def test_a_bank_created_and_forgotten_concurrently_stays_sound(store: PostgresStore) -> None:
    def work(thread: int) -> None:
        for n in range(6):
            memory = opened(store, "brief")
            memory.observe(f"Line {n} of {thread}.", session=f"{thread}")
            if thread % 2:
                memory.forget(everything=True)
            store.set_buffer("brief", f"{thread}", [(1, 2)])
            store.drop_vectors("brief", "another")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert store.check("brief") == []


def test_a_vanished_client_does_not_lock_its_bank_for_long(store: PostgresStore) -> None:
    opened(store)
    with store.database.write_transaction("alice") as db:
        row = db.execute("SHOW idle_in_transaction_session_timeout").fetchone()
        assert row == ("1min",)
        assert db.execute("SHOW jit").fetchone() == ("off",)
    with Database(url_of(store)).dedicated_connection() as db:
        assert db.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("0",)

"""Claims of banks among the servers of one database."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from hardship import PATIENCE, postgres
from hardship.served import wait_until

from everthread.server.problems import Problem
from everthread.server.server_tables import ServerTables
from everthread.server.workers.bank_claims import BankClaims
from everthread.server.workers.bank_leases import BankLeases

LIFETIME_S = 1.0
HOLDER = """
import sys
from everthread.server.server_tables import ServerTables
from everthread.server.workers.bank_claims import BankClaims
claims = BankClaims(ServerTables(sys.argv[1]), float(sys.argv[2]))
print(claims.acquire("alice"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as database_url:
        yield database_url


@pytest.fixture
def tables(url: str) -> Iterator[ServerTables]:
    with closing(ServerTables(url)) as opened:
        yield opened


def count_claims(url: str) -> int:
    with psycopg.connect(url) as db:
        row = db.execute("SELECT count(*) FROM everthread_server.claim").fetchone()
    assert row is not None
    return int(row[0])


def test_a_bank_is_claimed_by_one_process_until_it_releases_it(tables: ServerTables) -> None:
    with closing(BankClaims(tables)) as one, closing(BankClaims(tables)) as other:
        assert one.acquire("alice")
        assert one.acquire("alice"), "the process has it already"
        assert (one.is_held_elsewhere("alice"), other.is_held_elsewhere("alice")) == (False, True)
        assert not other.acquire("alice")
        assert other.acquire("bob")
        other.release("alice")
        assert not other.acquire("alice"), "only the process that has it can release it"
        one.release("alice")
        assert other.acquire("alice")


def test_of_many_processes_one_gets_the_bank(tables: ServerTables) -> None:
    processes = [BankClaims(tables) for _ in range(8)]
    barrier, got = threading.Barrier(8), list[bool]()

    def acquire(claims: BankClaims) -> None:
        barrier.wait()
        got.append(claims.acquire("alice"))

    threads = [threading.Thread(target=acquire, args=(claims,)) for claims in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for claims in processes:
        claims.close()
    assert sorted(got) == [False] * 7 + [True]


def test_the_claims_of_a_killed_process_expire(tables: ServerTables, url: str) -> None:
    command = [sys.executable, "-c", HOLDER, url, str(LIFETIME_S)]
    with (
        closing(BankClaims(tables, LIFETIME_S)) as claims,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert not claims.acquire("alice")
        process.kill()
        wait_until(lambda: claims.acquire("alice"), PATIENCE)
        assert not claims.is_held_elsewhere("alice")


def test_a_process_that_lives_keeps_its_claims_beyond_their_lifetime(tables: ServerTables, url: str) -> None:
    with closing(BankClaims(tables, LIFETIME_S)) as one, closing(BankClaims(tables, LIFETIME_S)) as other:
        assert one.acquire("alice")
        with psycopg.connect(url, autocommit=True) as db:

            def beats() -> int:
                row = db.execute("SELECT count(DISTINCT seen_at) FROM everthread_server.server").fetchone()
                seen.update(db.execute("SELECT seen_at FROM everthread_server.server").fetchall())
                return len(seen) if row else 0

            seen = set[tuple[object, ...]]()
            wait_until(lambda: beats() > 8, PATIENCE)  # more than LIFETIME_S
        assert not other.acquire("alice")


def test_a_claim_that_could_not_be_released_is_released_later(postgres_server: str, url: str) -> None:
    tables = ServerTables(url, timeout_s=1)
    with closing(tables), closing(BankClaims(tables, LIFETIME_S)) as claims:
        assert claims.acquire("alice")
        with postgres.unreachable(postgres_server, url):
            claims.release("alice")
        wait_until(lambda: count_claims(url) == 0, PATIENCE)


def remove(claims: BankClaims, url: str) -> None:
    """Remove a process, as others do when it has given no sign of life for too long."""
    with psycopg.connect(url) as db:
        db.execute("DELETE FROM everthread_server.server WHERE id = %s", (claims.id,))


def test_a_process_that_was_suspended_claims_its_banks_again(tables: ServerTables, url: str) -> None:
    with closing(BankClaims(tables)) as one, closing(BankClaims(tables)) as other:
        assert one.acquire("alice")
        assert one.acquire("bob")
        one.release("bob")
        remove(one, url)
        assert count_claims(url) == 0
        one.beat()
        assert not other.acquire("alice")
        assert other.acquire("bob")
        remove(one, url)
        assert one.acquire("carol"), "without a sign of life before"
        assert not other.acquire("alice")


def test_a_bank_that_another_process_took_over_is_not_held_any_more(tables: ServerTables, url: str) -> None:
    one, other = BankLeases(None, BankClaims(tables)), BankLeases(None, BankClaims(tables))
    assert one.claims is not None
    assert one.acquire("alice", "reply")
    remove(one.claims, url)
    assert other.acquire("alice", "reply")
    one.claims.beat()
    assert not one.acquire("alice", "next", 0)
    assert not one.wait_until_free("alice", 0)
    one.release("alice", "reply")
    assert not one.acquire("alice", "next", 0)
    other.release("alice", "reply")
    assert one.acquire("alice", "next", 0)
    for leases in (one, other):
        leases.close()


def test_closing_gives_up_all_claims(tables: ServerTables, url: str) -> None:
    claims = BankClaims(tables)
    assert claims.acquire("alice")
    assert claims.acquire("bob")
    claims.close()
    assert count_claims(url) == 0


def test_the_tables_contain_no_bank_id(tables: ServerTables, url: str) -> None:
    with closing(BankClaims(tables)) as claims, psycopg.connect(url) as db:
        claims.acquire("alice")
        (row,) = db.execute("SELECT claim::text, server::text FROM everthread_server.claim, everthread_server.server")
        assert not any("alice" in text or b"alice".hex() in text for text in row)


def test_a_lease_of_a_worker_excludes_the_other_machines_as_well(tables: ServerTables, tmp_path: Path) -> None:
    one, other = (BankLeases(tmp_path / name, BankClaims(tables)) for name in ("1", "2"))
    alone = BankLeases(None, BankClaims(tables))
    assert one.acquire("alice", "reply")
    assert one.acquire("alice", "private")
    assert not other.acquire("alice", "reply", 0)
    assert not alone.wait_until_free("alice", 0)
    with pytest.raises(Problem, match="409"), alone.hold("alice", 0):
        raise AssertionError
    one.release("alice", "reply")
    assert not alone.acquire("alice", "reply", 0)
    one.release("alice", "private")
    with alone.hold("alice"):
        assert not one.acquire("alice", "reply", 0)
        assert one.find_owner("alice") is None, "no link is left of an attempt that failed"
    assert other.acquire("alice", "reply", 0)
    for leases in (one, other, alone):
        leases.close()

"""The stand-in for Citus refuses what Citus refuses, and nothing else."""

from collections.abc import Iterator

import psycopg
import pytest

from hardship import postgres
from hardship.citus import Citus


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as database_url, Citus(database_url) as citus:
        with psycopg.connect(database_url, autocommit=True) as db:
            db.execute("CREATE TABLE a (id int PRIMARY KEY, b int)")
            db.execute("INSERT INTO a VALUES (1, 1)")
        yield citus.url


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("CREATE TABLE c (id int); CREATE TABLE d (id int)", "multiple commands"),
        ("ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES a, ADD COLUMN c int", "with other subcommands"),
        ("ALTER TABLE a ALTER COLUMN b SET STATISTICS 0", "alter table command"),
        ("SELECT 1 FROM a WHERE id = 1 FOR UPDATE", "locks no shard"),
        ("INSERT INTO everthread.a SELECT 1, * FROM unnest('{2}'::int[])", "COPY FROM not supported"),
        ("SELECT 1, set_config('everthread.bank', 'ann', true)", "reaches no worker"),
    ],
)
def test_what_citus_refuses_is_refused(url: str, statement: str, why: str) -> None:
    for binary in (False, True):  # as one message, and in parts
        with psycopg.connect(url) as db, pytest.raises(psycopg.Error, match=why):
            db.execute(statement.encode(), binary=binary)


def test_what_citus_does_is_done(url: str) -> None:
    with psycopg.connect(url) as db:
        db.execute("-- one; two\nALTER TABLE a ADD FOREIGN KEY (b) REFERENCES a;")
        db.execute("ALTER TABLE a ADD COLUMN c int, ADD COLUMN d text DEFAULT 'a; b'")
        db.execute("CREATE TABLE e (id int, f text)")
        db.execute("ALTER TABLE e ALTER COLUMN f SET STATISTICS 0")
        db.execute("INSERT INTO e SELECT a.id, new.* FROM a, unnest('{f}'::text[]) AS new WHERE a.id = 1")
        db.execute("SET LOCAL everthread.bank = 'ann'")
        db.execute("SELECT set_config('search_path', 'public', true)")
        for _ in range(8):  # the last of them prepared
            db.execute("UPDATE a SET c = %s WHERE id = 1", (2,))
            assert db.execute("SELECT c, d FROM a WHERE id = %s FOR UPDATE", (1,)).fetchone() == (2, "a; b")
            db.commit()

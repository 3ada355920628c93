"""`everthread db …`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from hardship import postgres
from hardship.citus import FUNCTIONS

from everthread import Memory
from everthread.cli.main import main
from everthread.server import server_tables
from everthread.server.data_location import find_location
from everthread.server.keys import KeyStore
from everthread.stores.postgres import schema
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder


def db(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["db", *arguments])


def parse_output(result: Result, status: int = 0) -> Any:
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as database_url:
        yield database_url


def observe_line(url: str, text: str) -> None:
    with Memory.open("alice", store=url, embedder=HashEmbedder()) as memory:
        memory.observe(text)


def test_init_creates_the_tables_once(url: str) -> None:
    created = parse_output(db("init", url, "--json"))
    assert created == {"url": url, "migrations": schema.VERSION + server_tables.VERSION, "statements": []}
    assert db("init", url).stdout == f"{url}: schema {schema.VERSION}, 0 migrations applied\n"
    observe_line(url, "Hello.")
    assert parse_output(db("check", url, "--json")) == {"banks": 1, "wrong": []}
    assert db("check", url).stdout == f"{url}: 1 bank, all sound\n"


def test_a_statement_that_the_database_cancels_is_one_line_without_warnings_of_the_driver(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    observe_line(url, "Hello.")
    with psycopg.connect(url, autocommit=True) as connection:
        canceled = "RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = 'query_canceled'"
        connection.execute(f"CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {canceled}; END$$")
        connection.execute(
            "CREATE TRIGGER cancel BEFORE INSERT OR UPDATE ON everthread.session EXECUTE FUNCTION cancel()"
        )
    result = CliRunner().invoke(
        main, ["--store", url, "--embedder", "hash", "observe", "Hello again.", "--bank", "alice"]
    )
    assert result.exit_code == 1
    assert "raise the statement_timeout of this user or database" in result.stderr
    assert caplog.messages == []


def test_init_secures_a_role(postgres_server: str) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        assert parse_output(db("init", url, "--role", role, "--json"))["role"] == role
        as_role = postgres.build_url(url, user=role, password="zqxsecret")
        observe_line(as_role, "Hello.")
        checked = db("check", as_role)
        assert "1 bank, all sound" in checked.stdout
        assert "zqxsecret" not in checked.output


def test_a_secured_role_may_serve(postgres_server: str) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        db("init", url, "--role", role)
        with (
            closing(PostgresStore(postgres.build_url(url, user=role, password="zqxsecret"))) as store,
            closing(KeyStore(find_location(store))) as keys,
        ):
            assert keys.find(keys.create("phone")) is not None


def test_adopt_copies_the_data_of_a_server_from_its_file(url: str, tmp_path: Path) -> None:
    file = tmp_path / "server.sqlite"
    with closing(KeyStore(file)) as keys:
        secret = keys.create("phone")
    db("init", url)
    assert parse_output(db("adopt", url, str(file), "--json")) == {"url": url, "rows": 1}
    assert db("adopt", url, str(file)).stdout == f"{url}: 0 rows copied from {file}\n"
    with closing(PostgresStore(url)) as store, closing(KeyStore(find_location(store))) as keys:
        assert keys.find(secret) is not None
    missing = db("adopt", url, str(tmp_path / "other.sqlite"))
    assert (missing.exit_code, "there is no file" in missing.stderr) == (1, True)


def test_init_distributes_only_with_citus(url: str) -> None:
    result = db("init", url, "--distribute", "--json")
    assert "has no Citus; install it there with: CREATE EXTENSION citus" in parse_output(result, 1)["error"]
    assert result.stderr.startswith("everthread: ")


def test_init_distributes_over_a_number_of_shards_for_a_role(postgres_server: str) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute(FUNCTIONS.encode())
        made = parse_output(db("init", url, "--role", role, "--distribute", "--shards", "64", "--json"))
        assert (made["role"], made["migrations"]) == (role, schema.VERSION + server_tables.VERSION)
        assert made["statements"][0].endswith("shard_count => 64)")
        observe_line(postgres.build_url(url, user=role, password="zqxsecret"), "Hello.")
        refused = parse_output(db("init", url, "--distribute", "--shards", "32", "--json"), 2)
        assert "--shards is 32, but the tables of" in refused["error"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--shards", "64"), "--shards 64 has no effect without --distribute; give both or neither"),
        (("--distribute", "--shards", "0"), "0 is not in the range 1<=x<=64000"),
        (("--distribute", "--shards", "64001"), "64001 is not in the range 1<=x<=64000"),
        (("--distribute", "--shards", "many"), "'many' is not a valid integer range"),
    ],
)
def test_an_invalid_number_of_shards_is_refused_before_any_change(url: str, options: tuple[str, ...], why: str) -> None:
    result = db("init", url, *options)
    assert result.exit_code == 2
    assert why in result.stderr
    assert "has no tables yet" in db("check", url).stderr


def test_migrate_brings_the_tables_up_to_date(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "has no tables yet; create them with: everthread db init URL" in db("migrate", url).stderr
    assert db("init", url).exit_code == 0
    assert parse_output(db("migrate", url, "--json"))["migrations"] == 0
    monkeypatch.setattr(
        schema, "MIGRATIONS", (*schema.MIGRATIONS, ("ALTER TABLE everthread.bank ADD COLUMN colour text",))
    )
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    assert "update them with: everthread db migrate URL" in db("check", url).stderr
    assert db("migrate", url).stdout == f"{url}: 1 migration applied\n"
    assert db("check", url).exit_code == 0


def test_check_creates_no_tables(url: str) -> None:
    assert "has no tables yet" in parse_output(db("check", url, "--json"), 1)["error"]
    assert "has no tables yet" in parse_output(db("check", url, "--json"), 1)["error"]


def test_check_names_a_damaged_bank_and_its_faults(url: str) -> None:
    observe_line(url, "Hello there.")
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE everthread.bank SET lines = 7")
    (wrong,) = parse_output(db("check", url, "--json"), 1)["wrong"]
    assert wrong.startswith("alice: lines: 7 recorded, 1 found")


def test_an_invalid_url_is_bad_input_and_its_password_is_not_shown() -> None:
    for command in ("init", "migrate", "check"):
        result = db(command, "mysql://ann:zqxsecret@host/db")
        assert result.exit_code == 2
        assert "'mysql://ann@host/db' is not a Postgres URL; write postgresql://user@host/database" in result.stderr
        assert "zqxsecret" not in result.output

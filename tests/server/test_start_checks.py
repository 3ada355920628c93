"""A server that is started before its database, or beside one that it can't use."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from hardship import postgres
from hardship.served import start_command, wait_until
from hardship.web import get, post

from everthread.cli.main import main
from everthread.errors import StoreUnavailable
from everthread.server.keys import KeyStore

COMMAND = ("-m", "everthread", "--embedder", "hash", "--store")
SOON_S = 5.0  # a monitor's patience; the store itself waits for ten seconds


def ask_ready(url: str) -> int:
    """Return the status of /readyz, which must not keep a monitor waiting."""
    began = time.monotonic()
    status = get(f"{url}/readyz").status_code
    assert time.monotonic() - began < SOON_S
    return status


def test_a_server_waits_for_its_database_at_the_start_and_later(tmp_path: Path) -> None:
    key_file = tmp_path / "first-key"
    serve = ("serve", "--port", "0", "--model", "none", "--require-key", "--first-key", str(key_file))
    with postgres.Own() as own:
        own.kill()
        with start_command(*COMMAND, own.url, *serve) as running:
            assert get(f"{running.url}/healthz").status_code == 200
            assert ask_ready(running.url) == 503
            own.start()
            wait_until(lambda: key_file.exists() and key_file.read_text())
            wait_until(lambda: ask_ready(running.url) == 200)
            line = f"{running.url}/api/v1/banks/alice/lines"
            key = {"Authorization": f"Bearer {key_file.read_text().strip()}"}
            assert post(line, json={"text": "My sister moved."}, headers=key).json()["seq"] == 1
            own.kill()
            assert [ask_ready(running.url) for _ in range(3)] == [503] * 3
            assert post(line, json={"text": "Nobody reads this."}, headers=key).status_code == 503
            own.start()
            wait_until(lambda: ask_ready(running.url) == 200)
            assert post(line, json={"text": "So did my aunt."}, headers=key).json()["seq"] == 2
            assert running.stop() == 0
    warnings = [row["message"] for row in running.log if row["level"] == "warning"]
    assert warnings[0].endswith("Check that it runs; requests that need it get 503 until it answers")
    assert warnings.count("the database answers now") == 1
    ends = [each.endswith("answers again") for each in warnings[1:] if each.startswith("postgresql://")]
    # Each outage is reported once. Requests report that of the start as well if it takes them long enough.
    assert ends in ([False, True], [False, True] * 2), "\n".join(warnings)


def test_a_server_that_never_reached_its_database_stops_without_a_further_warning(tmp_path: Path) -> None:
    with start_command(*COMMAND, "postgresql://me@127.0.0.1:1/x", "serve", "--port", "0", "--model", "none") as running:
        assert running.stop() == 0
    assert len([row for row in running.log if row["level"] != "info"]) == 1


def test_a_database_that_refuses_the_server_is_reported_at_the_start(postgres_server: str) -> None:
    url = postgres.build_url(postgres_server, dbname="nosuch")
    done = CliRunner().invoke(main, ["--embedder", "hash", "--store", url, "serve", "--port", "0"])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith('database "nosuch" does not exist; create it with: createdb\n')


def test_a_first_key_that_cannot_be_stored_leaves_no_file(tmp_path: Path) -> None:
    location = tmp_path / "server.sqlite"
    location.write_bytes(b"no database" * 100)
    file = tmp_path / "first-key"
    with closing(KeyStore(location)) as keys, pytest.raises(StoreUnavailable):
        keys.create_in(file, "first")
    assert not file.exists()

"""`everthread keys`: made, shown once, listed, revoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everthread.cli.main import main
from everthread.errors import ConfigError
from everthread.server.keys import KeyStore


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "banks"


def run(store: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--store", str(store), "keys", *arguments])


def test_a_key_is_printed_once_on_its_own_line(store: Path) -> None:
    created = run(store, "new", "phone", "-b", "alice/*", "-b", "bob", "--may", "read", "--may", "chat")
    assert created.exit_code == 0, created.stderr
    secret = created.stdout.strip()
    assert secret.startswith("et_")
    assert "It may read, chat: alice/*, bob" in created.stderr
    key = KeyStore(store / "server.sqlite").find(secret)
    assert key is not None
    assert (key.name, key.banks) == ("phone", ("alice/*", "bob"))
    listed = run(store, "list")
    assert "phone" in listed.stdout
    assert "alice/*, bob" in listed.stdout
    assert secret[3:] not in listed.stdout


def test_a_key_permits_everything_by_default(store: Path) -> None:
    output = json.loads(run(store, "new", "mine", "--json").stdout)
    assert output["banks"] == ["*"]
    assert output["may"] == ["read", "write", "chat", "forget"]
    assert output["key"].startswith("et_")
    (listed,) = json.loads(run(store, "list", "--json").stdout)
    assert listed["name"] == "mine"
    assert listed["used_on"] is None
    assert "key" not in listed


def test_a_revoked_key_is_gone_and_an_unknown_one_is_reported(store: Path) -> None:
    run(store, "new", "phone")
    assert run(store, "revoke", "phone").stdout == "revoked phone\n"
    assert "no keys" in run(store, "list").stdout
    for name in ("phone", "phone\udcff"):  # the latter as an argument that is not UTF-8
        again = run(store, "revoke", name)
        assert (again.exit_code, again.stdout) == (1, "")
        assert f"there is no key {name!r}" in again.stderr


def test_the_first_key_is_in_a_file_that_only_its_owner_can_read_and_permits_everything(tmp_path: Path) -> None:
    keys, file = KeyStore(tmp_path / "server.sqlite"), tmp_path / "first-key"
    keys.create_in(file, "first")
    assert file.stat().st_mode & 0o777 == 0o600
    key = keys.find(file.read_text().strip())
    assert key is not None
    assert (key.name, key.banks, key.verbs) == ("first", ("*",), ("read", "write", "chat", "forget"))


def test_no_first_key_is_created_if_its_file_exists(tmp_path: Path) -> None:
    keys, file = KeyStore(tmp_path / "server.sqlite"), tmp_path / "first-key"
    file.write_text("something else")
    with pytest.raises(ConfigError, match="no key can be created in"):
        keys.create_in(file, "first")
    assert file.read_text() == "something else"
    assert not keys.list_keys()


def test_an_ambiguous_scope_is_refused(store: Path) -> None:
    refused = run(store, "new", "phone", "-b", "al*")
    assert refused.exit_code == 2
    assert "'al*'" in refused.stderr

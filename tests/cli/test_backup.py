"""`everthread backup` and `everthread restore`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.commands import run


@pytest.fixture
def banks(tmp_path: Path) -> Path:
    for name in ("alice", "bob"):
        run(tmp_path / "banks", "observe", "Tea is at four.", "--bank", name)
    return tmp_path / "banks"


def test_a_backup_is_made_verified_and_restored(banks: Path, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    made = json.loads(run(banks, "backup", place, "--json").stdout)
    assert (made["banks"], made["lines"], made["removed"]) == (2, 2, [])
    verified = run(banks, "backup", place, "--verify")
    assert verified.output == f"ok   {made['backup']}: 2 lines of alice, bob\n"
    restored = json.loads(run(tmp_path / "new", "restore", place, "--json").stdout)
    assert [(row["bank"], row["lines"]) for row in restored["banks"]] == [("alice", 1), ("bob", 1)]
    assert "Tea is at four." in run(tmp_path / "new", "lines", "--bank", "bob").output


def test_one_bank_is_backed_up_and_restored_under_another_name(banks: Path, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    made = run(banks, "backup", place, "--bank", "alice")
    assert "1 bank, 1 line, " in made.stdout
    assert made.stdout.endswith(" MB, verified\n")
    restored = run(banks, "restore", place, "--bank", "alice", "--as", "carol")
    assert restored.stdout.startswith("carol: 1 line restored (")
    assert "there is no bank" in run(banks, "backup", place, "--bank", "nobody").output


def test_a_backup_of_one_bank_has_no_keys_and_a_restore_names_the_banks_of_earlier_backups(
    banks: Path, tmp_path: Path
) -> None:
    place = tmp_path / "backups"
    with closing(sqlite3.connect(banks / "server.sqlite")) as db, db:
        db.execute("CREATE TABLE key (name TEXT)")
    all_banks = Path(json.loads(run(banks, "backup", place, "--json").stdout)["backup"])
    one = Path(json.loads(run(banks, "backup", place, "--bank", "bob", "--json").stdout)["backup"])
    assert ((all_banks / "server.sqlite").exists(), (one / "server.sqlite").exists()) == (True, False)
    restored = run(tmp_path / "new", "restore", place)
    assert f"not in this backup, but in an earlier one: alice ({all_banks.name})" in restored.stderr
    assert not (tmp_path / "new" / "server.sqlite").exists()
    assert "earlier" not in run(tmp_path / "other", "restore", all_banks).stderr


def test_a_revoked_key_stays_revoked_where_the_server_has_its_file_and_elsewhere_a_warning_names_the_lists(
    banks: Path, tmp_path: Path
) -> None:
    run(banks, "keys", "new", "phone")
    run(banks, "backup", tmp_path / "backups")
    run(banks, "keys", "revoke", "phone")
    kept = run(banks, "restore", tmp_path / "backups", "--force")
    assert kept.exit_code == 0, kept.output
    assert "keys" not in kept.output
    assert run(banks, "keys", "list").stdout.startswith("There are no keys")
    restored = run(tmp_path / "new", "restore", tmp_path / "backups")
    assert "keys and accounts of the server restored as of 20" in restored.stdout
    assert "valid again" in restored.stderr
    assert "phone" in run(tmp_path / "new", "keys", "list").stdout


def test_an_interrupted_restore_is_repeated_without_force(banks: Path, tmp_path: Path) -> None:
    run(banks, "backup", tmp_path / "backups")
    run(tmp_path / "new", "restore", tmp_path / "backups", "--bank", "alice")  # as if it were killed before bob
    restored = run(tmp_path / "new", "restore", tmp_path / "backups")
    assert restored.exit_code == 0, restored.output
    first, second = restored.stdout.splitlines()
    assert first.startswith("alice: 1 line as in the backup already (")
    assert second.startswith("bob: 1 line restored (")


def test_a_restore_names_the_option_that_replaces_a_bank(banks: Path, tmp_path: Path) -> None:
    run(banks, "backup", tmp_path / "backups")
    run(banks, "observe", "The boat leaves at six.", "--bank", "alice")
    refused = run(banks, "restore", tmp_path / "backups")
    assert refused.exit_code == 2
    assert "restore it under another id, or replace it with --force" in refused.output
    assert run(banks, "restore", tmp_path / "backups", "--force").exit_code == 0


def test_old_backups_are_removed_and_named(banks: Path, tmp_path: Path) -> None:
    first = json.loads(run(banks, "backup", tmp_path / "backups", "--json").stdout)["backup"]
    assert f"removed: {first}\n" in run(banks, "backup", tmp_path / "backups", "--keep", 1).stdout
    assert "got keep-days 0" in run(banks, "backup", tmp_path / "backups", "--keep-days", 0).output


def test_a_damaged_backup_is_an_exit_status(banks: Path, tmp_path: Path) -> None:
    made = Path(json.loads(run(banks, "backup", tmp_path / "backups", "--json").stdout)["backup"])
    (made / "bob.bank").write_bytes(b"")
    verified = run(banks, "backup", made, "--verify")
    assert verified.exit_code == 1
    assert verified.output.startswith(f"BAD  {made}: 2 lines of alice, bob\n     {made / 'bob.bank'} is damaged")
    assert json.loads(run(banks, "backup", made, "--verify", "--json").output)[0]["problems"]
    assert run(banks, "backup", made, "--verify", "--keep", 2).exit_code == 2


def test_the_other_banks_are_backed_up_if_one_is_damaged(banks: Path, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    sound = json.loads(run(banks, "backup", place, "--json").stdout)["backup"]
    (banks / "alice.bank").write_bytes(b"no database" * 1000)
    made = run(banks, "backup", place, "--keep", 1)
    assert made.exit_code == 1
    assert ": 1 bank, 1 line, " in made.stdout
    assert "not in the backup: bank 'alice': bank 'alice' (" in made.stderr
    assert "removed" not in made.stdout
    report = json.loads(run(banks, "backup", place, "--json").stdout)
    assert list(report["failed"]) == ["alice"]
    assert sorted(path.name for path in Path(report["backup"]).iterdir()) == [
        "backup.json",
        "bob.bank",
        "receipts.jsonl",
    ]
    verified = run(banks, "backup", place, "--verify")
    assert verified.exit_code == 0
    assert f"ok   {sound}: 2 lines of alice, bob" in verified.stdout
    assert [row["bank"] for row in json.loads(run(tmp_path / "new", "restore", place, "--json").stdout)["banks"]] == [
        "bob"
    ]


def test_what_is_no_backup_is_named(banks: Path, tmp_path: Path) -> None:
    refused = run(banks, "restore", tmp_path / "banks")
    assert refused.exit_code == 1
    assert "has no backup; name a folder that `everthread backup` wrote" in refused.output


def test_a_link_to_itself_is_no_place_of_backups_or_banks(banks: Path, tmp_path: Path) -> None:
    loop, places = tmp_path / "loop", tmp_path / "places.toml"
    loop.symlink_to(loop)
    assert f"everthread: {loop} is a file, not a folder" in run(banks, "backup", loop).stderr
    places.write_text(f'[places]\na = "{loop}"\nb = "{banks}"\n')
    assert "the place 'a' is the folder" in run(places, "lines").stderr
    run(banks, "export", "--bank", "bob", "--output", loop)
    assert "Tea is at four." in loop.read_text(encoding="utf-8")


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_backup_that_forgetting_has_emptied_is_not_restored_in_silence(tmp_path: Path, option: list[str]) -> None:
    run(tmp_path / "banks", "observe", "Tea is at four.")
    run(tmp_path / "banks", "backup", tmp_path / "backups")
    run(tmp_path / "banks", "forget", "--everything", "--yes")
    refused = run(tmp_path / "new", "restore", tmp_path / "backups", *option)
    assert refused.exit_code == 1
    assert refused.stderr.endswith("has no bank: what is forgotten is removed from backups as well\n")


def test_forgetting_a_whole_damaged_bank_names_no_backup(banks: Path, tmp_path: Path) -> None:
    run(banks, "backup", tmp_path / "backups")
    (banks / "bob.bank").write_bytes(b"no database" * 1000)
    forgotten = run(banks, "forget", "--bank", "bob", "--everything", "--yes")
    assert forgotten.exit_code == 0
    run(banks, "backup", tmp_path / "backups")
    assert not list((tmp_path / "backups").glob("*/bob.bank"))

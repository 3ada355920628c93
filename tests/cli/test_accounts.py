"""`everthread accounts`: made, listed, changed and removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everthread import Memory
from everthread.cli.main import main
from everthread.server.people.directory import PeopleDirectory
from everthread.testing import HashEmbedder
from everthread.transfer.backup import back_up

PASSWORD = "violet harbour"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("banks")
    for bank in ("default", "mia", "mia/ever"):
        with Memory.open(bank, store=folder, embedder=HashEmbedder(64)) as memory:
            memory.observe("I sail.")
    return folder


@pytest.fixture(scope="module")
def people(store: Path) -> Iterator[PeopleDirectory]:
    people = PeopleDirectory(store / "server.sqlite")
    yield people
    people.close()


def run(store: Path, *arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["--store", str(store), "accounts", *arguments], input=stdin)


def test_an_account_is_made_with_the_password_on_standard_input(store: Path, people: PeopleDirectory) -> None:
    assert "There are no accounts" in run(store, "list").stdout
    created = run(store, "add", "Nora", "--administrator", "-b", "default", stdin=f"{PASSWORD}\n")
    assert created.stdout == "created nora, with the banks nora and nora/*, default and default/*\n", created.stderr
    account, _ = people.sign_in("nora", PASSWORD, "192.0.2.1")
    assert account.is_administrator
    listed = run(store, "list").stdout
    assert "1 bank, 1 message; last signed in" in listed
    assert "; administrator" in listed
    (item,) = json.loads(run(store, "list", "--json").stdout)
    assert (item["name"], item["owns"], item["banks"], item["lines"]) == ("nora", ["nora", "default"], 1, 1)
    assert PASSWORD not in json.dumps(item)


def test_a_password_is_changed_and_a_short_one_refused(store: Path, people: PeopleDirectory) -> None:
    nora = people.accounts.get("nora")
    assert run(store, "password", "nora", stdin="another harbour").stdout == "changed the password of nora\n"
    refused = run(store, "password", "nora", stdin="short\n")
    assert (refused.exit_code, "got 5 characters" in refused.stderr) == (2, True)
    assert people.passwords.verify("another harbour", people.accounts.get_password_hash(nora))


def test_banks_are_given_and_accounts_locked_and_removed(store: Path, people: PeopleDirectory) -> None:
    refused = run(store, "add", "mia", "--no-password")
    assert (refused.exit_code, "there is a bank 'mia' already" in refused.stderr) == (2, True)
    assert run(store, "add", "ann", "--no-password").exit_code == 0
    assert "no bank 'nothing'" in run(store, "give", "ann", "nothing").stderr
    assert "belongs to the account 'nora'" in run(store, "give", "ann", "default").stderr
    assert run(store, "give", "ann", "mia").stdout == "ann owns ann and ann/*, mia and mia/*\n"
    assert run(store, "lock", "ann").stdout == "locked ann\n"
    assert people.accounts.get("ann").is_locked
    assert run(store, "unlock", "ann").stdout == "unlocked ann\n"
    assert run(store, "promote", "ann").stdout == "promoted ann\n"
    assert people.accounts.get("ann").is_administrator
    assert run(store, "demote", "ann").stdout == "demoted ann\n"
    assert not people.accounts.get("ann").is_administrator
    assert "no account 'ben'" in run(store, "promote", "ben").stderr
    unsure = run(store, "remove", "ann", "--banks", "forget")
    assert (unsure.exit_code, "pass --yes" in unsure.stderr) == (2, True)
    assert not people.accounts.get("ann").is_locked
    removed = run(store, "remove", "ann", "--banks", "forget", "--yes")
    assert removed.stdout == "removed ann; forgotten: 2 banks, 2 messages\n"
    assert sorted(path.stem for path in store.glob("*mia*")) == []
    assert run(store, "remove", "nora", "--banks", "keep").stdout == "removed nora; kept: 1 bank, 1 message\n"
    missing = run(store, "remove", "nora", "--banks", "keep")
    assert (missing.exit_code, "'nora'" in missing.stderr) == (1, True)


def test_an_account_is_linked_to_a_person_at_the_provider(
    store: Path, people: PeopleDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoe = people.create("zoe", None)
    refused = run(store, "link", "zoe", "s-1")
    assert (refused.exit_code, "set openid_issuer" in refused.stderr) == (2, True)
    monkeypatch.setenv("EVERTHREAD_OPENID_ISSUER", "https://login.example.org/")
    assert run(store, "link", "zoe", "s-1").stdout == "zoe signs in as s-1 at https://login.example.org\n"
    assert people.identities.find_account("https://login.example.org", "s-1") == zoe
    assert "there is no account" in run(store, "link", "nobody", "s-2").stderr
    assert people.identities.find_account("https://login.example.org", "s-2") is None


def test_removing_an_account_names_the_backups_that_still_hold_its_banks(tmp_path: Path) -> None:
    store = tmp_path / "banks"
    with Memory.open("zoe", store=store, embedder=HashEmbedder(64)) as memory:
        memory.observe("I sail.")
        backup = back_up(memory.store, tmp_path / "backups", ["zoe"]).folder
    assert run(store, "add", "zoe", "--no-password", "--bank", "zoe").exit_code == 0
    backup.parent.rename(tmp_path / "away")
    removed = run(store, "remove", "zoe", "--banks", "forget", "--yes").stdout
    assert f"still in {backup}, until the next: everthread backup {backup.parent}" in removed

"""Accounts: their names and the banks that they own."""

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from everthread.errors import BadInput, NotFound
from everthread.server.keys import KeyStore
from everthread.server.people.accounts import Account, AccountStore, count_content
from everthread.server.people.directory import PeopleDirectory
from everthread.stores.sqlite.store import SQLiteStore


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[AccountStore]:
    accounts = AccountStore(tmp_path / "server.sqlite")
    yield accounts
    accounts.close()


def test_an_account_owns_the_bank_of_its_name_and_those_that_it_was_given_with_all_below_them() -> None:
    account = Account("1", "nora", True, False, ("nora", "home"), False, date(2024, 5, 1))
    for bank in ("nora", "nora/captain-vey", "nora/a/b", "home", "home/ever"):
        assert account.allows("read", bank)
        assert account.allows("forget", bank)
    for bank in ("nora2", "nor", "Nora", "homes", "default", "*", "/nora", ""):
        assert not account.allows("read", bank)
    assert not account.allows_everywhere("read")
    assert account.owned(["alice", "nora/x", "nora"]) == ["nora/x", "nora"]


def test_a_name_is_the_same_however_it_is_written(accounts: AccountStore) -> None:
    accounts.create(" Nora ", None)
    assert accounts.get("NORA") == accounts.get("ｎｏｒａ")
    assert accounts.get("nora").banks == ("nora",)
    with pytest.raises(BadInput, match="there is an account 'nora'"):
        accounts.create("nORa", None)
    with pytest.raises(NotFound, match="no account 'mia'"):
        accounts.get("mia")


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "*", "nora ann", ".nora", "_", "x" * 61, "no\x00ra", "a\ud800", "ж" * 31]
)
def test_an_invalid_name_is_refused(accounts: AccountStore, name: str) -> None:
    with pytest.raises(BadInput, match="invalid name of an account"):
        accounts.create(name, None)
    assert accounts.list_accounts() == []


def test_the_longest_names_fit_into_the_names_of_files(tmp_path: Path, accounts: AccountStore) -> None:
    with closing(SQLiteStore(tmp_path / "banks")) as store:
        for name in ("x" * 60, "ж" * 30, "a" + "." * 59):
            store.create(f"{accounts.create(name, None).name}/captain-vey")
        assert len(store.banks()) == 3


def test_no_bank_belongs_to_two_accounts(accounts: AccountStore) -> None:
    accounts.create("nora", None, banks=["home/nora"])
    mia = accounts.create("mia", None)
    for bank in ("nora", "nora/x", "home", "home/nora", "home/nora/x"):
        with pytest.raises(BadInput, match="belongs to the account 'nora'"):
            accounts.give_banks(mia, ["free", bank])
        with pytest.raises(BadInput, match="belongs to the account 'nora'"):
            accounts.create("ann", None, banks=[bank])
    with pytest.raises(BadInput, match="'home' belongs to the account 'nora'"):
        accounts.create("home", None)
    accounts.give_banks(mia, ["home/mia"])
    accounts.give_banks(mia, ["home/mia"])
    assert accounts.get("mia").banks == ("mia", "home/mia")
    assert [account.name for account in accounts.list_accounts()] == ["mia", "nora"]


def test_a_bank_that_exists_is_given_only_on_purpose(accounts: AccountStore) -> None:
    for existing in (["nora"], ["alice", "nora/ever"]):
        with pytest.raises(BadInput, match="there is a bank 'nora"):
            accounts.create("nora", None, taken_banks=existing)
    assert accounts.create("nora", None, banks=["nora"], taken_banks=["nora/ever", "norax"]).banks == ("nora",)


@pytest.mark.parametrize("name", ["default", "mem0", "sms", "Telegram"])
def test_a_bank_for_what_others_say_is_given_only_on_purpose_even_if_it_does_not_exist_yet(
    accounts: AccountStore, name: str
) -> None:
    with pytest.raises(BadInput, match="for what others say"):
        accounts.create(name, None)
    with pytest.raises(BadInput, match="for what others say"):
        accounts.create(name, None, banks=[f"{name.lower()}/below"])
    assert accounts.create(name, None, banks=[name.lower()]).name == name.lower()


def test_a_removed_account_leaves_its_name_free_and_no_file_is_created_by_reading(tmp_path: Path) -> None:
    accounts = AccountStore(tmp_path / "server.sqlite")
    assert (accounts.list_accounts(), accounts.find("nora"), accounts.has_passwords()) == ([], None, False)
    assert not any(tmp_path.iterdir())
    first = accounts.create("nora", "hash", is_administrator=True)
    assert accounts.has_passwords()
    assert first.allows_everywhere("write")
    assert accounts.get_password_hash(first) == "hash"
    accounts.remove(first)
    assert accounts.find("nora") is None
    second = accounts.create("nora", None)
    assert second.id != first.id
    assert (second.has_password, second.is_administrator, accounts.get_password_hash(first)) == (False, False, None)
    accounts.close()


def test_no_byte_of_a_removed_account_is_left_in_the_file(tmp_path: Path) -> None:
    with (
        closing(PeopleDirectory(tmp_path / "server.sqlite")) as people,
        closing(KeyStore(tmp_path / "server.sqlite")) as keys,
    ):
        keys.create("phone", ["*"])
        zoe = people.create("zoe-canary", None)
        people.link(zoe, "https://login.example.org", "subject-canary")
        people.begin_session(zoe, "192.0.2.1")
        assert b"zoe-canary" in b"".join(path.read_bytes() for path in tmp_path.iterdir())
        people.remove(zoe)
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert (b"canary" in content, b"phone" in content) == (False, True)


def test_banks_and_lines_are_counted(accounts: AccountStore, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "banks")
    nora = accounts.create("nora", None)
    assert count_content(store, nora) == (0, 0)
    for bank in ("nora", "nora/ever", "mia"):
        store.create(bank)
    assert count_content(store, nora) == (2, 0)
    store.close()

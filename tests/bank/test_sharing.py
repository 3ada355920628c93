from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from everthread.bank.settings import recall_from
from everthread.bank.sharing import stop_sharing
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import JSONValue


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path)
    yield store
    store.close()


def open_memory(store: SQLiteStore, bank: str) -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(64))


def test_a_forgotten_bank_is_no_longer_shared_even_if_one_of_its_name_is_created_again(store: SQLiteStore) -> None:
    open_memory(store, "nora").observe("The gold is in the barn.", speaker="Nora")
    for bank, shared in (("nora/captain", ["nora"]), ("ben", []), ("ida", ["ben", "nora"])):
        open_memory(store, bank).set_setting("recall_from", shared)
    open_memory(store, "nora").forget(everything=True)
    assert [recall_from(store.settings(bank)) for bank in ("nora/captain", "ida", "ben")] == [[], ["ben"], []]
    assert "recall_from" not in store.settings("nora/captain")
    assert not store.exists("nora")


def test_a_bank_that_does_not_exist_yet_cannot_be_shared(store: SQLiteStore) -> None:
    ida = open_memory(store, "ida")
    open_memory(store, "ben")
    ida.set_setting("recall_from", ["ben"])
    with pytest.raises(NotFound, match="there is no bank 'nora' to recall from, so nothing was changed; create it"):
        ida.set_setting("recall_from", ["ben", "nora"])
    open_memory(store, "nora").observe("The gold is in the barn.", speaker="Nora")
    assert [recall_from(store.settings("ida")), store.settings("nora")] == [["ben"], {}]


class Recording(SQLiteStore):
    """Store that records the banks whose settings are read."""

    def settings(self, bank: str) -> dict[str, JSONValue]:
        self.read = [*getattr(self, "read", ()), bank]
        return super().settings(bank)


def test_forgetting_a_bank_opens_only_those_that_shared_it(store: SQLiteStore) -> None:
    for bank in ("nora", "ben", "ida", "leo"):
        open_memory(store, bank).observe("Hello.", speaker="Nora")
    open_memory(store, "ida").set_setting("recall_from", ["nora", "ben"])
    open_memory(store, "leo").set_setting("recall_from", ["ben"])
    with closing(Recording(store.folder)) as recording:
        stop_sharing(recording, "nora")
        assert recording.read == ["nora", "ida"]
    assert recall_from(store.settings("ida")) == ["ben"]


def test_a_bank_that_cannot_be_read_does_not_keep_another_from_being_forgotten(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        store.create("broken")
        open_memory(store, "nora").observe("Hello.", speaker="Nora")
    next(tmp_path.glob("broken*")).write_bytes(b"no database" * 1000)
    (tmp_path / "folder.bank").mkdir()  # can't be opened, as if it were another user's
    with closing(SQLiteStore(tmp_path)) as store:
        open_memory(store, "nora").forget(everything=True)
        assert store.banks() == ["broken", "folder"]


def test_a_bank_of_which_a_part_was_forgotten_stays_shared(store: SQLiteStore) -> None:
    memory = open_memory(store, "nora")
    line = memory.observe("The gold is in the barn.", speaker="Nora")
    open_memory(store, "ida").set_setting("recall_from", ["nora"])
    memory.forget(seq=line.seq)
    assert recall_from(store.settings("ida")) == ["nora"]


@pytest.mark.parametrize("value", [None, "nora", 1, {"nora": True}, [1, None]])
def test_a_setting_that_lists_no_banks_shares_none(value: object) -> None:
    assert recall_from({"recall_from": value}) == []  # type: ignore[dict-item]


def test_a_bank_is_forgotten_although_one_that_recalls_from_it_cannot_be_changed_and_that_is_logged(
    store: SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    for bank in ("nora", "ben", "ida"):
        open_memory(store, bank).observe("Hello.", speaker="Nora")
    for bank in ("ben", "ida"):
        open_memory(store, bank).set_setting("recall_from", ["nora"])
    store.close()
    (store.folder / "ben.bank").unlink()
    (store.folder / "ben.bank").mkdir()
    open_memory(store, "nora").forget(everything=True)
    assert not store.exists("nora")
    assert recall_from(store.settings("ida")) == []
    (logged,) = caplog.messages
    assert logged.startswith("a bank may still recall from one that is forgotten; change its recall_from: bank 'ben'")
    assert "nora" not in logged

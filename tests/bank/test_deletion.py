"""Lines are deleted with the versions that others store at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from everthread import Memory, NotFound, Receipt
from everthread.stores.base import Scope, ScopeName
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder


class Busy(SQLiteStore):
    """A store in which others write after the versions of a line were read, and before it is deleted."""

    before: list[Callable[[], object]]

    def forget(self, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
        if self.before:
            self.before.pop(0)()
        return super().forget(bank, scope, name, at)


@pytest.fixture
def busy(tmp_path: Path) -> Busy:
    store = Busy(tmp_path)
    store.before = []
    return store


def open_bank(store: Busy) -> Memory:
    return Memory.open("ann", store=store, embedder=HashEmbedder(32))


def edit(memory: Memory, text: str) -> Callable[[], object]:
    """Return what corrects the current version of the line with the key k."""

    def correct() -> None:
        line = memory.get(key="k")
        assert line is not None
        memory.correct(line.seq, text)

    return correct


def test_a_message_that_is_edited_while_it_is_deleted_is_deleted(busy: Busy) -> None:
    memory = open_bank(busy)
    for text, key in (("I have a cat.", "k"), ("Me, too.", "other")):
        memory.observe(text, key=key, session="s")
    busy.before = [edit(memory, "I have a dog."), edit(memory, "I have a fish.")]
    receipt = memory.forget(seq=1)
    assert [line.text for line in memory.lines(include_retracted=True)] == ["Me, too."]
    assert (receipt.seqs, receipt.lines) == (((1, 1), (3, 4)), 3)
    with pytest.raises(NotFound):
        memory.correct(1, "I have a bird.")


def test_a_line_that_is_replaced_in_another_session_while_it_is_deleted_is_deleted(busy: Busy) -> None:
    memory = open_bank(busy)
    memory.observe("Ann lives in Porto.", key="k", session="s")
    busy.before = [lambda: memory.observe("Ann lives in Lagos.", key="k", session="t", replace=True)]
    assert memory.forget(seq=1).seqs == ((1, 2),)
    assert list(memory.lines(include_retracted=True)) == []


def test_a_version_that_others_delete_first_is_in_their_receipt(busy: Busy) -> None:
    memory = open_bank(busy)
    memory.observe("I have a cat.", key="k", session="s")

    def delete_version() -> None:
        super(Busy, busy).forget("ann", "line", [2], datetime.now().astimezone())

    busy.before = [edit(memory, "I have a dog."), delete_version]
    assert memory.forget(seq=1).seqs == ((1, 1),)
    assert [receipt.seqs for receipt in busy.receipts("ann")] == [((1, 1),), ((2, 2),)]
    assert list(memory.lines(include_retracted=True)) == []

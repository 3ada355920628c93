"""The contents of a bank are copied from either store into a file, and any difference changes their summary."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest

from everthread import Memory, NewLine
from everthread.stores.base import Store
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.bank_contents import copy_contents, summarize
from everthread.types import LineTokens

NAMES = (f"contents {number}" for number in count())
TOKENS = {1: LineTokens("scheme", np.arange(6, dtype=np.uint8).reshape(2, 3))}


@pytest.fixture
def bank(any_store: Store) -> Memory:
    """Return a bank with vectors of two models, in several pieces, and codes of words."""
    memory = Memory.open(next(NAMES), store=any_store, embedder=HashEmbedder(), recipe="default")
    memory.observe_many([NewLine("Tea is at four."), NewLine("The boat leaves at six.")])
    lines = list(memory.lines())
    vectors = np.eye(3, 8, dtype=np.float32)
    any_store.put_vectors(memory.bank, "other", {1: vectors, 2: vectors[:1]}, lines, TOKENS)
    return memory


def test_vectors_and_codes_of_all_models_are_copied(bank: Memory, tmp_path: Path) -> None:
    copy = SQLiteStore(tmp_path)
    copy_contents(bank.store, bank.bank, copy)
    assert summarize(copy, bank.bank) == summarize(bank.store, bank.bank)
    reader = copy.copy_reader(bank.bank)
    assert reader.models()[-1] == ("other", 8)
    assert np.array_equal(reader.vectors("other", 8, 1, 1)[1], np.eye(3, 8))
    assert list(reader.vectors("other", 8, 2, 9)) == [2]
    assert reader.vectors("unknown", 8, 1, 2) == {}
    assert reader.codes("other", "scheme", 1, 2) == {1: TOKENS[1].codes.tobytes()}
    assert copy.check(bank.bank) == []


def test_a_changed_vector_changes_the_summary(bank: Memory) -> None:
    before = summarize(bank.store, bank.bank)
    bank.store.put_vectors(bank.bank, "other", {2: np.eye(1, 8, 5, dtype=np.float32)}, list(bank.lines()))
    after = summarize(bank.store, bank.bank)
    assert (after.lines, after.last_seq) == (before.lines, before.last_seq)
    assert after.sha256 != before.sha256


def test_changed_codes_and_a_setting_change_the_summary(bank: Memory) -> None:
    before = summarize(bank.store, bank.bank).sha256
    changed = {1: LineTokens("scheme", np.zeros((2, 3), np.uint8))}
    bank.store.put_vectors(bank.bank, "other", {}, list(bank.lines()), changed)
    codes = summarize(bank.store, bank.bank).sha256
    bank.set_setting("remember", "never")
    assert len({before, codes, summarize(bank.store, bank.bank).sha256}) == 3

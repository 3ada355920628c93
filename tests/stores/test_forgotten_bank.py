"""Reads, and late writes of the background, create no forgotten bank again, on all stores."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from everthread import Filter, Memory
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.transfer.importing import check_file, import_lines
from everthread.types import ScribeJob

BANK = "forgotten while others use it"
JOB = ScribeJob("notes", "s", 1, 1, datetime(2026, 5, 1, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.settings(BANK),
        lambda store: store.corpus_stats(BANK),
        lambda store: list(store.lines(BANK)),
        lambda store: store.sessions(BANK),
        lambda store: store.stats(BANK, "hash"),
        lambda store: store.filter_seqs(BANK, Filter(role="user"), None),
        lambda store: store.units(BANK),
        lambda store: store.reanalyze(BANK, 10),
        lambda store: store.put_unit_vectors(BANK, "hash", {("notes", 1): np.ones((1, 8), np.float32)}),
        lambda store: store.dequeue(BANK, JOB),
    ],
)
def test_neither_reads_nor_late_vectors_nor_finished_jobs_create_a_forgotten_bank_again(
    any_store: Store, use: Callable[[Store], object]
) -> None:
    memory = Memory(BANK, any_store, HashEmbedder(8), Default())
    memory.observe("The fern needs water.", session="s")
    memory.forget(everything=True)
    use(any_store)
    assert not any_store.exists(BANK)


def test_a_file_is_imported_into_an_open_bank_that_was_forgotten_before(any_store: Store, tmp_path: Path) -> None:
    memory = Memory(BANK, any_store, HashEmbedder(8), Default())
    memory.observe("The fern needs water.")
    memory.forget(everything=True)
    file = tmp_path / "talk.txt"
    file.write_text("Ann: The garden needs water.\nBob: I'll see to it.\n", encoding="utf-8")
    assert import_lines(memory, check_file(file))["added"] == 2

"""Reads the lines around one line of a bank, within its session."""

from __future__ import annotations

import numpy as np

from everthread.bank.corrections import sort_by_position
from everthread.errors import NotFound
from everthread.stores.base import Store
from everthread.types import Filter, Line, Seqs


def read_window(store: Store, bank: str, seq: int, limit: int, *, include_retracted: bool = False) -> list[Line]:
    """Return the lines around one, which is in the middle if there are enough on either side.

    Args:
        store: the store.
        bank: the bank's id.
        seq: the number of the line, which may be retracted.
        limit: the maximum number of lines.
        include_retracted: whether to include other retracted lines.

    Raises:
        NotFound: there is no such line.
    """
    middle = next(store.lines(bank, None, after=seq - 1, limit=1, include_retracted=True), None)
    if middle is None or middle.seq != seq:
        raise NotFound(f"there is no line {seq} in bank {bank!r}")
    where = Filter(session=middle.session)
    if (
        not include_retracted
        and middle.retracted_at is None
        and (seqs := _find_ordered(store, bank, where)) is not None
    ):
        window = _slice_around(int(np.searchsorted(seqs, seq)), len(seqs), limit)
        return store.get(bank, seqs[window].tolist())
    lines = list(store.lines(bank, where, include_retracted=include_retracted))
    lines = sort_by_position(lines if middle in lines else sorted([*lines, middle], key=lambda line: line.seq))
    return lines[_slice_around(lines.index(middle), len(lines), limit)]


def _find_ordered(store: Store, bank: str, where: Filter) -> Seqs | None:
    """Return the numbers of a session's lines if each was said after the one before; then their order is that of their
    positions. None if it may differ, as after a correction: then all lines must be read."""
    seqs = store.filter_seqs(bank, where, None)
    if seqs is None:
        return None
    rows = store.scoring_rows(bank, seqs).lines
    said_at = rows["said_at"] - rows["offset"] * np.int64(1_000_000)
    return seqs if len(rows) == len(seqs) and bool((np.diff(said_at) > 0).all()) else None


def _slice_around(index: int, count: int, limit: int) -> slice:
    """Return the slice of `limit` items around an index, less at the ends."""
    start = max(0, min(index - limit // 2, count - limit))
    return slice(start, start + limit)

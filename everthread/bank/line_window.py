"""Reads the lines around one line of a bank, within its session."""

from __future__ import annotations

from everthread.bank.corrections import sort_by_position
from everthread.errors import NotFound
from everthread.stores.base import Store
from everthread.types import Filter, Line


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
    lines = list(store.lines(bank, Filter(session=middle.session), include_retracted=include_retracted))
    lines = sort_by_position(lines if middle in lines else sorted([*lines, middle], key=lambda line: line.seq))
    start = max(0, min(lines.index(middle) - limit // 2, len(lines) - limit))
    return lines[start : start + limit]

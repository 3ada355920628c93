"""Undoes the work of a block that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def undo_on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Call a function if the block raises anything, an interrupt included. The error goes on."""
    with ExitStack() as stack:
        stack.callback(undo)
        yield
        stack.pop_all()

"""A function undoes the work of a block that fails."""

from __future__ import annotations

from typing import Any

import pytest

from everthread.common.undo import undo_on_error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_failed_block_is_undone_once_whatever_it_raises(error: Any) -> None:
    undone = list[str]()
    with pytest.raises(error), undo_on_error(lambda: undone.append("file")):
        raise error
    assert undone == ["file"]


def test_a_block_that_ends_or_returns_is_not_undone() -> None:
    undone = list[str]()

    def open_file() -> str:
        with undo_on_error(lambda: undone.append("file")):
            return "file"

    assert open_file() == "file"
    assert undone == []

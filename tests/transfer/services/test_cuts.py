from __future__ import annotations

import pytest

from everthread.transfer.services.cuts import cut_blocks, cut_thoughts


@pytest.mark.parametrize(
    ("text", "rest", "count"),
    [
        ("Hello.", "Hello.", 0),
        ("<think>a\nb</think>\n\nHello.", "Hello.", 1),
        ("<think>a</think><thinking>b</thinking>Hello.", "Hello.", 2),
        ("One.\n<Thoughts>\nx\n</Thoughts>\nTwo.", "One.\n\nTwo.", 1),
        ("Write <think> and </think> around it.", "Write <think> and </think> around it.", 0),
        ("<think>cut off", "", 1),
        ("Said.\n<think>not closed", "Said.\n<think>not closed", 0),
        ("", "", 0),
    ],
)
def test_thoughts_that_begin_a_line_are_cut_out(text: str, rest: str, count: int) -> None:
    assert cut_thoughts(text) == (rest, count)


def test_many_blocks_are_cut_in_linear_time() -> None:
    assert cut_blocks("<a>x</a>\n" * 50_000 + "end", "<a>", "</a>") == ("end", 50_000)
    assert cut_blocks("x <a> " * 50_000, "<a>", "</a>")[1] == 0

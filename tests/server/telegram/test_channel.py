"""The length of Telegram's messages."""

from __future__ import annotations

import pytest

from everthread.server.telegram.channel import MAX_MESSAGES, MAX_UNITS, TELEGRAM, count_fitting


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a" * 5000, MAX_UNITS, id="letters"),
        pytest.param("🦊" * 3000, MAX_UNITS // 2, id="two-units-each"),
        pytest.param("a" + "🦊" * 3000, MAX_UNITS // 2, id="none-is-halved"),
        pytest.param("é" * MAX_UNITS, MAX_UNITS, id="exactly-one-message"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_a_message_has_4096_units_of_utf_16(text: str, expected: int) -> None:
    assert count_fitting(text) == expected


def test_a_reply_is_cut_after_twenty_messages() -> None:
    parts = TELEGRAM.split("Lisbon 🦊 " * 20_000)
    assert len(parts) == MAX_MESSAGES
    assert all(count_fitting(part) == len(part) for part in parts)
    assert parts[-1].endswith(" ...")

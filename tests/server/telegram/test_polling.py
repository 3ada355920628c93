"""Fetching updates, each at least once."""

from __future__ import annotations

from server.telegram.bots import RunningBot


def test_updates_that_are_delivered_again_or_out_of_order_add_nothing(nemo: RunningBot) -> None:
    nemo.telegram.keeps_updates = True
    with nemo.telegram.changed:
        for text in ("One.", "Two."):
            nemo.telegram.write(text)
        nemo.telegram.updates.reverse()
    nemo.telegram.wait(lambda: len(nemo.telegram.sent("getUpdates")) > 5 and nemo.telegram.texts())
    assert [line for line in nemo.lines() if line.startswith("user")] == ["user: One.", "user: Two."]

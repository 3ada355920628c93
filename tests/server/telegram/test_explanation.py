"""`/why`."""

from __future__ import annotations

from datetime import timedelta

from everthread.languages.wording import load_wording
from everthread.types import now
from server.telegram.bots import RunningBot

ENGLISH = load_wording()


def test_why_lists_what_the_reply_was_reminded_of(nemo: RunningBot) -> None:
    nemo.telegram.write("/why")
    nemo.telegram.wait_for(ENGLISH("why.nothing_recalled"))
    earlier = now() - timedelta(days=2)
    nemo.get_memory().observe("My sister Mia moved to Lisbon in May.", said_at=earlier, session="old")
    nemo.telegram.write("Where did my sister Mia move?")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/why")
    nemo.telegram.wait_for("My sister Mia moved to Lisbon in May.")

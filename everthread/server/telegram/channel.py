"""The channel of Telegram: its names, its texts, and the length of its messages."""

from __future__ import annotations

from everthread.common.keys import SETTING_TELEGRAM
from everthread.server.messaging.channel import Channel

MAX_UNITS = 4096  # of UTF-16, of one message
MAX_MESSAGES = 20  # of a reply


def count_fitting(text: str) -> int:
    """Return how many of the first characters fit into one message; one beyond the basic plane takes two units."""
    if 2 * len(text) <= MAX_UNITS:
        return len(text)
    units = 0
    for position, c in enumerate(text):
        units += 1 + (c > "\uffff")
        if units > MAX_UNITS:
            return position
    return len(text)


TELEGRAM = Channel(
    name="telegram",
    setting=SETTING_TELEGRAM,
    count_fitting=count_fitting,
    max_messages=MAX_MESSAGES,
    own_texts=frozenset({"incognito-on", "incognito-off", "no-conversation"}),
    hashes_ids=False,
)

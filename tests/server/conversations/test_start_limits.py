"""Places: who begins a reply side by side with whom."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from functools import partial

from everthread.server.conversations.start_limits import MAX_STARTING, StartLimiter

BANKS = 3 * MAX_STARTING


def most_at_once(banks: list[str]) -> tuple[int, int]:
    """How many replies were begun at a time, in all and in one bank."""
    inside, lock = Counter[str](), threading.Lock()
    most, of_one = 0, 0

    def begin(bank: str) -> str:
        nonlocal most, of_one
        with lock:
            inside[bank] += 1
            most, of_one = max(most, inside.total()), max(of_one, inside[bank])
        time.sleep(0.02)
        with lock:
            inside[bank] -= 1
        return bank

    async def all_of_them() -> list[str]:
        places = StartLimiter()
        return await asyncio.gather(*(places.run(bank, partial(begin, bank)) for bank in banks))

    assert asyncio.run(all_of_them()) == banks
    return most, of_one


def test_replies_of_different_banks_start_concurrently_up_to_the_limit() -> None:
    assert most_at_once([str(number) for number in range(BANKS)]) == (MAX_STARTING, 1)


def test_replies_of_one_bank_start_one_at_a_time_and_leave_other_slots_free() -> None:
    assert most_at_once(["alice"] * MAX_STARTING) == (1, 1)
    most, of_one = most_at_once(["alice"] * MAX_STARTING + ["bob"])
    assert (most, of_one) == (2, 1)

"""Limits on the replies that are started at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from functools import partial

from everthread.server.conversations.start_limits import MAX_STARTING, StartLimiter

BANKS = 3 * MAX_STARTING


def max_concurrent_starts(banks: list[str]) -> tuple[int, int]:
    """Return the greatest number of replies that were started at once, in all and in one bank."""
    running, lock = Counter[str](), threading.Lock()
    max_in_all, max_in_one_bank = 0, 0

    def begin(bank: str) -> str:
        nonlocal max_in_all, max_in_one_bank
        with lock:
            running[bank] += 1
            max_in_all, max_in_one_bank = max(max_in_all, running.total()), max(max_in_one_bank, running[bank])
        time.sleep(0.02)
        with lock:
            running[bank] -= 1
        return bank

    async def start_all() -> list[str]:
        limiter = StartLimiter()
        return await asyncio.gather(*(limiter.run(bank, partial(begin, bank)) for bank in banks))

    assert asyncio.run(start_all()) == banks
    return max_in_all, max_in_one_bank


def test_replies_of_different_banks_start_concurrently_up_to_the_limit() -> None:
    assert max_concurrent_starts([str(number) for number in range(BANKS)]) == (MAX_STARTING, 1)


def test_replies_of_one_bank_start_one_at_a_time_and_leave_other_slots_free() -> None:
    assert max_concurrent_starts(["alice"] * MAX_STARTING) == (1, 1)
    assert max_concurrent_starts(["alice"] * MAX_STARTING + ["bob"]) == (2, 1)

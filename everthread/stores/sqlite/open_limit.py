"""How many bank files a store keeps open, by the descriptors that its process may have.

A bank that is opened again for each use takes three times as long for a recall among 200 lines (27 ms instead of 7).
"""

from __future__ import annotations

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

MAX_OPEN_BANKS = 128  # an open bank of 100 lines takes 0.4 MiB of memory, one of 1,000 lines 1.5, one of 10,000 six
DESCRIPTORS_PER_BANK = 8  # a writer and a reader have 5: two each, and one in common; each further reader has 2
BANKS_SHARE = 0.5  # of the descriptors; the others are left for connections and for the rest of the program


def limit_open_banks(most: int) -> int:
    """Return how many banks may be open at a time: at most this many, and at least one."""
    if resource is not None:
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit != resource.RLIM_INFINITY:
            most = min(most, int(limit * BANKS_SHARE) // DESCRIPTORS_PER_BANK)
    return max(most, 1)

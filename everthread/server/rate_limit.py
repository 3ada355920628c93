"""Rate limiting per caller, as a token bucket: bursts up to one minute's quota, refilled continuously."""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Mapping

MINUTE_S = 60.0
MAX_CALLERS = 10_000  # buckets; beyond them the least recently used is dropped, and starts full again
IPV6_PREFIX_BITS = 64  # a subscriber's prefix; the rest of the address can be chosen freely (RFC 6177)


class RateLimiter:
    """Limits the requests of each caller with a bucket of tokens."""

    def __init__(self, requests_per_minute: int) -> None:
        """Create a limiter with full buckets.

        Args:
            requests_per_minute: the size of a bucket.
        """
        self._requests_per_minute = requests_per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def acquire(self, caller: str, at: float) -> int:
        """Take a token from a caller's bucket.

        Args:
            caller: a name.
            at: the time in seconds, which never decreases.

        Returns:
            0, or if the bucket is empty the seconds until it has a token.
        """
        tokens, counted_at = self._buckets.pop(caller, (float(self._requests_per_minute), at))
        tokens = min(tokens + (at - counted_at) * self._requests_per_minute / MINUTE_S, self._requests_per_minute)
        allowed = tokens >= 1
        self._buckets[caller] = (tokens - allowed, at)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return 0 if allowed else math.ceil((1 - tokens) * MINUTE_S / self._requests_per_minute)


def client_address(scope: Mapping[str, object]) -> str:
    """Return the address that requests are limited by: IPv6 addresses by their /64 prefix."""
    client = scope.get("client")
    address = str(client[0]) if isinstance(client, tuple | list) else ""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((int(parsed), IPV6_PREFIX_BITS), strict=False)) if parsed.version == 6 else address

"""How often somebody may ask: as many requests at once as a minute has, and from then on as they come back."""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Mapping

MINUTE_S = 60.0
MAX_CALLERS = 10_000  # that are remembered; who has not asked for longest is forgotten, and may ask anew
IPV6_PREFIX_BITS = 64  # bits of an IPv6 address that are one subscriber's; the rest he chooses as he likes (RFC 6177)


class RateLimiter:
    """A bucket for each caller, which fills with time (a token bucket). a_minute: what it holds."""

    def __init__(self, requests_per_minute: int) -> None:
        self._a_minute = requests_per_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and when they were counted

    def acquire(self, caller: str, at: float) -> int:
        """Seconds to wait, 0 if the caller may ask now, which is then counted. at is in seconds, and only grows."""
        left, then = self._left.pop(caller, (float(self._a_minute), at))
        left = min(left + (at - then) * self._a_minute / MINUTE_S, self._a_minute)
        allowed = left >= 1
        self._left[caller] = (left - allowed, at)
        if len(self._left) > MAX_CALLERS:
            self._left.popitem(last=False)
        return 0 if allowed else math.ceil((1 - left) * MINUTE_S / self._a_minute)


def client_address(scope: Mapping[str, object]) -> str:
    """Whence a request comes, as far as nobody can choose it freely."""
    client = scope.get("client")
    said = str(client[0]) if isinstance(client, tuple | list) else ""
    try:
        known = ipaddress.ip_address(said)
    except ValueError:
        return said
    return str(ipaddress.ip_network((int(known), IPV6_PREFIX_BITS), strict=False)) if known.version == 6 else said

"""Computes a value once for all threads."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

from everthread.common.fork_safety import Lock

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def once(compute: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Cache a function's results, and let threads that need one wait while another computes it.

    With `functools.cache`, each of these threads would compute it. This is for what takes more than a millisecond, such
    as loading a data file, and for functions that don't call themselves.

    Args:
        compute: the function. Its arguments must be hashable. After an error the next caller tries again.
    """
    results: dict[Hashable, Result] = {}
    lock = Lock()

    @wraps(compute)
    def get(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        key = (args, *sorted(kwargs.items()))
        if key not in results:
            with lock:
                if key not in results:
                    results[key] = compute(*args, **kwargs)
        return results[key]

    return get

"""Counts the steps of functions, so that a test sees how they grow without a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any


def count_steps(module: ModuleType, call: Callable[[], object]) -> int:
    """Return how many lines of a module a call runs."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        nonlocal steps
        steps += event == "line"
        return trace if frame.f_code.co_filename == module.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps

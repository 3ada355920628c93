"""Imports modules in less time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Import modules without garbage collection, which takes a quarter of the time, and exempt what they hold from
    later collections.

    Imports make hardly any garbage. If any module was imported, `gc.freeze` exempts all objects that the process has by
    then, for as long as it runs.
    """
    was_enabled, modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > modules:
            gc.freeze()
        if was_enabled:
            gc.enable()

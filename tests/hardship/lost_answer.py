"""A store that loses an answer, as a database on the network may."""

from __future__ import annotations

from typing import Any

from everthread.errors import StoreUnavailable
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import Line


class ForgetfulStore(SQLiteStore):
    """Stores the lines of its first write, and then raises as if there were no answer."""

    answers = False

    def append(self, *args: Any, **options: Any) -> list[Line]:
        lines = super().append(*args, **options)
        if not self.answers:
            self.answers = True
            raise StoreUnavailable("no answer")
        return lines

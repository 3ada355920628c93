"""Idempotency keys: a write that is asked for twice, because its answer was lost, is done once.

A record says by digests which request it was, and by numbers what came of it: it holds no text. The digest of a request
begins with its key, which is kept nowhere, so that short texts can't be guessed from it. A line is known by its
key in its bank as well, so that it is kept once even where the record is gone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request

from everthread.server.problems import Problem
from everthread.server.server_db import ServerDatabase
from everthread.stores.shared_rows import REQUEST

Made = TypeVar("Made")

SCHEMA = """
CREATE TABLE IF NOT EXISTS once (
    name TEXT PRIMARY KEY, request TEXT NOT NULL, begun_at REAL NOT NULL, outcome TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS once_begun ON once (begun_at);
"""
RECORD_LIFETIME_S = 86_400.0  # seconds that a record is kept
MAX_REQUEST_S = 600.0  # seconds after which a request of which nothing was heard has ended with its process


class IdempotencyStore:
    """What was asked for lately under a key, and what came of it."""

    def __init__(self, beside: ServerDatabase, clock: Callable[[], float] = time.time) -> None:
        self._beside, self._clock = beside, clock

    def begin(self, name: str, request: str, safe: bool) -> tuple[Any] | None:
        """What came of this request, alone in a tuple, for it may be nothing; None where it is now to be done. Problem
        where the name is another request's, and where it is being done just now, unless it is `safe` to do it twice at
        a time."""
        at = self._clock()
        with self._beside.write() as db:
            db.execute("DELETE FROM once WHERE begun_at < ?", (at - RECORD_LIFETIME_S,))
            row = db.execute("SELECT request, begun_at, outcome FROM once WHERE name = ?", (name,)).fetchone()
            if row is not None and row[0] != request:
                raise key_conflict()
            if row is not None and row[2] is not None:
                return (json.loads(row[2]),)
            if row is not None and not safe and abs(at - row[1]) < MAX_REQUEST_S:  # the clock may have been set back
                raise Problem(409, "in-progress", "the first request of this Idempotency-Key is still being done; wait")
            db.execute("INSERT OR REPLACE INTO once VALUES (?, ?, ?, NULL)", (name, request, at))
        return None

    def complete(self, name: str, outcome: Any) -> None:
        """Keep what came of it."""
        with self._beside.write() as db:
            db.execute("UPDATE once SET outcome = ? WHERE name = ?", (json.dumps(outcome), name))

    def discard(self, name: str) -> None:
        """It came to nothing, and may be tried again."""
        with self._beside.write() as db:
            db.execute("DELETE FROM once WHERE name = ? AND outcome IS NULL", (name,))

    def close(self) -> None:
        """Let go of the file."""
        self._beside.close()


def key_conflict() -> Problem:
    """Of a key that stands for another request."""
    return Problem(
        422, "idempotency-conflict", "this Idempotency-Key was used for another request; take a new key for a new one"
    )


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """One request that writes, by digests: of whoever asks and its key (None without one), and of what is asked."""

    records: IdempotencyStore
    name: str | None
    request: str

    def line_key(self, number: int = 0) -> str | None:
        """The key of a line that is kept for this request and has none of its own."""
        return None if self.name is None else f"{REQUEST}{_digest(self.name, str(number))}"

    def with_body_digest(self, content: str) -> IdempotentRequest:
        """The same with the digest of its body."""
        return replace(self, request=_digest(self.request, content))

    def run_once(
        self,
        do: Callable[[], Made],
        told: Callable[[Made], Any],
        again: Callable[[Any], Made],
        *,
        safe: bool = False,
    ) -> Made:
        """What `do` makes, the first time. Numbers are `told` of it and kept; later, it is made `again` of them."""
        if self.name is None:
            return do()
        found = self.records.begin(self.name, self.request, safe)
        if found is not None:
            return again(*found)
        try:
            made = do()
        except BaseException:
            self.records.discard(self.name)
            raise
        self.records.complete(self.name, told(made))
        return made


IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{1,200}$",
        description="A name of your own for this request: asked for again, it has the same outcome, once.",
    ),
]


async def get_request(request: Request, key: IdempotencyKey = None) -> IdempotentRequest:
    """The request, with its body."""
    return (await get_streamed_request(request, key)).with_body_digest(hashlib.sha256(await request.body()).hexdigest())


async def get_streamed_request(request: Request, key: IdempotencyKey = None) -> IdempotentRequest:
    """The request, but for a body that is still to be read."""
    path = request.scope.get("raw_path") or request.scope["path"].encode()
    asked = (request.method.encode(), path.partition(b"?")[0], request.scope["query_string"])
    name = None if key is None else _digest(request.headers.get("authorization", ""), key)
    digest = hashlib.sha256(b"\0".join(asked)).hexdigest()
    return IdempotentRequest(request.app.state.idempotency, name, _digest(key or "", digest))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


Idempotency = Annotated[IdempotentRequest, Depends(get_request)]
StreamedIdempotency = Annotated[IdempotentRequest, Depends(get_streamed_request)]

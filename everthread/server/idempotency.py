"""Idempotency keys: a write that is repeated because its response was lost is done once.

A record identifies the request by digests, and its outcome by numbers; it contains no text. The digest of a request
begins with its key, which isn't stored, so that short texts can't be guessed from it. A line also has a key in its
bank, so that it is stored once even if the record was deleted.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request

from everthread.common.undo import undo_on_error
from everthread.server.authentication import find_authorization
from everthread.server.people.accounts import Account
from everthread.server.permissions import get_caller
from everthread.server.problems import Problem
from everthread.server.server_db import ServerDatabase
from everthread.stores.shared_rows import REQUEST_KEY_PREFIX

Result = TypeVar("Result")

SCHEMA = """
CREATE TABLE IF NOT EXISTS once (
    name TEXT PRIMARY KEY, request TEXT NOT NULL, begun_at REAL NOT NULL, outcome TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS once_begun ON once (begun_at);
"""
RECORD_LIFETIME_S = 86_400.0
MAX_REQUEST_S = 600.0  # a request without an outcome after this time has ended with its process


class IdempotencyStore:
    """Stores recent requests that had a key, and their outcomes."""

    def __init__(self, database: ServerDatabase, clock: Callable[[], float] = time.time) -> None:
        self._database, self._clock = database, clock

    def begin(self, name: str, request: str, safe: bool) -> tuple[Any] | None:
        """Record that a request begins.

        Args:
            name: the digest of the caller and the key.
            request: the digest of the request.
            safe: whether two copies of the request may run at the same time.

        Returns:
            The outcome of an earlier copy in a tuple, for it may be None; None if the request is to be done now.

        Raises:
            Problem: 422 if the key belongs to another request, 409 if a copy is in progress.
        """
        now = self._clock()
        with self._database.write(name) as db:
            db.execute("DELETE FROM once WHERE begun_at < ?", (now - RECORD_LIFETIME_S,))
            row = db.execute("SELECT request, begun_at, outcome FROM once WHERE name = ?", (name,)).fetchone()
            if row is not None and row[0] != request:
                raise key_conflict()
            if row is not None and row[2] is not None:
                return (json.loads(row[2]),)
            if row is not None and not safe and abs(now - row[1]) < MAX_REQUEST_S:  # the clock may have been set back
                raise Problem(
                    409,
                    "in-progress",
                    "the first request with this Idempotency-Key is in progress; wait for it to finish",
                )
            db.execute(
                "INSERT INTO once VALUES (?, ?, ?, NULL) ON CONFLICT (name) "
                "DO UPDATE SET request = excluded.request, begun_at = excluded.begun_at, outcome = NULL",
                (name, request, now),
            )
        return None

    def complete(self, name: str, outcome: Any) -> None:
        """Record the outcome of a request."""
        with self._database.write(name) as db:
            db.execute("UPDATE once SET outcome = ? WHERE name = ?", (json.dumps(outcome), name))

    def discard(self, name: str) -> None:
        """Remove the record of a request that failed, so that it can be repeated."""
        with self._database.write(name) as db:
            db.execute("DELETE FROM once WHERE name = ? AND outcome IS NULL", (name,))

    def close(self) -> None:
        """Close the connections."""
        self._database.close()


def key_conflict() -> Problem:
    """Return the problem of a key that was used for another request."""
    return Problem(
        422,
        "idempotency-conflict",
        "this Idempotency-Key was used for another request; use a new key for a new request",
    )


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """One request that writes.

    name is the digest of the caller and the key, None without a key; request is the digest of method, path, query and
    body.
    """

    records: IdempotencyStore
    name: str | None
    request: str

    def line_key(self, number: int = 0) -> str | None:
        """Return the key of a line that this request stores, for one that has none of its own; None without a name."""
        return None if self.name is None else f"{REQUEST_KEY_PREFIX}{_digest(self.name, str(number))}"

    def with_body_digest(self, content: str) -> IdempotentRequest:
        """Return the same request with the digest of its body."""
        return replace(self, request=_digest(self.request, content))

    def run_once(
        self,
        do: Callable[[], Result],
        to_outcome: Callable[[Result], Any],
        from_outcome: Callable[[Any], Result],
        *,
        safe: bool = False,
    ) -> Result:
        """Do the request, or restore its result from the outcome of an earlier copy.

        Args:
            do: does the request and returns its result.
            to_outcome: converts the result to an outcome in JSON.
            from_outcome: restores the result from the outcome.
            safe: whether two copies of the request may run at the same time.

        Raises:
            Problem: 422 if the key belongs to another request, 409 if a copy is in progress.
        """
        if self.name is None:
            return do()
        earlier = self.records.begin(self.name, self.request, safe)
        if earlier is not None:
            return from_outcome(*earlier)
        with undo_on_error(partial(self.records.discard, self.name)):  # a client may repeat it
            result = do()
        self.records.complete(self.name, to_outcome(result))
        return result


IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{1,200}$",
        description="A unique name for this request: if it is repeated under the same name, it is done once.",
    ),
]


async def get_request(request: Request, key: IdempotencyKey = None) -> IdempotentRequest:
    """Build the idempotent request, which its body identifies as well."""
    return (await get_streamed_request(request, key)).with_body_digest(hashlib.sha256(await request.body()).hexdigest())


async def get_streamed_request(request: Request, key: IdempotencyKey = None) -> IdempotentRequest:
    """Build the idempotent request without its body, which the route adds with `with_body_digest`."""
    path = request.scope.get("raw_path") or request.scope["path"].encode()
    target = (request.method.encode(), path.partition(b"?")[0], request.scope["query_string"])
    name = None if key is None else _digest(find_authorization(request.headers) or _identify_account(request), key)
    digest = hashlib.sha256(b"\0".join(target)).hexdigest()
    return IdempotentRequest(request.app.state.idempotency, name, _digest(key or "", digest))


def _identify_account(request: Request) -> str:
    """Return what identifies the caller's account; an empty text without one."""
    caller = get_caller(request)
    return f"account {caller.id}" if isinstance(caller, Account) else ""


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


Idempotency = Annotated[IdempotentRequest, Depends(get_request)]
StreamedIdempotency = Annotated[IdempotentRequest, Depends(get_streamed_request)]

"""A Postgres server: its pool of connections, transactions on one bank, and what its errors mean. It knows no table.

A connection may break at any moment, also between a COMMIT and its answer. Whoever writes through `again` must
therefore be able to find out, in the transaction of the next attempt, whether the one before it was kept. The server's
own pg_xact_status can't be asked: a server that crashed gives the numbers of lost transactions to others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from everthread.common.retry import Retries
from everthread.errors import BadInput, ConfigError, EverthreadError, StoreUnavailable
from everthread.stores.postgres.dsn import EXAMPLE, checked, shown
from everthread.stores.postgres.lazy import Lazy

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]
Result = TypeVar("Result")

PATIENCE = 10.0  # seconds that a call waits for a connection, and for a server that is starting again
RETRY_DELAY_S = 0.1  # between the attempts of one call
CONNECTIONS = 8  # of a process, at most; where processes are many, a pooler such as PgBouncer stands before the server
DEFAULTS: dict[str, str | int | None] = {"application_name": "everthread", "connect_timeout": 5}
FORCED = {"client_encoding": "utf8"}  # another, of the URL or the environment, can't write every character

# Of one transaction alone, for a pooler gives the connection to others afterwards.
SETTINGS = {
    "jit": "off",  # compiling a query takes longer than any of ours
    "lock_timeout": "60s",  # a writer of the same bank that doesn't end
    "idle_in_transaction_session_timeout": "60s",  # one whose machine is gone, or the bank would stay locked for hours
}

# So is where our types are found: in the schema that the extension was put into, whatever path the user has.
PATH = """set_config('search_path', (SELECT quote_ident(nspname) FROM pg_extension
    JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'), true)"""

# A query of one value, asked in every transaction, and who judges the answer: by raising an error.
Check = tuple[str, Callable[["Database", Any], None]]


class ConnectionLost(StoreUnavailable):
    """The connection broke, or the server gave the call up: nothing was kept, and the call may be made again."""


class CommitUnknown(ConnectionLost):
    """The connection broke at the end of a write: it was kept or it wasn't."""


class Database:
    """Connections to one database, opened at the first use. Safe from many threads."""

    def __init__(
        self, url: str, connections: int = CONNECTIONS, patience: float = PATIENCE, check: Check | None = None
    ) -> None:
        """At most so many connections, and seconds of patience. A transaction that writes is checked at its beginning,
        one that reads at its end, where the answer has come along with others."""
        self.shown = shown(url)
        try:
            self.conninfo = make_conninfo("", **{**DEFAULTS, **conninfo_to_dict(checked(url)), **FORCED})
        except psycopg.ProgrammingError as error:
            said = _said(error) if self.shown == url else _said(error).partition(":")[0]  # the rest may quote it
            raise ConfigError(f"{self.shown} is no Postgres URL ({said}); write {EXAMPLE}") from None
        self._connections, self._patience, self._check = connections, patience, check
        self._pool = Lazy(self._open)

    @contextmanager
    def reading(self, bank: str | None = None, **settings: str) -> Iterator[Connection]:
        """A connection to which the database stands still. The bank is told to row-level security."""
        with self._connected() as db, db.pipeline():
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            told = self._tell(db, bank, settings)
            yield db
            db.execute("COMMIT")
            self._judge(told)

    @contextmanager
    def writing(self, bank: str) -> Iterator[Connection]:
        """A connection in a transaction: committed when the block ends, undone when it raises.

        Raises Lost where the connection broke before the end, and Unsure where it broke at the end.
        """
        with self._connected() as db:
            with db.pipeline():
                db.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                told = self._tell(db, bank, {})
            self._judge(told)
            yield db
            try:
                ended = db.execute("COMMIT").statusmessage
            except psycopg.Error as error:
                if not db.closed:
                    raise
                raise CommitUnknown(
                    f"{self.shown} broke off at the end of this call ({_said(error)}): what it wrote was kept or it "
                    "was not. Call again with the same keys, and none is kept twice"
                ) from error
            if ended != "COMMIT":  # Postgres ends a transaction that has failed so, and calls it no error
                raise StoreUnavailable(f"{self.shown} undid this call; nothing of it was kept")

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection of the pool, which undoes what was begun when the block raises."""
        with self.explained(), self._opened().connection(timeout=self._patience) as db:
            try:
                yield db
            except psycopg.Error as error:
                if db.closed:  # however the driver calls it
                    raise self._lost(error) from error
                raise

    def retry(self, call: Callable[[], Result]) -> Result:
        """Return the result of the call, which is made again while its connection is lost and the server restarts."""
        retries = Retries(repeat(RETRY_DELAY_S), deadline=time.monotonic() + self._patience)
        unsure = None
        while True:
            try:
                return call()
            except StoreUnavailable as error:
                if isinstance(error, CommitUnknown):
                    unsure = error
                if not isinstance(error, ConnectionLost) or not retries.wait():
                    raise unsure or error from error.__cause__

    @contextmanager
    def dedicated(self) -> Iterator[Connection]:
        """A connection of its own, in no transaction: for what can't be done inside one."""
        with self.explained(), psycopg.connect(self.conninfo, autocommit=True, prepare_threshold=None) as db:
            yield db

    def _opened(self) -> ConnectionPool[Connection]:
        return self._pool.get(self._patience)

    def _open(self) -> ConnectionPool[Connection]:
        self._try()  # a wrong password is told now, and not after a pool's patience
        return ConnectionPool(
            self.conninfo,
            min_size=1,
            max_size=self._connections,
            reconnect_timeout=self._patience,  # who comes later tries anew, and waits for no earlier attempt
            kwargs={"autocommit": True},
            configure=_configure,
            name="everthread",
            open=True,
        )

    def _try(self) -> None:
        """See that a connection can be had."""
        with psycopg.connect(self.conninfo, autocommit=True) as db:
            _configure(db)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the driver's errors into ours, with the server and the remedy."""
        try:
            yield
        except EverthreadError:
            raise
        except PoolTimeout as error:
            with self.explained():  # the pool doesn't say why it has no connection; a new one does
                self._try()
            raise StoreUnavailable(
                f"{self.shown}: all {self._connections} connections of this process were busy for "
                f"{self._patience:g} s. Nothing of this call was kept; try again, with fewer threads"
            ) from error
        except TimeoutError as error:
            raise ConnectionLost(
                f"{self.shown} has not answered for {self._patience:g} s. Nothing of this call was kept; see that it "
                "runs"
            ) from error
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> EverthreadError:
        said = _said(error)
        state = error.sqlstate if isinstance(error, psycopg.Error) else None
        for kinds, signs, ours, remedy in _MEANINGS:
            if isinstance(error, kinds) or (state is None and re.search(signs, said)):
                return ours(f"{self.shown}: {said}; {remedy}")
        if _passing(error):
            return self._lost(error)
        return StoreUnavailable(f"{self.shown} could not do its work: {said}. Nothing of this call was kept")

    def _lost(self, error: Exception) -> ConnectionLost:
        return ConnectionLost(
            f"{self.shown} can't be reached: {_said(error)}. Nothing of this call was kept; see that it runs"
        )

    def close(self) -> None:
        """Close all connections; the next call opens them again."""
        if (pool := self._pool.take()) is not None:
            pool.close()

    def _tell(self, db: Connection, bank: str | None, more: dict[str, str]) -> psycopg.Cursor[tuple[Any, ...]]:
        """Set what holds for this transaction, and ask what is to be judged."""
        settings = {**SETTINGS, **more, **({} if bank is None else {"everthread.bank": bank})}
        each = ", ".join([*["set_config(%s, %s, true)"] * len(settings), PATH])
        query = f"SELECT {each}, ({self._check[0] if self._check else 'NULL'})"
        return db.execute(query, [part for setting in settings.items() for part in setting])

    def _judge(self, told: psycopg.Cursor[tuple[Any, ...]]) -> None:
        row = told.fetchone()
        if row is not None and self._check is not None:
            self._check[1](self, row[-1])


def _configure(db: Connection) -> None:
    """Make a new connection ready. Behind a pooler each transaction may go to another server process, so that a
    statement prepared in one is unknown to the next: there none is."""
    with db.transaction():
        db.execute(f"SELECT {PATH}")
        register_vector(db)
    row = db.execute("SELECT pg_backend_pid()").fetchone()
    if row is not None and row[0] != db.info.backend_pid:
        db.prepare_threshold = None


def _said(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _passing(error: Exception) -> bool:
    """Whether the call may succeed when it is made again: the connection broke, or two transactions stood in each
    other's way."""
    if not isinstance(error, psycopg.Error) or isinstance(error, errors.PipelineAborted):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(("08", "57P", "25P03", "25P04", "40"))


_USER = "check the user and the password of the URL"
_DATABASE = "create it with: createdb"
_HBA = "let this user in, in the server's pg_hba.conf"
_INIT = "make the tables with: everthread db init URL"
_REPLICA = "this server only reads; give the URL of the primary"
_RIGHTS = "give this user the right, or use the one that ran: everthread db init URL"
_BUSY = "another call has been writing to this bank for a minute; nothing of this call was kept, try again"
_ROOM = "nothing of this call was kept; make room on the server"
_TOO_MANY_CONNECTIONS_HINT = (
    "nothing of this call was kept; give each process fewer connections, or put a pooler such as PgBouncer before the "
    "server"
)

_MANY = "too many (clients|connections)|remaining connection slots|no more connections allowed"

# Errors of a connection that could not be made have no class of their own, only their words.
_NONE = "(?!)"
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], str, type[EverthreadError], str], ...] = (
    ((UnicodeEncodeError, errors.NumericValueOutOfRange), _NONE, BadInput, "use whole characters, numbers of 64 bits"),
    ((), 'password authentication failed|no password supplied|role ".*" does not exist', ConfigError, _USER),
    ((), "pg_hba.conf", ConfigError, _HBA),
    ((), 'database ".*" does not exist', ConfigError, _DATABASE),
    ((errors.UndefinedTable, errors.InvalidSchemaName), "vector type not found", StoreUnavailable, _INIT),
    ((errors.ReadOnlySqlTransaction,), _NONE, StoreUnavailable, _REPLICA),
    ((errors.InsufficientPrivilege,), "permission denied for", StoreUnavailable, _RIGHTS),
    ((errors.LockNotAvailable,), _NONE, StoreUnavailable, _BUSY),
    ((errors.TooManyConnections,), _MANY, ConnectionLost, _TOO_MANY_CONNECTIONS_HINT),
    ((errors.DiskFull,), _NONE, StoreUnavailable, _ROOM),
)

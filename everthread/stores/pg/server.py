"""A Postgres server: its pool of connections, transactions on one bank, and what its errors mean. It knows no table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from everthread.errors import BadInput, ConfigError, EverthreadError, StoreUnavailable

Connection = psycopg.Connection[tuple[Any, ...]]
Result = TypeVar("Result")

PATIENCE = 10.0  # seconds that a call waits for a connection, and for a server that is starting again
CONNECTIONS = 8  # of a process, at most; where processes are many, a pooler such as PgBouncer stands before the server


class Lost(StoreUnavailable):
    """The connection broke before anything was committed: the call may be made again."""


class Server:
    """Connections to one database, opened at the first use. Safe from many threads."""

    def __init__(self, url: str, connections: int = CONNECTIONS) -> None:
        self.url = url
        try:
            self.conninfo = make_conninfo(url, application_name="everthread", connect_timeout=5)
        except psycopg.ProgrammingError as error:
            raise ConfigError(f"{self.shown} is no Postgres URL ({error}); write postgresql://user@host/db") from None
        self._connections = connections
        self._pool: ConnectionPool[Connection] | None = None
        self._lock = threading.Lock()

    @property
    def shown(self) -> str:
        """The URL without its password."""
        login, at, rest = self.url.rpartition("@")
        scheme, slashes, user = login.rpartition("//")
        return f"{scheme}{slashes}{user.partition(':')[0]}{at}{rest}"

    @contextmanager
    def reading(self, bank: str | None = None) -> Iterator[Connection]:
        """A connection to which the database stands still. The bank is told to row-level security."""
        with self._connected() as db, db.pipeline():
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            _tell(db, bank)
            yield db
            db.execute("COMMIT")

    @contextmanager
    def writing(self, bank: str | None = None) -> Iterator[Connection]:
        """A connection in a transaction: committed when the block ends, undone when it raises.

        Raises Lost where the connection broke before the end. Where it broke at the very end, the server is asked what
        became of the transaction.
        """
        with self._connected() as db:
            with db.pipeline():
                db.execute("BEGIN")
                _tell(db, bank)
                number = db.execute("SELECT pg_current_xact_id()::text")
            row = number.fetchone()
            yield db
            try:
                db.execute("COMMIT")
            except psycopg.OperationalError as error:
                if not self._committed(str(row and row[0])):
                    raise Lost(f"{self.shown} broke off ({_said(error)}); nothing of this call was kept") from error

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with self.explained(), self._opened().connection(timeout=PATIENCE) as db:
            try:
                yield db
            except BaseException:
                if not db.closed and db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    db.execute("ROLLBACK")
                raise

    def _committed(self, transaction: str) -> bool:
        """What became of a transaction whose end was not heard. StoreUnavailable if the server doesn't come back."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with psycopg.connect(self.conninfo, autocommit=True) as db:
                    row = db.execute("SELECT pg_xact_status(%s::xid8)", (transaction,)).fetchone()
                if row is not None and row[0] != "in progress":
                    return bool(row[0] == "committed")
            except psycopg.OperationalError:
                pass
            if time.monotonic() > end:
                raise StoreUnavailable(
                    f"{self.shown} broke off at the end of this call and does not answer: the lines may have been kept "
                    "or not. Call again with the same keys, and none is kept twice"
                )
            time.sleep(0.1)

    def again(self, call: Callable[[], Result]) -> Result:
        """What the call gives. If its connection turns out to be dead it is made again, while the server comes back."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return call()
            except Lost:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A connection of its own, in no transaction: for what can't be done inside one."""
        with self.explained(), psycopg.connect(self.conninfo, autocommit=True) as db:
            yield db

    def _opened(self) -> ConnectionPool[Connection]:
        with self._lock:
            if self._pool is None:
                with psycopg.connect(self.conninfo):  # a wrong password is told now, and not after a pool's patience
                    pass
                self._pool = ConnectionPool(
                    self.conninfo,
                    min_size=1,
                    max_size=self._connections,
                    kwargs={"autocommit": True},
                    configure=_configure,
                    name="everthread",
                    open=True,
                )
            return self._pool

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the driver's errors into ours, with the server and the remedy."""
        try:
            yield
        except EverthreadError:
            raise
        except (psycopg.Error, PoolTimeout, UnicodeEncodeError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> EverthreadError:
        said = _said(error)
        for kinds, ours, remedy in _MEANINGS:
            if isinstance(error, kinds) or any(sign in said for sign in _SIGNS.get(remedy, ())):
                return ours(f"{self.shown}: {said}; {remedy}")
        if isinstance(error, psycopg.OperationalError) and not isinstance(error, PoolTimeout):
            return Lost(f"{self.shown} can't be reached: {said}. Nothing of this call was kept; see that it runs")
        return StoreUnavailable(f"{self.shown} could not do its work: {said}. Nothing of this call was kept")

    def close(self) -> None:
        """Close all connections; the next call opens them again."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


def _tell(db: Connection, bank: str | None) -> None:
    if bank is not None:
        db.execute("SELECT set_config('everthread.bank', %s, true)", (bank,))


def _configure(db: Connection) -> None:
    register_vector(db)
    db.execute("SET jit = off")  # compiling a query takes longer than any of ours


def _said(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


_USER = "check the user and the password of the URL"
_DATABASE = "create it with: createdb"
_INIT = "make the tables with: everthread db init URL"
_REPLICA = "this server only reads; give the URL of the primary"
_RIGHTS = "give this user the right, or use the one that ran: everthread db init URL"
_SIGNS = {_USER: ("password authentication failed", "no password supplied"), _DATABASE: ('database "',)}

_MEANINGS: tuple[tuple[tuple[type[Exception], ...], type[EverthreadError], str], ...] = (
    ((UnicodeEncodeError, errors.NumericValueOutOfRange), BadInput, "use whole characters, and numbers of 64 bits"),
    ((errors.InvalidPassword, errors.InvalidAuthorizationSpecification), ConfigError, _USER),
    ((errors.InvalidCatalogName,), ConfigError, _DATABASE),
    ((errors.UndefinedTable, errors.InvalidSchemaName), StoreUnavailable, _INIT),
    ((errors.ReadOnlySqlTransaction,), StoreUnavailable, _REPLICA),
    ((errors.InsufficientPrivilege,), StoreUnavailable, _RIGHTS),
)

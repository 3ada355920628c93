"""The connection pool of a Postgres database, transactions on one bank, and the mapping of errors.

A connection may break at any time, also between a COMMIT and its answer. A write through `Database.retry` must
therefore be able to find out, in the transaction of the next attempt, whether the previous one was committed. The
server's pg_xact_status does not help: after a crash the server reuses the numbers of lost transactions.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo, timeout_from_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from everthread.common.lazy import Lazy
from everthread.common.retry import Retries
from everthread.errors import BadInput, ConfigError, EverthreadError, StoreUnavailable
from everthread.stores.errors import CommitUnknown, ConnectionLost
from everthread.stores.postgres.answer_watch import AnswerWatch
from everthread.stores.postgres.dsn import EXAMPLE, check_url, redact_password

log = logging.getLogger("everthread")

# The databases that can't be reached, as logged: a server has several sets of connections to one.
_outages: set[str] = set()
_outages_lock = threading.Lock()

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]
Result = TypeVar("Result")

TIMEOUT_S = 10.0  # a call waits this long for a connection, and for a restarting server
RETRY_DELAY_S = 0.1  # between the attempts of one call
SILENT_RETRIES_S = 2.0  # after which a call that is repeated is logged, because a person may be waiting for it
NOTHING_STORED = "Nothing was stored. "  # in the error of a failed write
MAX_CONNECTIONS = 8  # per process; for many processes, put a pooler such as PgBouncer in front of the server
DEFAULT_PARAMETERS: dict[str, str | int | None] = {
    "application_name": "everthread",
    "connect_timeout": 5,
    # A machine that vanished is noticed after a minute. The system's own defaults are 15 minutes, and two hours if no
    # data is on its way. The system of a suspended server still acknowledges: see `answer_watch`.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
# Other encodings, from the URL or the environment, can't represent every character.
FIXED_PARAMETERS = {"client_encoding": "utf8"}

# Set per transaction, because a pooler gives the connection to other clients afterwards.
TRANSACTION_SETTINGS = {
    "jit": "off",  # compiling takes longer than any of our queries
    "max_parallel_workers_per_gather": "0",  # so does starting other processes
    "lock_timeout": "60s",  # another writer of the same bank may hang
    "idle_in_transaction_session_timeout": "60s",  # a lost client would otherwise lock the bank for hours
}

# For queries that find the same plan whatever their values are: planning them again takes as long as running them. Not
# with Citus, which can't plan every query without its values.
PLAN_ONCE = {"plan_cache_mode": "force_generic_plan"}

# Also per transaction: pgvector's types are in the schema of the extension, which may not be on the user's path.
SET_SEARCH_PATH = """set_config('search_path', (SELECT quote_ident(nspname) FROM pg_extension
    JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'), true)"""

# With Citus, a setting by set_config reaches no worker, and one by SET LOCAL only after this setting. They travel with
# Citus's BEGIN, so they cost no round trip to the worker.
PASS_ON_SETTINGS = {"citus.propagate_set_commands": "local"}

# A query of one value, run in every transaction, and a function that raises an error for an unsuitable answer.
TransactionCheck = tuple[str, Callable[["Database", Any], None]]
# The same for the bank of the transaction, whose id is the parameter of the query.
BankCheck = tuple[str, Callable[["Database", str, Any], None]]


class TookTooLong(StoreUnavailable):
    """The server cancelled a statement at its time limit."""


class DatabaseRefused(ConfigError, StoreUnavailable):
    """The server doesn't let this user in. Its password may have been changed while the process runs."""


class Database:
    """A pool of connections to one database, opened at the first use. Thread-safe.

    Attributes:
        url: the URL, perhaps with a password.
        display_url: the URL without its password, for messages.
        conninfo: the connection string.
        timeout_s: how long a call waits for a connection, and for a restarting server; at least as long as a login may
            take by the URL.
    """

    def __init__(
        self,
        url: str,
        max_connections: int = MAX_CONNECTIONS,
        timeout_s: float = TIMEOUT_S,
        check: TransactionCheck | None = None,
        bank_check: BankCheck | None = None,
    ) -> None:
        """Validate the URL; open nothing.

        Args:
            url: the URL of the database.
            max_connections: the size of the pool.
            timeout_s: how long to wait for a connection, and for a restarting server.
            check: run at the beginning of a write transaction, and at the end of a read transaction, where its answer
                costs no further round trip.
            bank_check: the same, in transactions of a bank.

        Raises:
            ConfigError: the URL is malformed.
        """
        self.url, self.display_url = url, redact_password(url)
        try:
            given = conninfo_to_dict(check_url(url))
            parameters = {**DEFAULT_PARAMETERS, **given, **FIXED_PARAMETERS}
            self.conninfo, self._login_timeout_s = make_conninfo("", **parameters), timeout_from_conninfo(parameters)
        except psycopg.ProgrammingError as error:
            reason = _error_text(error)
            if self.display_url != url:
                reason = reason.partition(":")[0]  # the rest may quote the password
            raise ConfigError(f"{self.display_url} is not a Postgres URL ({reason}); write {EXAMPLE}") from None
        self._connections = max_connections
        self.timeout_s = max(timeout_s, self._login_timeout_s) if "connect_timeout" in given else timeout_s
        self._check, self._bank_check = check, bank_check
        self._has_citus = False  # known from the first connection on
        self._pool = Lazy(self._open_pool)
        self._watch = AnswerWatch(self.conninfo, self._login_timeout_s)

    @contextmanager
    def read_transaction(self, bank: str | None = None, **settings: str) -> Iterator[Connection]:
        """Yield a connection that sees one snapshot of the database.

        Statements are sent without waiting for their answers. The rows of a cursor that was not read in the block can
        be read after it; they arrived with the end of the transaction, in the same round trip.

        Args:
            bank: the bank that row-level security admits.
            settings: server settings of this transaction.
        """
        with self._pooled_connection() as db:
            with db.pipeline():
                db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                checks = self._configure_transaction(db, bank, settings)
                try:
                    yield db
                except EverthreadError:
                    self._run_checks(bank, checks)  # nothing was found, for example, because the bank was moved
                    raise
                except psycopg.Error:
                    raise
                except Exception:  # of the caller: after a rollback, the driver would drop prepared statements
                    db.execute("COMMIT")
                    raise
                db.execute("COMMIT")
            self._run_checks(bank, checks)

    @contextmanager
    def write_transaction(self, bank: str | None) -> Iterator[Connection]:
        """Yield a connection in a transaction, which is committed when the block ends and rolled back when it raises.

        Args:
            bank: the bank that row-level security admits.

        Raises:
            ConnectionLost: the connection broke before the commit.
            CommitUnknown: the connection broke during the commit.
        """
        with self._pooled_connection(NOTHING_STORED) as db:
            with db.pipeline():
                db.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                checks = self._configure_transaction(db, bank, {})
            self._run_checks(bank, checks)
            yield db
            try:
                status = db.execute("COMMIT").statusmessage
            except psycopg.Error as error:
                if not (db.closed or _has_lost_worker(error)):
                    raise
                raise CommitUnknown(
                    f"{self.display_url} disconnected during the commit ({_error_text(error)}): the lines may or may "
                    "not be stored. Call again with the same keys; no line is stored twice"
                ) from error
            if status != "COMMIT":  # Postgres reports the rollback of a failed transaction without an error
                raise StoreUnavailable(f"{self.display_url} rolled back this call; nothing was stored")

    @contextmanager
    def _pooled_connection(self, outcome: str = "") -> Iterator[Connection]:
        """Yield a connection of the pool, which rolls back when the block raises. Takes the same as `map_errors`."""
        with self.map_errors(outcome), self._get_pool().connection(timeout=self.timeout_s) as db:
            try:
                with self._watch.watch(db):
                    yield db
            except psycopg.Error as error:
                if db.closed:  # independently of the driver's error class
                    raise self._lost(error, outcome) from error
                raise
            self._log_recovery()

    def retry(self, call: Callable[[], Result]) -> Result:
        """Call a function and return its result; repeat it for up to `timeout_s` s while the connection is lost."""
        began = time.monotonic()
        retries = Retries(repeat(RETRY_DELAY_S), deadline=began + self.timeout_s)
        unknown_commit = None
        while True:
            try:
                return call()
            except StoreUnavailable as error:
                if isinstance(error, CommitUnknown):
                    unknown_commit = error
                if not isinstance(error, ConnectionLost) or not retries.wait():
                    raise unknown_commit or error from error.__cause__
                waited_s = time.monotonic() - began
                if waited_s > SILENT_RETRIES_S:
                    self._log_outage(f"{error}; trying again for {self.timeout_s - waited_s:.0f} s")

    def _log_outage(self, message: str) -> None:
        """Log that the database can't be reached, once in a process until it answers again."""
        with _outages_lock:
            if self.display_url in _outages:
                return
            _outages.add(self.display_url)
        log.warning("%s", message)

    def _log_recovery(self) -> None:
        """Log that the database answers again, if it was logged that it can't be reached."""
        if self.display_url not in _outages:
            return
        with _outages_lock:
            if self.display_url not in _outages:
                return
            _outages.remove(self.display_url)
        log.warning("%s answers again", self.display_url)

    @contextmanager
    def dedicated_connection(self) -> Iterator[Connection]:
        """Yield a new connection in autocommit mode, for statements that can't run in a transaction."""
        with self.map_errors(), psycopg.connect(self.conninfo, autocommit=True, prepare_threshold=None) as db:
            yield db

    def _get_pool(self) -> ConnectionPool[Connection]:
        return self._pool.get(self.timeout_s)

    def _open_pool(self) -> ConnectionPool[Connection]:
        self._try_connection()  # reports a wrong password now instead of after the pool's timeout
        pool = ConnectionPool(
            self.conninfo,
            min_size=1,
            max_size=self._connections,
            reconnect_timeout=self.timeout_s,  # later calls make their own attempt
            kwargs={"autocommit": True},
            configure=self._configure,
            name="everthread",
            open=False,
        )
        pool.open(wait=True, timeout=self.timeout_s)  # or the first call would open a second connection
        return pool

    def _try_connection(self) -> None:
        """Check that a connection can be opened."""
        with psycopg.connect(self.conninfo, autocommit=True) as db:
            self._configure(db)

    @contextmanager
    def map_errors(self, outcome: str = "") -> Iterator[None]:
        """Translate errors of the driver into `EverthreadError`s that name the server and the remedy.

        Args:
            outcome: a sentence about what a failed write has stored.
        """
        try:
            yield
        except EverthreadError:
            raise
        except PoolTimeout as error:
            self._explain_timeout(outcome)
            raise StoreUnavailable(
                f"{self.display_url}: all {self._connections} connections of this process were busy for "
                f"{self.timeout_s:g} s. {outcome}Try again, with fewer threads"
            ) from error
        except TimeoutError as error:
            raise ConnectionLost(
                f"{self.display_url} did not answer for {self.timeout_s:g} s. {outcome}Check that it runs"
            ) from error
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise self._explain(error, outcome) from error

    def _explain_timeout(self, outcome: str) -> None:
        """Open a connection, because the pool hides why it could not. Takes and raises the same as `map_errors`."""
        try:
            with self.map_errors(outcome):
                self._try_connection()
        except ConnectionLost as error:
            self._log_outage(str(error))
            raise

    def _explain(self, error: Exception, outcome: str) -> EverthreadError:
        reason = _error_text(error)
        state = error.sqlstate if isinstance(error, psycopg.Error) else None
        for kinds, pattern, error_type, remedy in _ERROR_MAP:
            if isinstance(error, kinds) or (state is None and re.search(pattern, reason)):
                return error_type(f"{self.display_url}: {reason}; {remedy}")
        if _is_retryable(error):
            return self._lost(error, outcome)
        return StoreUnavailable(f"{self.display_url} failed: {reason}. {outcome}".rstrip())

    def _lost(self, error: Exception, outcome: str) -> ConnectionLost:
        remedy = "Check that it runs"
        if isinstance(error, errors.ConnectionTimeout):
            limit = f"{self._login_timeout_s} s"
            remedy += f"; if a login takes longer than {limit}, raise connect_timeout in the URL, in seconds"
        return ConnectionLost(f"{self.display_url} can't be reached: {_error_text(error)}. {outcome}{remedy}")

    def close(self) -> None:
        """Close all connections; the next call opens a new pool."""
        if (pool := self._pool.take()) is not None:
            pool.close()
        self._watch.close()

    def _configure_transaction(self, db: Connection, bank: str | None, extra_settings: dict[str, str]) -> list[Cursor]:
        """Send the settings of this transaction, and the queries of the checks, whose last columns are the answers."""
        settings = {**TRANSACTION_SETTINGS, **extra_settings, **({} if bank is None else {"everthread.bank": bank})}
        if self._has_citus:
            for name, value in (PASS_ON_SETTINGS | settings).items():
                if name not in PLAN_ONCE:
                    set_local(db, name, value)
            db.execute(f"SELECT {SET_SEARCH_PATH}")
            cursors = [db.execute(self._check[0] if self._check else "SELECT NULL")]
        else:
            columns = ", ".join([*["set_config(%s, %s, true)"] * len(settings), SET_SEARCH_PATH])
            query = f"SELECT {columns}, ({self._check[0] if self._check else 'NULL'})"
            cursors = [db.execute(query, [part for setting in settings.items() for part in setting])]
        if self._bank_check is not None and bank is not None:
            cursors.append(db.execute(self._bank_check[0], (bank,)))
        return cursors

    def _run_checks(self, bank: str | None, cursors: list[Cursor]) -> None:
        rows = [cursor.fetchone() for cursor in cursors]
        if self._check is not None and rows[0] is not None:
            self._check[1](self, rows[0][-1])
        if self._bank_check is not None and bank is not None and rows[-1] is not None:
            self._bank_check[1](self, bank, rows[-1][-1])

    def _configure(self, db: Connection) -> None:
        """Prepare a new connection: register vector types, and disable prepared statements if there is a pooler.

        With a pooler each transaction may use another server process, which doesn't have the prepared statement.
        """
        with db.transaction():
            db.execute(f"SELECT {SET_SEARCH_PATH}")
            register_vector(db)
        (setting,) = PASS_ON_SETTINGS
        row = db.execute("SELECT pg_backend_pid(), current_setting(%s, true) IS NOT NULL", (setting,)).fetchone()
        assert row is not None
        process, self._has_citus = row
        if process != db.info.backend_pid:
            db.prepare_threshold = None


def set_local(db: Connection, name: str, value: str) -> None:
    """Change a setting until the end of the transaction, by a statement that Citus passes on to its workers."""
    statement = sql.SQL("SET LOCAL {} = {}").format(sql.Identifier(*name.split(".")), sql.Literal(value))
    db.execute(statement, prepare=False)


def _error_text(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _is_retryable(error: Exception) -> bool:
    """Return whether the call may succeed when repeated: after a broken connection, a deadlock or a conflict."""
    if not isinstance(error, psycopg.Error) or isinstance(error, errors.PipelineAborted):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return _has_lost_worker(error) or error.sqlstate.startswith(("57P", "25P03", "25P04", "40"))


def _has_lost_worker(error: psycopg.Error) -> bool:
    """Return whether Citus has lost the connection to a worker; that to Citus itself may be open."""
    state, text = error.sqlstate or "", _error_text(error)
    return state.startswith("08") or (state == "XX000" and re.search(_LOST_WORKER, text) is not None)


# Citus gives an error of the connection to a worker the class of internal errors.
_LOST_WORKER = "could not commit transaction (for shard|on any active node)|server closed the connection unexpectedly"


_USER = "check the user and the password of the URL"
_DATABASE = "create it with: createdb"
_HBA = "allow this user in the server's pg_hba.conf"
_INIT = "create the tables with: everthread db init URL"
_HOST = "check the host in the URL, and the network"
_REPLICA = "this server is read-only; give the URL of the primary"
_RIGHTS = "grant this user the right, or use the user that ran: everthread db init URL"
_BUSY = "another call has been writing to this bank for a minute; nothing was stored, try again"
_TIME = "nothing was stored; raise the statement_timeout of this user or database"
_ROOM = "nothing was stored; free disk space on the server"
_TOO_MANY_CONNECTIONS_HINT = (
    "nothing was stored; give each process fewer connections, or put a pooler such as PgBouncer in front of the server"
)

_TOO_MANY_PATTERN = "too many (clients|connections)|remaining connection slots|no more connections allowed"

# Errors of a failed connection have no class of their own; they are recognised by their text.
_NO_MATCH = "(?!)"
_ERROR_MAP: tuple[tuple[tuple[type[Exception], ...], str, type[EverthreadError], str], ...] = (
    (
        (UnicodeEncodeError, errors.NumericValueOutOfRange),
        _NO_MATCH,
        BadInput,
        "use whole characters, and numbers that fit in 64 bits",
    ),
    ((), 'password authentication failed|no password supplied|role ".*" does not exist', DatabaseRefused, _USER),
    ((), "pg_hba.conf", DatabaseRefused, _HBA),
    ((), "failed to resolve host", ConnectionLost, _HOST),  # repeated: that of a container is unknown until it starts
    ((), 'database ".*" does not exist', DatabaseRefused, _DATABASE),
    ((errors.UndefinedTable, errors.InvalidSchemaName), "vector type not found", StoreUnavailable, _INIT),
    ((errors.ReadOnlySqlTransaction,), _NO_MATCH, StoreUnavailable, _REPLICA),
    ((errors.InsufficientPrivilege,), "permission denied for", StoreUnavailable, _RIGHTS),
    ((errors.LockNotAvailable,), _NO_MATCH, StoreUnavailable, _BUSY),
    ((errors.TooManyConnections,), _TOO_MANY_PATTERN, ConnectionLost, _TOO_MANY_CONNECTIONS_HINT),
    ((errors.DiskFull,), _NO_MATCH, StoreUnavailable, _ROOM),
    ((errors.QueryCanceled,), _NO_MATCH, TookTooLong, _TIME),
)

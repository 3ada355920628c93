"""The Postgres tables, as numbered migrations, and the rights on them.

The tables are those of `stores.sqlite.schema` with a bank_id column. Every primary key, unique index and foreign key
begins with bank_id and no query joins two banks, so that Citus can distribute the tables by that column.
"""

from __future__ import annotations

from typing import Any

from psycopg import sql

from everthread.common.installation import upgrade_command
from everthread.errors import BankTooNew, ConfigError, StoreUnavailable
from everthread.stores.postgres import vector_index
from everthread.stores.postgres.connections import SET_SEARCH_PATH, Connection, Database

SCHEMA = "everthread"

_FIRST = """
CREATE TABLE everthread.bank (
    bank_id text COLLATE "C" PRIMARY KEY, created_at bigint NOT NULL, analyser int NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0, lines bigint NOT NULL DEFAULT 0, retracted bigint NOT NULL DEFAULT 0,
    terms bigint NOT NULL DEFAULT 0, head_terms bigint NOT NULL DEFAULT 0,
    sessions int NOT NULL DEFAULT 0, speakers int NOT NULL DEFAULT 0, models int NOT NULL DEFAULT 0);

CREATE TABLE everthread.session (
    bank_id text COLLATE "C" NOT NULL REFERENCES everthread.bank ON DELETE CASCADE, number int NOT NULL,
    session_id text COLLATE "C" NOT NULL, started_at bigint NOT NULL, last_at bigint NOT NULL,
    first_seq bigint NOT NULL, last_seq bigint NOT NULL, lines bigint NOT NULL, terms bigint NOT NULL,
    PRIMARY KEY (bank_id, number), UNIQUE (bank_id, session_id));

CREATE TABLE everthread.buffer (
    bank_id text COLLATE "C" NOT NULL REFERENCES everthread.bank ON DELETE CASCADE,
    session_id text COLLATE "C" NOT NULL, spans text NOT NULL, PRIMARY KEY (bank_id, session_id));

CREATE TABLE everthread.speaker (
    bank_id text COLLATE "C" NOT NULL REFERENCES everthread.bank ON DELETE CASCADE, number int NOT NULL,
    name text COLLATE "C" NOT NULL, role text COLLATE "C" NOT NULL,
    PRIMARY KEY (bank_id, number), UNIQUE (bank_id, name, role));

-- gist is the line's record of stores.base.LINE_DTYPE; null once it is retracted, or if it has no words. batch is a
-- random number of the write, by which a client that got no answer to its commit recognises its lines.
CREATE TABLE everthread.line (
    bank_id text COLLATE "C" NOT NULL, seq bigint NOT NULL, session int NOT NULL, parent_seq bigint,
    speaker int NOT NULL, said_at bigint NOT NULL, said_offset int NOT NULL, length int NOT NULL,
    head_length int NOT NULL, retracted_at bigint,
    gist bytea, key text COLLATE "C", metadata text NOT NULL, text text NOT NULL,
    batch bigint NOT NULL, PRIMARY KEY (bank_id, seq), UNIQUE (bank_id, key),
    FOREIGN KEY (bank_id, session) REFERENCES everthread.session ON DELETE CASCADE,
    FOREIGN KEY (bank_id, speaker) REFERENCES everthread.speaker ON DELETE CASCADE);
CREATE INDEX line_by_session ON everthread.line (bank_id, session, seq);
CREATE INDEX line_by_speaker ON everthread.line (bank_id, speaker);
CREATE INDEX line_by_time ON everthread.line (bank_id, said_at);

-- Memory units: summaries, notes, facts.
CREATE TABLE everthread.unit (
    bank_id text COLLATE "C" NOT NULL REFERENCES everthread.bank ON DELETE CASCADE, kind text COLLATE "C" NOT NULL,
    unit_id bigint NOT NULL, text text NOT NULL, first_seq bigint NOT NULL, last_seq bigint NOT NULL,
    said_at bigint NOT NULL, valid_from bigint, valid_to bigint, importance real, category text,
    metadata text NOT NULL DEFAULT '{}', retracted_at bigint, PRIMARY KEY (bank_id, kind, unit_id));

-- large: the bank has a table of these vectors' codes, with an index (stores.postgres.vector_index).
CREATE TABLE everthread.model (
    bank_id text COLLATE "C" NOT NULL REFERENCES everthread.bank ON DELETE CASCADE, number int NOT NULL,
    name text COLLATE "C" NOT NULL, dim int NOT NULL, lines bigint NOT NULL DEFAULT 0,
    large boolean NOT NULL DEFAULT false, PRIMARY KEY (bank_id, number), UNIQUE (bank_id, name, dim));

CREATE TABLE everthread.vector (
    bank_id text COLLATE "C" NOT NULL, model int NOT NULL, seq bigint NOT NULL, ordinal int NOT NULL,
    data halfvec NOT NULL, PRIMARY KEY (bank_id, model, seq, ordinal),
    FOREIGN KEY (bank_id, model) REFERENCES everthread.model ON DELETE CASCADE);
ALTER TABLE everthread.vector ALTER COLUMN data SET STORAGE EXTERNAL;

-- Blocks of records of one term (postings.RECORDS_PER_BLOCK). In a term's last block, before counts the records of the
-- earlier blocks, so that it alone gives the document frequency; in others, before has no meaning.
CREATE TABLE everthread.posting (
    bank_id text COLLATE "C" NOT NULL REFERENCES everthread.bank ON DELETE CASCADE, term text COLLATE "C" NOT NULL,
    first bigint NOT NULL, before int NOT NULL, count int NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (bank_id, term, first));
ALTER TABLE everthread.posting ALTER COLUMN data SET STORAGE PLAIN;

-- Receipts of forgotten lines, without their text; bank_id is here the hash of the bank's id.
CREATE TABLE everthread.receipt (
    bank_id text COLLATE "C" NOT NULL, id uuid NOT NULL, scope text NOT NULL,
    seqs text NOT NULL, lines bigint NOT NULL, forgotten_at bigint NOT NULL, PRIMARY KEY (bank_id, id));

-- Postgres copies some values of a column into its statistics, where they would outlive forgotten lines. Statistics of
-- text, and of data derived from text, are disabled.
ALTER TABLE everthread.session ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE everthread.buffer ALTER COLUMN session_id SET STATISTICS 0, ALTER COLUMN spans SET STATISTICS 0;
ALTER TABLE everthread.speaker ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE everthread.line ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN key SET STATISTICS 0,
    ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN gist SET STATISTICS 0;
ALTER TABLE everthread.unit ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN category SET STATISTICS 0,
    ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE everthread.vector ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE everthread.posting ALTER COLUMN term SET STATISTICS 0, ALTER COLUMN data SET STATISTICS 0;
"""

_SECOND = """
ALTER TABLE everthread.session ADD COLUMN ended_at bigint;
ALTER TABLE everthread.unit ADD COLUMN said_offset int NOT NULL DEFAULT 0, ADD COLUMN supersedes bigint,
    ALTER COLUMN importance TYPE double precision;

-- One row per piece. Units are few, and their vectors are compared one by one.
CREATE TABLE everthread.unit_vector (
    bank_id text COLLATE "C" NOT NULL, model int NOT NULL, kind text COLLATE "C" NOT NULL, unit_id bigint NOT NULL,
    ordinal int NOT NULL, data halfvec NOT NULL, PRIMARY KEY (bank_id, model, kind, unit_id, ordinal));
CREATE INDEX unit_vector_by_unit ON everthread.unit_vector (bank_id, kind, unit_id);
ALTER TABLE everthread.unit_vector ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE everthread.setting (
    bank_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value text NOT NULL,
    PRIMARY KEY (bank_id, name));

-- Queued jobs of scribes.
CREATE TABLE everthread.work (
    bank_id text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL,
    first_seq bigint NOT NULL, last_seq bigint NOT NULL, queued_at bigint NOT NULL, tries bigint NOT NULL, error text,
    PRIMARY KEY (bank_id, kind, session_id, first_seq));

ALTER TABLE everthread.unit_vector ALTER COLUMN kind SET STATISTICS 0, ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE everthread.setting ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE everthread.work ALTER COLUMN kind SET STATISTICS 0, ALTER COLUMN session_id SET STATISTICS 0,
    ALTER COLUMN error SET STATISTICS 0;
"""

# Separate from the tables, one constraint per statement: Citus allows no key from a local table to a distributed one,
# and no other subcommand with a new constraint.
_SECOND_KEYS = """
ALTER TABLE everthread.unit_vector ADD FOREIGN KEY (bank_id, model) REFERENCES everthread.model ON DELETE CASCADE;
ALTER TABLE everthread.unit_vector
    ADD FOREIGN KEY (bank_id, kind, unit_id) REFERENCES everthread.unit ON DELETE CASCADE;
ALTER TABLE everthread.setting ADD FOREIGN KEY (bank_id) REFERENCES everthread.bank ON DELETE CASCADE;
ALTER TABLE everthread.work ADD FOREIGN KEY (bank_id) REFERENCES everthread.bank ON DELETE CASCADE;
"""

# A table of its own, because Citus changes the statistics of no distributed column.
_THIRD = """
CREATE TABLE everthread.session_metadata (
    bank_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, title text, metadata text NOT NULL,
    PRIMARY KEY (bank_id, session_id));
ALTER TABLE everthread.session_metadata ALTER COLUMN session_id SET STATISTICS 0, ALTER COLUMN title SET STATISTICS 0,
    ALTER COLUMN metadata SET STATISTICS 0;
"""

_THIRD_KEY = """
ALTER TABLE everthread.session_metadata ADD FOREIGN KEY (bank_id) REFERENCES everthread.bank ON DELETE CASCADE;
"""

# One row a line. Two tables, as of vectors: a row holds a number instead of two names.
_FOURTH = """
CREATE TABLE everthread.token_scheme (
    bank_id text COLLATE "C" NOT NULL, number int NOT NULL, model text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL, PRIMARY KEY (bank_id, number), UNIQUE (bank_id, model, name));

CREATE TABLE everthread.token_code (
    bank_id text COLLATE "C" NOT NULL, scheme int NOT NULL, seq bigint NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (bank_id, scheme, seq));
ALTER TABLE everthread.token_code ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE everthread.token_code ALTER COLUMN data SET STATISTICS 0;
"""

_FOURTH_KEYS = """
ALTER TABLE everthread.token_scheme ADD FOREIGN KEY (bank_id) REFERENCES everthread.bank ON DELETE CASCADE;
ALTER TABLE everthread.token_code
    ADD FOREIGN KEY (bank_id, scheme) REFERENCES everthread.token_scheme ON DELETE CASCADE;
"""

_FIFTH = """
-- Lines up to earlier_last are as the version earlier_analyser analysed them (stores.postgres.reanalysis).
ALTER TABLE everthread.bank ADD COLUMN earlier_last bigint NOT NULL DEFAULT 0,
    ADD COLUMN earlier_analyser int NOT NULL DEFAULT 0;
"""

_SIXTH = """
-- Where the bank is, if not here (stores.postgres.moved_rows).
ALTER TABLE everthread.bank ADD COLUMN elsewhere text COLLATE "C";
"""

_SEVENTH = """
-- A random number of the last change of lines or vectors that is not an addition (stores.postgres.bank_cache).
ALTER TABLE everthread.bank ADD COLUMN revision bigint NOT NULL DEFAULT 0;
"""

# Each in steps; after every step new tables are distributed if the others are.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (_FIRST,),
    (_SECOND, _SECOND_KEYS),
    (_THIRD, _THIRD_KEY),
    (_FOURTH, _FOURTH_KEYS),
    (_FIFTH,),
    (_SIXTH,),
    (_SEVENTH,),
)
VERSION = len(MIGRATIONS)
PGVECTOR = (0, 8)  # the first with iterative scans, which continue if a filter leaves too few results
TABLES = (
    "bank",
    "session",
    "buffer",
    "speaker",
    "line",
    "unit",
    "model",
    "vector",
    "posting",
    "receipt",
    "unit_vector",
    "setting",
    "work",
    "session_metadata",
    "token_scheme",
    "token_code",
)

# Citus: the shards with one bank's rows are colocated (docs/scale.md).
DISTRIBUTED = (
    "SELECT create_distributed_table('everthread.bank', 'bank_id')",
    *(
        f"SELECT create_distributed_table('everthread.{table}', 'bank_id', colocate_with => 'everthread.bank')"
        for table in TABLES[1:]
    ),
)
# A copy on every server, so that each of them can be asked. Not in DISTRIBUTED, because a migration has it locked.
REPLICATED = "SELECT create_reference_table('everthread.migration')"
MAX_SHARDS = 64_000  # the limit of Citus


def ensure_tables(database: Database) -> None:
    """Check that the tables exist in this version; create missing ones.

    Raises:
        ConfigError: the database can't store every text.
        StoreUnavailable: pgvector is missing or too old, the user has no right to create tables, or the tables are of
            an older version.
        BankTooNew: the tables are of a later version.
    """
    with database.dedicated_connection() as db:
        _check_server(database, db)
        applied = version(db)
    if applied == 0:
        migrate(database)
    else:
        check_version(database, applied)


def check_version(database: Database, applied: int) -> None:
    """Check that the tables are of this version. Run in every transaction, because another process may migrate them.

    Raises:
        StoreUnavailable: they are of an older version.
        BankTooNew: they are of a later version.
    """
    compare_version(database, applied, VERSION, "the tables")


VERSION_CHECK = "SELECT max(number) FROM everthread.migration", check_version


def compare_version(database: Database, applied: int, required: int, tables: str) -> None:
    """Check that tables, called "the tables" or similar in messages, are of the required version.

    Raises:
        StoreUnavailable: they are of an older version.
        BankTooNew: they are of a later version.
    """
    if applied < required:
        raise StoreUnavailable(
            f"{database.display_url} has {tables} of an older Everthread (schema {applied}, this version requires "
            f"{required}); update them with: everthread db migrate URL"
        )
    if applied > required:
        raise BankTooNew(
            f"{database.display_url} has {tables} of a later Everthread (schema {applied}, this version supports "
            f"up to {required}); upgrade with: {upgrade_command()}"
        )


def _check_server(database: Database, db: Connection) -> None:
    """Check that the database can store every text, and that its pgvector is new enough."""
    encoding = _fetch_value(db, "SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        raise ConfigError(
            f"{database.display_url} stores text as {encoding}, which can't represent every character; create a "
            "database that can with: createdb -E UTF8 -T template0 NAME"
        )
    installed = _fetch_value(db, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if installed is not None and tuple(map(int, installed.split(".")[:2])) < PGVECTOR:
        raise StoreUnavailable(
            f"{database.display_url} has pgvector {installed}, but {'.'.join(map(str, PGVECTOR))} or later is required"
            "; install it on the server, then run there: ALTER EXTENSION vector UPDATE"
        )


def version(db: Connection) -> int:
    """Return the number of the last applied migration; 0 if there are no tables."""
    if not _fetch_value(db, "SELECT to_regclass('everthread.migration') IS NOT NULL"):
        return 0
    return int(_fetch_value(db, "SELECT coalesce(max(number), 0) FROM everthread.migration"))


def migrate(database: Database) -> int:
    """Create or migrate the extension and the tables; return the number of applied migrations.

    Raises:
        ConfigError: the database can't store every text.
        StoreUnavailable: pgvector is missing or too old, or the user has no right to create tables.
        BankTooNew: the tables are of a later version.
    """
    with database.dedicated_connection() as db, db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(hashtext('everthread.schema'))")  # one process at a time
        _create_extension(database, db)
        _check_server(database, db)
        db.execute(f"SELECT {SET_SEARCH_PATH}")
        db.execute("CREATE SCHEMA IF NOT EXISTS everthread")
        db.execute(
            "CREATE TABLE IF NOT EXISTS everthread.migration (number int PRIMARY KEY, applied_at timestamptz NOT NULL)"
        )
        applied = version(db)
        if applied > VERSION:
            check_version(database, applied)
        if 0 < applied < VERSION:  # waits for current writers; later transactions see the new version
            db.execute("LOCK TABLE everthread.migration")
        for number, steps in enumerate(MIGRATIONS[applied:], applied + 1):
            for step in steps:
                _run_step(db, step)
            db.execute("INSERT INTO everthread.migration VALUES (%s, now())", (number,))
        if applied < VERSION:
            _renew_grants(db)
    return VERSION - applied


def _run_step(db: Connection, step: str) -> None:
    """Run the statements of one step of a migration, and distribute its tables if the others are distributed."""
    for statement in step.split(";\n"):  # Citus sends the whole text to the workers for each statement in it
        if statement.strip():
            db.execute(statement)
    if distributed_tables(db):
        _distribute_tables(db)


def _create_extension(database: Database, db: Connection) -> None:
    if _fetch_value(db, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"):
        return
    if not _fetch_value(db, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"):
        raise StoreUnavailable(
            f"{database.display_url} has no pgvector; install it on the server (postgresql-18-pgvector)"
        )
    db.execute("CREATE EXTENSION vector")


def _fetch_value(db: Connection, query: str) -> Any:
    row = db.execute(query).fetchone()
    return row[0] if row else None


_ONE_BANK = "bank_id = current_setting('everthread.bank', true)"
_LISTED = "current_setting('everthread.listing', true) = 'on'"
LISTING_SETTINGS = {"everthread.listing": "on"}  # set in a transaction that lists banks


def secure(database: Database, role: str) -> None:
    """Let a role read and write the rows of one bank at a time: the one in the setting everthread.bank.

    Every transaction of the store sets it, so that even a wrong query sees no other bank. The tables' owner sees all
    rows. The list of banks is visible only to a transaction that sets everthread.listing.

    Raises:
        ConfigError: row-level security does not apply to the role.
    """
    with database.dedicated_connection() as db, db.transaction():
        _check_role(database, db, role)
        _grant_access(db, role)


def _grant_access(db: Connection, role: str) -> None:
    """Let a role read and write all existing tables, one bank at a time."""
    name = sql.Identifier(role)
    db.execute(sql.SQL("GRANT USAGE ON SCHEMA everthread TO {}").format(name))
    db.execute(sql.SQL("GRANT SELECT ON everthread.migration TO {}").format(name))
    schemas = db.execute(
        """SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
           WHERE extname = 'vector' AND NOT has_schema_privilege(%s, pg_namespace.oid, 'USAGE')""",
        (role,),
    ).fetchall()
    for (schema,) in schemas:
        db.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(sql.Identifier(schema), name))
    for table in (*TABLES, *vector_index.all_tables(db)):
        _grant_on_table(db, table, name)
    db.execute("DROP POLICY IF EXISTS listed ON everthread.bank")
    db.execute(f"CREATE POLICY listed ON everthread.bank FOR SELECT USING ({_LISTED})")


def _renew_grants(db: Connection) -> None:
    """Grant the secured roles the same access to the migrated tables."""
    for role in list_secured_roles(db):
        _grant_access(db, role)


def list_secured_roles(db: Connection) -> list[str]:
    """List the roles that may read and write one bank at a time."""
    if not _fetch_value(db, "SELECT to_regclass('everthread.bank') IS NOT NULL"):
        return []
    roles = db.execute(
        """SELECT rolname FROM pg_class, aclexplode(relacl) AS granted JOIN pg_roles ON pg_roles.oid = grantee
           WHERE pg_class.oid = 'everthread.bank'::regclass AND relrowsecurity AND grantee <> relowner
           AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') GROUP BY rolname HAVING count(*) = 4"""
    ).fetchall()
    return [role for (role,) in roles]


def grant_on_new_table(db: Connection, table: str) -> None:
    """Grant the roles with access to vectors access to a new table, one bank at a time as well."""
    rows = db.execute(
        """SELECT DISTINCT rolname FROM pg_class, aclexplode(relacl) AS granted JOIN pg_roles ON pg_roles.oid = grantee
           WHERE pg_class.oid = 'everthread.vector'::regclass AND grantee <> relowner"""
    ).fetchall()
    for (role,) in rows:
        _grant_on_table(db, table, sql.Identifier(role))


def _grant_on_table(db: Connection, table: str, role: sql.Identifier) -> None:
    """Grant a role access to a table, one bank at a time."""
    identifier = sql.Identifier("everthread", table)
    db.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(identifier))
    db.execute(sql.SQL("DROP POLICY IF EXISTS one_bank ON {}").format(identifier))
    db.execute(sql.SQL("CREATE POLICY one_bank ON {} USING ({})").format(identifier, sql.SQL(_ONE_BANK)))
    db.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(identifier, role))
    if db.info.server_version >= 170_000:  # to free the pages of forgotten rows; older versions leave it to autovacuum
        db.execute(sql.SQL("GRANT MAINTAIN ON {} TO {}").format(identifier, role))


def _check_role(database: Database, db: Connection, role: str) -> None:
    """Check that row-level security applies to a role."""
    row = db.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    if row is None:
        raise ConfigError(f"{database.display_url} has no role {role!r}; create it with: CREATE ROLE … LOGIN")
    owns = db.execute(
        "SELECT pg_has_role(%s, tableowner, 'USAGE') FROM pg_tables WHERE schemaname = 'everthread' LIMIT 1", (role,)
    ).fetchone()
    if row[0] or (owns and owns[0]):
        raise ConfigError(
            f"role {role!r} of {database.display_url} is a superuser, bypasses row-level security or owns the tables, "
            "and would see every bank; name another role"
        )


def distribute(database: Database, shards: int | None = None) -> list[str]:
    """Distribute the tables over the machines of a Citus cluster. May be interrupted and repeated.

    Args:
        database: the coordinator.
        shards: how many parts each table gets, which is the greatest number of machines; Citus's default if None.

    Returns:
        The statements that were run.

    Raises:
        StoreUnavailable: there is no Citus.
        ConfigError: the tables are distributed already, in another number of shards.
    """
    with database.dedicated_connection() as db:
        if not _fetch_value(db, "SELECT count(*) FROM pg_extension WHERE extname = 'citus'"):
            raise StoreUnavailable(
                f"{database.display_url} has no Citus; install it there with: CREATE EXTENSION citus"
            )
        if shards is not None:
            _check_shards(database, db, shards)
        return [*_distribute_tables(db, shards), *_replicate_version(db), *_truncate_local_rows(db)]


def _check_shards(database: Database, db: Connection, shards: int) -> None:
    """Check that the tables have this number of shards if they are distributed."""
    if "bank" not in distributed_tables(db):
        return
    present = _fetch_value(db, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'everthread.bank'::regclass")
    if present != shards:
        raise ConfigError(
            f"--shards is {shards}, but the tables of {database.display_url} have {present} shards each. Omit it, or "
            "distribute the tables of an empty database and copy the banks with: everthread move"
        )


def _replicate_version(db: Connection) -> list[str]:
    """Copy the table of migrations to every server; return the statement, if it wasn't copied yet."""
    if "migration" in distributed_tables(db):
        return []
    db.execute(REPLICATED)
    return [REPLICATED]


def _truncate_local_rows(db: Connection) -> list[str]:
    """Remove the rows that distributed tables left in files of this server, where no query can read or forget them;
    return the statements."""
    distributed = distributed_tables(db)
    statements = [
        f"SELECT truncate_local_data_after_distributing_table('everthread.{table}')"
        for table in reversed(TABLES)
        if table in distributed and _fetch_value(db, f"SELECT pg_relation_size('everthread.{table}')")
    ]
    for statement in statements:
        db.execute(statement)
    return statements


def _distribute_tables(db: Connection, shards: int | None = None) -> list[str]:
    """Distribute the existing tables that are not distributed yet; return the statements."""
    distributed = distributed_tables(db)
    existing = {name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'everthread'")}
    tables = zip(TABLES, DISTRIBUTED, strict=True)
    statements = [statement for table, statement in tables if table in existing and table not in distributed]
    if shards is not None and DISTRIBUTED[0] in statements:
        statements[0] = f"{DISTRIBUTED[0][:-1]}, shard_count => {shards:d})"
    for statement in statements:
        db.execute(statement)
    return statements


def distributed_tables(db: Connection) -> set[str]:
    """Return the tables that Citus distributes or replicates."""
    if not _fetch_value(db, "SELECT to_regclass('pg_dist_partition') IS NOT NULL"):
        return set()
    rows = db.execute(
        """SELECT relname FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
           WHERE relnamespace = 'everthread'::regnamespace"""
    )
    return {str(name) for (name,) in rows}

"""The tables of the Postgres store, as numbered migrations.

The same nouns as in `stores.sqlite.schema`, with bank_id before all.

Every primary key, unique index and foreign key begins with bank_id and no query joins two banks, so that Citus can
spread the tables over machines by that column as they are.
"""

from __future__ import annotations

from typing import Any

from psycopg import sql

from everthread.common.installation import upgrade
from everthread.errors import BankTooNew, ConfigError, StoreUnavailable
from everthread.stores.postgres import vector_index
from everthread.stores.postgres.connections import PATH, Connection, Database

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

-- gist is the line's record of stores.base.LINE; null once it is retracted. batch is a number by chance of the write
-- that it came with: whoever has not heard how that ended knows its lines by it.
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

-- What was written about lines: summaries, notes, facts.
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

-- Blocks of at most BLOCK records of one term. In a term's last block, before counts the records of the earlier ones,
-- so that it alone tells in how many lines the term stands; in others before is what it was when they were filled.
CREATE TABLE everthread.posting (
    bank_id text COLLATE "C" NOT NULL REFERENCES everthread.bank ON DELETE CASCADE, term text COLLATE "C" NOT NULL,
    first bigint NOT NULL, before int NOT NULL, count int NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (bank_id, term, first));
ALTER TABLE everthread.posting ALTER COLUMN data SET STORAGE PLAIN;

-- What was forgotten, without a word of it: bank_id is here the hash of the bank's id.
CREATE TABLE everthread.receipt (
    bank_id text COLLATE "C" NOT NULL, id uuid NOT NULL, scope text NOT NULL,
    seqs text NOT NULL, lines bigint NOT NULL, forgotten_at bigint NOT NULL, PRIMARY KEY (bank_id, id));

-- Postgres copies some values of a column into its statistics, where they would outlive what is forgotten: of text, and
-- of what is made of text, it is to keep none.
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

-- A row a piece. Units are few, and their vectors are compared one by one.
CREATE TABLE everthread.unit_vector (
    bank_id text COLLATE "C" NOT NULL, model int NOT NULL, kind text COLLATE "C" NOT NULL, unit_id bigint NOT NULL,
    ordinal int NOT NULL, data halfvec NOT NULL, PRIMARY KEY (bank_id, model, kind, unit_id, ordinal));
CREATE INDEX unit_vector_by_unit ON everthread.unit_vector (bank_id, kind, unit_id);
ALTER TABLE everthread.unit_vector ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE everthread.setting (
    bank_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value text NOT NULL,
    PRIMARY KEY (bank_id, name));

-- What a scribe is still to write.
CREATE TABLE everthread.work (
    bank_id text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL,
    first_seq bigint NOT NULL, last_seq bigint NOT NULL, queued_at bigint NOT NULL, tries bigint NOT NULL, error text,
    PRIMARY KEY (bank_id, kind, session_id, first_seq));

ALTER TABLE everthread.unit_vector ALTER COLUMN kind SET STATISTICS 0, ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE everthread.setting ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE everthread.work ALTER COLUMN kind SET STATISTICS 0, ALTER COLUMN session_id SET STATISTICS 0,
    ALTER COLUMN error SET STATISTICS 0;
"""

# Apart from the tables, and one constraint a statement: Citus allows no key from a table that is not yet spread to one
# that is, and no other subcommand beside a new constraint.
_SECOND_KEYS = """
ALTER TABLE everthread.unit_vector ADD FOREIGN KEY (bank_id, model) REFERENCES everthread.model ON DELETE CASCADE;
ALTER TABLE everthread.unit_vector
    ADD FOREIGN KEY (bank_id, kind, unit_id) REFERENCES everthread.unit ON DELETE CASCADE;
ALTER TABLE everthread.setting ADD FOREIGN KEY (bank_id) REFERENCES everthread.bank ON DELETE CASCADE;
ALTER TABLE everthread.work ADD FOREIGN KEY (bank_id) REFERENCES everthread.bank ON DELETE CASCADE;
"""

# Each in steps, after every one of which the new tables are spread where the others are.
MIGRATIONS: tuple[tuple[str, ...], ...] = ((_FIRST,), (_SECOND, _SECOND_KEYS))
VERSION = len(MIGRATIONS)
PGVECTOR = (0, 8)  # the first that goes on where a filter leaves too few of the nearest
TABLES = (
    *("bank", "session", "buffer", "speaker", "line", "unit", "model", "vector", "posting", "receipt"),
    *("unit_vector", "setting", "work"),
)

# Citus: the shards of one bank's rows of every table lie together (docs/scale.md).
DISTRIBUTED = (
    "SELECT create_distributed_table('everthread.bank', 'bank_id')",
    *(
        f"SELECT create_distributed_table('everthread.{table}', 'bank_id', colocate_with => 'everthread.bank')"
        for table in TABLES[1:]
    ),
)


def ready(server: Database) -> None:
    """See that the tables are there and of this version; make them where there are none.

    Raises ConfigError for a database that can't hold every text; StoreUnavailable where pgvector is missing or too old,
    this user may not make the tables, or they are of an older version; and BankTooNew where they are of a newer one.
    """
    with server.dedicated() as db:
        _fit(server, db)
        have = version(db)
    if have == 0:
        init(server)
    else:
        fits(server, have)


def fits(server: Database, have: int) -> None:
    """See that the tables are of this version. Each transaction asks, for another process may bring them up to date."""
    if have < VERSION:
        raise StoreUnavailable(
            f"{server.shown} has the tables of an older Everthread (schema {have}, this one wants {VERSION}); "
            "bring them up to date with: everthread db migrate URL"
        )
    _not_later(server, have)


CHECK = "SELECT max(number) FROM everthread.migration", fits


def _not_later(server: Database, have: int) -> None:
    if have > VERSION:
        raise BankTooNew(
            f"{server.shown} has the tables of a later Everthread (schema {have}, this one knows {VERSION}); "
            f"upgrade with: {upgrade()}"
        )


def _fit(server: Database, db: Connection) -> None:
    """See that the database can hold every text, and that its pgvector can all that we ask of it."""
    encoding = _one(db, "SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        raise ConfigError(
            f"{server.shown} keeps text as {encoding}, which can't hold every character; make a database that can "
            "with: createdb -E UTF8 -T template0 NAME"
        )
    have = _one(db, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if have is not None and tuple(map(int, have.split(".")[:2])) < PGVECTOR:
        raise StoreUnavailable(
            f"{server.shown} has pgvector {have}, and {'.'.join(map(str, PGVECTOR))} is the first that will do; "
            "install a later one on the server, then run there: ALTER EXTENSION vector UPDATE"
        )


def version(db: Connection) -> int:
    """The number of the last migration applied; 0 where there are no tables."""
    if not _one(db, "SELECT to_regclass('everthread.migration') IS NOT NULL"):
        return 0
    return int(_one(db, "SELECT coalesce(max(number), 0) FROM everthread.migration"))


def init(server: Database) -> int:
    """Make the extension and the tables, or bring them up to date; how many migrations were applied."""
    with server.dedicated() as db, db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(hashtext('everthread.schema'))")  # one process makes them
        _extend(server, db)
        _fit(server, db)
        db.execute(f"SELECT {PATH}")
        db.execute("CREATE SCHEMA IF NOT EXISTS everthread")
        db.execute(
            "CREATE TABLE IF NOT EXISTS everthread.migration (number int PRIMARY KEY, applied_at timestamptz NOT NULL)"
        )
        have = version(db)
        _not_later(server, have)
        if 0 < have < VERSION:  # whoever writes as the tables are now ends first, and who begins later sees the number
            db.execute("LOCK TABLE everthread.migration")
        for number, steps in enumerate(MIGRATIONS[have:], have + 1):
            for statements in steps:
                for statement in statements.split(";\n"):  # Citus hands on the whole of a text for each statement in it
                    if statement.strip():
                        db.execute(statement)
                if distributed(db):
                    _spread(db)
            db.execute("INSERT INTO everthread.migration VALUES (%s, now())", (number,))
        if have < VERSION:
            _secure_again(db)
    return VERSION - have


def _extend(server: Database, db: Connection) -> None:
    if _one(db, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"):
        return
    if not _one(db, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"):
        raise StoreUnavailable(f"{server.shown} has no pgvector; install it on the server (postgresql-18-pgvector)")
    db.execute("CREATE EXTENSION vector")


def _one(db: Connection, query: str) -> Any:
    row = db.execute(query).fetchone()
    return row[0] if row else None


_ONE_BANK = "bank_id = current_setting('everthread.bank', true)"
_LISTED = "current_setting('everthread.listing', true) = 'on'"
LISTING = {"everthread.listing": "on"}  # said by a transaction that asks which banks there are


def secure(server: Database, role: str) -> None:
    """Let a role read and write the rows of one bank at a time: of that which the setting everthread.bank names.

    Every transaction of the store sets it, so that even a wrong query sees no other bank. The tables' owner sees all.
    Which banks there are is told only to a transaction that sets everthread.listing. Raises ConfigError for a role to
    which no such rule applies, and for tables spread by Citus, which doesn't tell its workers of such settings.
    """
    with server.dedicated() as db, db.transaction():
        _bound(server, db, role)
        if distributed(db):
            raise ConfigError(APART.format(server.shown))
        _admit(db, role)


def _admit(db: Connection, role: str) -> None:
    """Let a role read and write all the tables there are, one bank at a time."""
    name = sql.Identifier(role)
    db.execute(sql.SQL("GRANT USAGE ON SCHEMA everthread TO {}").format(name))
    db.execute(sql.SQL("GRANT SELECT ON everthread.migration TO {}").format(name))
    lacking = db.execute(
        """SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
           WHERE extname = 'vector' AND NOT has_schema_privilege(%s, pg_namespace.oid, 'USAGE')""",
        (role,),
    ).fetchall()
    for (types,) in lacking:
        db.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(sql.Identifier(types), name))
    for table in (*TABLES, *vector_index.tables(db)):
        _share(db, table, name)
    db.execute("DROP POLICY IF EXISTS listed ON everthread.bank")
    db.execute(f"CREATE POLICY listed ON everthread.bank FOR SELECT USING ({_LISTED})")


def _secure_again(db: Connection) -> None:
    """Let the roles that were secured read and write the tables as they are now, by the same rules."""
    roles = db.execute(
        """SELECT rolname FROM pg_class, aclexplode(relacl) AS granted JOIN pg_roles ON pg_roles.oid = grantee
           WHERE pg_class.oid = 'everthread.bank'::regclass AND relrowsecurity AND grantee <> relowner
           AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') GROUP BY rolname HAVING count(*) = 4"""
    ).fetchall()
    for (role,) in roles:
        _admit(db, role)


APART = (
    "{}: a role that sees one bank at a time, and tables spread over machines, can't be had together: Citus doesn't "
    "tell its workers which bank is meant. Leave out one of --role and --distribute"
)


def follow(db: Connection, table: str) -> None:
    """Let the roles that may read and write vectors do so with a table that is new, one bank at a time as well."""
    rows = db.execute(
        """SELECT DISTINCT rolname FROM pg_class, aclexplode(relacl) AS granted JOIN pg_roles ON pg_roles.oid = grantee
           WHERE pg_class.oid = 'everthread.vector'::regclass AND grantee <> relowner"""
    ).fetchall()
    for (role,) in rows:
        _share(db, table, sql.Identifier(role))


def _share(db: Connection, table: str, role: sql.Identifier) -> None:
    """Let a role read and write a table, one bank at a time."""
    at = sql.Identifier("everthread", table)
    db.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(at))
    db.execute(sql.SQL("DROP POLICY IF EXISTS one_bank ON {}").format(at))
    db.execute(sql.SQL("CREATE POLICY one_bank ON {} USING ({})").format(at, sql.SQL(_ONE_BANK)))
    db.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(at, role))
    if db.info.server_version >= 170_000:  # to free the pages of what is forgotten; before, autovacuum does it
        db.execute(sql.SQL("GRANT MAINTAIN ON {} TO {}").format(at, role))


def _bound(server: Database, db: Connection, role: str) -> None:
    """See that row-level security holds for a role."""
    row = db.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    if row is None:
        raise ConfigError(f"{server.shown} has no role {role!r}; make it with: CREATE ROLE … LOGIN")
    owns = db.execute(
        "SELECT pg_has_role(%s, tableowner, 'USAGE') FROM pg_tables WHERE schemaname = 'everthread' LIMIT 1", (role,)
    ).fetchone()
    if row[0] or (owns and owns[0]):
        raise ConfigError(
            f"role {role!r} of {server.shown} is a superuser, passes by row-level security or owns the tables, and "
            "would see every bank; name another role"
        )


def distribute(server: Database) -> list[str]:
    """Spread the tables over the machines of a Citus cluster; the statements that did it. What was spread stays, so
    that it may be stopped and started again.

    Raises StoreUnavailable without Citus, and ConfigError where a role is bound to one bank at a time.
    """
    with server.dedicated() as db:
        if not _one(db, "SELECT count(*) FROM pg_extension WHERE extname = 'citus'"):
            raise StoreUnavailable(f"{server.shown} has no Citus; make it there with: CREATE EXTENSION citus")
        if _one(db, "SELECT relrowsecurity FROM pg_class WHERE oid = 'everthread.bank'::regclass"):
            raise ConfigError(APART.format(server.shown))
        return [*_spread(db), *_truncate(db)]


def _truncate(db: Connection) -> list[str]:
    """Remove the rows that spread tables left in files of this server, where no query can read or forget them; the
    statements that did it."""
    spread = distributed(db)
    left = [
        f"SELECT truncate_local_data_after_distributing_table('everthread.{table}')"
        for table in reversed(TABLES)
        if table in spread and _one(db, f"SELECT pg_relation_size('everthread.{table}')")
    ]
    for statement in left:
        db.execute(statement)
    return left


def _spread(db: Connection) -> list[str]:
    """Spread those of the tables that are there and not spread yet; the statements that did it."""
    spread = distributed(db)
    made = {name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'everthread'")}
    tables = zip(TABLES, DISTRIBUTED, strict=True)
    due = [statement for table, statement in tables if table in made and table not in spread]
    for statement in due:
        db.execute(statement)
    return due


def distributed(db: Connection) -> set[str]:
    """Those of the tables that Citus has spread."""
    if not _one(db, "SELECT to_regclass('pg_dist_partition') IS NOT NULL"):
        return set()
    rows = db.execute(
        """SELECT relname FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
           WHERE relnamespace = 'everthread'::regnamespace"""
    )
    return {str(name) for (name,) in rows}

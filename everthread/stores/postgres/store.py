"""PostgresStore: banks in a Postgres database with pgvector, for several processes and machines.

`stores.base.Store` documents the methods. Vectors are stored in half precision: those of a small bank are compared one
by one, a large bank has its own HNSW index (Malkov and Yashunin 2016), so that the size of one bank does not slow
queries of another. Postings are stored in blocks and counted by the same analyser as in SQLite, so BM25 scores are
equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from types import MappingProxyType
from typing import TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from everthread.common.timestamps import to_micros
from everthread.errors import NotFound
from everthread.stores.arrays import to_ranges
from everthread.stores.base import (
    CorpusStats,
    PreparedLine,
    Scope,
    ScopeName,
    ScoringRows,
    Store,
)
from everthread.stores.copying import CopyReader
from everthread.stores.errors import forgotten_bank_error
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.limits import UNSTORABLE_CHARACTERS, check_bank_id
from everthread.stores.postgres import (
    bank_stats,
    consistency,
    line_removal,
    moved_rows,
    postings,
    reanalysis,
    recall_records,
    schema,
    scoring,
    sessions,
    token_codes,
    units,
    vector_index,
)
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.arrays import SeqArray
from everthread.stores.postgres.bank_cache import BankCache
from everthread.stores.postgres.batch_writer import BatchWriter
from everthread.stores.postgres.connections import (
    MAX_CONNECTIONS,
    PLAN_ONCE,
    TIMEOUT_S,
    Connection,
    Cursor,
    Database,
    TookTooLong,
)
from everthread.stores.postgres.copying import PostgresCopyReader
from everthread.stores.postgres.filters import build_condition, seq_bitmap
from everthread.stores.postgres.first_answers import FirstAnswers, find_key
from everthread.stores.postgres.rows import Model
from everthread.stores.postgres.transactions import Transactions
from everthread.stores.postgres.vacuum import Vacuum
from everthread.stores.postings import Postings
from everthread.stores.shared_rows import map_corrections, read_pages, unchanged_seqs
from everthread.stores.unit_store import UnitCosines, UnitReplacement, UnitVersion
from everthread.stores.units import JOB_COLUMNS, parse_job
from everthread.types import (
    ROLES,
    Filter,
    JSONValue,
    Line,
    LineTokens,
    Metadata,
    NewUnit,
    Receipt,
    Role,
    ScribeJob,
    Seqs,
    Session,
    Stats,
    Unit,
    Vector,
    Vectors,
    now,
)

Result = TypeVar("Result")


class PostgresStore(Transactions, Store):
    """Stores banks in one database. The tables are created if they do not exist.

    Attributes:
        database: the connection pool.
    """

    def __init__(self, url: str, max_connections: int = MAX_CONNECTIONS, timeout_s: float = TIMEOUT_S) -> None:
        """Validate the URL; the first call connects.

        Args:
            url: `postgresql://user@host/name`.
            max_connections: the size of the connection pool.
            timeout_s: how long a call waits for a connection, and for a restarting server.

        Raises:
            ConfigError: the URL is malformed.
        """
        super().__init__(Database(url, max_connections, timeout_s, schema.VERSION_CHECK, moved_rows.BANK_CHECK))
        self._identity: str | None = None  # until it is read
        self._cache = BankCache()
        self._vacuum = Vacuum(self.database)
        self._index_builder = vector_index.BackgroundBuilder(self.build_indexes)

    @property
    def location(self) -> str:
        return self.database.display_url

    def identify_database(self) -> str:
        """Return what identifies the database at every address, as that of a pooler or of a replica that took over.

        Empty if the user may not read the number of the cluster. A copy of the cluster's files has the same number.
        """
        if self._identity is None:
            self._identity = self._retry(self._read_identity)
        return self._identity

    def _read_identity(self) -> str:
        with self.database.read_transaction() as db:
            query = "SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
            if db.execute(query).fetchone() != (True,):
                return ""
            cluster = "(SELECT system_identifier FROM pg_control_system())"
            row = db.execute(f"SELECT {cluster}, oid FROM pg_database WHERE datname = current_database()").fetchone()
            return "" if row is None else f"{row[0]}/{row[1]}"

    def banks(self) -> list[str]:
        def attempt() -> list[str]:
            with self.database.read_transaction(**schema.LISTING_SETTINGS) as db:
                query = "SELECT bank_id FROM everthread.bank WHERE elsewhere IS NULL ORDER BY bank_id"
                return [bank for (bank,) in db.execute(query)]

        return self._retry(attempt)

    def exists(self, bank: str) -> bool:
        check_bank_id(bank)

        def attempt() -> bool:
            with self.database.read_transaction(bank) as db:
                return bank_rows.analyser_version(db, bank) is not None

        return self._retry(attempt)

    def create(self, bank: str) -> None:
        if self._read(bank, lambda db: bank_rows.analyser_version(db, bank)) is None:
            self._write(bank, lambda db: bank_rows.create_bank(db, bank, to_micros(now())))

    # ------------------------------------------------------------------ writing

    def append(
        self,
        bank: str,
        entries: Sequence[PreparedLine],
        model: str,
        *,
        replaces: Sequence[int] = (),
        corrects: Mapping[int, int] | None = None,
        after: int = 0,
    ) -> list[Line]:
        def write(db: Connection) -> tuple[list[Line], Model | None, BatchWriter]:
            if after and after > bank_rows.lock_bank(db, bank, to_micros(now()))[0]:
                raise forgotten_bank_error(bank)
            with line_removal.replace_lines(db, bank, replaces, to_micros(now())) as (replaced, corrections):
                batch = BatchWriter(db, bank, entries, to_micros(now()))
                lines = [batch.add(entry) for entry in entries]
                grown = batch.send(model)
                corrections.update(map_corrections(bank, corrects, replaced, lines if batch.written else []))
            return lines, grown, batch

        def was_committed(db: Connection, result: tuple[list[Line], Model | None, BatchWriter]) -> bool:
            bank_rows.lock_bank(db, bank, to_micros(now()))  # waits for the end of the previous attempt
            return result[2].was_committed(db)

        lines, grown, _ = self._write(bank, write, was_committed)
        self._index_if_large(bank, grown)
        return lines

    def put_vectors(
        self,
        bank: str,
        model: str,
        vectors: Mapping[int, Vectors],
        expected: Sequence[Line],
        tokens: Mapping[int, LineTokens] = MappingProxyType({}),
    ) -> None:
        def write(db: Connection) -> Model | None:
            if bank_rows.lock_existing(db, bank) is None:
                return None
            *_, models = bank_rows.lock_bank(db, bank, to_micros(now()))
            chosen = SeqArray(np.array(sorted(vectors.keys() | tokens.keys()), np.int64))
            lines = bank_rows.get_lines(db, bank, chosen, "line.retracted_at IS NULL")
            unchanged_numbers = unchanged_seqs(lines, expected)
            if codes := {seq: data for seq, data in tokens.items() if seq in unchanged_numbers}:
                token_codes.remove(db, bank, list(codes))
                token_codes.put(db, bank, token_codes.get_or_create_scheme(db, bank, model, codes), codes)
            unchanged = {seq: data for seq, data in vectors.items() if seq in unchanged_numbers}
            if not unchanged:
                return None
            bank_rows.remove_vectors(db, bank, sorted(unchanged), model)
            stored_model = bank_rows.get_or_create_model(db, bank, model, unchanged, models)
            return bank_rows.put_vectors(db, bank, stored_model, unchanged)

        self._index_if_large(bank, self._write(bank, write))

    def _index_if_large(self, bank: str, model: Model | None) -> None:
        if model is not None and not model.has_index:
            self._index_builder.schedule(bank, model.number, model.lines)

    def build_indexes(self, bank: str) -> int:
        """Build the missing indexes of a large bank; return their number. Blocks writers of the bank."""

        def write(db: Connection) -> int:
            tables = [
                vector_index.build_index(db, bank, number, dim)
                for number, dim in vector_index.models_needing_index(db, bank)
            ]
            for table in tables:
                schema.grant_on_new_table(db, table)
            return len(tables)

        return self._write_locked(bank, write)

    def reanalyze(self, bank: str, limit: int) -> bool:
        query = f"SELECT 1 FROM everthread.bank WHERE bank_id = %s AND {bank_rows.EARLIER_LAST} > 0"
        if not self._read(bank, lambda db: db.execute(query, (bank,)).fetchone()):
            return False

        return self._write(bank, lambda db: bank_rows.lock_if_exists(db, bank) and reanalysis.advance(db, bank, limit))

    def drop_vectors(self, bank: str, keep: str) -> int:
        return self._write_locked(bank, lambda db: line_removal.drop_models(db, bank, keep))

    def retract(self, bank: str, seq: int, at: datetime) -> Line:
        def write(db: Connection) -> Line:
            bank_rows.lock_bank(db, bank, to_micros(at))
            lines = bank_rows.read_lines(db, bank, "line.seq = %s", (seq,))
            if not lines:
                raise NotFound(f"bank {bank!r} has no line {seq}")
            if lines[0].retracted_at is None:
                with line_removal.update_summaries_and_pins(db, bank, [seq]):
                    line_removal.retract(db, bank, [seq], to_micros(at))
            return bank_rows.read_lines(db, bank, "line.seq = %s", (seq,))[0]

        return self._write(bank, write)

    def forget(self, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
        number = uuid4()

        def write(db: Connection) -> tuple[Receipt, Collection[str]]:
            if scope != "bank":  # of which no posting could remain; it is deleted even if another version wrote it
                bank_rows.lock_if_exists(db, bank)
            seqs, tables = line_removal.forget(db, bank, scope, name)
            receipt = Receipt(sha256(bank.encode()).hexdigest(), scope, to_ranges(seqs), len(seqs), at)
            line_removal.put_receipt(db, receipt, number)
            return receipt, tables

        def was_committed(db: Connection, result: tuple[Receipt, Collection[str]]) -> bool:
            bank_rows.lock_existing(db, bank)  # waits for the end of the previous attempt
            return line_removal.has_receipt(db, bank, result[0], number)

        receipt, tables = self._write(bank, write, was_committed)
        self._check_again(bank)
        self._cache.drop(bank)
        self._vacuum.schedule(bank, tables, whole_bank=scope == "bank")
        return receipt

    def check_tables(self) -> None:
        """Check that the tables exist in this version; create missing ones."""
        self._retry(lambda: None)

    def free_space(self, bank: str) -> None:
        """Free the pages of the deleted rows of a bank that was moved away, and its memory in this process."""
        self._cache.drop(bank)
        self._vacuum.schedule(bank, schema.TABLES, whole_bank=True)

    def receipts(self, bank: str) -> list[Receipt]:
        return self._read(bank, lambda db: line_removal.read_receipts(db, bank))

    def add_receipts(self, bank: str, receipts: Sequence[Receipt]) -> None:
        self._write(bank, lambda db: line_removal.add_receipts(db, bank, receipts))

    def reserve_seqs(self, bank: str, last: int) -> None:
        query = "UPDATE everthread.bank SET last_seq = %s WHERE bank_id = %s AND last_seq < %s"
        self._write_locked(bank, lambda db: db.execute(query, (last, bank, last)))

    def set_buffer(self, bank: str, session: str, spans: Sequence[tuple[int, int]]) -> None:
        query = """INSERT INTO everthread.buffer (bank_id, session_id, spans) VALUES (%s, %s, %s)
            ON CONFLICT (bank_id, session_id) DO UPDATE SET spans = excluded.spans"""
        self._write_locked(bank, lambda db: db.execute(query, (bank, session, json.dumps(list(spans)))))

    def end_session(self, bank: str, session: str, at: datetime) -> None:
        self._write_locked(bank, lambda db: sessions.end(db, bank, session, to_micros(at, "at")))

    def set_session(self, bank: str, session: str, title: str | None, metadata: Metadata | None) -> Session:
        return self._write_locked(bank, lambda db: sessions.set_metadata(db, bank, session, title, metadata))

    def set_records(self, bank: str, records: Mapping[int, JSONValue]) -> None:
        self._write_locked(bank, lambda db: recall_records.set_records(db, bank, records))

    def set_setting(self, bank: str, name: str, value: JSONValue | None) -> None:
        self._write_locked(bank, lambda db: units.put_setting(db, bank, name, value))

    def update_setting(
        self, bank: str, name: str, change: Callable[[JSONValue | None], JSONValue | None]
    ) -> JSONValue | None:
        def write(db: Connection) -> JSONValue | None:
            value = change(units.get_setting(db, bank, name))
            units.put_setting(db, bank, name, value)
            return value

        return self._write_locked(bank, write)

    def put_unit(
        self,
        bank: str,
        unit: NewUnit,
        vectors: Vectors | None,
        model: str,
        at: datetime,
        *,
        supersedes: int | None = None,
        finished_job: ScribeJob | None = None,
    ) -> Unit:
        def write(db: Connection) -> Unit:
            last, _, _, models = bank_rows.lock_bank(db, bank, to_micros(now()))
            stored = units.put(db, bank, unit, to_micros(at), supersedes, last)
            by_unit = {} if vectors is None else {(stored.kind, stored.id): vectors}
            units.put_vectors(db, bank, model, by_unit, models)
            if finished_job is not None:
                units.dequeue(db, bank, finished_job)
            return stored

        def was_committed(db: Connection, stored: Unit) -> bool:
            bank_rows.lock_bank(db, bank, to_micros(now()))  # waits for the end of the previous attempt
            return units.exists(db, bank, stored)

        return self._write(bank, write, was_committed)

    def forget_unit(self, bank: str, kind: str, number: int) -> list[int]:
        ids, tables = self._write(
            bank,
            lambda db: units.forget_chain(db, bank, kind, number),
            lambda db, forgotten: units.is_gone(db, bank, kind, forgotten[0]),
        )
        self._vacuum.schedule(bank, tables, whole_bank=False)
        return ids

    def replace_units(self, bank: str, replacement: UnitReplacement, model: str, at: datetime) -> bool:
        def write(db: Connection) -> JSONValue | None:
            if bank_rows.lock_existing(db, bank) is None:
                return None
            *_, models = bank_rows.lock_bank(db, bank, to_micros(now()))
            return units.replace(db, bank, replacement, model, to_micros(at), models)

        def was_committed(db: Connection, value: JSONValue | None) -> bool:
            bank_rows.lock_if_exists(db, bank)  # waits for the end of the previous attempt
            return value is not None and units.get_setting(db, bank, replacement.setting) == value

        is_replaced = self._write(bank, write, was_committed) is not None
        if is_replaced and replacement.forgets:
            self._vacuum.schedule(bank, ["unit", "unit_vector", "line"], whole_bank=False)
        return is_replaced

    def restore_unit(self, bank: str, unit: Unit, vectors: Vectors | None, model: str) -> None:
        def write(db: Connection) -> None:
            *_, models = bank_rows.lock_bank(db, bank, to_micros(now()))
            units.restore(db, bank, unit)
            by_unit = {} if vectors is None else {(unit.kind, unit.id): vectors}
            units.put_vectors(db, bank, model, by_unit, models)

        self._write(bank, write)

    def put_unit_vectors(self, bank: str, model: str, vectors: Mapping[tuple[str, int], Vectors]) -> None:
        def write(db: Connection) -> None:
            if not bank_rows.lock_if_exists(db, bank):
                return
            *_, models = bank_rows.lock_bank(db, bank, to_micros(now()))
            live_keys = {ref.key for ref in units.read_refs(db, bank) if ref.is_live}
            by_unit = {key: data for key, data in vectors.items() if key in live_keys}
            units.put_vectors(db, bank, model, by_unit, models)

        self._write(bank, write)

    def enqueue(self, bank: str, job: ScribeJob) -> None:
        def write(db: Connection) -> None:
            query = "SELECT 1 FROM everthread.session WHERE bank_id = %s AND session_id = %s"
            if not db.execute(query, (bank, job.session)).fetchone():
                raise NotFound(f"bank {bank!r} has no session {job.session!r} for a {job.kind} job")
            units.enqueue(db, bank, job)

        self._write_locked(bank, write)

    def dequeue(self, bank: str, job: ScribeJob) -> None:
        def write(db: Connection) -> None:
            if bank_rows.lock_if_exists(db, bank):
                units.dequeue(db, bank, job)

        self._write(bank, write)

    # ------------------------------------------------------------------ reading

    def lines(
        self,
        bank: str,
        where: Filter | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        include_retracted: bool = False,
        include_wordless: bool = False,
    ) -> Iterator[Line]:
        condition, values = build_condition(where, retracted=include_retracted, wordless=include_wordless)
        condition += " AND line.seq > %s"

        def read_page(after: int, size: int) -> list[Line]:
            read, end = bank_rows.read_lines, f"LIMIT {size:d}"
            return self._read(bank, lambda db: read(db, bank, condition, (*values, after), end))

        yield from read_pages(read_page, after, limit)

    def get(self, bank: str, seqs: Sequence[int]) -> list[Line]:
        wanted = SeqArray(np.asarray(seqs, np.int64))
        return bank_rows.parse_lines(self._read(bank, lambda db: bank_rows.send_get_lines(db, bank, wanted)))

    def texts(self, bank: str, seqs: Seqs) -> list[tuple[int, str]]:
        return self._read(bank, lambda db: bank_rows.get_texts(db, bank, seqs))

    def get_by_key(self, bank: str, keys: Sequence[str]) -> dict[str, Line]:
        keys = [key for key in keys if not UNSTORABLE_CHARACTERS.search(key)]
        if not keys:
            return {}
        lines = self._read(bank, lambda db: bank_rows.read_lines(db, bank, bank_rows.HAS_KEY, (bank, list(keys))))
        return {line.key: line for line in lines if line.key is not None}

    def sessions(self, bank: str) -> list[Session]:
        return self._read(bank, lambda db: sessions.read(db, bank))

    def filter_seqs(self, bank: str, where: Filter, as_of: datetime | None) -> Seqs | None:
        condition, values = build_condition(where, as_of)
        if where == Filter() and as_of is None:
            return None
        row = self._read(
            bank,
            lambda db: db.execute(
                f"SELECT array_agg(line.seq ORDER BY line.seq) {bank_rows.LINE_FROM} WHERE line.bank_id = %s AND "
                f"{condition}",
                (bank, *values),
                binary=True,
            ).fetchone(),
        )
        return np.array(row[0] if row and row[0] else [], np.int64)

    def nearest_seqs(self, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
        return self._read(bank, lambda db: vector_index.nearest_seqs(db, bank, model, query, k, within))

    def cosines(self, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
        return self._read(bank, lambda db: vector_index.cosines(db, bank, model, query, seqs))

    def postings(
        self, bank: str, terms: Sequence[str], max_terms: int, limit: int, within: Seqs | None = None
    ) -> dict[str, Postings]:
        return self._read(bank, lambda db: postings.read(db, bank, terms, max_terms, limit, within))

    def scoring_rows(self, bank: str, seqs: Seqs, within: Seqs | None = None) -> ScoringRows:
        return self._read(bank, lambda db: scoring.read_rows(db, bank, seqs, within))

    def read_snapshot(
        self, bank: str, read: Callable[[Store], tuple[Result, Sequence[int]]], expected: ExpectedReads
    ) -> tuple[Result, list[Line]]:
        def send(db: Connection) -> tuple[Result, Cursor]:
            result, seqs = read(_SnapshotStore(self, db, FirstAnswers(db, bank, expected, self._cache)))
            return result, bank_rows.send_get_lines(db, bank, SeqArray(np.asarray(seqs, np.int64)))

        try:
            result, rows = self._read(bank, send, **PLAN_ONCE)
        except TookTooLong:  # reading the whole bank may take longer than all that a search needs
            key = find_key(bank, expected)
            if key is None or self._cache.get(key) is None:
                raise
            self._cache.refuse(key)
            result, rows = self._read(bank, send, **PLAN_ONCE)
        return result, bank_rows.parse_lines(rows)

    def corpus_stats(self, bank: str, within: Seqs | None = None) -> CorpusStats:
        stats = self._read(bank, lambda db: bank_rows.corpus_stats(db, bank, *seq_bitmap(within)))
        return stats or CorpusStats(0, 0, 0, 0, 0, ())

    def lines_without_vectors(
        self, bank: str, model: str, dim: int, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        return self._read(bank, lambda db: bank_rows.lines_without_vectors(db, bank, model, dim, limit, after, roles))

    def texts_with_codes(self, bank: str, model: str, scheme: str, seqs: Seqs) -> list[tuple[int, str, bytes | None]]:
        return self._read(bank, lambda db: token_codes.read_with_texts(db, bank, model, scheme, seqs))

    def lines_without_tokens(
        self, bank: str, model: str, scheme: str, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        return self._read(bank, lambda db: token_codes.lines_without(db, bank, model, scheme, limit, after, roles))

    def buffer(self, bank: str, session: str) -> list[tuple[int, int]]:
        row = self._read(
            bank,
            lambda db: db.execute(
                "SELECT spans FROM everthread.buffer WHERE bank_id = %s AND session_id = %s", (bank, session)
            ).fetchone(),
        )
        return [(int(first), int(last)) for first, last in json.loads(row[0])] if row else []

    def settings(self, bank: str) -> dict[str, JSONValue]:
        query = "SELECT name, value FROM everthread.setting WHERE bank_id = %s ORDER BY name"
        rows = self._read(bank, lambda db: db.execute(query, (bank,)).fetchall())
        return {name: json.loads(value) for name, value in rows}

    def units(
        self,
        bank: str,
        kinds: Sequence[str] = (),
        *,
        only_current: bool = False,
        include_retracted: bool = False,
        ids: Sequence[int] | None = None,
    ) -> list[Unit]:
        condition = "(%s OR kind = ANY(%s::text[])) AND (%s::bigint[] IS NULL OR unit_id = ANY(%s::bigint[]))"
        condition += " AND valid_to IS NULL" if only_current else ""
        condition += "" if include_retracted else " AND retracted_at IS NULL"
        chosen = None if ids is None else list(ids)
        values = (not kinds, list(kinds), chosen, chosen)
        return self._read(bank, lambda db: units.read(db, bank, condition, values))

    def unit_version(self, bank: str, kind: str) -> UnitVersion:
        return self._read(bank, lambda db: units.version(db, bank, kind))

    def unit_spans(self, bank: str, kind: str, *, retracted: bool = False) -> npt.NDArray[np.int64]:
        spans = self._read(bank, lambda db: units.spans(db, bank, kind, retracted))
        return np.array(spans, np.int64).reshape(-1, 3)

    def unit_cosines(
        self, bank: str, model: str, query: Vector, kinds: Sequence[str], k: int | None = None
    ) -> UnitCosines:
        return self._read(bank, lambda db: units.cosines(db, bank, model, query, kinds, k))

    def units_without_vectors(self, bank: str, model: str, dim: int) -> list[Unit]:
        condition = f"""retracted_at IS NULL AND NOT EXISTS (SELECT 1 FROM everthread.unit_vector AS has
            WHERE has.bank_id = unit.bank_id AND has.model = {vector_index.SELECT_MODEL} AND has.kind = unit.kind
            AND has.unit_id = unit.unit_id)"""
        values = (bank, model, dim)
        return self._read(bank, lambda db: units.read(db, bank, condition, values))

    def jobs(self, bank: str) -> list[ScribeJob]:
        query = f"""SELECT {JOB_COLUMNS} FROM everthread.work WHERE bank_id = %s
            ORDER BY queued_at, kind, session_id, first_seq"""
        return self._read(bank, lambda db: [parse_job(row) for row in db.execute(query, (bank,))])

    def stats(self, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
        return self._read(bank, lambda db: bank_stats.read_stats(db, bank, model, roles))

    def copy_reader(self, bank: str) -> CopyReader:
        return PostgresCopyReader(bank, self._read)

    def check(self, bank: str) -> list[str]:
        return self._read(bank, lambda db: consistency.find_contradictions(db, bank))

    def close(self) -> None:
        self._vacuum.run()
        self.database.close()
        self._cache.renew()


class _SnapshotStore(PostgresStore):
    """Reads one bank in one transaction: first what was expected, anything else by a query of its own."""

    def __init__(self, store: PostgresStore, db: Connection, first: FirstAnswers) -> None:
        vars(self).update(vars(store))
        self._db, self._first = db, first

    def _read(self, bank: str, call: Callable[[Connection], Result], **settings: str) -> Result:
        return call(self._db)

    def corpus_stats(self, bank: str, within: Seqs | None = None) -> CorpusStats:
        return self._first.corpus_stats if within is None else super().corpus_stats(bank, within)

    def postings(
        self, bank: str, terms: Sequence[str], max_terms: int, limit: int, within: Seqs | None = None
    ) -> dict[str, Postings]:
        found = self._first.postings(terms, max_terms, limit) if within is None else None
        return super().postings(bank, terms, max_terms, limit, within) if found is None else found

    def scoring_rows(self, bank: str, seqs: Seqs, within: Seqs | None = None) -> ScoringRows:
        found = self._first.scoring_rows(seqs, within)
        return super().scoring_rows(bank, seqs, within) if found is None else found

    def nearest_seqs(self, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
        found = self._first.nearest_seqs(model, query, k, within)
        return super().nearest_seqs(bank, model, query, k, within) if found is None else found

    def cosines(self, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
        found = self._first.cosines(model, query, seqs)
        return super().cosines(bank, model, query, seqs) if found is None else found

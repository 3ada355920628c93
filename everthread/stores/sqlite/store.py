"""SQLiteStore: the embedded store, one file per bank. `stores.base.Store` documents the methods."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from everthread.common.staging import remove_unfinished
from everthread.common.timestamps import to_micros
from everthread.errors import NotFound
from everthread.stores import dense_index
from everthread.stores import units as shared_units
from everthread.stores.arrays import find_positions, is_member, max_by_id
from everthread.stores.base import (
    ERASURE_UNFINISHED,
    CorpusStats,
    PreparedLine,
    Result,
    Scope,
    ScopeName,
    ScoringRows,
    Store,
)
from everthread.stores.copying import CopyReader
from everthread.stores.errors import forgotten_bank_error
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.line_columns import LineColumns
from everthread.stores.postings import Postings
from everthread.stores.shared_rows import (
    LINE_COLUMNS,
    map_corrections,
    parse_line,
    read_pages,
    select_missing_receipts,
    unchanged_seqs,
)
from everthread.stores.sqlite import (
    bank_stats,
    batch_writer,
    consistency,
    copying,
    forgetting,
    line_removal,
    moved_file,
    postings,
    reanalysis,
    recall_records,
    schema,
    sessions,
    token_codes,
    unit_vectors,
    units,
)
from everthread.stores.sqlite import receipts as receipts_file
from everthread.stores.sqlite import rows as bank_rows
from everthread.stores.sqlite.bank_file import (
    BANK_SUFFIX,
    ERASE_PENDING,
    BankFile,
    bank_id,
    file_name,
    remove_orphan_logs,
)
from everthread.stores.sqlite.bank_snapshot import BankSnapshot, CacheView
from everthread.stores.sqlite.cache import BankCache
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.filters import LIVE, build_column_filter, build_condition, needs_rows
from everthread.stores.sqlite.fork_guard import FORK_GUARD
from everthread.stores.sqlite.open_bank import OpenBank
from everthread.stores.sqlite.open_limit import MAX_OPEN_BANKS, limit_open_banks
from everthread.stores.sqlite.unit_vectors import UnitVectors
from everthread.stores.unit_store import UnitCosines, UnitReplacement, UnitVersion
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

_LINE, _FROM = LINE_COLUMNS, bank_rows.LINE_FROM


class SQLiteStore(Store):
    """Stores banks as files in a folder, which is created if it does not exist.

    Attributes:
        folder: the folder.
        max_open_banks: the files open at a time at most, fewer if the process may have few descriptors; the least
            recently used one is closed.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()
        self.prepare_folder()
        self.max_open_banks = MAX_OPEN_BANKS
        self._open: OrderedDict[str, OpenBank] = OrderedDict()
        self._lock = threading.Lock()
        self._snapshot: OpenBank | None = None  # of a store in one transaction: its bank

    def prepare_folder(self) -> None:
        """Create the folder if it does not exist, and finish what killed processes left in it."""
        with map_errors("", self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_orphan_logs(self.folder)
        receipts_file.write_all_missing(self.folder)
        remove_unfinished(self.folder)

    @property
    def location(self) -> str:
        return os.path.realpath(self.folder)

    def banks(self) -> list[str]:
        with map_errors("", self.folder):
            names = [name for name in os.listdir(self.folder) if name.endswith(BANK_SUFFIX)]
            banks = [bank_id(name) for name in names if not moved_file.is_note(self.folder / name)]
        return sorted(filter(None, banks))

    def exists(self, bank: str) -> bool:
        path = self.folder / file_name(bank)
        with map_errors(bank, path):
            moved_file.check_here(bank, path)
            return path.exists()

    def create(self, bank: str) -> None:
        self._bank(bank).file.create()
        self.corpus_stats(bank)  # raises if the file is damaged

    def _bank(self, bank: str) -> OpenBank:
        if self._snapshot is not None:
            return self._snapshot
        with FORK_GUARD, self._lock:
            opened = self._open.get(bank)
            if opened is None:
                path = self.folder / file_name(bank)
                file = BankFile(
                    bank,
                    path,
                    prepare=lambda db: self._prepare(db, bank),
                    check=lambda db: schema.check(db, bank),
                    create_tables=lambda db: schema.migrate(db, bank, to_micros(now())),
                )
                opened = self._open[bank] = OpenBank(file)
            self._open.move_to_end(bank)
            excess = max(len(self._open) - limit_open_banks(self.max_open_banks), 0)
            closed = [self._open.popitem(last=False)[1] for _ in range(excess)]
        for each in closed:
            each.file.close()
        return opened

    def _prepare(self, db: sqlite3.Connection, bank: str) -> None:
        """Create or migrate the tables of a bank, and write the receipts that killed processes have left."""
        is_new = schema.version(db) == 0
        schema.migrate(db, bank, to_micros(now()))
        receipts_file.settle(db, self.folder / file_name(bank), is_new=is_new)

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
        with self._bank(bank).file.write_transaction(create=not after) as db:
            if after and after > bank_rows.corpus_stats(db).last_seq:
                raise forgotten_bank_error(bank)
            current = bank_rows.get_lines(db, replaces, "line.retracted_at IS NULL") if replaces else []
            replaced = [line.seq for line in current]
            with line_removal.update_summaries_and_pins(db, replaced) as corrections:
                if replaced:
                    line_removal.retract_lines_only(db, dict.fromkeys(replaced, to_micros(now())))
                lines, is_new = batch_writer.write(db, entries, model)
                corrections.update(map_corrections(bank, corrects, replaced, lines if is_new else []))
        return lines

    def reserve_seqs(self, bank: str, last: int) -> None:
        with self._bank(bank).file.write_transaction() as db:
            db.execute("UPDATE bank SET last_seq = max(last_seq, ?)", (last,))

    def put_vectors(
        self,
        bank: str,
        model: str,
        vectors: Mapping[int, Vectors],
        expected: Sequence[Line],
        tokens: Mapping[int, LineTokens] = MappingProxyType({}),
    ) -> None:
        with suppress(NotFound), self._bank(bank).file.write_transaction(create=False) as db:
            unchanged = unchanged_seqs(bank_rows.get_lines(db, list(vectors.keys() | tokens.keys())), expected)
            token_codes.put(db, model, {seq: codes for seq, codes in tokens.items() if seq in unchanged})
            bank_rows.put_vectors(db, model, {seq: data for seq, data in vectors.items() if seq in unchanged})

    def reanalyze(self, bank: str, limit: int) -> bool:
        file = self._bank(bank).file
        with file.read_once() as db:
            if not reanalysis.earlier_last(db):
                return False
        with suppress(NotFound), file.write_transaction(create=False) as db:
            return reanalysis.advance(db, limit)
        return False

    def drop_vectors(self, bank: str, keep: str) -> int:
        with self._bank(bank).file.write_transaction() as db:
            token_codes.drop(db, "model <> ?", keep)
            others = db.execute("SELECT number FROM model WHERE name <> ?", (keep,)).fetchall()
            return sum(bank_rows.drop_model(db, number) for (number,) in others)

    def retract(self, bank: str, seq: int, at: datetime) -> Line:
        with self._bank(bank).file.write_transaction() as db:
            row = db.execute(f"SELECT {_LINE} {_FROM} WHERE line.seq = ?", (seq,)).fetchone()
            if row is None:
                raise NotFound(f"bank {bank!r} has no line {seq}")
            if parse_line(row).retracted_at is None:
                line_removal.retract(db, {seq: to_micros(at)})
            return parse_line(db.execute(f"SELECT {_LINE} {_FROM} WHERE line.seq = ?", (seq,)).fetchone())

    def forget(self, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
        opened = self._bank(bank)
        receipt = forgetting.delete(opened.file, scope, name, at)
        with FORK_GUARD, opened.lock:
            opened.cache.clear()
        forgetting.finish(opened.file, receipt)
        return receipt

    def receipts(self, bank: str) -> list[Receipt]:
        receipts_file.write_missing(self.folder / file_name(bank))
        return receipts_file.read(self.folder, bank)

    def add_receipts(self, bank: str, receipts: Sequence[Receipt]) -> None:
        if missing := select_missing_receipts(receipts, self.receipts(bank)):
            with map_errors(bank, self.folder / receipts_file.FILE_NAME):
                receipts_file.write(self.folder, missing)

    def set_buffer(self, bank: str, session: str, spans: Sequence[tuple[int, int]]) -> None:
        with self._bank(bank).file.write_transaction() as db:
            db.execute("INSERT OR REPLACE INTO buffer VALUES (?, ?)", (session, json.dumps(list(spans))))

    def end_session(self, bank: str, session: str, at: datetime) -> None:
        with self._bank(bank).file.write_transaction() as db:
            sessions.end(db, bank, session, to_micros(at, "at"))

    def set_session(self, bank: str, session: str, title: str | None, metadata: Metadata | None) -> Session:
        with self._bank(bank).file.write_transaction() as db:
            return sessions.set_metadata(db, bank, session, title, metadata)

    def set_records(self, bank: str, records: Mapping[int, JSONValue]) -> None:
        with self._bank(bank).file.write_transaction() as db:
            recall_records.set_records(db, records)

    def set_setting(self, bank: str, name: str, value: JSONValue | None) -> None:
        with self._bank(bank).file.write_transaction() as db:
            units.put_setting(db, name, value)

    def update_setting(
        self, bank: str, name: str, change: Callable[[JSONValue | None], JSONValue | None]
    ) -> JSONValue | None:
        with self._bank(bank).file.write_transaction() as db:
            value = change(units.get_setting(db, name))
            units.put_setting(db, name, value)
            return value

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
        with self._bank(bank).file.write_transaction() as db:
            stored = units.put(db, bank, unit, to_micros(at), supersedes)
            unit_vectors.put(db, model, {} if vectors is None else {(stored.kind, stored.id): vectors})
            if finished_job is not None:
                units.dequeue(db, finished_job)
            return stored

    def forget_unit(self, bank: str, kind: str, number: int) -> list[int]:
        file = self._bank(bank).file
        with file.write_transaction() as db:
            ids = units.forget_chain(db, kind, number)
            db.execute(f"PRAGMA user_version = {ERASE_PENDING}")
        file.erase()
        return ids

    def replace_units(self, bank: str, replacement: UnitReplacement, model: str, at: datetime) -> bool:
        file, is_replaced, forgets = self._bank(bank).file, False, False
        with suppress(NotFound), file.write_transaction(create=False) as db:
            is_replaced = units.replace(db, replacement, model, to_micros(at))
            forgets = is_replaced and replacement.forgets
            if forgets:
                db.execute(f"PRAGMA user_version = {ERASE_PENDING}")
        if forgets:
            file.erase()
        return is_replaced

    def restore_unit(self, bank: str, unit: Unit, vectors: Vectors | None, model: str) -> None:
        with self._bank(bank).file.write_transaction() as db:
            units.restore(db, unit)
            unit_vectors.put(db, model, {} if vectors is None else {(unit.kind, unit.id): vectors})

    def put_unit_vectors(self, bank: str, model: str, vectors: Mapping[tuple[str, int], Vectors]) -> None:
        with suppress(NotFound), self._bank(bank).file.write_transaction(create=False) as db:
            live_keys = set(db.execute("SELECT kind, unit_id FROM unit WHERE retracted_at IS NULL"))
            unit_vectors.put(db, model, {key: data for key, data in vectors.items() if key in live_keys})

    def enqueue(self, bank: str, job: ScribeJob) -> None:
        with self._bank(bank).file.write_transaction() as db:
            if not db.execute("SELECT 1 FROM session WHERE session_id = ?", (job.session,)).fetchone():
                raise NotFound(f"bank {bank!r} has no session {job.session!r} for a {job.kind} job")
            units.enqueue(db, job)

    def dequeue(self, bank: str, job: ScribeJob) -> None:
        with suppress(NotFound), self._bank(bank).file.write_transaction(create=False) as db:
            units.dequeue(db, job)

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
        query = f"SELECT {_LINE} {_FROM} WHERE line.seq > ? AND {condition} ORDER BY line.seq LIMIT ?"

        def read_page(after: int, size: int) -> list[Line]:
            with self._bank(bank).file.read_once() as db:
                rows = db.execute(query, (after, *values, size)).fetchall()
            return [parse_line(row) for row in rows]

        yield from read_pages(read_page, after, limit)

    def get(self, bank: str, seqs: Sequence[int]) -> list[Line]:
        with self._bank(bank).file.read_once() as db:
            return bank_rows.get_lines(db, seqs)

    def texts(self, bank: str, seqs: Seqs) -> list[tuple[int, str]]:
        # A join looks each line up at once; IN would sort the numbers first.
        query = f"SELECT seq, text FROM json_each(?) CROSS JOIN line ON seq = value WHERE {LIVE}"
        with self._bank(bank).file.read_once() as db:
            return db.execute(query, (json.dumps(seqs.tolist()),)).fetchall()

    def get_by_key(self, bank: str, keys: Sequence[str]) -> dict[str, Line]:
        if not keys:
            return {}
        with self._bank(bank).file.read_once() as db:
            return bank_rows.get_by_key(db, keys)

    def sessions(self, bank: str) -> list[Session]:
        with self._bank(bank).file.read_once() as db:
            return sessions.read(db)

    def filter_seqs(self, bank: str, where: Filter, as_of: datetime | None) -> Seqs | None:
        if where == Filter() and as_of is None:
            return None
        condition, values = build_condition(where, as_of)
        if not needs_rows(where):
            with self._bank(bank).snapshot(_read_columns) as (db, columns):
                return columns.filter_seqs(build_column_filter(db, where, as_of))
        with self._bank(bank).file.read_once() as db:
            rows = db.execute(f"SELECT line.seq {_FROM} WHERE {condition} ORDER BY line.seq", values).fetchall()
        return np.array(rows, np.int64).reshape(-1)

    def nearest_seqs(self, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
        with self._bank(bank).snapshot(lambda cache, db: cache.dense_index(db, model, query.shape[-1])) as (
            _,
            index,
        ):
            return index.nearest_ids(query, k, within)

    def cosines(self, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
        dim = query.shape[-1]
        with self._bank(bank).snapshot(lambda cache, db: cache.dense_index(db, model, dim, exact=True)) as (
            db,
            index,
        ):
            if index.data is not None:
                return index.cosines(query, seqs)
            number = bank_rows.find_model(db, model, dim)
            if number is None:
                return np.full(len(seqs), np.nan, np.float32)
            piece_seqs, data = bank_rows.read_vectors(db, number, dim, index.ids[find_positions(index.ids, seqs)])
        return max_by_id(seqs, piece_seqs, dense_index.cosines(data, query))

    def postings(
        self, bank: str, terms: Sequence[str], max_terms: int, limit: int, within: Seqs | None = None
    ) -> dict[str, Postings]:
        with self._bank(bank).file.read_transaction() as db:
            return postings.read(db, terms, max_terms, limit, within)

    def scoring_rows(self, bank: str, seqs: Seqs, within: Seqs | None = None) -> ScoringRows:
        with self._bank(bank).snapshot(_read_columns) as (db, columns):
            return bank_rows.scoring_rows(db, columns, seqs, within)

    def corpus_stats(self, bank: str, within: Seqs | None = None) -> CorpusStats:
        if within is None:
            with self._bank(bank).file.read_transaction() as db:
                return bank_rows.corpus_stats(db)
        with self._bank(bank).snapshot(_read_columns) as (db, columns):
            return bank_rows.corpus_within(db, columns, within)

    def read_snapshot(
        self, bank: str, read: Callable[[Store], tuple[Result, Sequence[int]]], expected: ExpectedReads
    ) -> tuple[Result, list[Line]]:
        opened = self._bank(bank)
        failure: Exception | None = None
        with opened.snapshot(lambda cache, db: CacheView(cache, db, expected)) as (db, view):
            snapshot = copy(self)  # of its own class, which may have another index
            snapshot._snapshot = BankSnapshot(opened.file, db, view)
            try:
                result, seqs = read(snapshot)
                return result, snapshot.get(bank, seqs)
            except (OSError, ArithmeticError, ValueError) as error:
                failure = error  # raised below, or it would be taken for an error of the file
        raise failure

    def lines_without_vectors(
        self, bank: str, model: str, dim: int, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        def find_pending(cache: BankCache, db: sqlite3.Connection) -> Seqs:
            seqs = cache.line_columns(db).filter_seqs(build_column_filter(db, Filter(role=tuple(roles)), None))
            return seqs[~is_member(seqs, cache.dense_index(db, model, dim).ids)]

        with self._bank(bank).snapshot(find_pending) as (db, pending):
            first = int(np.searchsorted(pending, after, "right"))
            return bank_rows.get_lines(db, pending[first : first + limit].tolist())

    def texts_with_codes(self, bank: str, model: str, scheme: str, seqs: Seqs) -> list[tuple[int, str, bytes | None]]:
        with self._bank(bank).file.read_once() as db:
            return token_codes.read_with_texts(db, model, scheme, seqs)

    def lines_without_tokens(
        self, bank: str, model: str, scheme: str, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        with self._bank(bank).file.read_transaction() as db:
            return bank_rows.get_lines(db, token_codes.find_missing(db, model, scheme, limit, after, roles))

    def buffer(self, bank: str, session: str) -> list[tuple[int, int]]:
        with self._bank(bank).file.read_once() as db:
            row = db.execute("SELECT spans FROM buffer WHERE session_id = ?", (session,)).fetchone()
        return [(int(first), int(last)) for first, last in json.loads(row[0])] if row else []

    def settings(self, bank: str) -> dict[str, JSONValue]:
        with self._bank(bank).file.read_once() as db:
            rows = db.execute("SELECT name, value FROM setting ORDER BY name").fetchall()
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
        allowed = {"kind": kinds or None, "unit_id": ids}
        # Conditions only for given values: otherwise SQLite uses no index.
        chosen = {column: json.dumps(list(values)) for column, values in allowed.items() if values is not None}
        condition = " AND ".join(["1", *(f"{column} IN (SELECT value FROM json_each(?))" for column in chosen)])
        condition += " AND valid_to IS NULL" if only_current else ""
        condition += "" if include_retracted else " AND retracted_at IS NULL"
        with self._bank(bank).file.read_once() as db:
            return units.read(db, condition, list(chosen.values()))

    def unit_version(self, bank: str, kind: str) -> UnitVersion:
        query = f"SELECT (SELECT created_at FROM bank), {shared_units.VERSION_COLUMNS} FROM unit WHERE kind = ?"
        with self._bank(bank).file.read_once() as db:
            return tuple(db.execute(f"{query} AND retracted_at IS NULL", (kind,)).fetchone())

    def unit_spans(self, bank: str, kind: str, *, retracted: bool = False) -> npt.NDArray[np.int64]:
        with self._bank(bank).file.read_once() as db:
            rows = db.execute(
                """SELECT unit_id, first_seq, last_seq FROM unit
                   WHERE (retracted_at IS NOT NULL) = ? AND kind = ? ORDER BY unit_id""",
                (retracted, kind),
            ).fetchall()
        return np.array(rows, np.int64).reshape(-1, 3)

    def unit_cosines(
        self, bank: str, model: str, query: Vector, kinds: Sequence[str], k: int | None = None
    ) -> UnitCosines:
        dim = query.shape[-1]
        with self._bank(bank).snapshot(lambda cache, db: cache.unit_vectors(db, model, dim)) as (db, cached):
            if cached is None:
                cached = UnitVectors.read(db, bank_rows.find_model(db, model, dim), dim, kinds)
        return cached.nearest(query, kinds, k)

    def units_without_vectors(self, bank: str, model: str, dim: int) -> list[Unit]:
        with self._bank(bank).file.read_transaction() as db:
            condition = """retracted_at IS NULL AND NOT EXISTS (SELECT 1 FROM unit_vector AS has
                WHERE has.model = ? AND has.kind = unit.kind AND has.unit_id = unit.unit_id)"""
            return units.read(db, condition, (bank_rows.find_model(db, model, dim),))

    def jobs(self, bank: str) -> list[ScribeJob]:
        with self._bank(bank).file.read_once() as db:
            rows = db.execute(
                f"SELECT {shared_units.JOB_COLUMNS} FROM work ORDER BY queued_at, kind, session_id, first_seq"
            ).fetchall()
        return list(map(shared_units.parse_job, rows))

    def stats(self, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
        opened = self._bank(bank)
        with opened.file.read_transaction() as db:
            counts = bank_stats.read_stats(db, bank, model, roles)
            return replace(counts, bytes=opened.file.size(), outdated=reanalysis.count_earlier(db))

    def copy_reader(self, bank: str) -> CopyReader:
        return copying.SQLiteCopyReader(self._bank(bank).file)

    def copy_file(self, bank: str, path: Path) -> None:
        """Copy a bank in use into a new file, and compare them. Raises BankDamaged and StoreUnavailable."""
        copying.copy_file(self._bank(bank).file, path)

    def put_file(self, bank: str, path: Path, replace: bool) -> bool:
        """Move a file that is not in use into the folder, as a bank.

        Args:
            bank: the bank.
            path: the file, on the same file system.
            replace: whether the bank may exist; it is then replaced.

        Returns:
            False, with nothing changed, if the bank exists and may not be replaced.
        """
        opened = self._bank(bank)
        is_moved = opened.file.put(path, replace)
        with FORK_GUARD, opened.lock:
            opened.cache.clear()
        return is_moved

    @contextmanager
    def hold(self, bank: str) -> Iterator[tuple[Store, Callable[[Path], bool]]]:
        """Let writers of a bank wait while the block runs.

        Yields:
            A store that reads the bank, and a function that moves a file into the place of the bank's.
        """
        opened = self._bank(bank)
        with opened.file.hold() as (db, put):
            held = copy(self)
            held._snapshot = BankSnapshot(opened.file, db, BankCache())
            yield held, put
        with FORK_GUARD, opened.lock:
            opened.cache.clear()

    def check(self, bank: str) -> list[str]:
        if self._bank(bank).file.is_empty:
            return ["the file has 0 bytes: it was truncated, or never completed. Restore a copy, or forget the bank"]
        with self._bank(bank).file.read_transaction() as db:
            problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            problems += [f"a row of {row[0]} refers to a missing row" for row in db.execute("PRAGMA foreign_key_check")]
            if db.execute("PRAGMA user_version").fetchone()[0] == ERASE_PENDING:
                problems.append(ERASURE_UNFINISHED)
            try:
                return problems or consistency.find_contradictions(db)
            except (TypeError, AttributeError, LookupError, ValueError, ArithmeticError) as error:
                return [f"its rows can't be read ({error}); export the lines into a new bank"]

    def close(self) -> None:
        with FORK_GUARD, self._lock:
            banks, self._open = list(self._open.values()), OrderedDict()
        for opened in banks:
            opened.file.close()


def _read_columns(cache: BankCache, db: sqlite3.Connection) -> LineColumns:
    return cache.line_columns(db)

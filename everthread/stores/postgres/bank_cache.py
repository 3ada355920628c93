"""Banks in memory: the columns of a bank's lines, and their vectors, or of a larger bank the codes of these.

Postgres takes a microsecond to return a row, so that the lines that a recall scores take longer than all the rest of
it. A bank is therefore kept from its second recall on, with codes in about a hundred bytes a line; a process that asks
once is faster without it.

Lines and vectors that were added are read with the first answers of each recall. Any other change (lines that are
retracted, forgotten or analysed again, vectors that are removed) gives the bank a new random number, `revision`, and
the bank is read again; a bank that is created again has another one, too. A server that has lost its last writes may
give the numbers of their lines to others: the number of the write of the last line, `batch`, shows that.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from everthread.common.fork_safety import register
from everthread.stores.arrays import ArrayPatch, is_member
from everthread.stores.base import LINE_DTYPE, ScoringRows
from everthread.stores.dense_index import DenseIndex, pad_codes, sign_codes, transpose_codes
from everthread.stores.line_columns import LineColumns
from everthread.stores.postgres.arrays import IS_AFTER, IS_IN, SeqArray, read_array, read_bytes
from everthread.stores.postgres.connections import Connection, Cursor
from everthread.stores.postgres.vector_index import SELECT_MODEL
from everthread.types import Seqs

MIN_LINES = 1_200  # a smaller bank is read whole by every recall
MAX_LINES = 300_000  # a larger bank takes more than half a second to read
MAX_VECTORS = 20_000  # up to this number of lines vectors are kept, in half precision: of 384 dimensions 768 bytes each
MAX_BYTES = 128 * 2**20  # of all banks of a database: 150,000 lines with vectors, or 1.2 million with codes
MAX_BANKS = 10_000  # in memory, or asked once
LATE_LINES = 64  # the newest lines without a vector, which may have been embedded since

Key = tuple[str, str, int]  # bank, model and dimension


def mark_revised(db: Connection, bank: str) -> None:
    """Record a change of the lines or vectors of a locked bank that is not an addition."""
    db.execute("UPDATE everthread.bank SET revision = %s WHERE bank_id = %s", (new_revision(), bank))


def new_revision() -> int:
    """Return a new value of the column `revision`."""
    return secrets.randbits(63)


@dataclass(frozen=True, slots=True, eq=False)
class CachedBank:
    """A bank as it was at one moment. Only the newest one may be added to.

    Attributes:
        last: the number of its last line; 0 for a bank of which nothing has been read.
        revision: the random number of its last change other than an addition.
        batch: the number of the write of its last line; -1 if that line is gone.
        embedded: the number of lines with a vector, as the bank counts them.
        columns: the columns of its lines.
        codes: the codes of its vectors; of a bank of up to MAX_VECTORS lines the vectors as well.
    """

    last: int
    revision: int
    batch: int
    embedded: int
    columns: LineColumns
    codes: DenseIndex

    @classmethod
    def unread(cls, dim: int, last: int) -> CachedBank:
        """Return a bank with this last number, of which nothing has been read."""
        data = np.empty((0, dim), np.float16) if last <= MAX_VECTORS else None
        codes = replace(DenseIndex.empty(dim), data=data)
        return cls(0, 0, -1, 0, LineColumns.from_lines(np.empty(0, LINE_DTYPE)), codes)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        columns, codes = self.columns, self.codes
        arrays = columns.seqs, columns.lines, columns.sessions, codes.ids, codes.codes, codes.data
        return sum(array.nbytes for array in arrays if array is not None)

    @property
    def newest_unembedded(self) -> Seqs:
        """The newest lines without a vector, ascending."""
        return self.columns.seqs[~is_member(self.columns.seqs, self.codes.ids)][-LATE_LINES:]

    def scoring_rows(self, seqs: Seqs, within: Seqs | None) -> ScoringRows:
        """Return the columns of lines (ascending) and of their sessions; see `stores.base.TermIndex.scoring_rows`."""
        lines = self.columns.select(seqs if within is None else seqs[is_member(seqs, within)])
        numbers = np.unique(lines["session"]).astype(np.int64)
        if within is not None:
            return ScoringRows(lines, self.columns.session_rows(numbers, within))
        return ScoringRows(lines, self.columns.sessions[numbers])

    def add(self, changes: _Changes) -> CachedBank:
        """Return the bank with what was added to it."""
        if changes.last == self.last and not len(changes.codes.ids):
            return self
        count = len(self.columns.seqs)
        columns = self.columns.apply(ArrayPatch([(count, count, len(changes.lines))]), changes.lines)
        columns.put_sessions(changes.sessions[changes.sessions[:, 0] < len(columns.sessions)])
        return CachedBank(
            changes.last,
            changes.revision,
            changes.batch,
            changes.embedded,
            columns,
            _merge(self.codes, changes.codes, has_vectors=changes.last <= MAX_VECTORS),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Changes:
    """The additions to a bank since it was read as a `CachedBank`."""

    last: int
    revision: int
    known_batch: int  # of the last line of the CachedBank
    batch: int  # of the last line
    embedded: int
    lines: npt.NDArray[np.void]  # (N,) of LINE_DTYPE
    sessions: npt.NDArray[np.int64]  # (S, 4) number, first seq, last seq and terms of the sessions of these lines
    codes: DenseIndex
    is_whole: bool  # whether all vectors were read

    def are_only_additions_to(self, known: CachedBank) -> bool:
        """Return whether a bank has no other changes since it was read."""
        if not known.last:
            return True
        if self.last < known.last:  # a smaller bank has its name, or the server has lost lines
            return False
        added = len(np.unique(self.codes.ids))
        return (self.revision, self.known_batch, self.embedded) == (known.revision, known.batch, known.embedded + added)


def send_changes(db: Connection, key: Key, known: CachedBank) -> Cursor:
    """Send the query of what was added to a bank since it was read."""
    bank, model, dim = key
    of_bank = "WHERE bank_id = %s"
    code = "halfvec_send(data)"
    if known.codes.data is None:
        code = f"bit_send(binary_quantize(data::halfvec({dim:d}))::bit({dim:d}))"
    most = _max_vectors(dim, known.codes.data is not None)
    coded = f"SELECT int8send(seq) || {code} AS code FROM everthread.vector {of_bank} AND model = {SELECT_MODEL}"
    codes = "SELECT string_agg(code, ''::bytea) FROM"
    return db.execute(
        f"""SELECT ARRAY[last_seq, revision,
                coalesce((SELECT batch FROM everthread.line {of_bank} AND seq = %s), -1),
                coalesce((SELECT batch FROM everthread.line {of_bank} AND seq = bank.last_seq), -1),
                coalesce((SELECT lines FROM everthread.model {of_bank} AND name = %s AND dim = %s), 0)],
            (SELECT string_agg(gist, ''::bytea) FROM everthread.line {of_bank} AND seq {IS_AFTER} AND gist IS NOT NULL),
            (SELECT array_agg(ARRAY[number, first_seq, last_seq, terms]) FROM everthread.session {of_bank}
                AND number = ANY(ARRAY(SELECT session FROM everthread.line {of_bank} AND seq {IS_AFTER}))),
            ({codes} ({coded} AND seq {IS_AFTER} LIMIT {most:d}) AS added),
            ({codes} ({coded} AND seq {IS_IN} LIMIT {most:d}) AS late)
            FROM everthread.bank {of_bank}""",
        (
            *(bank, known.last, bank, bank, model, dim),
            *(bank, known.last, bank, bank, known.last),
            *(bank, bank, model, dim, known.last),
            *(bank, bank, model, dim, SeqArray(known.newest_unembedded), bank),
        ),
        binary=True,
    )


def _max_vectors(dim: int, has_vectors: bool) -> int:
    """Return the number of vectors read at most; a bank with that number is too large to keep."""
    return MAX_BYTES // (8 + dim // 8 + (2 * dim if has_vectors else 0)) + 1


def _parse_changes(sent: Cursor, dim: int, has_vectors: bool) -> _Changes:
    last, revision, known_batch, batch, embedded = read_array(sent, 0, "i8").tolist()
    lines = np.frombuffer(read_bytes(sent, 1) or b"", LINE_DTYPE)
    coded = (">i2", (dim,)) if has_vectors else ("u1", (-(-dim // 8),))
    kind = np.dtype([("seq", ">i8"), ("size", ">i4"), ("data", *coded)])
    read = np.frombuffer(b"".join(read_bytes(sent, column) or b"" for column in (3, 4)), kind)
    if (np.diff(read["seq"]) < 0).any():
        read = np.take(read, np.argsort(read["seq"], kind="stable"))
    halves = read["data"].astype("<i2") if has_vectors else None  # half precision as whole numbers of the same sign
    codes = pad_codes(read["data"]) if halves is None else sign_codes(halves)
    data = None if halves is None else halves.view("<f2")
    return _Changes(
        *(last, revision, known_batch, batch, embedded),
        lines=np.take(lines, np.argsort(lines["seq"])),
        sessions=read_array(sent, 2, "i8").reshape(-1, 4),
        codes=DenseIndex(read["seq"].astype(np.int64), transpose_codes(codes), data),
        is_whole=len(read) < _max_vectors(dim, has_vectors),
    )


def _merge(old: DenseIndex, added: DenseIndex, has_vectors: bool) -> DenseIndex:
    """Merge two sets of codes, of different lines, with or without their vectors."""
    if not has_vectors:
        old = replace(old, data=None)
    if not len(old.ids) or not len(added.ids) or added.ids[0] > old.ids[-1]:
        return old.apply(ArrayPatch([(len(old.ids), len(old.ids), len(added.ids))]), added)
    ids = np.concatenate([old.ids, added.ids])
    order = np.argsort(ids, kind="stable")
    codes = np.concatenate([old.codes, added.codes], axis=1)
    has_both = old.data is not None and added.data is not None
    data = np.take(np.concatenate([old.data, added.data]), order, axis=0) if has_both else None
    return DenseIndex(ids[order], np.take(codes, order, axis=1), data)


class BankCache:
    """The banks that were asked last. Thread-safe."""

    def __init__(self) -> None:
        self.renew()
        register(self)

    def renew(self) -> None:
        """Drop all banks."""
        self._lock = threading.Lock()
        self._banks: OrderedDict[Key, CachedBank | None] = OrderedDict()  # None: too large
        self._bytes = 0

    def get(self, key: Key) -> CachedBank | None:
        """Return a bank that was asked before: as it was read last, or unread. None for others, and refused ones."""
        with self._lock:
            if key in self._banks:
                self._banks.move_to_end(key)
            return self._banks.get(key)

    def note(self, key: Key, last: int) -> None:
        """Note that a bank, with this last number, was asked; the next recall will read it."""
        with self._lock:
            if key not in self._banks:
                self._put_unread(key, last)

    def update(self, key: Key, known: CachedBank, sent: Cursor) -> CachedBank | None:
        """Bring a bank up to date.

        Args:
            key: the bank.
            known: the bank as `get` returned it.
            sent: its changes since.

        Returns:
            The bank at the moment of the transaction; None if it can't be known without reading it again, or is too
            large.
        """
        changes = _parse_changes(sent, key[2], known.codes.data is not None)
        with self._lock:
            if self._banks.get(key) is not known:
                return None  # another thread has added to it
            if not changes.are_only_additions_to(known):
                self._remove(key)
                self._put_unread(key, changes.last)
                return None
            current = known.add(changes) if changes.is_whole else None
            if current is not known:
                self._put(key, current)
            return self._banks[key]

    def refuse(self, key: Key) -> None:
        """Keep a bank no longer, nor later."""
        with self._lock:
            self._put(key, None)

    def drop(self, bank: str) -> None:
        """Drop what is known of a bank."""
        with self._lock:
            for key in [key for key in self._banks if key[0] == bank]:
                self._remove(key)

    def _put_unread(self, key: Key, last: int) -> None:
        if MIN_LINES < last <= MAX_LINES:
            self._put(key, CachedBank.unread(key[2], last))

    def _put(self, key: Key, bank: CachedBank | None) -> None:
        """Keep a bank, or only its key if it is too large, and drop those that were asked longest ago."""
        self._remove(key)
        if bank is not None and bank.nbytes > MAX_BYTES:
            bank = None
        self._banks[key] = bank
        self._bytes += 0 if bank is None else bank.nbytes
        while self._bytes > MAX_BYTES or len(self._banks) > MAX_BANKS:
            self._remove(next(iter(self._banks)))

    def _remove(self, key: Key) -> None:
        bank = self._banks.pop(key, None)
        self._bytes -= 0 if bank is None else bank.nbytes

"""SQLite's rows of lines, sessions, speakers and vectors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from everthread.errors import StoreUnavailable
from everthread.stores import dense_index
from everthread.stores.arrays import distinct_small, is_member, repeat_indexes
from everthread.stores.base import CorpusStats, ScoringRows, Speaker
from everthread.stores.errors import unknown_parent_error
from everthread.stores.line_columns import LineColumns
from everthread.stores.shared_rows import (
    LINE_COLUMNS,
    is_near,
    new_session_name,
    parse_line,
)
from everthread.stores.sqlite import column_blocks
from everthread.stores.sqlite.filters import LIVE
from everthread.types import Line, Seqs, Vectors

MAX_MODEL_NUMBER = (1 << 19) - 1  # above it the ids of vectors would not fit in 63 bits

LINE_FROM = """FROM line JOIN session ON session.number = line.session JOIN speaker ON speaker.number = line.speaker"""


def get_lines(db: sqlite3.Connection, seqs: Sequence[int], condition: str = LIVE) -> list[Line]:
    """Return these lines, ascending by seq, if a condition is true of them: by default those that are not retracted
    and have words."""
    rows = db.execute(
        f"""SELECT {LINE_COLUMNS} {LINE_FROM} WHERE {condition}
            AND line.seq IN (SELECT value FROM json_each(?)) ORDER BY line.seq""",
        (json.dumps([int(seq) for seq in seqs]),),
    )
    return [parse_line(row) for row in rows.fetchall()]


def get_by_key(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Line]:
    """Return the lines under these keys, retracted ones too."""
    query = f"SELECT {LINE_COLUMNS} {LINE_FROM} WHERE line.key IN (SELECT value FROM json_each(?))"
    lines = map(parse_line, db.execute(query, (json.dumps(keys),)).fetchall())
    return {line.key: line for line in lines if line.key is not None}


def choose_session(db: sqlite3.Connection, at: int) -> str:
    """Return the session of a line that names none: the current one, or a new one if that has ended or is long past.

    The current session is that of the newest line; if that line was said at another time, such as an old one that is
    added to a live conversation, it is the session in which something was said last.
    """
    newest = "number = (SELECT session FROM line ORDER BY seq DESC LIMIT 1)"
    for choice in (f"WHERE {newest}", "ORDER BY last_at DESC, last_seq DESC LIMIT 1"):
        row = db.execute(f"SELECT session_id, last_at, ended_at FROM session {choice}").fetchone()
        if row is not None and is_near(at, row[1]):
            if row[2] is None:
                return str(row[0])
            break

    def find_names(name: str) -> set[str]:
        rows = db.execute("SELECT session_id FROM session WHERE session_id GLOB ?", (f"{name}*",))
        return {str(session) for (session,) in rows}

    return new_session_name(at, find_names)


def resolve_parent(db: sqlite3.Connection, named: int | str | None, is_copy: bool) -> int | None:
    """Return the seq of a parent, given by seq or key.

    Raises:
        BadLine: there is no such line. The parent of a line copied from another store may have been forgotten.
    """
    if named is None or (is_copy and isinstance(named, int)):
        return named
    column = "key" if isinstance(named, str) else "seq"
    row = db.execute(f"SELECT seq FROM line WHERE {column} = ?", (named,)).fetchone()
    if row is None:
        raise unknown_parent_error(named)
    return int(row[0])


def get_or_create_speaker(db: sqlite3.Connection, name: str, role: str) -> int:
    """Return the number of a speaker in a role, creating the row for a new one."""
    row = db.execute("SELECT number FROM speaker WHERE name = ? AND role = ?", (name, role)).fetchone()
    if row is None:
        row = db.execute("INSERT INTO speaker (name, role) VALUES (?, ?) RETURNING number", (name, role)).fetchone()
    return int(row[0])


def scoring_rows(db: sqlite3.Connection, columns: LineColumns, seqs: Seqs, within: Seqs | None) -> ScoringRows:
    """Return the columns of lines (ascending) and of their sessions; see `stores.base.TermIndex`."""
    lines = columns.select(seqs if within is None else seqs[is_member(seqs, within)])
    numbers = distinct_small(lines["session"])
    if within is not None:
        return ScoringRows(lines, columns.session_rows(numbers, within))
    if len(unread := numbers[columns.sessions[numbers, 0] == 0]):
        columns.put_sessions(_read_sessions(db, unread))
    return ScoringRows(lines, columns.sessions[numbers])


def _read_sessions(db: sqlite3.Connection, numbers: Seqs) -> npt.NDArray[np.int64]:
    """Read (S, 4) the number, first seq, last seq and terms of sessions."""
    rows = db.execute(
        "SELECT number, first_seq, last_seq, terms FROM json_each(?) CROSS JOIN session ON number = value",
        (json.dumps(numbers.tolist()),),
    ).fetchall()
    return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 4)


def corpus_stats(db: sqlite3.Connection) -> CorpusStats:
    """Return the statistics of the bank."""
    lines, terms, head_terms, sessions, last_seq, retracted = db.execute(
        "SELECT lines, terms, head_terms, (SELECT count(*) FROM session), last_seq, retracted FROM bank"
    ).fetchone()
    return CorpusStats(lines, terms, head_terms, sessions, last_seq, _read_speakers(db), retracted)


def corpus_within(db: sqlite3.Connection, columns: LineColumns, within: Seqs) -> CorpusStats:
    """Return the statistics of these lines (ascending) alone."""
    last = db.execute("SELECT last_seq FROM bank").fetchone()[0]
    lines = columns.select(within)
    speaker_numbers = set(distinct_small(lines["speaker"]).tolist())
    speakers = tuple(speaker for speaker in _read_speakers(db) if speaker.number in speaker_numbers)
    return CorpusStats(len(lines), *_sum_terms(lines), len(distinct_small(lines["session"])), last, speakers)


def _read_speakers(db: sqlite3.Connection) -> tuple[Speaker, ...]:
    return tuple(Speaker(*row) for row in db.execute("SELECT number, name, role FROM speaker ORDER BY number"))


def _sum_terms(lines: npt.NDArray[np.void]) -> tuple[int, int]:
    """Return the number of terms in lines and in their heads."""
    return int(lines["length"].sum()), int(lines["head_length"].sum())


def all_seqs(db: sqlite3.Connection) -> list[int]:
    """Return the numbers of all lines."""
    return [int(seq) for (seq,) in db.execute("SELECT seq FROM line ORDER BY seq")]


def put_vectors(db: sqlite3.Connection, model: str, by_seq: Mapping[int, Vectors], *, are_new: bool = False) -> None:
    """Store vectors of lines, replacing those of the same model.

    Args:
        db: a connection in a transaction.
        model: the name of the embedder.
        by_seq: seq -> (pieces, D).
        are_new: the lines have no vectors yet, so none are deleted.
    """
    if not by_seq:
        return
    dim = next(iter(by_seq.values())).shape[1]
    number = get_or_create_model(db, model, dim)
    chosen = sorted(by_seq)
    if not are_new:
        remove_vectors(db, chosen, model)
    seqs = np.repeat(chosen, [len(by_seq[seq]) for seq in chosen])
    data = np.concatenate([by_seq[seq] for seq in chosen])  # (V, dim)
    halves = (row.tobytes() for row in data.astype(np.float16))
    db.executemany("INSERT INTO vector VALUES (?, ?)", zip(vector_ids(number, seqs).tolist(), halves, strict=True))
    codes = np.empty(len(data), column_blocks.code_dtype(dim))
    codes["seq"], codes["code"] = seqs, dense_index.sign_codes(data)
    column_blocks.put(db, number, codes)
    db.execute("UPDATE model SET lines = lines + ? WHERE number = ?", (len(chosen), number))


def find_model(db: sqlite3.Connection, name: str, dim: int) -> int | None:
    """Return the number of a model; None if the bank has no vectors of it."""
    row = db.execute("SELECT number FROM model WHERE name = ? AND dim = ?", (name, dim)).fetchone()
    return int(row[0]) if row else None


def get_or_create_model(db: sqlite3.Connection, name: str, dim: int) -> int:
    """Return the number of a model, creating the row for a new one.

    Selects first, because an upsert would consume an AUTOINCREMENT number on every call.

    Raises:
        StoreUnavailable: the numbers are used up.
    """
    number = find_model(db, name, dim)
    if number is None:
        row = db.execute("INSERT INTO model (name, dim) VALUES (?, ?) RETURNING number", (name, dim)).fetchone()
        number = int(row[0])
    if number > MAX_MODEL_NUMBER:
        raise StoreUnavailable(
            f"the bank has had too many models ({name} would be number {number:,}, at most {MAX_MODEL_NUMBER:,} are "
            "allowed); export its lines and import them into a new bank"
        )
    return number


def vector_ids(model: int, seqs: Seqs) -> Seqs:
    """Compute (V,) the ids of the vectors of lines (ascending, one seq per piece). They sort like the lines."""
    return first_vector_id(model, seqs) + repeat_indexes(seqs)


def first_vector_id(model: int, seqs: Seqs) -> Seqs:
    """Compute the id of the first piece of each line."""
    return (model << 44) + (seqs << 12)  # 12 bits for 4,096 pieces, 32 bits for the line


def remove_vectors(db: sqlite3.Connection, seqs: Sequence[int], model: str | None = None) -> None:
    """Remove the vectors of lines: of every model, or of the models with one name."""
    numbers = db.execute("SELECT number, dim FROM model WHERE name IS coalesce(?, name)", (model,)).fetchall()
    for number, dim in numbers:
        removed = column_blocks.remove(db, number, column_blocks.code_dtype(dim), np.array(seqs, np.int64))
        starts = first_vector_id(number, removed).tolist()
        db.executemany("DELETE FROM vector WHERE id BETWEEN ? AND ?", [(start, start + 4095) for start in starts])
        db.execute("UPDATE model SET lines = lines - ? WHERE number = ?", (len(removed), number))


def drop_model(db: sqlite3.Connection, number: int) -> int:
    """Remove a model and its vectors; return the number of vectors."""
    ids = number << 44, (number + 1 << 44) - 1
    count = db.execute("DELETE FROM vector WHERE id BETWEEN ? AND ?", ids).rowcount
    db.execute("DELETE FROM block WHERE of = ?", (number,))
    db.execute("DELETE FROM model WHERE number = ?", (number,))
    return int(count)


def read_vectors(db: sqlite3.Connection, model: int, dim: int, seqs: Seqs) -> tuple[Seqs, npt.NDArray[np.float16]]:
    """Read (V,) the seqs and (V, dim) the vectors of lines (ascending, one seq per piece) that have vectors."""
    if not len(seqs):
        return seqs, np.empty((0, dim), np.float16)
    wanted_ids = vector_ids(model, seqs)
    if 2 * len(wanted_ids) > int(wanted_ids[-1] - wanted_ids[0] >> 12):  # most of a range
        rows = db.execute(
            "SELECT id, data FROM vector WHERE id BETWEEN ? AND ?", (int(wanted_ids[0]), int(wanted_ids[-1]))
        )
    else:
        rows = db.execute(
            "SELECT id, data FROM vector WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(wanted_ids.tolist()),),
        )
    numbers: list[int] = []
    halves = bytearray()
    for number, row in rows:
        numbers.append(number)
        halves += row
    stored_ids, data = np.array(numbers, np.int64), np.frombuffer(halves, np.float16).reshape(-1, dim)
    if len(stored_ids) > len(wanted_ids):
        is_wanted = np.isin(stored_ids, wanted_ids)
        stored_ids, data = stored_ids[is_wanted], data[is_wanted]
    return (stored_ids >> 12) - (model << 32), data

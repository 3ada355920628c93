"""Postgres rows of a bank, its lines and vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pgvector import HalfVector

from everthread.stores.base import CorpusStats, Speaker
from everthread.stores.errors import bank_too_new_error
from everthread.stores.postgres import bank_cache, moved_rows, vector_index
from everthread.stores.postgres.arrays import IS_IN, SeqArray
from everthread.stores.postgres.bulk_insert import insert
from everthread.stores.postgres.connections import Connection, Cursor
from everthread.stores.shared_rows import (
    GLOSSED_MODEL,
    GLOSSED_SINCE,
    LINE_COLUMNS,
    parse_line,
)
from everthread.text.analyzer import ANALYZER_VERSION
from everthread.text.gloss import is_glossed
from everthread.types import Line, Role, Seqs, Vectors

LINE_JOINS = """JOIN everthread.session ON session.bank_id = line.bank_id AND session.number = line.session
    JOIN everthread.speaker ON speaker.bank_id = line.bank_id AND speaker.number = line.speaker"""
LINE_FROM = f"FROM everthread.line {LINE_JOINS}"

# Lines by seq, each looked up by the primary key. With "seq = ANY", Postgres reads the whole of a bank that is much
# larger than the others, because it plans for a bank of average size.
LINES_BY_SEQ = """unnest(%s::bigint[]) AS wanted (seq) CROSS JOIN LATERAL
    (SELECT * FROM everthread.line WHERE bank_id = %s AND seq = wanted.seq LIMIT 1) AS line"""

# The condition that a line's key is in a list; its values are the bank and the keys. Written so that each key is looked
# up in the index. Postgres has no statistics of keys here, as they would outlive forgotten lines; without this form it
# would read the whole bank for a thousand keys.
HAS_KEY = """line.seq = ANY(ARRAY(SELECT (SELECT seq FROM everthread.line AS keyed
    WHERE keyed.bank_id = %s AND keyed.key = wanted) FROM unnest(%s::text[]) AS wanted))"""

# The last line that an earlier analyser analysed; 0 for none. Before the first write of this version these are all.
EARLIER_LAST = f"CASE WHEN analyser < {ANALYZER_VERSION} THEN last_seq ELSE earlier_last END"

# Locks by writing: Citus may move a shard during a transaction that has only read from it, even with FOR UPDATE.
_LOCK_BANK = "UPDATE everthread.bank SET last_seq = last_seq WHERE bank_id = %s RETURNING elsewhere,"


def _lock(db: Connection, bank: str, columns: str) -> tuple[int, ...] | None:
    """Lock a bank; return columns of its row, if it exists. Raises BankMoved."""
    row = db.execute(f"{_LOCK_BANK} {columns}", (bank,)).fetchone()
    if row is None:
        return None
    moved_rows.check_here(bank, "this database", row[0])
    return tuple(map(int, row[1:]))


def lock_existing(db: Connection, bank: str) -> int | None:
    """Lock a bank until the transaction ends, without creating it.

    Returns:
        The analyser version of its postings; None if the bank does not exist.
    """
    row = _lock(db, bank, "analyser")
    return None if row is None else row[0]


def lock_bank(db: Connection, bank: str, at: int) -> tuple[int, int, int, int]:
    """Lock a bank until the transaction ends; create it if necessary, and record which lines an earlier analyser
    analysed.

    Returns:
        Its last seq, and the number of its sessions, speakers and models.

    Raises:
        BankTooNew: a later analyser wrote its postings.
    """
    while (row := _lock(db, bank, "last_seq, sessions, speakers, models, analyser")) is None:
        # In a loop, because another client may forget the bank as soon as it is created.
        create_bank(db, bank, at)
    last_seq, sessions, speakers, models, analyser = row
    if analyser != ANALYZER_VERSION:
        change_analyser(db, bank, analyser)
    return last_seq, sessions, speakers, models


def lock_if_exists(db: Connection, bank: str) -> bool:
    """Lock a bank as `lock_bank` does, without creating it; return whether it exists."""
    analyser = lock_existing(db, bank)
    if analyser is not None and analyser != ANALYZER_VERSION:
        change_analyser(db, bank, analyser)
    return analyser is not None


def create_bank(db: Connection, bank: str, at: int) -> bool:
    """Create the bank unless it exists; return whether it did not."""
    cursor = db.execute(
        """INSERT INTO everthread.bank (bank_id, created_at, analyser, revision) VALUES (%s, %s, %s, %s)
           ON CONFLICT DO NOTHING""",
        (bank, at, ANALYZER_VERSION, bank_cache.new_revision()),
    )
    return cursor.rowcount == 1


def read_lines(db: Connection, bank: str, condition: str, values: Sequence[object] = (), end: str = "") -> list[Line]:
    """Return the lines that meet an SQL condition, ascending by seq."""
    query = f"SELECT {LINE_COLUMNS} {LINE_FROM} WHERE line.bank_id = %s AND {condition} ORDER BY line.seq {end}"
    return [parse_line(row) for row in db.execute(query, (bank, *values))]


def lines_without_vectors(
    db: Connection, bank: str, model: str, dim: int, limit: int, after: int, roles: Collection[Role]
) -> list[Line]:
    """Return lines of these roles after the number `after` without a vector of a model, ascending by seq."""
    condition = f"""line.gist IS NOT NULL AND line.seq > %s AND speaker.role = ANY(%s) AND NOT EXISTS (
        SELECT 1 FROM everthread.vector WHERE vector.bank_id = line.bank_id AND vector.seq = line.seq
        AND vector.model = {vector_index.SELECT_MODEL})"""
    return read_lines(db, bank, condition, (after, list(roles), bank, model, dim), f"LIMIT {limit:d}")


def get_lines(db: Connection, bank: str, seqs: SeqArray, is_wanted: str = "line.gist IS NOT NULL") -> list[Line]:
    """Return the lines with these seqs that meet a condition: neither retracted nor wordless."""
    return parse_lines(send_get_lines(db, bank, seqs, is_wanted))


def send_get_lines(db: Connection, bank: str, seqs: SeqArray, is_wanted: str = "line.gist IS NOT NULL") -> Cursor:
    """Send the query of `get_lines`."""
    query = f"""SELECT {LINE_COLUMNS} FROM {LINES_BY_SEQ} {LINE_JOINS}
        WHERE line.bank_id = %s AND {is_wanted} ORDER BY line.seq"""
    return db.execute(query, (seqs, bank, bank))


def parse_lines(rows: Cursor) -> list[Line]:
    """Return the lines of a query of LINE_COLUMNS."""
    return list(map(parse_line, rows.fetchall()))


def get_texts(db: Connection, bank: str, seqs: Seqs) -> list[tuple[int, str]]:
    """Return the seqs and texts of those of these lines (ascending) that are neither retracted nor wordless."""
    query = f"SELECT seq, text FROM everthread.line WHERE bank_id = %s AND gist IS NOT NULL AND seq {IS_IN}"
    return db.execute(query, (bank, SeqArray(seqs)), binary=True).fetchall()


# ----------------------------------------------------------------------- vectors


@dataclass(frozen=True, slots=True)
class Model:
    """A model of which a bank has vectors.

    Attributes:
        number: its number in the bank.
        dim: its dimension.
        lines: the number of lines with a vector.
        has_index: whether there is an index of their codes.
    """

    number: int
    dim: int
    lines: int
    has_index: bool


def get_or_create_model(db: Connection, bank: str, name: str, vectors: Mapping[int, Vectors], count: int) -> Model:
    """Return the model of these vectors, creating its row if it is new; the bank has numbered `count` models."""
    dim = next(iter(vectors.values())).shape[1]
    row = db.execute(
        "SELECT number, dim, lines, large FROM everthread.model WHERE bank_id = %s AND name = %s AND dim = %s",
        (bank, name, dim),
    ).fetchone()
    if row is not None:
        return Model(*row)
    db.execute("UPDATE everthread.bank SET models = models + 1 WHERE bank_id = %s", (bank,))
    insert(db, bank, "model (bank_id, number, name, dim)", ("int", "text", "int"), [(count + 1, name, dim)])
    return Model(count + 1, dim, 0, False)


def put_vectors(db: Connection, bank: str, model: Model, vectors: Mapping[int, Vectors]) -> Model:
    """Store the vectors of lines that have none of this model; return the updated model."""
    rows = [
        (model.number, seq, ordinal, HalfVector(row))
        for seq in sorted(vectors)
        for ordinal, row in enumerate(vectors[seq])
    ]
    insert(db, bank, "vector (bank_id, model, seq, ordinal, data)", ("int", "bigint", "int", "halfvec"), rows)
    if model.has_index:
        vector_index.put(db, bank, model.number, model.dim, sorted(vectors))
    db.execute(
        "UPDATE everthread.model SET lines = lines + %s WHERE bank_id = %s AND number = %s",
        (len(vectors), bank, model.number),
    )
    return replace(model, lines=model.lines + len(vectors))


# -------------------------------------------------------------------- the whole bank


def corpus_stats(db: Connection, bank: str, condition: str, values: Sequence[object]) -> CorpusStats | None:
    """Return the statistics of the bank, or of its lines that meet a condition; None if there is no bank."""
    whole = send_corpus_stats(db, bank)
    counted = (
        db.execute(
            f"""SELECT count(*), coalesce(sum(length), 0)::bigint, coalesce(sum(head_length), 0)::bigint,
                count(DISTINCT session), array_agg(DISTINCT speaker) FROM everthread.line
                WHERE bank_id = %s AND gist IS NOT NULL {condition}""",
            (bank, *values),
        )
        if condition
        else None
    )
    if (corpus := parse_corpus_stats(whole)) is None or counted is None:
        return corpus
    lines, terms, head_terms, sessions, numbers = counted.fetchone() or (0, 0, 0, 0, None)
    speakers = tuple(speaker for speaker in corpus.speakers if speaker.number in (numbers or ()))
    return CorpusStats(lines, terms, head_terms, sessions, corpus.last_seq, speakers)


def send_corpus_stats(db: Connection, bank: str) -> Cursor:
    """Send the query of the statistics of the bank, with a row for each speaker."""
    return db.execute(
        """SELECT lines, terms, head_terms, (SELECT count(*) FROM everthread.session WHERE bank_id = %s), last_seq,
           retracted, number, name, role FROM everthread.bank LEFT JOIN everthread.speaker USING (bank_id)
           WHERE bank_id = %s ORDER BY number""",
        (bank, bank),
    )


def parse_corpus_stats(sent: Cursor) -> CorpusStats | None:
    """Return the statistics of the bank; None if there is no bank."""
    if not (found := sent.fetchall()):
        return None
    lines, terms, head_terms, sessions, last_seq, retracted = found[0][:6]
    speakers = tuple(Speaker(*row[6:]) for row in found if row[6] is not None)
    return CorpusStats(lines, terms, head_terms, sessions, last_seq, speakers, retracted)


def remove_vectors(db: Connection, bank: str, seqs: Sequence[int], model: str | None = None) -> None:
    """Remove the vectors of lines: of every model, or of the models with one name."""
    vector_index.remove(db, bank, vector_index.indexed_models(db, bank, model), seqs)
    reduced = db.execute(
        """WITH gone AS (DELETE FROM everthread.vector WHERE bank_id = %s AND seq = ANY(%s) AND model IN
               (SELECT number FROM everthread.model WHERE bank_id = %s AND name = coalesce(%s::text, name))
               RETURNING model, seq),
           counted AS (SELECT model, count(DISTINCT seq) AS lines FROM gone GROUP BY model)
           UPDATE everthread.model SET lines = model.lines - counted.lines FROM counted
           WHERE bank_id = %s AND number = counted.model""",
        (bank, list(seqs), bank, model, bank),
    )
    if reduced.rowcount:
        bank_cache.mark_revised(db, bank)


# ---------------------------------------------------------------------- the analyser


def analyser_version(db: Connection, bank: str) -> int | None:
    """Return the analyser version of the bank's postings; None if there is no bank."""
    row = db.execute("SELECT analyser FROM everthread.bank WHERE bank_id = %s", (bank,)).fetchone()
    return None if row is None else int(row[0])


def check_analyser(bank: str, analyser: int | None) -> None:
    """Raise BankTooNew if a later analyser wrote the postings of a bank."""
    if analyser is not None and analyser > ANALYZER_VERSION:
        raise bank_too_new_error(bank, f"text analyser {analyser}", ANALYZER_VERSION)


def change_analyser(db: Connection, bank: str, analyser: int) -> None:
    """Record that an earlier version, `analyser`, analysed the lines of a locked bank so far; see `reanalysis`.

    Raises:
        BankTooNew: it is a later version.
    """
    check_analyser(bank, analyser)
    if analyser < GLOSSED_SINCE:
        _drop_unglossed_vectors(db, bank)
    db.execute(
        """UPDATE everthread.bank SET analyser = %s, earlier_last = last_seq,
           earlier_analyser = CASE WHEN earlier_last > 0 THEN earlier_analyser ELSE analyser END WHERE bank_id = %s""",
        (ANALYZER_VERSION, bank),
    )


def _drop_unglossed_vectors(db: Connection, bank: str) -> None:
    """Drop the vectors of units whose texts are embedded by a gloss since."""
    units = db.execute("SELECT kind, unit_id, text FROM everthread.unit WHERE bank_id = %s", (bank,))
    glossed = [(kind, number) for kind, number, text in units if is_glossed(text)]
    db.execute(
        """DELETE FROM everthread.unit_vector USING unnest(%s::text[], %s::bigint[]) AS glossed (kind, unit_id)
           WHERE bank_id = %s AND unit_vector.kind = glossed.kind AND unit_vector.unit_id = glossed.unit_id AND model IN
               (SELECT number FROM everthread.model WHERE bank_id = %s AND name = %s)""",
        ([kind for kind, _ in glossed], [number for _, number in glossed], bank, bank, GLOSSED_MODEL),
    )

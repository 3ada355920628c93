"""Postgres's rows as our nouns, and the other way round: lines, words and vectors of one bank."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pgvector import HalfVector

from everthread.common.timestamps import moment
from everthread.stores.base import LINE_DTYPE, POSTING_DTYPE, CorpusStats, Speaker
from everthread.stores.postgres import vector_index
from everthread.stores.postgres.connections import Connection
from everthread.stores.postings import estimate_df as estimate_from_blocks
from everthread.stores.postings import group_by_term
from everthread.stores.problems import bank_too_new
from everthread.stores.shared_rows import line
from everthread.text.analyzer import ANALYSER, TermCounts, count_terms, without_quotes_json
from everthread.types import ROLES, Line, Role, Seqs, Stats, Vectors

SENT = 2**26  # bytes in the rows of one statement, or a little more: Postgres takes 1 GB, and the server works on few
BLOCK = 192  # records of a term in a row; a row of more than 2 KB would be moved out of its page
TERMS = 1000  # looked at in one statement, so that the blocks of a large bank's words need not lie in memory together
PAGE = 1000  # lines looked at together

COLUMNS = """line.seq, session.session_id, speaker.role, speaker.name, line.text, line.said_at, line.said_offset,
    line.parent_seq, line.metadata, line.key, line.retracted_at"""
JOINS = """JOIN everthread.session ON session.bank_id = line.bank_id AND session.number = line.session
    JOIN everthread.speaker ON speaker.bank_id = line.bank_id AND speaker.number = line.speaker"""
FROM = f"FROM everthread.line {JOINS}"

# Lines by their seqs, each looked up by the primary key. Told "seq = ANY", Postgres reads the whole of a bank that is
# much larger than the others, for it takes every bank for an average one.
EACH = """unnest(%s::bigint[]) AS wanted (seq) CROSS JOIN LATERAL
    (SELECT * FROM everthread.line WHERE bank_id = %s AND seq = wanted.seq LIMIT 1) AS line"""

# The condition that a line's key is one of these: values are the bank and the keys. Written so that each key is looked
# up in its index, however many there are: Postgres keeps no statistics of keys, for they would outlive what is
# forgotten, and else would guess that a thousand keys are worth reading the whole bank for.
KEYED = """line.seq = ANY(ARRAY(SELECT (SELECT seq FROM everthread.line AS keyed
    WHERE keyed.bank_id = %s AND keyed.key = wanted) FROM unnest(%s::text[]) AS wanted))"""

Terms = Mapping[str, Sequence[tuple[int, int, int]]]  # term -> (seq, tf, head), ascending
Blocks = Mapping[str, tuple[int, int, int]]  # term -> first, before and count of its last block


# By a write, for Citus moves a shard away from under a transaction that has only read of it, even if FOR UPDATE.
_HOLD = "UPDATE everthread.bank SET last_seq = last_seq WHERE bank_id = %s RETURNING"


def hold(db: Connection, bank: str) -> int | None:
    """The version of the analyser by which the bank's words were found; no one else writes to the bank until the
    transaction ends. None where there is no bank, and none is made."""
    row = db.execute(f"{_HOLD} analyser", (bank,)).fetchone()
    return None if row is None else int(row[0])


def lock(db: Connection, bank: str, at: int) -> tuple[int, int, int, int]:
    """The bank's last seq, and how many sessions, speakers and models it has numbered; no one else writes to the bank
    until the transaction ends. The bank is made when it is not there; its words are found anew where another analyser
    found them (see settle)."""
    query = f"{_HOLD} last_seq, sessions, speakers, models, analyser"
    while (row := db.execute(query, (bank,)).fetchone()) is None:  # it may be forgotten as soon as it is made
        make(db, bank, at)
    if row[4] != ANALYSER:
        ensure_analyzed(db, bank)
    return int(row[0]), int(row[1]), int(row[2]), int(row[3])


def make(db: Connection, bank: str, at: int) -> None:
    """Make the bank, unless it is there."""
    db.execute(
        "INSERT INTO everthread.bank (bank_id, created_at, analyser) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        (bank, at, ANALYSER),
    )


def insert(
    db: Connection, bank: str, table: str, kinds: Sequence[str], rows: Sequence[tuple[Any, ...]], end: str = ""
) -> None:
    """Insert rows of a bank, as one array a column: one statement, unless the rows are very large."""
    arrays = ", ".join(f"%s::{kind}[]" for kind in kinds)
    for some in batches(rows):
        columns = map(list, zip(*some, strict=True))
        db.execute(f"INSERT INTO everthread.{table} SELECT %s, * FROM unnest({arrays}) {end}", (bank, *columns))


def batches(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """The rows, as many at a time as one statement may bring."""
    start = size = 0
    for end, row in enumerate(rows):
        more = sum(map(size_of, row))
        if end > start and size + more > SENT:
            yield rows[start:end]
            start, size = end, 0
        size += more
    if rows:
        yield rows[start:]


def size_of(value: object) -> int:
    """Bytes that a value takes at most on its way, as it is written in an array."""
    if isinstance(value, str | bytes):
        return 4 * len(value)
    return 16 * value.dimensions() if isinstance(value, HalfVector) else 16


def lines(db: Connection, bank: str, condition: str, values: Sequence[object] = (), end: str = "") -> list[Line]:
    """The lines of a bank for which the condition holds, by seq."""
    query = f"SELECT {COLUMNS} {FROM} WHERE line.bank_id = %s AND {condition} ORDER BY line.seq {end}"
    return [line(row) for row in db.execute(query, (bank, *values))]


def lines_without_vectors(
    db: Connection, bank: str, model: str, dim: int, limit: int, after: int, roles: Collection[Role]
) -> list[Line]:
    """The lines of these roles that have no vector of a model, by seq, those after `after`."""
    condition = f"""line.retracted_at IS NULL AND line.seq > %s AND speaker.role = ANY(%s) AND NOT EXISTS (
        SELECT 1 FROM everthread.vector WHERE vector.bank_id = line.bank_id AND vector.model = {vector_index.MODEL}
        AND vector.seq = line.seq)"""
    return lines(db, bank, condition, (after, list(roles), bank, model, dim), f"LIMIT {limit:d}")


def by_seq(db: Connection, bank: str, seqs: str) -> list[Line]:
    """The lines with these seqs (an array as text) that are not retracted."""
    query = f"""SELECT {COLUMNS} FROM {EACH} {JOINS} WHERE line.bank_id = %s AND line.retracted_at IS NULL
        ORDER BY line.seq"""
    return [line(row) for row in db.execute(query, (seqs, bank, bank))]


# ------------------------------------------------------------------------- words


def last_blocks(db: Connection, bank: str, terms: Sequence[str]) -> Blocks:
    """The last block of each term that stands somewhere."""
    rows = db.execute(
        """SELECT term, last.first, last.before, last.count FROM unnest(%s::text[]) AS term, LATERAL (
           SELECT first, before, count FROM everthread.posting
           WHERE bank_id = %s AND posting.term = term.term ORDER BY first DESC LIMIT 1) AS last""",
        (list(terms), bank),
    )
    return {term: (first, before, count) for term, first, before, count in rows}


def put_words(db: Connection, bank: str, terms: Terms, last: Blocks) -> None:
    """Append records behind those that are there."""
    more: list[tuple[str, int, int, bytes]] = []
    full: list[tuple[str, int, int, int, bytes]] = []
    for term, found in terms.items():
        new = np.array(found, POSTING_DTYPE)
        first, before, count = last.get(term, (0, 0, BLOCK))
        room, new = new[: BLOCK - count], new[BLOCK - count :]
        if len(room):
            more.append((term, first, len(room), room.tobytes()))
        before += count if term in last else 0
        before += len(room)
        for at in range(0, len(new), BLOCK):
            block = new[at : at + BLOCK]
            full.append((term, int(block[0]["seq"]), before + at, len(block), block.tobytes()))
    for some in batches(more):
        db.execute(
            """UPDATE everthread.posting SET count = posting.count + more.count, data = posting.data || more.data
               FROM unnest(%s::text[], %s::bigint[], %s::int[], %s::bytea[]) AS more (term, first, count, data)
               WHERE bank_id = %s AND posting.term = more.term AND posting.first = more.first""",
            (*map(list, zip(*some, strict=True)), bank),
        )
    if full:
        kinds = ("text", "bigint", "int", "int", "bytea")
        insert(db, bank, "posting (bank_id, term, first, before, count, data)", kinds, full)


def remove_words(db: Connection, bank: str, terms: Mapping[str, Sequence[int]]) -> None:
    """Take the records of these seqs (ascending) out of each term's blocks; an empty block goes. However many lines and
    terms, a block is read and written once."""
    names = list(terms)
    for start in range(0, len(names), TERMS):
        _remove_words(db, bank, {term: terms[term] for term in names[start : start + TERMS]})


def _remove_words(db: Connection, bank: str, terms: Mapping[str, Sequence[int]]) -> None:
    left = {term: before + count for term, (_, before, count) in last_blocks(db, bank, list(terms)).items()}
    fewer: list[tuple[str, int, int, int, bytes]] = []
    empty: list[tuple[str, int]] = []
    for term, first, data in _blocks(db, bank, terms):
        found = np.frombuffer(data, POSTING_DTYPE)
        kept = found[~np.isin(found["seq"], terms[term])]
        left[term] -= len(found) - len(kept)
        if not len(kept):
            empty.append((term, first))
        elif len(kept) < len(found):
            fewer.append((term, first, int(kept[0]["seq"]), len(kept), kept.tobytes()))
    with db.pipeline():
        _each(db, _FEWER, ("text", "bigint", "bigint", "int", "bytea"), fewer, bank)
        _each(db, _EMPTY, ("text", "bigint"), empty, bank)
        _each(db, _BEFORE, ("text", "bigint"), list(left.items()), bank, bank)


def _blocks(db: Connection, bank: str, terms: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, int, bytes]]:
    """The blocks in which records of these seqs (ascending) may be: those from the first seq to the last."""
    rows = db.execute(
        """SELECT block.* FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS gone (term, low, high), LATERAL (
           SELECT term, first, data FROM everthread.posting
           WHERE bank_id = %s AND posting.term = gone.term AND first <= high AND first >= coalesce((
               SELECT first FROM everthread.posting AS earlier WHERE earlier.bank_id = %s AND earlier.term = gone.term
               AND earlier.first <= low ORDER BY first DESC LIMIT 1), 0) OFFSET 0) AS block""",
        (list(terms), [seqs[0] for seqs in terms.values()], [seqs[-1] for seqs in terms.values()], bank, bank),
        binary=True,
    )
    yield from rows


def _each(
    db: Connection, statement: str, kinds: Sequence[str], rows: Sequence[tuple[Any, ...]], *values: object
) -> None:
    """Do a statement for each of the rows at once."""
    if rows:
        arrays = ", ".join(f"%s::{kind}[]" for kind in kinds)
        db.execute(statement.format(f"unnest({arrays})"), (*map(list, zip(*rows, strict=True)), *values))


_FEWER = """UPDATE everthread.posting SET first = less.start, count = less.count, data = less.data
    FROM {} AS less (term, first, start, count, data)
    WHERE bank_id = %s AND posting.term = less.term AND posting.first = less.first"""
_EMPTY = """DELETE FROM everthread.posting USING {} AS gone (term, first)
    WHERE bank_id = %s AND posting.term = gone.term AND posting.first = gone.first"""
_BEFORE = """UPDATE everthread.posting SET before = total - count FROM {} AS now (term, total)
    WHERE bank_id = %s AND posting.term = now.term AND before <> total - count AND first = (
        SELECT first FROM everthread.posting AS last WHERE last.bank_id = %s AND last.term = now.term
        ORDER BY first DESC LIMIT 1)"""


def word_records(db: Connection, bank: str, terms: Sequence[str]) -> dict[str, Any]:
    """The records of these terms."""
    rows = db.execute(
        """SELECT term, (SELECT string_agg(data, ''::bytea ORDER BY first) FROM everthread.posting
           WHERE bank_id = %s AND posting.term = term.term) FROM unnest(%s::text[]) AS term""",
        (bank, list(terms)),
        binary=True,
    )
    return {term: np.frombuffer(data, POSTING_DTYPE) for term, data in rows if data is not None}


def estimate_df(db: Connection, bank: str, terms: Sequence[str], among: Seqs) -> dict[str, int]:
    """About in how many of these lines each term stands, without reading its records."""
    rows = db.execute(
        """SELECT term, firsts, counts FROM unnest(%s::text[]) AS term, LATERAL (
           SELECT array_agg(first ORDER BY first) AS firsts, array_agg(count ORDER BY first) AS counts
           FROM everthread.posting WHERE bank_id = %s AND posting.term = term.term) AS blocks""",
        (list(terms), bank),
        binary=True,
    )
    return {term: estimate_from_blocks(np.array(firsts), np.array(counts), among) for term, firsts, counts in rows}


# ----------------------------------------------------------------------- vectors


@dataclass(frozen=True, slots=True)
class Model:
    """A model of which a bank has vectors: its number in the bank, how many lines have one, and whether there is an
    index of their codes."""

    number: int
    dim: int
    lines: int
    large: bool


def model(db: Connection, bank: str, name: str, vectors: Mapping[int, Vectors], count: int) -> Model:
    """The model of these vectors, numbered now if it is new to the bank; `count` models have been numbered."""
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
    """Keep the vectors of lines that have none of this model; the model as it is then."""
    rows = [
        (model.number, seq, ordinal, HalfVector(row))
        for seq in sorted(vectors)
        for ordinal, row in enumerate(vectors[seq])
    ]
    insert(db, bank, "vector (bank_id, model, seq, ordinal, data)", ("int", "bigint", "int", "halfvec"), rows)
    if model.large:
        vector_index.put(db, bank, model.number, model.dim, sorted(vectors))
    db.execute(
        "UPDATE everthread.model SET lines = lines + %s WHERE bank_id = %s AND number = %s",
        (len(vectors), bank, model.number),
    )
    return replace(model, lines=model.lines + len(vectors))


# -------------------------------------------------------------------- the whole bank


def corpus(db: Connection, bank: str, only: str, values: Sequence[object]) -> CorpusStats | None:
    """The statistics of the bank, or of its lines for which a condition holds; None where there is no bank."""
    kept = db.execute(
        """SELECT lines, terms, head_terms, (SELECT count(*) FROM everthread.session WHERE bank_id = %s), last_seq,
           retracted FROM everthread.bank WHERE bank_id = %s""",
        (bank, bank),
    ).fetchone()
    rows = db.execute(
        "SELECT number, name, role FROM everthread.speaker WHERE bank_id = %s ORDER BY number", (bank,)
    ).fetchall()
    speakers = [Speaker(*row) for row in rows]
    if kept is None:
        return None
    lines, terms, head_terms, sessions, last_seq, retracted = kept
    if only:
        counted = db.execute(
            f"""SELECT count(*), coalesce(sum(length), 0)::bigint, coalesce(sum(head_length), 0)::bigint,
                count(DISTINCT session), array_agg(DISTINCT speaker) FROM everthread.line
                WHERE bank_id = %s AND retracted_at IS NULL {only}""",
            (bank, *values),
        ).fetchone()
        lines, terms, head_terms, sessions, speaking = counted or (0, 0, 0, 0, None)
        retracted = 0
        speakers = [speaker for speaker in speakers if speaker.number in (speaking or ())]
    return CorpusStats(lines, terms, head_terms, sessions, last_seq, tuple(speakers), retracted)


def stats(db: Connection, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
    """What the bank holds, from counts that are kept; its recipe is left empty. Its bytes are an estimate: those of its
    lines as they are on average in the last PAGE of them, 8 for each word, and one vector for each line that has any,
    without indexes. Pending are lines of these roles, which are counted one by one unless every role is meant."""
    row = db.execute("SELECT lines, retracted, terms FROM everthread.bank WHERE bank_id = %s", (bank,)).fetchone()
    lines, retracted, terms = row or (0, 0, 0)
    spans = db.execute(
        "SELECT count(*), min(started_at), max(last_at) FROM everthread.session WHERE bank_id = %s", (bank,)
    ).fetchone()
    assert spans is not None
    first, last = (None if end is None else moment(end) for end in spans[1:])
    names = db.execute("SELECT DISTINCT name FROM everthread.speaker WHERE bank_id = %s ORDER BY name", (bank,))
    speakers = tuple(name for (name,) in names)
    models = db.execute(
        "SELECT name, lines, dim FROM everthread.model WHERE bank_id = %s ORDER BY number", (bank,)
    ).fetchall()
    size = db.execute(
        """SELECT coalesce(avg(pg_column_size(last.*)), 0)::float8 FROM (
           SELECT * FROM everthread.line WHERE bank_id = %s ORDER BY seq DESC LIMIT %s) AS last""",
        (bank, PAGE),
    ).fetchone()
    assert size is not None
    taken = size[0] * (lines + retracted) + terms * POSTING_DTYPE.itemsize + sum(2 * dim * n for _, n, dim in models)
    embedded = {name: count for name, count, _ in models}.get(model, 0)
    pending = lines - embedded if {*ROLES} <= {*roles} else _pending(db, bank, model, roles)
    by_model = {name: sum(n for each, n, _ in models if each == name) for name, n, _ in models if n}
    units = db.execute(
        """SELECT kind, count(*) FROM everthread.unit WHERE bank_id = %s AND retracted_at IS NULL
           GROUP BY kind ORDER BY kind""",
        (bank,),
    ).fetchall()
    queued = db.execute("SELECT count(*) FROM everthread.work WHERE bank_id = %s", (bank,)).fetchone()
    assert queued is not None
    return Stats(
        *(bank, lines, retracted, spans[0], speakers, first, last, by_model, pending),
        *(round(taken), "", model, dict(units), queued[0]),
    )


def _pending(db: Connection, bank: str, model: str, roles: Collection[Role]) -> int:
    """Count the lines of these roles that have no vector of the newest model of this name."""
    row = db.execute(
        """SELECT count(*) FROM everthread.line WHERE bank_id = %s AND retracted_at IS NULL
           AND speaker IN (SELECT number FROM everthread.speaker WHERE bank_id = %s AND role = ANY(%s))
           AND NOT EXISTS (SELECT 1 FROM everthread.vector WHERE vector.bank_id = line.bank_id
           AND vector.model = (SELECT max(number) FROM everthread.model WHERE bank_id = %s AND name = %s)
           AND vector.seq = line.seq)""",
        (bank, bank, list(roles), bank, model),
    ).fetchone()
    assert row is not None
    return int(row[0])


def contradictions(db: Connection, bank: str) -> list[str]:
    """What does not agree inside a bank."""
    counted = db.execute(
        "SELECT lines, retracted, terms, last_seq FROM everthread.bank WHERE bank_id = %s", (bank,)
    ).fetchone()
    if counted is None:
        return []
    live = dead = total = records = highest = 0
    for seq, text, metadata, here in _texts(db, bank):
        highest = seq
        if here:
            found = count_terms(without_quotes_json(text, metadata))
            live, total, records = live + 1, total + found.length, records + len(found.terms)
        else:
            dead += 1
    blocks = db.execute(
        """SELECT coalesce(sum(records), 0), coalesce(sum(bytes), 0), count(*) FILTER (WHERE records <> told)
           FROM (SELECT sum(count) AS records, sum(length(data)) AS bytes,
                 (array_agg(before + count ORDER BY first DESC))[1] AS told
                 FROM everthread.posting WHERE bank_id = %s GROUP BY term) AS word""",
        (bank,),
    ).fetchone()
    said = db.execute("SELECT coalesce(sum(lines), 0) FROM everthread.session WHERE bank_id = %s", (bank,)).fetchone()
    assert blocks is not None
    assert said is not None
    wrong = [
        f"{name}: {has} are counted, {wants} are there; export the lines into a new bank"
        for name, has, wants in (
            ("lines", counted[0], live),
            ("retracted lines", counted[1], dead),
            ("terms", counted[2], total),
            ("word records", int(blocks[0]), records),
            ("bytes of word records", int(blocks[1]), records * POSTING_DTYPE.itemsize),
            ("words counted wrongly", int(blocks[2]), 0),
            ("lines in sessions", int(said[0]), live),
        )
        if has != wants
    ]
    orphans = db.execute(
        """SELECT count(*) FROM everthread.vector WHERE bank_id = %s AND NOT EXISTS (SELECT 1 FROM everthread.line
           WHERE line.bank_id = vector.bank_id AND line.seq = vector.seq AND retracted_at IS NULL)""",
        (bank,),
    ).fetchone()
    if orphans and orphans[0]:
        wrong.append(f"vectors without a line: {orphans[0]}")
    last = int(counted[3])
    return wrong + ([f"the last seq is {last}, but line {highest} is there"] if highest > last else [])


def _texts(db: Connection, bank: str) -> Iterator[tuple[int, str, str, bool]]:
    """The seq, the text and the metadata of every line by seq, and whether it is not retracted; read in pages."""
    after = 0
    while rows := db.execute(
        """SELECT seq, text, metadata, retracted_at IS NULL FROM everthread.line
           WHERE bank_id = %s AND seq > %s ORDER BY seq LIMIT %s""",
        (bank, after, PAGE),
    ).fetchall():
        yield from rows
        after = rows[-1][0]


# ---------------------------------------------------------------------- the analyser


def analyser(db: Connection, bank: str) -> int | None:
    """The version of the analyser by which the bank's words were found; None where there is no bank."""
    row = db.execute("SELECT analyser FROM everthread.bank WHERE bank_id = %s", (bank,)).fetchone()
    return None if row is None else int(row[0])


def ensure_analyzed(db: Connection, bank: str) -> None:
    """See that the bank's words are those of this analyser, and nobody writes others until the transaction ends: find
    them anew where an older one found them. BankTooNew where it was a later one."""
    have = hold(db, bank)
    if have is not None and have > ANALYSER:
        raise bank_too_new(bank, f"text analyser {have}", ANALYSER)
    if have is not None and have < ANALYSER:
        _reanalyse(db, bank)


def _reanalyse(db: Connection, bank: str) -> None:
    db.execute("DELETE FROM everthread.posting WHERE bank_id = %s", (bank,))
    last = terms = head_terms = 0
    while rows := db.execute(
        """SELECT seq, text, metadata, gist FROM everthread.line
           WHERE bank_id = %s AND seq > %s AND retracted_at IS NULL ORDER BY seq LIMIT 1000""",
        (bank, last),
    ).fetchall():
        last = int(rows[-1][0])
        found = [count_terms(without_quotes_json(text, metadata)) for _, text, metadata, _ in rows]
        _put_lengths(db, bank, rows, found)
        new = group_by_term((seq, each) for (seq, *_), each in zip(rows, found, strict=True))
        put_words(db, bank, new, last_blocks(db, bank, list(new)))
        terms, head_terms = terms + sum(w.length for w in found), head_terms + sum(w.head_length for w in found)
    db.execute(
        """UPDATE everthread.session SET terms = (SELECT coalesce(sum(length), 0) FROM everthread.line
           WHERE line.bank_id = %s AND session = number AND retracted_at IS NULL) WHERE bank_id = %s""",
        (bank, bank),
    )
    db.execute(
        "UPDATE everthread.bank SET terms = %s, head_terms = %s, analyser = %s WHERE bank_id = %s",
        (terms, head_terms, ANALYSER, bank),
    )


def _put_lengths(db: Connection, bank: str, rows: Sequence[tuple[Any, ...]], found: Sequence[TermCounts]) -> None:
    """How many words the analyser has found in each of these lines."""
    gists = np.frombuffer(b"".join(gist for *_, gist in rows), LINE_DTYPE).copy()
    gists["length"] = [each.length for each in found]
    gists["head_length"] = [each.head_length for each in found]
    db.execute(
        """UPDATE everthread.line SET length = now.length, head_length = now.head_length, gist = now.gist
           FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::bytea[]) AS now (seq, length, head_length, gist)
           WHERE bank_id = %s AND line.seq = now.seq""",
        (
            *([seq for seq, *_ in rows], gists["length"].tolist(), gists["head_length"].tolist()),
            *([gist.tobytes() for gist in gists], bank),
        ),
    )

"""SQLite's rows as our nouns, and the other way round: lines, sessions, vectors, and what must hold among them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from everthread.common.timestamps import moment
from everthread.errors import StoreUnavailable
from everthread.stores.arrays import distinct, member, repeats
from everthread.stores.base import LINE_DTYPE, POSTING_DTYPE, CorpusStats, ScoringRows, Speaker
from everthread.stores.postings import group_by_term
from everthread.stores.problems import unknown_parent
from everthread.stores.shared_rows import SESSION_GAP, pack_line, session_name
from everthread.stores.sqlite import column_blocks, dense_index, postings
from everthread.stores.sqlite.line_columns import Columns
from everthread.text.analyzer import count_terms, without_quotes_json
from everthread.types import ROLES, Role, Seqs, Stats, Vectors

LAST_MODEL = (1 << 19) - 1  # of a bank's models; above it the ids of vectors would not fit in 63 bits

COLUMNS = """line.seq, session.session_id, speaker.role, speaker.name, line.text, line.said_at, line.said_offset,
    line.parent_seq, line.metadata, line.key, line.retracted_at"""
FROM = """FROM line JOIN session ON session.number = line.session JOIN speaker ON speaker.number = line.speaker"""


def session_for(db: sqlite3.Connection, at: int) -> str:
    """The session of a line that names none: the last one, unless it was ended or has been silent for longer than
    SESSION_GAP."""
    last = db.execute(
        """SELECT session_id, last_at FROM session
           WHERE number = (SELECT session FROM line ORDER BY seq DESC LIMIT 1) AND ended_at IS NULL"""
    ).fetchone()
    if last and abs(at - last[1]) <= SESSION_GAP // timedelta(microseconds=1):
        return str(last[0])

    def like(name: str) -> set[str]:
        rows = db.execute("SELECT session_id FROM session WHERE session_id GLOB ?", (f"{name}*",))
        return {str(found) for (found,) in rows}

    return session_name(at, like)


def parent(db: sqlite3.Connection, named: int | str | None, moved: bool) -> int | None:
    """The seq of the line named by its seq or its key. BadLine if there is none; but what a line moved from another
    store answers may have been forgotten."""
    if named is None or (moved and isinstance(named, int)):
        return named
    column = "key" if isinstance(named, str) else "seq"
    found = db.execute(f"SELECT seq FROM line WHERE {column} = ?", (named,)).fetchone()
    if found is None:
        raise unknown_parent(named)
    return int(found[0])


def speaker(db: sqlite3.Connection, name: str, role: str) -> int:
    """The speaker's number, given now to whoever speaks for the first time."""
    found = db.execute("SELECT number FROM speaker WHERE name = ? AND role = ?", (name, role)).fetchone()
    if found is None:
        found = db.execute("INSERT INTO speaker (name, role) VALUES (?, ?) RETURNING number", (name, role)).fetchone()
    return int(found[0])


def rows(db: sqlite3.Connection, columns: Columns, seqs: Seqs, among: Seqs | None) -> ScoringRows:
    """What scoring needs of these lines (ascending) and of their sessions."""
    lines = columns.at(seqs if among is None else seqs[member(seqs, among)])
    numbers = distinct(lines["session"])
    if among is not None:
        return ScoringRows(lines, columns.sessions(numbers, among))
    sessions = db.execute(
        """SELECT number, first_seq, last_seq, terms FROM session
           WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number""",
        (json.dumps(numbers.tolist()),),
    ).fetchall()
    return ScoringRows(lines, np.array(sessions, np.int64).reshape(-1, 4))


def corpus(db: sqlite3.Connection) -> CorpusStats:
    """The statistics of the bank."""
    lines, terms, head_terms, sessions, last_seq, retracted = db.execute(
        "SELECT lines, terms, head_terms, (SELECT count(*) FROM session), last_seq, retracted FROM bank"
    ).fetchone()
    return CorpusStats(lines, terms, head_terms, sessions, last_seq, _speakers(db), retracted)


def corpus_among(db: sqlite3.Connection, columns: Columns, among: Seqs) -> CorpusStats:
    """The statistics of these lines alone."""
    last = db.execute("SELECT last_seq FROM bank").fetchone()[0]
    here = columns.at(among)
    speaking = set(distinct(here["speaker"]).tolist())
    speakers = tuple(speaker for speaker in _speakers(db) if speaker.number in speaking)
    return CorpusStats(len(here), *_totals(here), len(distinct(here["session"])), last, speakers)


def _speakers(db: sqlite3.Connection) -> tuple[Speaker, ...]:
    return tuple(Speaker(*row) for row in db.execute("SELECT number, name, role FROM speaker ORDER BY number"))


def _totals(lines: npt.NDArray[np.void]) -> tuple[int, int]:
    """The terms of lines and of their heads."""
    return int(lines["length"].sum()), int(lines["head_length"].sum())


def stats(db: sqlite3.Connection, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
    """What the bank holds, from counts that are kept; of the file, the recipe and the embedder only its name. Pending
    are lines of these roles, which are counted one by one unless every role is meant."""
    lines, retracted = db.execute("SELECT lines, retracted FROM bank").fetchone()
    sessions, *ends = db.execute("SELECT count(*), min(started_at), max(last_at) FROM session").fetchone()
    first, last = (None if end is None else moment(end) for end in ends)
    speakers = tuple(name for (name,) in db.execute("SELECT DISTINCT name FROM speaker ORDER BY name"))
    models = db.execute("SELECT name, lines FROM model ORDER BY number").fetchall()  # the newest of a name comes last
    pending = lines - dict(models).get(model, 0) if {*ROLES} <= {*roles} else _pending(db, model, roles)
    by_model = {name: sum(n for each, n in models if each == name) for name, n in models if n}
    units = dict(
        db.execute("SELECT kind, count(*) FROM unit WHERE retracted_at IS NULL GROUP BY kind ORDER BY kind").fetchall()
    )
    queued = db.execute("SELECT count(*) FROM work").fetchone()[0]
    return Stats(
        *(bank, lines, retracted, sessions, speakers, first, last, by_model, pending),
        *(0, "", model, units, queued),
    )


def _pending(db: sqlite3.Connection, model: str, roles: Collection[Role]) -> int:
    """Count the lines of these roles that have no vector of the newest model of this name."""
    newest = db.execute("SELECT coalesce(max(number), 0) FROM model WHERE name = ?", (model,)).fetchone()[0]
    row = db.execute(
        """SELECT count(*) FROM line WHERE retracted_at IS NULL
           AND speaker IN (SELECT number FROM speaker WHERE role IN (SELECT value FROM json_each(?)))
           AND NOT EXISTS (SELECT 1 FROM vector WHERE id BETWEEN ? + (seq << 12) AND ? + (seq << 12) + 4095)""",
        (json.dumps(list(roles)), newest << 44, newest << 44),
    ).fetchone()
    return int(row[0])


def seqs(db: sqlite3.Connection) -> list[int]:
    """The numbers of all lines."""
    return [int(seq) for (seq,) in db.execute("SELECT seq FROM line ORDER BY seq")]


def put_vectors(db: sqlite3.Connection, model: str, by_seq: Mapping[int, Vectors], *, fresh: bool = False) -> None:
    """Keep vectors, in place of those the model has for these lines; fresh ones have none."""
    if not by_seq:
        return
    dim = next(iter(by_seq.values())).shape[1]
    of = number(db, model, dim)
    chosen = sorted(by_seq)
    if not fresh:
        remove_vectors(db, chosen, model)
    seqs = np.repeat(chosen, [len(by_seq[seq]) for seq in chosen])
    data = np.concatenate([by_seq[seq] for seq in chosen])  # (V, dim)
    halves = (row.tobytes() for row in data.astype(np.float16))
    db.executemany("INSERT INTO vector VALUES (?, ?)", zip(ids(of, seqs).tolist(), halves, strict=True))
    codes = np.empty(len(data), column_blocks.code(dim))
    codes["seq"], codes["code"] = seqs, dense_index.encode(data)
    column_blocks.put(db, of, codes)
    db.execute("UPDATE model SET lines = lines + ? WHERE number = ?", (len(chosen), of))


def model(db: sqlite3.Connection, name: str, dim: int) -> int | None:
    """The number of a model; None if the bank has no vectors of it."""
    found = db.execute("SELECT number FROM model WHERE name = ? AND dim = ?", (name, dim)).fetchone()
    return int(found[0]) if found else None


def number(db: sqlite3.Connection, name: str, dim: int) -> int:
    """The model's number, given now to one that is new. Asked for first, as SQLite would use up a number each time."""
    found = model(db, name, dim)
    if found is None:
        row = db.execute("INSERT INTO model (name, dim) VALUES (?, ?) RETURNING number", (name, dim)).fetchone()
        found = int(row[0])
    if found > LAST_MODEL:
        raise StoreUnavailable(
            f"the bank can't number another model ({name} would be its {found:,}th, {LAST_MODEL:,} are the most); "
            "export its lines and import them into a new bank"
        )
    return found


def ids(model: int, seqs: Seqs) -> Seqs:
    """(V,) the ids of vectors of these lines (ascending, one seq a piece). They lie in the order of the lines, and are
    known without an index."""
    return first_id(model, seqs) + repeats(seqs)


def first_id(model: int, seqs: Seqs) -> Seqs:
    """The id of the first piece of each line."""
    return (model << 44) + (seqs << 12)  # room for 4,096 pieces of each of four thousand million lines


def remove_vectors(db: sqlite3.Connection, seqs: Sequence[int], model: str | None = None) -> None:
    """Remove the vectors of these lines: all, or those of one model's name."""
    numbers = db.execute("SELECT number, dim FROM model WHERE name IS coalesce(?, name)", (model,)).fetchall()
    for number, dim in numbers:
        gone = column_blocks.remove(db, number, column_blocks.code(dim), np.array(seqs, np.int64))
        starts = first_id(number, gone).tolist()
        db.executemany("DELETE FROM vector WHERE id BETWEEN ? AND ?", [(start, start + 4095) for start in starts])
        db.execute("UPDATE model SET lines = lines - ? WHERE number = ?", (len(gone), number))


def drop_model(db: sqlite3.Connection, number: int) -> int:
    """Remove a model and all its vectors; how many those were."""
    ends = number << 44, (number + 1 << 44) - 1
    gone = db.execute("DELETE FROM vector WHERE id BETWEEN ? AND ?", ends).rowcount
    db.execute("DELETE FROM block WHERE of = ?", (number,))
    db.execute("DELETE FROM model WHERE number = ?", (number,))
    return int(gone)


def whole(db: sqlite3.Connection, model: int, dim: int, seqs: Seqs) -> tuple[Seqs, npt.NDArray[np.float16]]:
    """(V,) the seqs and (V, dim) the vectors of these lines (ascending, one seq a piece), as far as they are there."""
    if not len(seqs):
        return seqs, np.empty((0, dim), np.float16)
    wanted = ids(model, seqs)
    if 2 * len(wanted) > int(wanted[-1] - wanted[0] >> 12):  # most of a stretch
        rows = db.execute("SELECT id, data FROM vector WHERE id BETWEEN ? AND ?", (int(wanted[0]), int(wanted[-1])))
    else:
        rows = db.execute(
            "SELECT id, data FROM vector WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(wanted.tolist()),),
        )
    numbers: list[int] = []
    halves = bytearray()
    for number, row in rows:
        numbers.append(number)
        halves += row
    found, data = np.array(numbers, np.int64), np.frombuffer(halves, np.float16).reshape(-1, dim)
    if len(found) > len(wanted):
        ours = np.isin(found, wanted)
        found, data = found[ours], data[ours]
    return (found >> 12) - (model << 32), data


def reanalyse(db: sqlite3.Connection) -> None:
    """Find the words of all lines anew, after the analyser has changed."""
    db.execute("DELETE FROM posting")
    lines = column_blocks.read_all(db, column_blocks.LINES, LINE_DTYPE).copy()
    for start in range(0, len(lines), 1000):
        page = lines[start : start + 1000]
        rows = db.execute(_TEXTS, (int(page["seq"][0]), int(page["seq"][-1])))
        found = [(seq, count_terms(without_quotes_json(text, metadata))) for seq, text, metadata in rows]
        postings.add(db, group_by_term(found))
        page["length"] = [here.length for _, here in found]
        page["head_length"] = [here.head_length for _, here in found]
    column_blocks.put(db, column_blocks.LINES, lines)
    numbers, place = np.unique(lines["session"], return_inverse=True)
    terms = np.bincount(place, lines["length"], len(numbers)).astype(np.int64)
    db.executemany("UPDATE session SET terms = ? WHERE number = ?", zip(terms.tolist(), numbers.tolist(), strict=True))
    db.execute("UPDATE bank SET (terms, head_terms) = (?, ?)", _totals(lines))


_TEXTS = "SELECT seq, text, metadata FROM line WHERE retracted_at IS NULL AND seq BETWEEN ? AND ? ORDER BY seq"


def contradictions(db: sqlite3.Connection) -> list[str]:
    """What does not agree inside a bank whose pages are sound."""
    lines, retracted, terms, last = db.execute("SELECT lines, retracted, terms, last_seq FROM bank").fetchone()
    gists: list[tuple[int, ...]] = []  # of lines that are not retracted: what is packed of them, without the marks
    dead = total = records = highest = 0
    for seq, text, metadata, gone, said_at, away, session, speaker in db.execute(
        "SELECT seq, text, metadata, retracted_at, said_at, said_offset, session, speaker FROM line ORDER BY seq"
    ):
        highest = seq
        if not isinstance(json.loads(metadata), dict):
            return [f"line {seq} has metadata that are no mapping; export the lines into a new bank"]
        if gone is None:
            here = count_terms(without_quotes_json(text, metadata))
            gists.append(pack_line(seq, said_at, away, session, speaker, here, 0)[:-1])
            total, records = total + here.length, records + len(here.terms)
        else:
            dead += 1
    live = [seq for seq, *_ in gists]
    kept = db.execute("SELECT total(count), total(length(data)) FROM posting").fetchone()
    found = [
        f"{name}: {has:.0f} are counted, {wants} are there; export the lines into a new bank"
        for name, has, wants in (
            ("lines", lines, len(live)),
            ("retracted lines", retracted, dead),
            ("terms", terms, total),
            ("word records", int(kept[0]), records),
            ("bytes of word records", int(kept[1]), records * 8),
            ("lines in sessions", db.execute("SELECT total(lines) FROM session").fetchone()[0], len(live)),
        )
        if has != wants
    ]
    packed = column_blocks.read_all(db, column_blocks.LINES, LINE_DTYPE)
    if [row[:-1] for row in packed.tolist()] != gists:
        found.append(f"packed lines: {len(packed)} do not match the {len(live)} that are there")
    found += [*_wrong_words(db, live), *_wrong_vectors(db, live)]
    return found + ([f"the last seq is {last}, but line {highest} is there"] if highest > last else [])


def _wrong_words(db: sqlite3.Connection, live: Sequence[int]) -> Iterator[str]:
    there = np.zeros(max(live, default=0) + 1, bool)
    there[live] = True
    for term, data in db.execute("SELECT term, data FROM posting"):
        seqs = np.frombuffer(data, POSTING_DTYPE)["seq"]
        if (
            not len(seqs)
            or seqs.max() >= len(there)
            or not there[seqs].all()
            or (np.diff(seqs.astype(np.int64)) <= 0).any()
        ):
            yield f"records of the word {term!r} do not match the lines; export the lines into a new bank"
            return


def _wrong_vectors(db: sqlite3.Connection, live: Sequence[int]) -> Iterator[str]:
    for number, name, dim, counted in db.execute("SELECT number, name, dim, lines FROM model").fetchall():
        codes = column_blocks.read_all(db, number, column_blocks.code(dim))["seq"].astype(np.int64)
        has = [row[0] for row in db.execute("SELECT id FROM vector WHERE id >> 44 = ? ORDER BY id", (number,))]
        if not np.array_equal(ids(number, codes), has):
            yield f"codes of {name}: {len(codes)} do not match the {len(has)} vectors; export the lines into a new bank"
        cut = "SELECT count(*) FROM vector WHERE id >> 44 = ? AND (typeof(data) <> 'blob' OR length(data) <> ?)"
        if cut_off := db.execute(cut, (number, 2 * dim)).fetchone()[0]:
            yield f"vectors of {name} that are not whole: {cut_off}; export the lines into a new bank"
        if orphans := len(np.setdiff1d(codes, live)):
            yield f"vectors without a line: {orphans} of {name}"
        if counted != len(np.unique(codes)):
            yield f"lines with a vector of {name}: {counted} are counted, {len(np.unique(codes))} are there"

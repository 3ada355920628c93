"""Retracts and forgets lines in SQLite, with everything that depends on them.

Both remove postings, vectors, counts and pins of the lines, and queue new summaries. Retracting a line retracts the
units that derive from it; forgetting deletes them, the line, and the buffers, jobs and titles of sessions that have no
other lines, the person's names that no other line has, and takes the lines out of what is recorded of replies.

SQLite runs with `secure_delete`, which overwrites the bytes of deleted rows; the caller erases the remaining copies
between rows and in the write-ahead log.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from everthread.common.keys import SETTING_FORMER_NAMES, SETTING_PERSON_NAMES, SETTING_PINNED
from everthread.stores import name_setting, pin_setting
from everthread.stores.base import LINE_DTYPE, Scope, ScopeName
from everthread.stores.errors import nothing_to_forget_error
from everthread.stores.postings import count_lines
from everthread.stores.sqlite import column_blocks, postings, reanalysis, recall_records, token_codes, units
from everthread.stores.sqlite import rows as bank_rows
from everthread.types import now

_IN_SCOPE = {
    "line": "seq IN (SELECT value FROM json_each(?))",
    "session": "session = (SELECT number FROM session WHERE session_id = ?)",
    "speaker": "speaker IN (SELECT number FROM speaker WHERE name = ?)",
}
_IS_CHOSEN_LINE = "seq IN (SELECT value FROM json_each(?))"
_COUNT_SAID = f"SELECT count(*) FROM line WHERE text <> '' AND {_IS_CHOSEN_LINE}"
_IS_CHOSEN_NUMBER = "number IN (SELECT value FROM json_each(?))"


def retract(db: sqlite3.Connection, times: Mapping[int, int]) -> None:
    """Retract lines and everything derived from them. Their text stays.

    Args:
        db: a connection in a transaction.
        times: line number -> time of its retraction, in microseconds since 1970.
    """
    with update_summaries_and_pins(db, sorted(times)):
        retract_lines_only(db, times)


def retract_lines_only(db: sqlite3.Connection, times: Mapping[int, int]) -> None:
    """Retract lines and units without updating summaries and pins; see `update_summaries_and_pins`.

    No unit derives from a line without words, so those around it stay.
    """
    remove_from_indexes(db, sorted(times))
    chosen = json.dumps(list(times))
    db.execute(f"UPDATE bank SET retracted = retracted + ({_COUNT_SAID})", (chosen,))
    for seq, at in times.items():
        db.execute("UPDATE line SET retracted_at = ? WHERE seq = ?", (at, seq))
    said = [seq for (seq,) in db.execute(f"SELECT seq FROM line WHERE text <> '' AND {_IS_CHOSEN_LINE}", (chosen,))]
    if said:
        units.retract(db, {seq: times[seq] for seq in said})


def forget(db: sqlite3.Connection, bank: str, scope: Scope, name: ScopeName) -> list[int]:
    """Delete the lines in scope and everything derived from them; return their numbers.

    Raises:
        NotFound: no line is in scope.
    """
    wanted = name if isinstance(name, str) else json.dumps(name)
    seqs = [int(seq) for (seq,) in db.execute(f"SELECT seq FROM line WHERE {_IN_SCOPE[scope]} ORDER BY seq", (wanted,))]
    if not seqs:
        raise nothing_to_forget_error(bank, scope, name)
    with update_summaries_and_pins(db, seqs):
        _delete_rows(db, seqs)
    return seqs


@contextmanager
def update_summaries_and_pins(db: sqlite3.Connection, seqs: Sequence[int]) -> Iterator[dict[int, int]]:
    """Wrap the removal of lines (ascending), and update the summaries and pins that depend on them afterwards.

    Summaries that are removed with the lines are queued again for the rest of their sessions, and the lines' pins are
    removed. The block may fill the yielded mapping, removed line -> line that corrects it; the new line inherits the
    pin.
    """
    corrections: dict[int, int] = {}
    summarized = units.sessions_with_summary(db, seqs) if seqs else set()
    yield corrections
    if summarized:
        units.queue_summaries(db, summarized - units.sessions_with_summary(db, seqs), now())
    if seqs and (pinned := units.get_setting(db, SETTING_PINNED)) is not None:
        units.put_setting(db, SETTING_PINNED, pin_setting.remove_pins(pinned, seqs, corrections))


def _delete_rows(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    chosen = json.dumps(seqs)
    sessions = _select_affected(db, "session", chosen)
    speakers = _select_affected(db, "speaker", chosen)
    remove_from_indexes(db, seqs)
    db.execute(
        f"UPDATE bank SET retracted = retracted - ({_COUNT_SAID} AND retracted_at IS NOT NULL)",
        (chosen,),
    )
    db.execute(f"DELETE FROM line WHERE {_IS_CHOSEN_LINE}", (chosen,))
    recall_records.remove_lines(db, seqs)
    units.forget(db, seqs)
    deleted_sessions = db.execute(
        f"""DELETE FROM session WHERE {_IS_CHOSEN_NUMBER} AND NOT EXISTS (SELECT 1 FROM line WHERE session = number)
            RETURNING session_id""",
        (sessions,),
    ).fetchall()
    for table in ("buffer", "work", "session_metadata"):
        db.executemany(f"DELETE FROM {table} WHERE session_id = ?", deleted_sessions)
    db.execute(
        f"""UPDATE session SET (first_seq, last_seq, started_at, last_at) =
           (SELECT min(seq), max(seq), min(said_at), max(said_at) FROM line WHERE line.session = number)
           WHERE {_IS_CHOSEN_NUMBER}""",
        (sessions,),
    )
    db.execute(
        f"DELETE FROM speaker WHERE {_IS_CHOSEN_NUMBER} AND NOT EXISTS (SELECT 1 FROM line WHERE speaker = number)",
        (speakers,),
    )
    _forget_names(db)


def _forget_names(db: sqlite3.Connection) -> None:
    """Remove the person's names that no line has any more."""
    for setting in (SETTING_PERSON_NAMES, SETTING_FORMER_NAMES):
        if (names := units.get_setting(db, setting)) is not None:
            speakers = {name for (name,) in db.execute("SELECT name FROM speaker WHERE role = 'user'")}
            units.put_setting(db, setting, name_setting.keep_names(names, speakers))


def _select_affected(db: sqlite3.Connection, column: str, chosen: str) -> str:
    rows = db.execute(f"SELECT DISTINCT {column} FROM line WHERE {_IS_CHOSEN_LINE}", (chosen,))
    return json.dumps([number for (number,) in rows])


def remove_from_indexes(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Remove the postings, vectors, codes and counts of lines."""
    reanalysis.analyze(db, seqs)
    rows = db.execute(
        f"""SELECT seq, session, text, metadata FROM line
            WHERE retracted_at IS NULL AND text <> '' AND {_IS_CHOSEN_LINE} ORDER BY seq""",
        (json.dumps(list(seqs)),),
    )
    counts = count_lines(rows)
    db.executemany(
        "UPDATE session SET lines = lines - ?, terms = terms - ? WHERE number = ?",
        [(lines, terms, session) for session, (lines, terms) in counts.by_session.items()],
    )
    db.execute(
        "UPDATE bank SET lines = lines - ?, terms = terms - ?, head_terms = head_terms - ?",
        (counts.lines, counts.terms, counts.head_terms),
    )
    postings.remove(db, counts.by_term)
    column_blocks.remove(db, column_blocks.LINE_COLUMNS_ID, LINE_DTYPE, np.array(seqs, np.int64))
    bank_rows.remove_vectors(db, seqs)
    token_codes.remove(db, seqs)

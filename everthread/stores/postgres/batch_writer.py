"""Writes a batch of lines into a bank on Postgres: numbers them, collects their rows, and sends them together."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from everthread.common.timestamps import from_micros, to_micros, utc_offset_s
from everthread.stores.base import LINE_DTYPE, PreparedLine
from everthread.stores.errors import unknown_parent_error
from everthread.stores.json_text import canonical_json
from everthread.stores.postgres import line_removal, postings, token_codes
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.bulk_insert import insert, size_of
from everthread.stores.postgres.connections import Connection
from everthread.stores.postgres.rows import Model
from everthread.stores.postings import group_by_term
from everthread.stores.shared_rows import (
    LINE_COLUMNS,
    is_near,
    new_session_name,
    next_seq,
    pack_line,
    parse_line,
    releases_key,
)
from everthread.types import Line

MAX_PIPELINE_BYTES = 2**25  # bytes of lines and vectors; a typical batch has a tenth of that


class BatchWriter:
    """Collects the rows of new lines, and writes them.

    The bank's row is locked until the transaction ends. Writers of one bank are therefore serialised, its numbers have
    no gaps, and writers of other banks do not wait.
    """

    def __init__(self, db: Connection, bank: str, entries: Sequence[PreparedLine], at: int) -> None:
        self.db, self.bank = db, bank
        self.number = secrets.randbits(63)  # of this attempt: another one may give the same numbers to other lines
        self.last, self.session_count, self.speaker_count, self.models = bank_rows.lock_bank(db, bank, at)
        parent_keys = {entry.line.parent for entry in entries if isinstance(entry.line.parent, str)}
        keys = parent_keys | {entry.line.key for entry in entries}
        with db.pipeline():
            known = db.execute(
                f"SELECT {LINE_COLUMNS} {bank_rows.LINE_FROM} WHERE line.bank_id = %s AND {bank_rows.HAS_KEY}",
                (bank, bank, sorted(key for key in keys if key is not None)),
            )
            sessions = db.execute(
                f"SELECT {_SESSION} FROM everthread.session WHERE bank_id = %s AND session_id = ANY(%s)",
                (bank, sorted({entry.line.session for entry in entries if entry.line.session is not None})),
            )
            newest = db.execute(
                f"""SELECT {_SESSION} FROM everthread.session WHERE bank_id = %s AND number =
                    (SELECT session FROM everthread.line WHERE bank_id = %s ORDER BY seq DESC LIMIT 1)""",
                (bank, bank),
            )
            speakers = db.execute(
                "SELECT name, role, number FROM everthread.speaker WHERE bank_id = %s AND name = ANY(%s)",
                (bank, sorted({entry.line.speaker for entry in entries})),
            )
            parents = db.execute(
                "SELECT seq FROM everthread.line WHERE bank_id = %s AND seq = ANY(%s)",
                (bank, sorted({entry.line.parent for entry in entries if isinstance(entry.line.parent, int)})),
            )
        self.known = {line.key: line for line in map(parse_line, known)}
        self.newest = next((_Session(*row) for row in newest), None)
        self.sessions = {row[0]: _Session(*row) for row in sessions}
        if self.newest:
            self.newest = self.sessions.setdefault(self.newest.name, self.newest)
        self.speakers = {(name, role): int(number) for name, role, number in speakers}
        self.seqs = {int(seq) for (seq,) in parents}
        self.before = self.last  # the bank's last number before this batch
        self.has_last_session = False
        self.key_donors: list[int] = []  # lines that pass their keys to new ones
        self.new_speakers: list[tuple[int, str, str]] = []
        self.written: list[tuple[Line, PreparedLine, tuple[int, ...]]] = []

    def was_committed(self, db: Connection) -> bool:
        """Return whether the batch was committed, by one of its lines."""
        if not self.written:
            return False
        query = "SELECT 1 FROM everthread.line WHERE bank_id = %s AND seq = %s AND batch = %s"
        return db.execute(query, (self.bank, self.written[0][0].seq, self.number)).fetchone() is not None

    def add(self, entry: PreparedLine) -> Line:
        """Add an entry; return its line, or the stored line with its key.

        Raises:
            BadLine: its parent does not exist, or its own number is not above the bank's last.
        """
        new = entry.line
        if new.key is not None and (existing := self.known.get(new.key)) is not None:
            if existing.seq > self.before or not releases_key(existing, new):
                return existing
            self.key_donors.append(existing.seq)
        at, offset_s = to_micros(entry.said_at), utc_offset_s(entry.said_at)
        if entry.follows and self.written:
            parent: int | None = self.written[-1][0].seq
        else:
            parent = self._resolve_parent(new.parent, is_copy=entry.seq is not None)
        seq = next_seq(entry, self.last)
        session = self._get_or_add_session(new.session, at, seq)
        speaker = self._get_or_add_speaker(new.speaker, new.role)
        self.last = seq
        session.add_line(self.last, at, entry.terms.length, int(bool(new.text)))
        self.newest = session
        line = Line(
            seq=self.last,
            session=session.name,
            role=new.role,
            speaker=new.speaker,
            text=new.text,
            said_at=from_micros(at, offset_s),
            parent=parent,
            metadata=json.loads(canonical_json(new.metadata)),
            key=new.key,
            retracted_at=None if new.retracted_at is None else from_micros(to_micros(new.retracted_at)),
        )
        columns = pack_line(self.last, at, offset_s, session.number, speaker, entry.terms, entry.flags)
        self.written.append((line, entry, columns))
        self.seqs.add(self.last)
        if new.key is not None:
            self.known[new.key] = line
        return line

    def _resolve_parent(self, named: int | str | None, is_copy: bool) -> int | None:
        """Return the seq of a parent. The parent of a line copied from another store may have been forgotten."""
        if named is None:
            return None
        if isinstance(named, str) and named in self.known:
            return self.known[named].seq
        if isinstance(named, int) and (is_copy or named in self.seqs):
            return named
        raise unknown_parent_error(named)

    def _get_or_add_session(self, name: str | None, at: int, first: int) -> _Session:
        """Return the session of a name, or the session that a line without a name joins; line `first` may start it."""
        if name is None:
            current = self._find_current_session(at)
            if current is not None and current.ended_at is None:
                return current
            name = new_session_name(at, self._find_session_names)
        if name not in self.sessions:
            self.session_count += 1
            self.sessions[name] = _Session(name, self.session_count, at, at, first, first)
        return self.sessions[name]

    def _find_current_session(self, at: int) -> _Session | None:
        """Return the session of the newest line, or else that in which something was said last, if it is near `at`."""
        if self.newest and is_near(at, self.newest.last_at):
            return self.newest
        self._load_last_session()
        last = max(self.sessions.values(), key=lambda session: (session.last_at, session.last_seq), default=None)
        return last if last is not None and is_near(at, last.last_at) else None

    def _load_last_session(self) -> None:
        """Load the session in which something was said last, once: only this batch changes it."""
        if self.has_last_session:
            return
        query = f"""SELECT {_SESSION} FROM everthread.session WHERE bank_id = %s
            ORDER BY last_at DESC, last_seq DESC LIMIT 1"""
        for row in self.db.execute(query, (self.bank,)):
            self.sessions.setdefault(row[0], _Session(*row))
        self.has_last_session = True

    def _find_session_names(self, prefix: str) -> set[str]:
        rows = self.db.execute(
            "SELECT session_id FROM everthread.session WHERE bank_id = %s AND starts_with(session_id, %s)",
            (self.bank, prefix),
        )
        return {str(name) for (name,) in rows} | {name for name in self.sessions if name.startswith(prefix)}

    def _get_or_add_speaker(self, name: str, role: str) -> int:
        if (name, role) not in self.speakers:
            self.speaker_count += 1
            self.speakers[name, role] = self.speaker_count
            self.new_speakers.append((self.speaker_count, name, role))
        return self.speakers[name, role]

    # ------------------------------------------------------------------- sending

    def send(self, model: str) -> Model | None:
        """Write the batch, in one round trip after the terms' last blocks are read, unless it is very large.

        Returns:
            The model, if it has vectors of these lines.
        """
        if not self.written:
            return None
        terms = group_by_term((line.seq, entry.terms) for line, entry, _ in self.written)
        last = postings.last_blocks(self.db, self.bank, list(terms))
        embedded = {line.seq: entry.vectors for line, entry, _ in self.written if entry.vectors is not None}
        stored_model = (
            bank_rows.get_or_create_model(self.db, self.bank, model, embedded, self.models) if embedded else None
        )
        tokens = {line.seq: entry.tokens for line, entry, _ in self.written if entry.tokens is not None}
        scheme = token_codes.get_or_create_scheme(self.db, self.bank, model, tokens) if tokens else None
        with nullcontext() if self._is_large() else self.db.pipeline():
            self._send_sessions()
            self._insert("speaker", _SPEAKERS, self.new_speakers)
            self._release_keys()
            self._send_lines()
            postings.add(self.db, self.bank, terms, last)
            if stored_model is not None:
                stored_model = bank_rows.put_vectors(self.db, self.bank, stored_model, embedded)
            if scheme is not None:
                token_codes.put(self.db, self.bank, scheme, tokens)
            self._send_counts()
        for line, _, _ in self.written:
            if line.retracted_at is not None:
                line_removal.retract(self.db, self.bank, [line.seq], to_micros(line.retracted_at))
        return stored_model

    def _is_large(self) -> bool:
        """Return whether the batch is too large for a pipeline.

        In a pipeline the driver buffers what the server has not read yet, which gets slower with its size, and may wait
        for the answer to a request that it has not sent.
        """
        texts = sum(size_of(line.text) for line, _, _ in self.written)
        vectors = sum(16 * entry.vectors.size for _, entry, _ in self.written if entry.vectors is not None)
        return texts + vectors > MAX_PIPELINE_BYTES

    def _insert(self, table: str, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]], end: str = "") -> None:
        """Insert rows with these columns (name -> type)."""
        if rows:
            into = f"{table} (bank_id, {', '.join(columns)})"
            insert(self.db, self.bank, into, list(columns.values()), rows, end)

    def _send_sessions(self) -> None:
        rows = [session.row() for session in self.sessions.values() if session.is_changed]
        self._insert(
            "session",
            _SESSIONS,
            rows,
            """ON CONFLICT (bank_id, session_id) DO UPDATE SET started_at = excluded.started_at,
               last_at = excluded.last_at, last_seq = excluded.last_seq, lines = session.lines + excluded.lines,
               terms = session.terms + excluded.terms""",
        )

    def _release_keys(self) -> None:
        if self.key_donors:
            self.db.execute(
                "UPDATE everthread.line SET key = NULL WHERE bank_id = %s AND seq = ANY(%s)",
                (self.bank, self.key_donors),
            )

    def _send_lines(self) -> None:
        packed = np.array([columns for _, _, columns in self.written], LINE_DTYPE)
        rows = [
            (
                line.seq,
                row["session"].item(),
                line.parent,
                row["speaker"].item(),
                to_micros(line.said_at),
                row["offset"].item(),
                row["length"].item(),
                row["head_length"].item(),
                row.tobytes() if line.text else None,
                line.key,
                canonical_json(line.metadata),
                line.text,
                self.number,
            )
            for (line, _, _), row in zip(self.written, packed, strict=True)
        ]
        self._insert("line", _LINES, rows)

    def _send_counts(self) -> None:
        counts = [entry.terms for line, entry, _ in self.written if line.text]
        self.db.execute(
            """UPDATE everthread.bank SET last_seq = %s, lines = lines + %s, terms = terms + %s,
               head_terms = head_terms + %s, sessions = %s, speakers = %s WHERE bank_id = %s""",
            (
                self.last,
                len(counts),
                sum(count.length for count in counts),
                sum(count.head_length for count in counts),
                self.session_count,
                self.speaker_count,
                self.bank,
            ),
        )


_SESSION = "session_id, number, started_at, last_at, first_seq, last_seq, ended_at"

# Columns and their types, in the order of the rows.
_SPEAKERS = {"number": "int", "name": "text", "role": "text"}
_SESSIONS = {
    "session_id": "text",
    "number": "int",
    "started_at": "bigint",
    "last_at": "bigint",
    "first_seq": "bigint",
    "last_seq": "bigint",
    "lines": "bigint",
    "terms": "bigint",
}
_LINES = {
    "seq": "bigint",
    "session": "int",
    "parent_seq": "bigint",
    "speaker": "int",
    "said_at": "bigint",
    "said_offset": "int",
    "length": "int",
    "head_length": "int",
    "gist": "bytea",
    "key": "text",
    "metadata": "text",
    "text": "text",
    "batch": "bigint",
}


@dataclass(slots=True)
class _Session:
    """A session, and the counts that this batch adds to it."""

    name: str
    number: int
    started_at: int
    last_at: int
    first_seq: int
    last_seq: int
    ended_at: int | None = None
    lines: int = 0
    terms: int = 0
    is_changed: bool = False

    def add_line(self, seq: int, at: int, terms: int, lines: int) -> None:
        self.started_at, self.last_at = min(self.started_at, at), max(self.last_at, at)
        self.last_seq = seq
        self.lines, self.terms, self.is_changed = self.lines + lines, self.terms + terms, True

    def row(self) -> tuple[Any, ...]:
        return (
            self.name,
            self.number,
            self.started_at,
            self.last_at,
            self.first_seq,
            self.last_seq,
            self.lines,
            self.terms,
        )

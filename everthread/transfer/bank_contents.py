"""Copies the whole contents of a bank into another store, and summarises them, so that two banks can be compared.

The contents are lines with retracted and wordless ones, sessions, units, settings, jobs, relevance buffers, and the
vectors and codes of all models. `copy_bank` updates an earlier copy, and embeds lines again for another model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice

import numpy as np

from everthread.bank.line_preparation import prepare_lines
from everthread.common.keys import SETTING_BACKUPS
from everthread.stores.base import Store
from everthread.stores.copying import CopyReader
from everthread.stores.json_text import canonical_json
from everthread.stores.shared_rows import LINES_PER_PAGE, to_new_line
from everthread.types import Line, LineTokens, Vectors


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of a bank's contents, and their SHA-256.

    Attributes:
        lines: with the retracted and wordless ones.
        units: all of them.
        last_seq: the last number that the bank has assigned. It is in no content: a bank that is restored over a later
            one, or after a later backup, has reserved the later numbers.
        sha256: of the contents.
    """

    lines: int
    units: int
    last_seq: int
    sha256: str


def summarize(store: Store, bank: str) -> Summary:
    """Read the whole contents of a bank. Two banks with equal contents have equal summaries in any two stores."""
    reader, digest, count = store.copy_reader(bank), sha256(), 0
    models, schemes = sorted(reader.models()), sorted(reader.schemes())
    for lines in _read_pages(store, bank):
        count += len(lines)
        first, last = lines[0].seq, lines[-1].seq
        for line in lines:
            digest.update(repr(line).encode())
        for model, dim in models:
            for seq, vectors in sorted(reader.vectors(model, dim, first, last).items()):
                digest.update(f"{model} {dim} {seq}".encode() + _to_bytes(vectors))
        for model, scheme in schemes:
            for seq, codes in sorted(reader.codes(model, scheme, first, last).items()):
                digest.update(f"{model} {scheme} {seq}".encode() + codes)
    units = store.units(bank, include_retracted=True)
    for model, dim in models:
        for key, vectors in sorted(reader.unit_vectors(model, dim).items()):
            digest.update(f"{model} {dim} {key}".encode() + _to_bytes(vectors))
    settings = {name: value for name, value in store.settings(bank).items() if name != SETTING_BACKUPS}
    sessions = sorted(store.sessions(bank), key=lambda session: session.id)
    for value in (*units, *sessions, *store.jobs(bank), canonical_json(settings), sorted(reader.buffers().items())):
        digest.update(repr(value).encode())
    return Summary(count, len(units), store.corpus_stats(bank).last_seq, digest.hexdigest())


def copy_contents(source: Store, bank: str, target: Store) -> None:
    """Copy the contents of a bank into another store, in which it is empty, under the same id."""
    reader = source.copy_reader(bank)
    target.create(bank)
    for lines in _read_pages(source, bank):
        copy_lines(source, bank, lines, target)
    target.reserve_seqs(bank, source.corpus_stats(bank).last_seq)
    for session in source.sessions(bank):
        if session.title is not None or session.metadata:
            target.set_session(bank, session.id, session.title, session.metadata)
        if session.ended_at is not None:
            target.end_session(bank, session.id, session.ended_at)
    for unit in source.units(bank, include_retracted=True):
        target.restore_unit(bank, unit, None, "")
    for model, dim in reader.models():
        target.put_unit_vectors(bank, model, reader.unit_vectors(model, dim))
    for session_id, spans in reader.buffers().items():
        target.set_buffer(bank, session_id, spans)
    for job in source.jobs(bank):
        target.enqueue(bank, job)
    for name, value in source.settings(bank).items():
        target.set_setting(bank, name, value)


def copy_lines(source: Store, bank: str, lines: Sequence[Line], target: Store) -> None:
    """Copy lines under their own numbers, which are above the last of the target, with their vectors and codes."""
    reader, first, last = source.copy_reader(bank), lines[0].seq, lines[-1].seq
    (main, dim), *others = reader.models() or [("", 0)]
    schemes = reader.schemes()
    scheme = next((name for model, name in schemes if model == main), "")
    vectors, codes = reader.vectors(main, dim, first, last), _read_codes(reader, main, scheme, first, last)
    new = [replace(to_new_line(line), retracted_at=line.retracted_at) for line in lines]
    prepared = zip(prepare_lines(new, (), _no_vectors), [line.seq for line in lines], strict=True)
    entries = [replace(entry, seq=seq, vectors=vectors.get(seq), tokens=codes.get(seq)) for entry, seq in prepared]
    target.append(bank, entries, main)
    for model, dim in others:
        if vectors := reader.vectors(model, dim, first, last):
            target.put_vectors(bank, model, vectors, lines)
    for model, name in schemes:
        if (model, name) != (main, scheme) and (codes := _read_codes(reader, model, name, first, last)):
            target.put_vectors(bank, model, {}, lines, codes)


def _read_codes(reader: CopyReader, model: str, scheme: str, first: int, last: int) -> dict[int, LineTokens]:
    codes = reader.codes(model, scheme, first, last)
    return {seq: LineTokens(scheme, np.frombuffer(data, np.uint8)) for seq, data in codes.items()}


def _no_vectors(texts: object) -> None:
    """Return no vectors: they are copied."""


def _read_pages(store: Store, bank: str) -> Iterator[list[Line]]:
    lines = store.lines(bank, include_retracted=True, include_wordless=True)
    while page := list(islice(lines, LINES_PER_PAGE)):
        yield page


def _to_bytes(vectors: Vectors) -> bytes:
    return vectors.astype(np.float16).tobytes()

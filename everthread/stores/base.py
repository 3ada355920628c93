"""The Store protocol: what a place that keeps banks must offer. It knows nothing of models, scores or prompts.

A store keeps text, numbers the lines, and answers four plain questions about a bank: which lines lie nearest to a
vector, where do these words stand, what are these lines, and which lines does a filter allow. Everything that makes
a hit out of the answers is in `everthread.recall`, once, for every store.

Rows of different banks never meet in one call: every method takes the bank first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from everthread.text.analyzer import TermCounts
from everthread.types import (
    ROLES,
    Filter,
    JSONValue,
    Line,
    NewLine,
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
)

Key = tuple[str, int]  # a unit's kind and id
Near = list[tuple[str, int, float]]  # kind, id and cosine of units, by kind and id

# One record for each line in which a term stands.
POSTING = np.dtype(
    [
        ("seq", "<u4"),
        ("tf", "<u2"),  # times the term stands in the line, at most 65,535
        ("head", "<u2"),  # times it stands in the line's first HEAD characters
    ]
)


# What scoring needs to know of a line itself, packed: a thousand lines are then read as fast as one long text.
LINE = np.dtype(
    [
        ("seq", "<i8"),
        ("said_at", "<i8"),  # microseconds since 1970, on the speaker's own clock
        ("offset", "<i4"),  # seconds of that clock from UTC
        ("session", "<i4"),  # number of the session
        ("speaker", "<i4"),  # number of the speaker
        ("length", "<i4"),  # terms in the line
        ("head_length", "<i4"),  # terms in the line's head
        ("marks", "<i4"),  # bits; see text.line_features
    ]
)


@dataclass(frozen=True, slots=True)
class PreparedLine:
    """A line ready to be written: cleaned, analysed, embedded. vectors is None when no embedder answered.

    A line that comes from another store keeps its number: seq, which must be greater than the bank's last.
    """

    new: NewLine
    said_at: datetime
    words: TermCounts
    marks: int  # bits; see text.line_features
    vectors: Vectors | None  # (pieces, D)
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term stands. records is empty when the term is too common to be worth reading; df counts all."""

    df: int
    records: npt.NDArray[np.void]  # (df,) of POSTING, ascending by seq


@dataclass(frozen=True, slots=True)
class Rows:
    """What scoring needs to know of R lines, ascending by seq, and of their S sessions, ascending by number.

    Retracted and forgotten lines are absent. A session's first and last seq enclose its lines.
    """

    lines: npt.NDArray[np.void]  # (R,) of LINE
    sessions: npt.NDArray[np.int64]  # (S, 4): number, first seq, last seq, terms

    @property
    def seq(self) -> Seqs:
        """(R,) the lines' numbers."""
        return np.asarray(self.lines["seq"])


@dataclass(frozen=True, slots=True)
class Speaker:
    """Someone who has said something in the bank. Who speaks in two roles is there twice."""

    number: int
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """The bank's own statistics: what BM25 divides by, and who is talking."""

    lines: int
    terms: int
    head_terms: int
    sessions: int
    last_seq: int
    speakers: tuple[Speaker, ...]
    retracted: int = 0  # lines that are; of a choice of lines none is

    @property
    def names(self) -> tuple[str, ...]:
        """The speakers' names, each once."""
        return tuple(dict.fromkeys(speaker.name for speaker in self.speakers))

    @property
    def has_assistant(self) -> bool:
        """Whether a bot takes part in the conversations."""
        return any(speaker.role == "assistant" for speaker in self.speakers)

    def mean(self, total: int) -> float:
        """A total of terms as a share of each line."""
        return total / self.lines if self.lines else 1.0


@dataclass(frozen=True, slots=True)
class UnitReplacement:
    """Units of one kind that come and go together, and the setting that tells how far their writing has come."""

    kind: str
    delete_ids: Sequence[int]  # ids of those that are removed, with every trace
    units: Sequence[NewUnit]
    vectors: Sequence[Vectors]  # of the units, in their order
    min_id: int  # the new ones are numbered behind this id, and behind every one that is there
    setting: str
    before: JSONValue | None  # what the setting was when this was thought out
    after: Callable[[int], JSONValue]  # what it becomes, by the id of the first new unit


Scope = Literal["line", "session", "speaker", "bank"]
REMAINS = "bytes of what was forgotten may be left; make room on the disk, end other readers of the bank, try again"


class Store(Protocol):
    """Keeps banks. Safe from many threads and processes. A write is durable when its call returns."""

    @property
    def location(self) -> str:
        """Where the banks are: two stores of one place have the same."""

    def banks(self) -> list[str]:
        """The ids of all banks, sorted."""

    def exists(self, bank: str) -> bool:
        """Whether there is such a bank; it is not made."""

    def append(
        self,
        bank: str,
        entries: Sequence[PreparedLine],
        model: str,
        *,
        instead: Sequence[int] = (),
        corrects: int | None = None,
    ) -> list[Line]:
        """Number and keep the lines, in one transaction, those retracted as such. The lines `instead` of which they
        are kept are retracted first, as by `retract`, in the same transaction; those that are not there any more are
        passed over. An entry whose key is known already returns that line, unless the line gives way (see
        `stores.shared_rows`): it then loses its key to the new one. No two lines have the same key. `corrects` is the
        one of the replaced lines that the first entry corrects: the new line is pinned if that one was. NotFound, with
        nothing kept, where it is gone."""

    def reserve_seqs(self, bank: str, last: int) -> None:
        """Give no number up to this one to a line any more: they were given in the store from which the bank comes."""

    def lines(
        self,
        bank: str,
        where: Filter | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        retracted: bool = False,
    ) -> Iterator[Line]:
        """The lines by seq, from the one behind `after`."""

    def get(self, bank: str, seqs: Sequence[int]) -> list[Line]:
        """These lines by seq; those retracted or forgotten are left out."""

    def get_by_key(self, bank: str, keys: Sequence[str]) -> dict[str, Line]:
        """The lines, retracted ones too, that the bank has under these keys."""

    def sessions(self, bank: str) -> list[Session]:
        """The sessions, in the order they began."""

    def end_session(self, bank: str, session: str, at: datetime) -> None:
        """Say that a session is over: no line joins it of itself any more. NotFound if there is none."""

    def filter_seqs(self, bank: str, where: Filter, as_of: datetime | None) -> Seqs | None:
        """The seqs that may be recalled, ascending; None where nothing is ruled out."""

    def nearest(self, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
        """About k lines whose vectors of this model lie nearest to the query, in any order. A query may have several
        vectors, (Q, D): here and below the nearest of them counts."""

    def cosines(self, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
        """(C,) cosine of each line's nearest piece to the query; NaN where it has no vector of this model."""

    def postings(
        self, bank: str, terms: Sequence[str], max_terms: int, limit: int, within: Seqs | None = None
    ) -> dict[str, Postings]:
        """Where the `rarest` of the terms stand, the rarest first; one that would pass `most` records in all is only
        counted. As many that stand nowhere are told too. With `among` (ascending), nothing is told of other lines:
        df counts those among them, exactly where the records were read and nearly where they were not."""

    def scoring_rows(self, bank: str, seqs: Seqs, within: Seqs | None = None) -> Rows:
        """The columns that scoring wants for these lines (seqs ascending). With `among`, other lines are left out, and
        do not count in their sessions."""

    def corpus(self, bank: str, within: Seqs | None = None) -> CorpusStats:
        """The bank's statistics. With `among`, those of these lines alone, but for `last_seq`, which is the bank's."""

    def retract(self, bank: str, seq: int, at: datetime) -> Line:
        """Take a line out of recall for good. Its text stays in the record. What was derived from it is retracted, a
        summary of what is left of its session is queued if the session had one, and it is pinned no more: all in one
        transaction. NotFound if the bank has no such line."""

    def forget(self, bank: str, scope: Scope, name: str | int | None, at: datetime) -> Receipt:
        """Remove a line, a session, a speaker or the bank. NotFound if there is nothing of the name. What was derived
        from lines, summaries and pins are treated as by `retract`, in the same transaction.

        In files no byte of it is left. A database gives it to no one any more, and overwrites its bytes when it uses
        their pages again. A bank can be forgotten however damaged it is; the receipt then counts no lines. If the lines
        are gone but their bytes could not be erased from a file, StoreUnavailable says so, and the next who uses the
        bank erases them; if the receipt could not be written, it says that, and the bytes are erased all the same.
        """

    def lines_without_vectors(
        self, bank: str, model: str, dim: int, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        """Lines of these roles that have no vector of this model and dimension, by seq, those after `after`."""

    def put_vectors(self, bank: str, model: str, vectors: Mapping[int, Vectors], expected: Sequence[Line]) -> None:
        """Keep the vectors of lines; vectors of other models stay until `drop_vectors`. `of` are the lines as they were
        read: where a bank or a line was forgotten since, nothing is kept, whoever has got its name or number now."""

    def drop_vectors(self, bank: str, keep: str) -> int:
        """Drop the vectors of every model but one, also those of units; how many of lines went."""

    def buffer(self, bank: str, session: str) -> list[tuple[int, int]]:
        """The session's relevance buffer: spans of seqs, oldest first."""

    def set_buffer(self, bank: str, session: str, spans: Sequence[tuple[int, int]]) -> None:
        """Keep the session's relevance buffer."""

    def settings(self, bank: str) -> dict[str, JSONValue]:
        """The bank's settings by name."""

    def set_setting(self, bank: str, name: str, value: JSONValue | None) -> None:
        """Keep one setting; None removes it."""

    def update_setting(
        self, bank: str, name: str, change: Callable[[JSONValue | None], JSONValue | None]
    ) -> JSONValue | None:
        """Replace a setting by what `change` makes of it, and return that, in one transaction. The value is None where
        it is not set, and where it is to be removed. `change` may be called again with what it made before."""

    def put_unit(
        self,
        bank: str,
        unit: NewUnit,
        vectors: Vectors | None,
        model: str,
        at: datetime,
        *,
        supersedes: int | None = None,
        done: ScribeJob | None = None,
    ) -> Unit:
        """Keep a unit and its vectors, end the one of its kind that it supersedes, and take `done` out of the queue, in
        one transaction. Units are numbered 1, 2, 3 … by kind. NotFound, with nothing kept, where a line of its sources
        is gone or retracted, its span ends behind the bank's last line, what it supersedes is not current, or it
        supersedes none and is a note or a session's summary while there is a current one."""

    def restore_unit(self, bank: str, unit: Unit, vectors: Vectors | None, model: str) -> None:
        """Keep a unit of another store as it is there, in place of the one of its kind and id."""

    def forget_unit(self, bank: str, kind: str, number: int) -> list[int]:
        """Remove a unit and those whose place it took, with all that was made of them, for good; their ids, its own
        first. NotFound if there is none that is not retracted. Of bytes it is as with `forget`."""

    def rewrite_units(self, bank: str, change: UnitReplacement, model: str, at: datetime) -> bool:
        """Remove units, write others and keep the setting, in one transaction. False, with nothing changed, where the
        setting is another meanwhile, or a line of the new units' sources is gone or retracted."""

    def units(
        self,
        bank: str,
        kinds: Sequence[str] = (),
        *,
        current: bool = False,
        retracted: bool = False,
        ids: Sequence[int] | None = None,
    ) -> list[Unit]:
        """The units of these kinds (all, where none is named) by kind and id; only those that none has superseded, if
        current; only those of these ids, unless it is None."""

    def unit_spans(self, bank: str, kind: str, *, retracted: bool = False) -> npt.NDArray[np.int64]:
        """(U, 3) id, first and last seq of every unit of a kind that is not retracted, or of those that are, by id."""

    def unit_cosines(self, bank: str, model: str, query: Vector, kinds: Sequence[str], k: int | None = None) -> Near:
        """Kind, id and cosine of the nearest piece of every unit of these kinds (all, where none is named) that is not
        retracted and has a vector of this model, or of the k nearest of them; by kind and id."""

    def pending_units(self, bank: str, model: str, dim: int) -> list[Unit]:
        """Units that are not retracted and have no vector of this model and dimension, by kind and id."""

    def put_unit_vectors(self, bank: str, model: str, vectors: Mapping[tuple[str, int], Vectors]) -> None:
        """Keep the vectors of units, by kind and id."""

    def queue(self, bank: str, work: ScribeJob) -> None:
        """Keep work that a scribe is to do. Of the same kind, session and first line it is the same work: its end, its
        tries and its error are then renewed, and its place in the queue stays. NotFound if there is no such session."""

    def queued(self, bank: str) -> list[ScribeJob]:
        """The work that is to be done, the oldest first."""

    def dequeue(self, bank: str, work: ScribeJob) -> None:
        """Take work out of the queue."""

    def stats(self, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
        """Count what the bank holds. Pending are lines of these roles. The recipe's name is left to the caller."""

    def check(self, bank: str) -> list[str]:
        """What is wrong with the bank, in words; an empty list when it is sound. REMAINS is no damage."""

    def close(self) -> None:
        """Let go of files and connections."""

"""The interface that every storage backend implements, independent of models, scores and prompts.

A store saves text, numbers the lines, and answers four questions about a bank: which lines are nearest to a vector,
which lines contain these terms, what are these lines, and which lines does a filter allow. `everthread.recall` turns
the answers into hits, once, for every store.

`Store` is the union of narrow protocols, so that a function can require only what it uses, and a backend can implement
only a part: `BankCatalog`, `LineStore`, `TermIndex`, `VectorStore`, `TokenStore`, `UnitStore`, `SettingStore`,
`JobQueue` and `CopySource`. Every method takes the bank first; no call reads two banks.

Stores are safe to use from many threads and processes. A write is durable when its call returns. Every method raises
`BadBankId` for an invalid bank id, and `StoreUnavailable` if the store can't be read or written. In array shapes,
R is the number of lines, C of candidates, D of dimensions, Q of vectors of one query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from everthread.stores.copying import CopySource
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.postings import Postings
from everthread.stores.token_store import TokenStore
from everthread.stores.unit_store import (  # noqa: F401  # other authors' stores import these from here
    UnitCosines,
    UnitKey,
    UnitReplacement,
    UnitStore,
    UnitVersion,
)
from everthread.text.analyzer import TermCounts
from everthread.types import (
    ROLES,
    Filter,
    JSONValue,
    Line,
    LineTokens,
    Metadata,
    NewLine,
    Receipt,
    Role,
    ScribeJob,
    Seqs,
    Session,
    Stats,
    Vector,
    Vectors,
)

Result = TypeVar("Result")

# The columns of a line that scoring needs, packed: a thousand lines are then read as fast as one long text.
LINE_DTYPE = np.dtype(
    [
        ("seq", "<i8"),
        ("said_at", "<i8"),  # microseconds since 1970, on the speaker's own clock
        ("offset", "<i4"),  # seconds of that clock from UTC
        ("session", "<i4"),  # number of the session
        ("speaker", "<i4"),  # number of the speaker
        ("length", "<i4"),  # terms in the line
        ("head_length", "<i4"),  # terms in the line's head
        ("flags", "<i4"),  # bits; see text.line_features
    ]
)


@dataclass(frozen=True, slots=True)
class PreparedLine:
    """A line ready to be written: cleaned, analysed and embedded.

    Attributes:
        line: the line as it was given.
        said_at: its time, with an offset.
        terms: its term counts.
        flags: bits; see `text.line_features`.
        vectors: (pieces, D) the vectors of its pieces; None if no embedder answered.
        tokens: the codes of its content words; None for none.
        seq: the number of a line copied from another store, which it retains. Must be greater than the bank's last.
        follows: whether its parent is the line that is written before it, if there is one, instead of that of `line`.
    """

    line: NewLine
    said_at: datetime
    terms: TermCounts
    flags: int
    vectors: Vectors | None
    tokens: LineTokens | None = None
    seq: int | None = None
    follows: bool = False


@dataclass(frozen=True, slots=True)
class ScoringRows:
    """The columns that scoring needs: of R lines, ascending by seq, and of their S sessions, ascending by number.

    Retracted and forgotten lines are absent. A session's first and last seq enclose its lines.
    """

    lines: npt.NDArray[np.void]  # (R,) of LINE_DTYPE
    sessions: npt.NDArray[np.int64]  # (S, 4): number, first seq, last seq, terms

    @property
    def seq(self) -> Seqs:
        """(R,) the numbers of the lines."""
        return np.asarray(self.lines["seq"])


@dataclass(frozen=True, slots=True)
class Speaker:
    """A speaker of the bank in one role. A name with two roles is listed twice."""

    number: int
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """The statistics of a bank that BM25 divides by, and its speakers."""

    lines: int
    terms: int
    head_terms: int
    sessions: int
    last_seq: int
    speakers: tuple[Speaker, ...]
    retracted: int = 0  # retracted lines; 0 in statistics of a selection of lines

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct names of the speakers."""
        return tuple(dict.fromkeys(speaker.name for speaker in self.speakers))

    @property
    def has_assistant(self) -> bool:
        """True if a bot takes part in the conversations."""
        return any(speaker.role == "assistant" for speaker in self.speakers)

    def mean_per_line(self, total: int) -> float:
        """Divide a total by the number of lines; 1.0 for a bank without lines."""
        return total / self.lines if self.lines else 1.0


Scope = Literal["line", "session", "speaker", "bank"]
ScopeName = str | Sequence[int] | None  # of a session or a speaker; the numbers of lines; None for the bank
ERASURE_UNFINISHED = (
    "bytes of forgotten lines may remain in the file; free disk space, close other readers of the bank, try again"
)


class BankCatalog(Protocol):
    """Lists, checks and closes banks."""

    @property
    def location(self) -> str:
        """The folder or the database; equal for two stores of the same banks."""

    def banks(self) -> list[str]:
        """Return the ids of all banks, sorted."""

    def exists(self, bank: str) -> bool:
        """Return whether the bank exists. Does not create it."""

    def create(self, bank: str) -> None:
        """Create a bank unless it exists.

        Raises:
            BankDamaged, BankTooNew: the bank exists and can't be read.
        """

    def stats(self, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
        """Count the contents of a bank.

        Args:
            bank: the bank.
            model: the name of the embedder.
            roles: only lines of these roles count as pending.

        Returns:
            The counts; the recipe's name is left empty.
        """

    def check(self, bank: str) -> list[str]:
        """Look for damage.

        Returns:
            Descriptions of the damage found; empty for a sound bank. `ERASURE_UNFINISHED` is no damage.
        """

    def close(self) -> None:
        """Close all files and connections. A later call opens them again."""


class LineStore(Protocol):
    """Writes, reads, retracts and forgets lines and their sessions."""

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
        """Number and store lines in one transaction.

        A line whose key is in use is not stored again, unless the stored line releases it (see
        `stores.shared_rows.releases_key`). Lines with `retracted_at` are stored as retracted.

        Args:
            bank: the bank; created if it does not exist.
            entries: the lines.
            model: the name of the embedder that made the vectors.
            replaces: numbers of lines to retract first, as by `retract`. Missing ones are ignored.
            corrects: lines among `replaces`, each with the position of the entry that corrects it; its pin moves to the
                line of this entry.
            after: a number that the bank has assigned. A bank that has not was forgotten since, and is not created
                again.

        Returns:
            The line of each entry: new, or the one stored under its key.

        Raises:
            BadLine: a parent does not exist, or a line's own number is not above the bank's last.
            NotFound: a line of `corrects` is missing or retracted, and there are new lines; or the bank was forgotten
                after it had assigned the number `after`. Nothing is stored.
        """

    def reserve_seqs(self, bank: str, last: int) -> None:
        """Assign no number up to `last` to a new line. The store from which the bank is copied has assigned them."""

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
        """Iterate over lines, ascending by seq.

        Args:
            bank: the bank.
            where: the filter; None allows every line.
            after: start after this number.
            limit: the largest number of lines.
            include_retracted: retracted lines too.
            include_wordless: lines without text too.
        """

    def get(self, bank: str, seqs: Sequence[int]) -> list[Line]:
        """Return these lines, ascending by seq, without retracted, wordless and missing ones."""

    def texts(self, bank: str, seqs: Seqs) -> list[tuple[int, str]]:
        """Return the numbers and texts of the lines that `get` returns, in any order.

        Args:
            bank: the bank.
            seqs: the lines, ascending; at least one.
        """

    def set_records(self, bank: str, records: Mapping[int, JSONValue]) -> None:
        """Store in the metadata of lines what was recalled for them, by number; retracted and missing ones are left
        out."""

    def get_by_key(self, bank: str, keys: Sequence[str]) -> dict[str, Line]:
        """Return the lines under these keys, retracted ones too."""

    def sessions(self, bank: str) -> list[Session]:
        """Return the sessions, by the time they began."""

    def end_session(self, bank: str, session: str, at: datetime) -> None:
        """End a session: lines that name no session no longer join it.

        Raises:
            NotFound: there is no such session.
        """

    def set_session(self, bank: str, session: str, title: str | None, metadata: Metadata | None) -> Session:
        """Set the title and values in the metadata of a session, in one transaction.

        Args:
            bank: the bank.
            session: the session's id.
            title: its title; "" removes it, None leaves it as it is.
            metadata: values by name; None removes one. Others are left as they are.

        Returns:
            The session as it is now.

        Raises:
            NotFound: there is no such session.
        """

    def filter_seqs(self, bank: str, where: Filter, as_of: datetime | None) -> Seqs | None:
        """Return the lines that a filter allows and that were said by `as_of`.

        Returns:
            (R,) their numbers, ascending; None if every line is allowed.
        """

    def retract(self, bank: str, seq: int, at: datetime) -> Line:
        """Remove a line from recall. Its text stays in the record.

        In the same transaction the units that derive from it are retracted, a summary of the rest of its session is
        queued if the session had one, and its pin is removed.

        Returns:
            The line as it is now.

        Raises:
            NotFound: the bank has no such line.
        """

    def forget(self, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
        """Delete lines, a session, the lines of a speaker, or the bank.

        In the same transaction the units that derive from deleted lines are deleted, their pins are removed, and a
        summary of the rest of each session is queued if the session had one. In SQLite no byte of a deleted line
        remains in the file. In Postgres a deleted line can't be read any more, and its bytes are overwritten when their
        pages are used again. A damaged bank can be forgotten; its receipt counts no lines.

        Args:
            bank: the bank.
            scope: what to delete.
            name: the numbers of the lines, of which those that do not exist are skipped; or the name of the session or
                the speaker; None for the bank.
            at: the time of the receipt.

        Raises:
            NotFound: nothing has this name.
            StoreUnavailable: the lines are deleted, but their bytes could not be erased from the file, or the receipt
                could not be written. The next use of the bank erases the bytes.
        """

    def receipts(self, bank: str) -> list[Receipt]:
        """Return the receipts of a bank, which need not exist any more, the earliest first.

        Raises:
            StoreUnavailable: they can't be read.
        """

    def add_receipts(self, bank: str, receipts: Sequence[Receipt]) -> None:
        """Store the receipts of a bank that are missing, such as those of another store from which it is copied."""


class TermIndex(Protocol):
    """Reads the data by which lines are scored: records of terms, columns of lines, and statistics."""

    def postings(
        self, bank: str, terms: Sequence[str], max_terms: int, limit: int, within: Seqs | None = None
    ) -> dict[str, Postings]:
        """Return the records of terms.

        Args:
            bank: the bank.
            terms: the terms.
            max_terms: read at most this many terms, the rarest; the others are left out.
            limit: the largest number of records in all. Terms beyond it are returned with their document frequency
                only.
            within: restrict records and document frequencies to these lines (ascending). The frequency of a term whose
                records were not read is then an estimate.

        Returns:
            The postings by term, rarest first; at most `max_terms` terms that no line contains come first, with a `df`
            of 0.
        """

    def scoring_rows(self, bank: str, seqs: Seqs, within: Seqs | None = None) -> ScoringRows:
        """Return the columns of lines and of their sessions that scoring needs.

        Args:
            bank: the bank.
            seqs: the lines, ascending.
            within: restrict the lines, and the lines counted in sessions, to these (ascending).
        """

    def corpus_stats(self, bank: str, within: Seqs | None = None) -> CorpusStats:
        """Return the statistics of the bank, or of the lines in `within` alone; `last_seq` is always the bank's."""

    def reanalyze(self, bank: str, limit: int) -> bool:
        """Analyse lines whose words an earlier version analysed, the newest first, in one transaction.

        Until then such a line is found by the words of that version, and can be retracted and forgotten.

        Args:
            bank: the bank.
            limit: the largest number of lines.

        Returns:
            True if more are left.
        """


class VectorStore(Protocol):
    """Saves the vectors of lines, by the name of their embedder, and searches them.

    A query is one vector, (D,), or several, (Q, D), of which the nearest counts.
    """

    def nearest_seqs(self, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
        """Return about k lines whose vectors are nearest to the query, in any order; only lines in `within`."""

    def cosines(self, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
        """Return (C,) the cosine of each line's nearest piece to the query; NaN for a line without a vector."""

    def lines_without_vectors(
        self, bank: str, model: str, dim: int, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        """Return at most `limit` lines of these roles after the number `after` that have no vector of this model."""

    def put_vectors(
        self,
        bank: str,
        model: str,
        vectors: Mapping[int, Vectors],
        expected: Sequence[Line],
        tokens: Mapping[int, LineTokens] = MappingProxyType({}),
    ) -> None:
        """Store the vectors of lines. Vectors of other models stay until `drop_vectors`.

        Args:
            bank: the bank.
            model: the name of the embedder.
            vectors: seq -> (pieces, D).
            expected: the lines as they were read. A line that has been forgotten since gets no vector, even if another
                line has its number now.
            tokens: seq -> the codes of content words, also of lines whose vectors are stored already.
        """

    def drop_vectors(self, bank: str, keep: str) -> int:
        """Delete the vectors and codes of lines and units of every model except `keep`; return the number of line
        vectors."""


class SettingStore(Protocol):
    """Saves settings of a bank (JSON values by name) and the relevance buffers of its sessions."""

    def settings(self, bank: str) -> dict[str, JSONValue]:
        """Return the settings by name."""

    def set_setting(self, bank: str, name: str, value: JSONValue | None) -> None:
        """Store one setting; None removes it."""

    def update_setting(
        self, bank: str, name: str, change: Callable[[JSONValue | None], JSONValue | None]
    ) -> JSONValue | None:
        """Read, change and store a setting in one transaction.

        Args:
            bank: the bank.
            name: the setting.
            change: computes the new value from the stored one; None is an unset value. May be called more than once.

        Returns:
            The new value.
        """

    def buffer(self, bank: str, session: str) -> list[tuple[int, int]]:
        """Return the relevance buffer of a session: inclusive spans of line numbers, oldest first."""

    def set_buffer(self, bank: str, session: str, spans: Sequence[tuple[int, int]]) -> None:
        """Store the relevance buffer of a session."""


class JobQueue(Protocol):
    """Saves the jobs of scribes until they are done."""

    def enqueue(self, bank: str, job: ScribeJob) -> None:
        """Queue a job. A queued job of the same kind, session and first line is updated and retains its place.

        Raises:
            NotFound: there is no such session.
        """

    def jobs(self, bank: str) -> list[ScribeJob]:
        """Return the queued jobs, oldest first."""

    def dequeue(self, bank: str, job: ScribeJob) -> None:
        """Remove a job from the queue."""


class Store(
    BankCatalog, LineStore, TermIndex, VectorStore, TokenStore, UnitStore, SettingStore, JobQueue, CopySource, Protocol
):
    """The complete interface of a storage backend."""

    def read_snapshot(
        self, bank: str, read: Callable[[Store], tuple[Result, Sequence[int]]], expected: ExpectedReads
    ) -> tuple[Result, list[Line]]:
        """Read a bank as it is at one moment, in one transaction.

        Args:
            bank: the bank.
            read: reads the bank, and nothing else, from the store that it is given; writes nothing, and calls no model.
                Returns a result, and the numbers of lines to read last. It may be called more than once.
            expected: what it will read first.

        Returns:
            The result, and the lines, as from `get`.
        """

"""Deferred embedding: pending lines, lines of earlier versions, and reindexing with another model.

Deferred lines are stored and found by keyword at once; they are embedded a moment later, so that no reply waits for it.
Only their numbers are held in memory. If the process ends before they are embedded, the bank still records which
lines have no vector, and the next process that embeds deferred lines embeds these as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from itertools import islice

from everthread.common.fork_safety import Lock
from everthread.common.keys import META_REWRITTEN
from everthread.embedders.embedded import EmbeddedText
from everthread.embedders.encoder import Encoder
from everthread.embedders.shapes import embed_question
from everthread.errors import EverthreadError
from everthread.stores.base import Store
from everthread.text.analyzer import remove_quotes
from everthread.text.gloss import is_glossed
from everthread.types import ROLES, Line, NewUnit, Role, Unit

BATCH_LINES = 512  # embedded at a time by embed_missing
EARLIER_LINES = 64  # of earlier versions that are embedded at a time, so that a reply waits no longer for the embedder
REANALYZED_LINES = 512  # of earlier versions whose words are analysed at a time: a few tenths of a second
MAX_BACKFILL_LINES = 32  # of earlier processes; `reindex` embeds more: the model is new, or was down for a long time


class EmbeddingBacklog:
    """The pending lines of one bank: those without a vector yet. Thread-safe."""

    def __init__(
        self,
        store: Store,
        bank: str,
        encoder: Encoder,
        roles: Collection[Role] = ROLES,
        token_roles: Collection[Role] = (),
    ) -> None:
        """Start without pending lines.

        Args:
            store: the store of the bank.
            bank: the bank's id.
            encoder: embeds the lines.
            roles: the roles whose lines are embedded.
            token_roles: those among them whose lines get the codes of their words as well.
        """
        self._store, self._bank, self._encoder = store, bank, encoder
        self._roles, self._token_roles = roles, token_roles if encoder.token_scheme else ()
        self._seqs: set[int] = set()
        self._checked_leftovers = False  # whether lines of earlier processes were embedded
        self._has_outdated = True  # whether words of lines may be as an earlier version analysed them
        self._last_glossed: int | None = None if encoder.embedder.multilingual else 0  # see `embed_earlier`
        self._last_coded: int | None = 0  # `embed_earlier` goes on after this line; None: no line lacks codes
        self._lock = Lock()
        self._embedding = Lock()  # held until the vectors of a batch are stored
        self._filling = Lock()  # the same, of `embed_missing`, for which no reply waits

    def __bool__(self) -> bool:
        return bool(self._seqs)

    def add(self, lines: Iterable[Line]) -> None:
        """Add lines of the embedded roles to the backlog."""
        with self._lock:
            self._seqs.update(line.seq for line in lines if line.text and line.role in self._roles)

    def has_pending(self, exclude: Collection[int] = ()) -> bool:
        """Return whether any line is pending that is not among these."""
        return not self._seqs.issubset(exclude)

    def embed_pending(self, exclude: Collection[int] = ()) -> None:
        """Embed the pending lines. If no embedder answers, they get no vectors and leave the backlog.

        Args:
            exclude: numbers of lines; if all pending lines are among them, nothing is done.

        Raises:
            StoreUnavailable: the vectors could not be stored; the lines stay pending.
        """
        if not self.has_pending(exclude):
            return
        with self._embedding:  # concurrent callers wait for the vectors
            with self._lock:
                seqs = self._seqs.difference(exclude)
            lines = self._store.get(self._bank, sorted(seqs)) if seqs and self._store.exists(self._bank) else []
            dim = self._embed_and_store(lines)
            with self._lock:
                self._seqs -= seqs
            # A write would create a forgotten bank again.
            if dim and not self._checked_leftovers and self._store.exists(self._bank):
                self._embed_and_store(self._read_leftovers(dim))
                self._checked_leftovers = True

    def discard(self, lines: Iterable[Line]) -> None:
        """Remove lines from the backlog. They stay without a vector until `embed_missing` or `reindex`."""
        with self._lock:
            self._seqs.difference_update(line.seq for line in lines)

    def embed_missing(self, progress: Callable[[int], None] | None = None) -> None:
        """Embed all lines of the bank without a vector, then those without codes of words, in batches.

        Before that, the words of lines of earlier versions are analysed. If no embedder answers, the other lines stay
        without a vector. Concurrent callers take turns, and embed each line once.

        Args:
            progress: called with the number of lines of each batch.
        """
        while self.update_words():
            if progress is not None:
                progress(0)
        dim, model = self._find_dim(), self._encoder.name
        if not dim:
            return

        def read_without_vector(last: int) -> list[Line]:
            return self._store.lines_without_vectors(self._bank, model, dim, BATCH_LINES, last, self._roles)

        self._fill(read_without_vector, progress)
        self._fill(lambda last: self._read_codeless(BATCH_LINES, last), progress, have_vectors=True)

    def count_missing(self) -> int:
        """Return how many lines have no vector; the number of all lines if only codes of words are missing."""
        stats = self._store.stats(self._bank, self._encoder.name, self._roles)
        return stats.pending or (stats.lines if self._read_codeless(1) else 0)

    def update_words(self) -> bool:
        """Analyse the words of the next lines of earlier versions; return whether there may be more."""
        self._has_outdated = self._has_outdated and self._store.reanalyze(self._bank, REANALYZED_LINES)
        return self._has_outdated

    def try_update_words(self) -> None:
        """Call `update_words` unless the bank can't be written; it can be read and used all the same."""
        with suppress(EverthreadError):
            self.update_words()

    def embed_earlier(self, limit: int = EARLIER_LINES) -> bool:
        """Bring the next lines of earlier versions up to date.

        First the words of all are analysed, then Chinese lines are embedded, which had no gloss, then those without
        codes.

        Args:
            limit: of lines to embed.

        Returns:
            True if there may be more.
        """
        with self._filling:
            return self._store.exists(self._bank) and (
                self.update_words() or self._embed_glossed(limit) or self._embed_codeless(limit)
            )

    def _embed_glossed(self, limit: int) -> bool:
        """Embed the next lines without a vector that are embedded by their gloss; return whether there were any.

        Others without one are not: the model may be new, and `reindex` embeds them.
        """
        if self._last_glossed is None:
            return False
        lines = self._read_glossed(limit, self._last_glossed)
        is_stored = self._embed_and_store(lines) > 0
        if is_stored or not lines:
            self._last_glossed = lines[-1].seq if lines else None
        return is_stored

    def _embed_codeless(self, limit: int) -> bool:
        """Embed the next lines that lack the codes of their words; return whether there were any."""
        if self._last_coded is None:
            return False
        lines = self._read_codeless(limit, self._last_coded)
        is_stored = self._embed_and_store(lines, have_vectors=True) > 0
        if is_stored or not lines:
            self._last_coded = lines[-1].seq if lines else None
        return is_stored

    def _read_glossed(self, limit: int, after: int) -> list[Line]:
        """Return lines in a glossed language without a vector."""
        model = self._encoder.name
        if self._store.stats(self._bank, model, self._roles).pending <= len(self._seqs):
            return []
        dim = self._find_dim()
        while dim and (lines := self._store.lines_without_vectors(self._bank, model, dim, limit, after, self._roles)):
            if glossed := [line for line in lines if is_glossed(line.text)]:
                return glossed
            after = lines[-1].seq
        return []

    def _fill(
        self, read: Callable[[int], list[Line]], progress: Callable[[int], None] | None, have_vectors: bool = False
    ) -> None:
        """Embed the lines that `read` returns, each time those after a number, until it returns no more."""
        last, is_done = 0, False
        while not is_done and self._store.exists(self._bank):
            with self._filling:
                lines = read(last)
                is_done, last = not self._embed_and_store(lines, have_vectors), lines[-1].seq if lines else last
            if not is_done and progress is not None:
                progress(len(lines))

    def _find_dim(self) -> int:
        """Return the dimension of the model's vectors; 0 if no embedder answers."""
        probe = self._encoder.try_embed(["hello"])
        return int(probe[0].vectors.shape[1]) if probe else 0

    def _embed_and_store(self, lines: list[Line], have_vectors: bool = False) -> int:
        """Embed lines and store their vectors; return the dimension, or 0 if there are no vectors."""
        embedded = (
            self._encoder.try_embed([remove_quotes(line.text, line.metadata) for line in lines]) if lines else None
        )
        if not embedded:
            return 0
        store_embedded(self._store, self._bank, self._encoder.name, lines, embedded, self._token_roles, have_vectors)
        return int(embedded[0].vectors.shape[1])

    def _read_codeless(self, limit: int, after: int = 0) -> list[Line]:
        """Return lines that lack the codes of their words."""
        if not self._token_roles:
            return []
        model, scheme = self._encoder.name, self._encoder.token_scheme
        return self._store.lines_without_tokens(self._bank, model, scheme, limit, after, self._token_roles)

    def _read_leftovers(self, dim: int) -> list[Line]:
        """Return the lines of earlier processes without a vector, if they are few."""
        model = self._encoder.name
        if not 0 < self._store.stats(self._bank, model, self._roles).pending <= MAX_BACKFILL_LINES:
            return []
        lines = self._store.lines_without_vectors(self._bank, model, dim, MAX_BACKFILL_LINES, roles=self._roles)
        return [line for line in lines if line.seq not in self._seqs]


def store_embedded(
    store: Store,
    bank: str,
    model: str,
    lines: Sequence[Line],
    embedded: Sequence[EmbeddedText],
    token_roles: Collection[Role],
    have_vectors: bool,
) -> None:
    """Store what was embedded of lines, without their vectors if they have some.

    Lines that were forgotten meanwhile are skipped.
    """
    pairs = list(zip(lines, embedded, strict=True))
    vectors = {} if have_vectors else {line.seq: text.vectors for line, text in pairs}
    tokens = {line.seq: text.tokens for line, text in pairs if text.tokens is not None and line.role in token_roles}
    store.put_vectors(bank, model, vectors, lines, tokens)


def embedding_text(unit: Unit | NewUnit) -> str:
    """Return the text by which a unit is embedded: its rewritten text if it has one, else its own."""
    rewritten = unit.metadata.get(META_REWRITTEN)
    return rewritten if isinstance(rewritten, str) and rewritten else unit.text


def reindex(
    store: Store,
    bank: str,
    encoder: Encoder,
    batch_size: int,
    progress: Callable[[int], None] | None,
    roles: Collection[Role],
    token_roles: Collection[Role] = (),
) -> int:
    """Embed units and lines without a vector, or codes of words, of this model; delete the vectors of other models.

    Before that, the words of lines of earlier versions are analysed.

    Args:
        store: the store of the bank.
        bank: its id.
        encoder: the model.
        batch_size: lines or units to embed at a time.
        progress: called with the number of lines embedded so far, after each batch.
        roles: the roles whose lines are embedded.
        token_roles: those among them whose lines get the codes of their words.

    Returns:
        The number of lines embedded.

    Raises:
        ModelError: the embedder failed; finished batches stay stored.
    """
    while store.reanalyze(bank, REANALYZED_LINES):
        pass
    dim = embed_question(encoder.embedder, "hello").shape[-1]
    total = 0

    def embed_all(read: Callable[[int], list[Line]], have_vectors: bool) -> None:
        nonlocal total
        last = 0
        while lines := read(last):
            embedded = encoder.embed([remove_quotes(line.text, line.metadata) for line in lines])
            store_embedded(store, bank, encoder.name, lines, embedded, token_roles, have_vectors)
            total, last = total + len(lines), lines[-1].seq
            if progress is not None:
                progress(total)

    embed_all(lambda last: store.lines_without_vectors(bank, encoder.name, dim, batch_size, last, roles), False)
    if encoder.token_scheme and token_roles:
        embed_all(
            lambda last: store.lines_without_tokens(
                bank, encoder.name, encoder.token_scheme, batch_size, last, token_roles
            ),
            True,
        )
    _embed_units(store, bank, encoder, batch_size, dim)
    store.drop_vectors(bank, keep=encoder.name)
    return total


def _embed_units(store: Store, bank: str, encoder: Encoder, batch_size: int, dim: int) -> None:
    """Embed the units without a vector of this model. Raises ModelError; finished batches stay stored."""
    missing = iter(store.units_without_vectors(bank, encoder.name, dim))
    while units := list(islice(missing, batch_size)):
        embedded = encoder.embed([embedding_text(unit) for unit in units])
        by_unit = {(unit.kind, unit.id): text.vectors for unit, text in zip(units, embedded, strict=True)}
        store.put_unit_vectors(bank, encoder.name, by_unit)

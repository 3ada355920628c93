"""Memory: the API of one bank. Each method validates what it is given and delegates; the work is done elsewhere.

A line comes in (observe)
    bank.line_validation     clean_line                        checks and normalises it
    bank.line_keys           split_known                       finds the lines that are stored already
    bank.line_preparation    prepare_lines                     counts its terms, flags what it says
    embedders.encoder        Encoder.try_embed                 embeds its pieces
    stores.base              Store.append                      writes it, in one transaction
    recipes.base             Recipe.update                     writes what derives from lines

A question comes in (recall, context)
    recall.rerank.names      RerankerOpener.open               opens the reranker, if one is named
    recipes.dispatch         search                            chooses what answers it
    bank.embedding_backlog   EmbeddingBacklog.embed_pending    embeds the lines that wait for it
    recipes.default          Default.recall                    composes what follows, as each recipe does in its own way
    recall.reader            BankReader.find_candidates        calls the six stages that follow
    recall.query_parsing     parse_query                       finds its terms, names and times
    recall.time_overview     find_lines_in_spans               finds the lines of a time, if it names nothing else
    embedders.encoder        Encoder.try_embed_query           embeds it
    recall.candidates        find_candidates                   finds the lines near to it in meaning or in words
    recall.features          compute_signals                   measures each of them
    recall.features          weighted_sum                      weighs the signals
    recall.relevance         estimate_relevance                turns scores into probabilities
    recall.neighbours        build_hits                        reads the best, each with its neighbours
    recall.rerank.names      rerank_hits                       puts them in the reranker's order, if there is one
    recall.relevance_buffer  push_spans                        adds the passages that stay in view (context)
    recall.context_packing   fill_context                      fills the budget (context)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from everthread import factory
from everthread.bank import corrections, damage, deletion, line_keys, validation
from everthread.bank.embedding_backlog import EmbeddingBacklog, reindex
from everthread.bank.line_preparation import prepare_lines
from everthread.bank.line_validation import clean_line, replace_unstorable
from everthread.bank.line_versions import find_correction
from everthread.bank.settings import check_setting
from everthread.embedders.base import Embedder
from everthread.embedders.encoder import FAILURES, Encoder
from everthread.errors import BadInput, BadLine, BadQuery, EverthreadError
from everthread.recall import multi_bank
from everthread.recall.reader import BankReader
from everthread.recall.rerank.base import Reranker
from everthread.recall.rerank.names import RerankerOpener, rerank_hits
from everthread.recall.types import ContextBudget, Query
from everthread.recipes import dispatch
from everthread.recipes.base import Recipe
from everthread.recipes.saved_recipe import SavedRecipe, save_recipe
from everthread.stores.base import Store
from everthread.stores.errors import missing_line_error
from everthread.stores.limits import MAX_SEQ
from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import (
    Context,
    Filter,
    Hit,
    JSONValue,
    Line,
    Metadata,
    NewLine,
    NewUnit,
    Receipt,
    Role,
    ScribeJob,
    Session,
    Stats,
    Unit,
    now,
)

log = logging.getLogger("everthread")

BATCH_LINES = 512  # lines embedded and written together by observe_many: one fsync each

Progress = Callable[[int], None]


@damage.raises_bank_damaged
class Memory:
    """One open bank; a context manager. Thread-safe, also in processes that are forked while it is open.

        with Memory.open("alice") as memory:
            memory.observe("My sister Mia moved to Lisbon in May.", speaker="Alice")
            print(memory.context("Where does Mia live?").text)

    A write is durable when its call returns. Reads see all writes that have returned, of any process.
    """

    def __init__(self, bank: str, store: Store, embedder: Embedder, recipe: Recipe) -> None:
        """Open a bank of an open store, which the caller closes; `open` is the usual way."""
        store.create(bank)
        self.bank, self.store, self.recipe = bank, store, recipe
        self.count: TokenCounter = estimate_tokens  # the tokens of a text
        self._encoder = Encoder(embedder)
        self._rerankers = RerankerOpener(embedder)
        self.backlog = EmbeddingBacklog(store, bank, embedder.name, self._encoder.try_embed, recipe.embedded_roles)
        self.reader = BankReader(store, bank, self._encoder, self.backlog)  # for recipes and benchmarks
        self._owns_store = self._saves_recipe = False  # the latter: with the first line

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        return self._encoder.embedder

    @classmethod
    def open(
        cls,
        bank: str = "default",
        *,
        store: Store | str | Path | None = None,
        embedder: Embedder | str | None = None,
        recipe: Recipe | str | None = None,
        options: Mapping[str, object] | None = None,
        tokens: TokenCounter | str | None = None,
    ) -> Self:
        """Open a bank; create it if it doesn't exist.

        Args:
            bank: the bank's name.
            store: a folder, the URL of a database, or a Store.
            embedder: an embedding model or its name.
            recipe: a recipe or its name; None: the bank's saved one. A new bank saves it with its first line.
            options: values of the recipe's options, by name.
            tokens: a token counter or its name.

        An argument that is None is taken from the configuration (`everthread.config`).

        Raises:
            BadBankId: for a name that no bank can have.
            BadInput, ConfigError: for an invalid argument or setting.
            BankTooNew, BankDamaged, StoreUnavailable: if the bank can't be read.
        """
        held = factory.open_store(store)
        try:
            memory = cls(
                bank,
                held,
                factory.open_embedder(embedder),
                factory.open_recipe(recipe, SavedRecipe.load(held, bank), options),
            )
            memory.count = factory.open_counter(tokens)
            memory._saves_recipe = bool(recipe or options) and not held.corpus_stats(bank).last_seq
        except BaseException:
            if held is not store:
                held.close()
            raise
        memory._owns_store = held is not store
        return memory

    # ------------------------------------------------------------------ observe

    def observe(
        self,
        text: str,
        *,
        speaker: str | None = None,
        role: Role = "user",
        said_at: datetime | None = None,
        session: str | None = None,
        metadata: Metadata | None = None,
        parent: int | str | None = None,
        key: str | None = None,
    ) -> Line:
        """Store one line; it is durable, and found by recall, when this returns.

        Args:
            text: what was said.
            speaker: who said it; None: the role.
            role: the speaker's role.
            said_at: when it was said; None: now.
            session: the conversation; None: the current one, or a new one after an hour of silence.
            metadata: what JSON can hold.
            parent: the line that it answers, by number or key.
            key: its name at its source. A key that is stored already returns the stored line, or its correction; a
                retracted line's key goes to the new line.

        Raises:
            BadLine: for an invalid argument; nothing is stored.
            StoreUnavailable: if the bank can't be written; nothing is stored.
        """
        new = NewLine(text, role if speaker is None else speaker, role, said_at, session, metadata or {}, parent, key)
        return self.observe_many([new])[0]

    def observe_many(self, lines: Iterable[NewLine], progress: Progress | None = None) -> list[Line]:
        """Store lines, embedded and written in batches.

        Args:
            lines: the lines. All are validated before the first is stored, except their parents, which are looked up as
                they are written.
            progress: called after each batch with the number of lines that are stored.

        Raises:
            BadLine, StoreUnavailable: as `observe`. Batches that were written stay; the same lines with their keys
                complete the work.
        """
        lines = list(lines)
        for line in lines:
            if not isinstance(line, NewLine):
                raise BadLine(f"a line must be a NewLine, got {type(line).__name__}: {str(line)[:40]!r}")
        present = now().astimezone()  # on the speaker's own clock, as far as this machine knows it
        cleaned = iter([clean_line(line, present) for line in lines])
        kept: list[Line] = []
        while batch := list(islice(cleaned, BATCH_LINES)):
            kept += self._write_batch(batch)
            if progress is not None:
                progress(len(kept))
        return kept

    def replace_lines(
        self,
        seqs: Collection[int],
        lines: Iterable[NewLine] = (),
        *,
        defer_embedding: bool = False,
        corrects: int | None = None,
    ) -> list[Line]:
        """Retract lines and store others in their place, in one transaction.

        Args:
            seqs: the lines to retract; retracted and forgotten ones are skipped.
            lines: the lines to store.
            defer_embedding: embed them later, in the next recall here that may find them or in `backlog.embed_pending`.
            corrects: which of the retracted lines the first new line corrects; a pin on it moves to the new line.

        Returns:
            The stored lines.

        Raises:
            BadQuery, BadLine: for an invalid argument.
            NotFound: if the corrected line is gone.
            StoreUnavailable: if the bank can't be written.
        """
        cleaned = [clean_line(line, now().astimezone()) for line in lines]
        return self._write_batch(cleaned, sorted(validation.check_seqs(seqs, "seqs")), defer_embedding, corrects)

    def _write_batch(
        self,
        lines: Sequence[NewLine],
        replacing: Sequence[int] = (),
        defer_embedding: bool = False,
        corrects: int | None = None,
    ) -> list[Line]:
        """Write one batch. Lines that are stored already, by their keys, are not embedded again."""
        if self._saves_recipe:
            self._saves_recipe = False
            self.save_recipe()
        there, fresh = line_keys.split_known(self.store, self.bank, lines, replacing)
        entries = prepare_lines(fresh, () if defer_embedding else self.recipe.embedded_roles, self._encoder.try_embed)
        put: list[Line] = []
        if fresh or replacing:
            put = self.store.append(self.bank, entries, self.embedder.name, replaces=replacing, corrects=corrects)
        if defer_embedding:
            self.backlog.add(put)
        self._update_derived()
        written = iter(put)
        return [line or next(written) for line in there]

    def _update_derived(self) -> None:
        """Let the recipe update what derives from lines. If it fails, the next line or query completes it."""
        try:
            self.recipe.update(self.reader)
        except (EverthreadError, *FAILURES) as error:
            log.warning("what %s writes beside the lines waits: %s", self.recipe.name, error)

    # ------------------------------------------------------------------- recall

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        where: Filter | None = None,
        as_of: datetime | None = None,
        exclude: Collection[int] = (),
        banks: Collection[str] | None = None,
        rerank: Reranker | str | None = None,
    ) -> list[Hit]:
        """Find what bears most on a query.

        Args:
            query: the question. A blank one finds nothing; one of nothing but a time ("What did we talk about
                yesterday?") finds the lines said then.
            k: hits at most.
            where: a filter on the lines that are found, or shown around a hit. With `kind`, units of these kinds are
                found in place of lines ("note", "summary", "fact"; of facts, the current ones): `hit.unit` is then the
                unit, and its relevance is its cosine, not calibrated.
            as_of: the moment as of which the bank is read, on the asker's clock; what was said later is ignored, and
                "yesterday" is the day before. None: now.
            exclude: numbers of lines that are in the prompt already; they are neither found nor shown.
            banks: names of banks in the same store that are searched in place of this one. Access control is the
                caller's responsibility.
            rerank: a reranker or its name (`recall.rerank.names`), which chooses at most k hits from four times as
                many and orders them. None: the recipe's reranker; "none" or "": no reranking.

        Returns:
            The hits, best first, each with its relevance, which the default recipe calibrates for lines; of several
            banks, by relevance, each with its bank.

        Raises:
            BadQuery: for an invalid argument.
            NotFound: for a bank that doesn't exist.
            ConfigError: for an unknown reranker.
        """
        validation.check_positive(k, "k")
        asked = Query(query, where, as_of, validation.check_seqs(exclude))
        reranker = self._rerankers.open(self.recipe.rerank if rerank is None else rerank)
        wanted = k if reranker is None else k * dispatch.CANDIDATES_PER_HIT
        search = partial(dispatch.search, self.recipe)
        if banks is None:
            hits = search(self.reader, asked, wanted).hits
        else:
            hits = multi_bank.recall(self.reader, banks, asked, wanted, search)
        return rerank_hits(reranker, query, hits)[:k]

    def context(
        self,
        query: str,
        budget: int = 1000,
        *,
        where: Filter | None = None,
        as_of: datetime | None = None,
        session: str | None = None,
        gate: bool = True,
        min_relevance: float | None = None,
        exclude: Collection[int] = (),
        notes: Unit | None = None,
        count: TokenCounter | None = None,
        banks: Collection[str] | None = None,
        rerank: Reranker | str | None = None,
    ) -> Context:
        """Lay out what bears on a query as text for a prompt. When nothing is relevant, the text is empty, unless the
        session's buffer holds passages.

        Args:
            query: the question. A blank one finds nothing, and shows what the session's buffer holds.
            budget: tokens that the text may have.
            where: as for `recall`.
            as_of: as for `recall`.
            session: a session whose earlier passages stay in view for a while (the relevance buffer).
            gate: whether a query to which nothing is relevant gets no hits.
            min_relevance: relevance below which a hit is left out; None: the recipe's.
            exclude: as for `recall`; these lines are left out of the buffer's passages, too.
            notes: the notes that are in the prompt already, which a recipe of notes then doesn't repeat.
            count: counts the tokens of a text; None: as the memory was opened.
            banks: as for `recall`. The text has a part for each bank under its name; lines, hits and cut are those of
                this memory's bank, to which session, exclude and notes apply alone; `others` holds the other contexts.
            rerank: as for `recall`; the budget is filled in the reranker's order.

        Raises:
            BadQuery: for an invalid argument.
            NotFound: for a bank that doesn't exist.
            ConfigError: for an unknown reranker.
        """
        validation.check_positive(budget, "budget")
        if min_relevance is not None and not (isinstance(min_relevance, int | float) and 0 <= min_relevance <= 1):
            raise BadQuery(f"min_relevance must be a relevance from 0 to 1, got {min_relevance!r}")
        if session is not None:
            validation.check_filter_name(session, "session")
        gone = validation.check_seqs(exclude)
        asked = Query(query, where, as_of, gone, notes)
        limits = ContextBudget(budget, count or self.count, session, gone, gate, min_relevance)
        reranker = self._rerankers.open(self.recipe.rerank if rerank is None else rerank)
        build = partial(dispatch.build_context, self.recipe, reranker=reranker)
        if banks is not None:
            return multi_bank.build_context(self.reader, banks, asked, limits, build)
        return build(self.reader, asked, limits)

    # ------------------------------------------------------- what is remembered

    def lines(
        self, where: Filter | None = None, *, after: int = 0, limit: int | None = None, include_retracted: bool = False
    ) -> Iterator[Line]:
        """Iterate over the lines by number.

        Args:
            where: a filter.
            after: skip lines up to this number.
            limit: lines at most.
            retracted: include retracted lines.

        Raises:
            BadQuery: for an invalid argument.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise BadQuery(f"limit must be a whole number from 0, got {limit!r}")
        if type(after) is not int:
            raise BadQuery(f"after must be a whole number, got {after!r}")
        behind = min(max(after, 0), MAX_SEQ)
        return self.store.lines(self.bank, where, after=behind, limit=limit, include_retracted=include_retracted)

    def sessions(self) -> list[Session]:
        """Return the conversations, in the order in which they began."""
        return self.store.sessions(self.bank)

    def end(self, session: str, at: datetime | None = None) -> None:
        """End a session, now or at a given time: the next line without a session starts another one.

        Raises BadQuery and NotFound.
        """
        self.store.end_session(self.bank, validation.check_filter_name(session, "session"), at or now())

    def stats(self) -> Stats:
        """Count what the bank holds."""
        found = self.store.stats(self.bank, self.embedder.name, self.recipe.embedded_roles)
        return replace(found, recipe=self.recipe.name)

    def retract(self, seq: int) -> Line:
        """Exclude a line from recall for good; its text stays in the record. Raises BadQuery and NotFound."""
        line = self.store.retract(self.bank, validation.check_seq(seq, self.bank), now())
        self._update_derived()
        return line

    def correct(self, seq: int, text: str, *, key: str | None = None) -> Line:
        """Replace the text of a line: retract it, and store one of the same speaker, session and time in its place.

        Args:
            seq: the line.
            text: the new text. A correction that was made before is not made again.
            key: the new line's key; None: that of the old one.

        Returns:
            The new line.

        Raises:
            BadQuery, BadLine, NotFound, StoreUnavailable: as `replace_lines`.
        """
        known = None if key is None else self.store.get_by_key(self.bank, [key]).get(key)
        if done := known or find_correction(self.store, self.bank, validation.check_seq(seq, self.bank), text):
            return done
        new = corrections.build_correction(self.store, self.bank, seq, text, key)
        line = self.replace_lines([seq], [new], corrects=seq)[0]
        if line.text != replace_unstorable(text)[0]:  # the key was taken by another correction, just now
            raise missing_line_error(self.bank, seq)
        return line

    def forget(
        self,
        *,
        seq: int | None = None,
        session: str | None = None,
        speaker: str | None = None,
        everything: bool = False,
    ) -> Receipt:
        """Remove a line, a session, all lines of a speaker, or the bank, for good. Give exactly one of them.

        A line is removed in all branches, with its earlier versions. Notes and summaries that derive from it are
        removed; a new summary of the rest of its session is queued. Lines that quote it stay. In a folder no byte of it
        remains, and each call rewrites the bank's file, so that forgetting a session is faster than forgetting its
        lines. In Postgres its bytes remain in pages until they are reused (`everthread db scrub` removes them at once),
        and in the write-ahead log and backups.

        Raises:
            BadQuery: for an invalid argument.
            NotFound: if there is nothing to remove.
            StoreUnavailable: if the lines are removed but bytes of them may remain.
        """
        scope, name = deletion.parse_scope(self.bank, seq, session, speaker, everything)
        receipt = deletion.forget(self.store, self.bank, scope, name)
        if scope != "bank":  # of one that is gone nothing is written, or it would be there again
            self._update_derived()
        return receipt

    # -------------------------------------------------------- what is written of it

    def add_unit(self, unit: NewUnit, *, supersedes: int | None = None, finished_job: ScribeJob | None = None) -> Unit:
        """Store a unit: a text written about lines.

        Args:
            unit: the unit.
            supersedes: the id of the current unit of its kind that it replaces.
            done: the job that it completes, which leaves the queue in the same transaction.

        Raises:
            BadInput: for an invalid argument.
            NotFound: if one of its sources was retracted or forgotten, or what it supersedes is no longer current;
                nothing is stored, and the job stays queued.
            StoreUnavailable: if the bank can't be written.
        """
        unit = validation.check_unit(unit)
        if supersedes is not None and (type(supersedes) is not int or not 1 <= supersedes <= MAX_SEQ):
            raise BadInput(f"supersedes must be the id of a unit, counted from 1, got {supersedes!r}")
        finished_job = finished_job and validation.check_job(finished_job)
        vectors = self._encoder.try_embed([unit.text])
        return self.store.put_unit(
            *(self.bank, unit, vectors[0] if vectors else None, self.embedder.name, now()),
            supersedes=supersedes,
            finished_job=finished_job,
        )

    def edit_unit(self, kind: str, number: int, text: str) -> Unit:
        """Replace the text of a current unit, with a unit that supersedes it. Raises as `add_unit`."""
        new = corrections.build_edit(self.store, self.bank, validation.check_name(kind, "kind"), number, text)
        return self.add_unit(new, supersedes=number)

    def set_notes(self, text: str) -> Unit:
        """Replace the current notes with a text written by hand. Raises as `add_unit`."""
        new, before = corrections.build_note(self.store, self.bank, text)
        return self.add_unit(new, supersedes=before)

    def forget_unit(self, kind: str, number: int) -> list[int]:
        """Remove a unit and those that it superseded, for good, and return their ids; its lines stay.

        Raises BadInput and NotFound; StoreUnavailable as `forget`.
        """
        return self.store.forget_unit(
            self.bank, validation.check_name(kind, "kind"), validation.check_at_least(number, "a unit's id", 1)
        )

    def units(self, kind: str | None = None, *, only_current: bool = False, category: str | None = None) -> list[Unit]:
        """Return the units that are not retracted, by kind and id.

        Args:
            kind: only units of this kind.
            current: only units that no other one has superseded.
            category: only units of this category.

        Raises:
            BadInput: for an invalid kind.
        """
        found = self.store.units(
            self.bank, () if kind is None else (validation.check_name(kind, "kind"),), only_current=only_current
        )
        return [unit for unit in found if category in (None, unit.category)]

    def enqueue(self, job: ScribeJob) -> None:
        """Queue a job for a scribe, or update one that failed.

        With `jobs`, `add_unit` and `dequeue`, it serves programs that run a scribe of their own. Raises BadInput;
        NotFound if its session doesn't exist.
        """
        self.store.enqueue(self.bank, validation.check_job(job))

    def jobs(self) -> list[ScribeJob]:
        """Return the queued jobs, oldest first."""
        return self.store.jobs(self.bank)

    def dequeue(self, job: ScribeJob) -> None:
        """Remove a job from the queue, if it is queued. Raises BadInput."""
        self.store.dequeue(self.bank, validation.check_job(job))

    def settings(self) -> dict[str, JSONValue]:
        """Return the bank's settings by name."""
        return self.store.settings(self.bank)

    def set_setting(self, name: str, value: JSONValue | None) -> None:
        """Save a setting of the bank; None removes it. Raises BadInput if JSON can't hold the value."""
        check_setting(name, value)
        self.store.set_setting(self.bank, name, value)

    def save_recipe(self) -> None:
        """Save the recipe that the bank is open with, for all who open it without naming one."""
        save_recipe(self.store, self.bank, self.recipe, factory.configured_recipes().get(self.recipe.name))

    def reindex(self, progress: Progress | None = None) -> int:
        """Embed all units, and the lines that the recipe embeds, with the present model; drop vectors of other models.

        It may be interrupted and run again at any time.

        Args:
            progress: called with the number of lines that are embedded.

        Returns:
            The number of lines that were embedded.

        Raises:
            ModelError: if the embedder fails; what is embedded stays.
        """
        self._encoder.resume()
        roles = self.recipe.embedded_roles
        return reindex(self.store, self.bank, self.embedder, self._encoder.embed, BATCH_LINES, progress, roles)

    def close(self) -> None:
        """Close the files, unless the store was given open, and the reranker's model. A later call opens them again."""
        self._rerankers.close()
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

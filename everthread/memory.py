"""Memory: what one bot remembers in one relationship. Read this first.

    observe   line ─ clean ─ units ─ embed ─ store
    recall    query ─ rewrite ─ search ─ fuse ─ gate ─ expand ─ hits
    context   hits ─ buffer ─ budget ─ text

Each step is a function in the file named for it; this file calls them in order and knows nothing of SQL or of scores.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from everthread import factory
from everthread.bank import corrections, damage, deletion, line_keys, validation
from everthread.bank.embedding_backlog import EmbeddingBacklog, embedding_text, reindex
from everthread.bank.entries import entries as prepared
from everthread.bank.line_validation import clean_line, keepable
from everthread.bank.line_versions import corrected
from everthread.bank.settings import check_setting
from everthread.embedders import shapes
from everthread.embedders.calibration import EmbedderState, calibrate
from everthread.embedders.onnx import Embedder
from everthread.errors import BadInput, BadLine, BadQuery, EverthreadError, ModelError
from everthread.recall import candidates, features, multi_bank, neighbours, time_overview, unit_search
from everthread.recall import query as rewrite
from everthread.recall.candidates import Candidates
from everthread.recipes.base import Candidate, ContextBudget, Query, Recipe, SearchResult
from everthread.recipes.saved_recipe import SavedRecipe
from everthread.stores.base import Store
from everthread.stores.limits import LARGEST_SEQ
from everthread.stores.shared_rows import missing
from everthread.stores.shared_rows import offered as as_offered
from everthread.text.analyzer import is_unspaced_script
from everthread.text.line_features import split
from everthread.text.tokens import Counter, estimate
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
    Seqs,
    Session,
    Stats,
    Unit,
    Vector,
    Vectors,
    now,
)

log = logging.getLogger("everthread")

BATCH = 512  # lines embedded and written together by observe_many: one fsync each
COOLDOWN = 30.0  # seconds without trying an embedder that has just failed, so that lines are kept at once meanwhile
BLANK = "…"  # embedded for a line that says nothing of its own, so that its vector is near to no other
UNEMBEDDED = (
    "a bank has no vectors of %s: lines are found by their words alone; run reindex, by a recipe that embeds lines, or "
    "name its old embedder"
)
FAILURES = (ModelError, RuntimeError, OSError)  # of an embedder; the last two are how torch and sockets fail

Progress = Callable[[int], None]


@damage.reports_damage
class Memory:
    """One bank, open. Safe from many threads, and in processes forked while it is open; usable as a context manager.

        with Memory.open("alice") as memory:
            memory.observe("My sister Mia moved to Lisbon in May.", speaker="Alice")
            print(memory.context("Where does Mia live?").text)

    A write is on the disk when its call returns. Reads see every write that has returned, of any process.
    """

    def __init__(self, bank: str, store: Store, embedder: Embedder, recipe: Recipe) -> None:
        """A bank of an open store, which stays the caller's to close; `open` is the usual way."""
        store.corpus(bank)  # makes the bank, or says now what is wrong with it
        self.bank, self.store, self.embedder, self.recipe = bank, store, embedder, recipe
        self._owns_store = self.settles = False  # the latter: whether the first line has the bank keep the recipe
        self.state = EmbedderState()
        self.count: Counter = estimate  # the tokens of a text
        self.backlog = EmbeddingBacklog(store, bank, embedder.name, self.try_embed, recipe.embedded)

    @classmethod
    def open(
        cls,
        bank: str = "default",
        *,
        store: Store | str | Path | None = None,
        embedder: Embedder | str | None = None,
        recipe: Recipe | str | None = None,
        options: Mapping[str, object] | None = None,
        tokens: Counter | str | None = None,
    ) -> Self:
        """Open a bank, made when it is not there. What isn't given comes from the configuration (`everthread.config`).

        store is a folder or a Store; embedder, recipe and tokens (a counter) are objects or names. The bank keeps the
        recipe of its first line, or of a conversation, with its options, and is opened with it where none is given.
        Raises BadBankId, BadInput, ConfigError, BankTooNew, BankDamaged, StoreUnavailable.
        """
        held = factory.store(store)
        try:
            memory = cls(
                bank, held, factory.embedder(embedder), factory.recipe(recipe, SavedRecipe.of(held, bank), options)
            )
            memory.count = factory.counter(tokens)
            memory.settles = bool(recipe or options) and not held.corpus(bank).last_seq
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
        """Keep one line; it is durable and can be recalled when this returns.

        speaker defaults to the role, said_at to now, session to the bank's current one (a new one after an hour of
        silence). A line whose key the bank knows is not kept twice: the one that is there comes back, also where it was
        corrected since. A retracted line is not given back: its key goes to the new one.
        Raises BadLine and StoreUnavailable, and then nothing was kept.
        """
        new = NewLine(text, role if speaker is None else speaker, role, said_at, session, metadata or {}, parent, key)
        return self.observe_many([new])[0]

    def observe_many(self, lines: Iterable[NewLine], progress: Progress | None = None) -> list[Line]:
        """Keep many lines, embedded and written in batches. progress is called with how many are done after each.

        All lines are checked before the first is kept, but for their parents, which are looked up as they are written.
        Raises as `observe`; batches already written stay, and giving the same lines with their keys again completes
        the work.
        """
        lines = list(lines)
        for line in lines:
            if not isinstance(line, NewLine):
                raise BadLine(f"a line must be a NewLine, got {type(line).__name__}: {str(line)[:40]!r}")
        present = now().astimezone()  # on the speaker's own clock, as far as this machine knows it
        cleaned = iter([clean_line(line, present) for line in lines])
        kept: list[Line] = []
        while batch := list(islice(cleaned, BATCH)):
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
        """Retract lines, and keep others in their place, if any are given: all at once or not at all. Lines that are
        retracted or forgotten already are passed over. late: they are embedded by the next recall here that may find
        them, or by `late.catch_up`, if that comes first. corrects: which of these lines the first new one corrects; it
        is pinned if that was. Raises BadQuery, BadLine, StoreUnavailable; NotFound if the corrected line is gone."""
        cleaned = [clean_line(line, now().astimezone()) for line in lines]
        return self._write_batch(cleaned, sorted(validation.check_seqs(seqs, "seqs")), defer_embedding, corrects)

    def _write_batch(
        self,
        lines: Sequence[NewLine],
        replacing: Sequence[int] = (),
        defer_embedding: bool = False,
        corrects: int | None = None,
    ) -> list[Line]:
        """Write one batch. Lines known by their key are not embedded again; the store itself sees to it that none is
        written twice, whoever else is writing."""
        factory.settle(self)
        there, fresh = line_keys.sort_out(self.store, self.bank, lines, replacing)
        entries = prepared(fresh, () if defer_embedding else self.recipe.embedded, self.try_embed)
        put: list[Line] = []
        if fresh or replacing:
            put = self.store.append(self.bank, entries, self.embedder.name, instead=replacing, corrects=corrects)
        if defer_embedding:
            self.backlog.add(put)
        self._update_derived()
        written = iter(put)
        return [line or next(written) for line in there]

    def _update_derived(self) -> None:
        """Have the recipe write what it writes of lines. They are kept in any case: where it fails, the next line or
        question brings it."""
        try:
            self.recipe.update(self)
        except (EverthreadError, *FAILURES) as error:
            log.warning("what %s writes beside the lines waits: %s", self.recipe.name, error)

    def import_lines(self, lines: Sequence[Line]) -> None:
        """Write lines of another store under their own numbers, which must be greater than the bank's last. Retracted
        ones come back as if they weren't: `retract` them. Raises BadLine and StoreUnavailable."""
        entries = prepared([as_offered(line) for line in lines], self.recipe.embedded, self.try_embed)
        entries = [replace(entry, seq=line.seq) for entry, line in zip(entries, lines, strict=True)]
        self.store.append(self.bank, entries, self.embedder.name)

    def try_embed(self, texts: Sequence[str]) -> list[Vectors] | None:
        """The vectors of each text's pieces, or None when the embedder is down: what is kept is kept without."""
        if time.monotonic() < self.state.retry_at:
            return None
        try:
            return self._vectors(texts)
        except FAILURES as error:
            self._start_cooldown(error)
            return None

    def _vectors(self, texts: Sequence[str]) -> list[Vectors]:
        parts = [split(text) or [BLANK] for text in texts]
        made = shapes.passages(self.embedder, [piece for part in parts for piece in part])  # (N, E, D)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        return [each.reshape(-1, each.shape[-1]) for each in np.split(made, ends)]

    def _start_cooldown(self, error: Exception) -> None:
        self.state.retry_at = time.monotonic() + COOLDOWN
        log.warning("no vectors for now, lines are kept and found by their words; later run reindex: %s", error)

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
    ) -> list[Hit]:
        """The k lines that bear most on the query, best first; fewer when the bank has fewer.

        where restricts which lines are shown, also around a hit; as_of leaves out all that was said later, and is the
        moment, on the asker's clock, from which "yesterday" and "last week" are told (else this machine's now).
        A question of nothing but a time ("What did we talk about yesterday?") gives the lines said then, and no other.
        without are lines that are in the prompt already: they are no hits, stand in no passage, and nothing is found
        for their sake.
        Every hit carries a calibrated relevance: to inject nothing when nothing is relevant, use `context` or test it.
        where.kind names the units to be found instead of lines ("note", "summary", "fact"), but for facts that a later
        one has superseded: each comes as a line of its own, with its id in the metadata as "unit", and its relevance is
        only its cosine to the query, no calibrated chance.
        banks of the same store are searched instead of this one, which must be named to be among them; the hits of all
        are one list by relevance, and each names its bank. It is the caller's to know who may see what of whom.
        A blank query recalls nothing. Raises BadQuery, and NotFound for a bank that is not there.
        """
        validation.check_positive(k, "k")
        asked = Query(query, where, as_of, validation.check_seqs(exclude))
        return self._recall(asked, k).hits if banks is None else multi_bank.recall(self, banks, asked, k)

    def candidates(
        self,
        query: str,
        k: int = 0,
        *,
        where: Filter | None = None,
        as_of: datetime | None = None,
        exclude: Collection[int] = (),
    ) -> tuple[Candidates, features.Signals]:
        """The candidates for a query, at least k of them, and the raw signals of each: what `recall` weighs, and
        weights are fitted on."""
        validation.check_query(query)
        gone = validation.check_seqs(exclude)
        self.backlog.embed_pending(gone)
        past = None if as_of is None else self.store.filter_seqs(self.bank, Filter(), as_of)
        corpus = self.store.corpus(self.bank, past)
        clock = as_of or now().astimezone()  # the asker's, as far as it is known
        asked = rewrite.parse_query(query, corpus.names, clock)
        then = time_overview.lines_in_span(self.store, self.bank, asked, clock, as_of) if asked.overview else None
        allowed = past if where is None else self.store.filter_seqs(self.bank, where, as_of)
        vector = self.embed_query(asked.dense)
        found = candidates.search(
            *(self.store, self.bank, self.embedder.name, asked, vector, corpus),
            allowed=allowed,
            visible=past,
            in_span=then,
            exclude=np.array(sorted(gone), np.int64) if gone else None,
            k=k,
        )
        self._warn(found, vector, gone)
        if vector is not None:
            found = replace(found, cosine=self.calibrate(found.cosine))
        return found, features.signals(asked, found)

    def nearest(self, text: str, k: int, asked: Query) -> list[tuple[int, float]]:
        """The k lines nearest in meaning to a text, and their cosines as the shipped model would give them; by codes
        first, exactly then. None where no embedder answers, or the lines have no vectors."""
        if (vector := self.embed_query(text)) is None:
            return []
        model = self.embedder.name
        wanted = max(k + len(asked.exclude), candidates.DENSE_CANDIDATES)
        seqs = self.store.nearest(self.bank, model, vector, wanted, self.visible_seqs(asked))
        seqs = seqs[~np.isin(seqs, list(asked.exclude))]
        cosines = self.calibrate(self.store.cosines(self.bank, model, vector, seqs))
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(int(seqs[at]), float(cosines[at])) for at in best if not np.isnan(cosines[at])]

    def visible_seqs(self, asked: Query) -> Seqs | None:
        """The lines that may be recalled for a question, ascending; None: all that stand."""
        return self.store.filter_seqs(self.bank, asked.where or Filter(), asked.as_of)

    def with_neighbours(
        self, ranked: Sequence[Candidate], width: int, allowed: Seqs | None, without: Collection[int] = ()
    ) -> list[Hit]:
        """The lines that were found, each with `width` neighbours on either side as far as they may be shown."""
        return neighbours.build_hits(ranked, width, lambda seqs: self.get_visible(seqs, allowed), without)

    def _recall(self, asked: Query, k: int) -> SearchResult:
        if kinds := unit_search.kinds(asked.where, asked.as_of):
            return self.find_units(asked, kinds, k)
        if isinstance(asked.query, str) and not asked.query.strip():  # nothing is asked, so no embedder is
            return SearchResult(allowed=self.visible_seqs(asked))
        validation.check_query(asked.query)
        self.backlog.embed_pending(asked.exclude)
        return self._recipe_for(asked.where).recall(self, asked, k)

    def _recipe_for(self, where: Filter | None) -> Recipe:
        """The recipe; the default, where lines are asked for by name and the recipe finds none."""
        unit_search.see_category(where, self.recipe.name, self.recipe.categorised)
        lines = where is not None and where.kind is not None and not unit_search.kinds(where)
        return factory.RECIPES["default"] if lines and "line" not in self.recipe.kinds else self.recipe

    def find_units(self, asked: Query, kinds: tuple[str, ...], k: int) -> SearchResult:
        """The k units of these kinds that bear most on a question: by their cosines and the words that they share."""
        validation.check_query(asked.query)
        query, where, as_of = asked.query, asked.where or Filter(), asked.as_of
        rewritten = rewrite.parse_query(query, self.store.corpus(self.bank).names, as_of or now().astimezone())
        vector = self.embed_query(rewritten.dense) if query.strip() else None
        units = unit_search.eligible(self.store.units(self.bank, kinds), where, as_of) if query.strip() else []
        cosines = {} if vector is None else self.unit_cosines(vector, kinds)
        hits = self.with_sessions(unit_search.rank(rewritten, units, cosines, k))
        whole = max((hit.relevance for hit in hits), default=0.0)
        passes = not rewritten.small_talk and any(hit.score >= unit_search.MIN_UNIT_SCORE for hit in hits)
        return SearchResult(
            hits, whole, passes, rewritten.terms, allowed=np.empty(0, np.int64)
        )  # no lines were asked for

    def unit_cosines(self, vector: Vector, kinds: Sequence[str]) -> dict[unit_search.Key, float]:
        """How near the units of these kinds are to a question's vector, by kind and id; as `shipped`."""
        told = self.store.unit_cosines(self.bank, self.embedder.name, vector, kinds)
        values = self.calibrate(np.array([cosine for *_, cosine in told], np.float32)).tolist()
        return {(kind, number): value for (kind, number, _), value in zip(told, values, strict=True)}

    def with_sessions(self, hits: Sequence[Hit]) -> list[Hit]:
        """Hits that are units, each in the session of the last line that it was written of."""
        sessions = {line.seq: line.session for line in self.store.get(self.bank, [hit.line.seq for hit in hits])}
        return [unit_search.with_session(hit, sessions) for hit in hits]

    def calibrate(self, cosines: features.Floats) -> features.Floats:
        """Cosines of the embedder as the shipped model would give them, as far as a query was embedded yet."""
        return cosines if self.state.scale is None else self.state.scale.shipped(cosines)

    def _warn(self, found: Candidates, vector: Vector | None, without: Collection[int]) -> None:
        """Say once that a bank has no vectors of this model: it would answer, only worse, and nobody would know why."""
        if vector is None or self.bank in self.state.warned:
            return
        missing = np.isnan(found.cosine)
        if len(missing) and missing.all() and not np.isin(found.rows.seq, list(without)).all():
            self.state.warned.add(self.bank)
            log.warning(UNEMBEDDED, self.embedder.name)

    def embed_query(self, text: str) -> Vector | None:
        """The vector of a question; None where no embedder answers, or it knows nothing of the question's script."""
        if time.monotonic() < self.state.retry_at or (is_unspaced_script(text) and not self.embedder.multilingual):
            return None
        try:
            vector = shapes.question(self.embedder, text)  # first, for it is given up sooner than many texts are
            self.state.scale = self.state.scale or calibrate(self.embedder, vector.shape[-1])
            return vector
        except FAILURES as error:
            self._start_cooldown(error)
            return None

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
        count: Counter | None = None,
        banks: Collection[str] | None = None,
    ) -> Context:
        """What is remembered that bears on the query, laid out for a prompt in at most `budget` tokens by `count`.

        When nothing is relevant the text is empty, unless gate is False. Hits less relevant than min_relevance (the
        recipe's, if not given) are left out, however much room there is. With a session, passages recalled at its
        earlier turns stay in view for a while (the relevance buffer), also when this query recalls nothing, as a blank
        one does. without as for `recall`; such lines are in no passage of the buffer, either. notes are those that are
        in the prompt already, which a recipe of notes would show else. banks as for `recall`: the text has a part for
        each bank, under its name; lines, hits and cut are of this memory's bank, and `others` are the contexts of the
        other banks. session, without and notes hold for this memory's bank alone. Raises BadQuery, and NotFound as
        `recall`.
        """
        validation.check_positive(budget, "budget")
        if banks is not None:
            options = {
                "where": where,
                "as_of": as_of,
                "gate": gate,
                "min_relevance": min_relevance,
                "count": count or self.count,
            }
            return multi_bank.context(
                self, banks, query, budget, options, session=session, without=exclude, notes=notes
            )
        if min_relevance is not None and not (isinstance(min_relevance, int | float) and 0 <= min_relevance <= 1):
            raise BadQuery(f"min_relevance must be a relevance from 0 to 1, got {min_relevance!r}")
        if session is not None:
            validation.check_filter_name(session, "session")
        gone = validation.check_seqs(exclude)
        recipe = self._recipe_for(where)
        found = self._recall(Query(query, where, as_of, gone, notes), recipe.max_hits)
        least = recipe.min_relevance if min_relevance is None else min_relevance
        hits = [hit for hit in found.hits if hit.relevance >= least] if found.passes or not gate else []
        return recipe.lay_out(
            self, replace(found, hits=hits), ContextBudget(budget, count or self.count, session, gone, gate)
        )

    def get_visible(self, seqs: Sequence[int], allowed: Seqs | None) -> list[Line]:
        """These lines, as far as the filter allows: a neighbour must not tell what the line itself could not."""
        if allowed is None:
            return self.store.get(self.bank, seqs)
        wanted = np.asarray(seqs, np.int64)
        there = np.append(allowed, 0)[np.searchsorted(allowed, wanted)] == wanted
        return self.store.get(self.bank, wanted[there].tolist())

    # ------------------------------------------------------- what is remembered

    def lines(
        self, where: Filter | None = None, *, after: int = 0, limit: int | None = None, retracted: bool = False
    ) -> Iterator[Line]:
        """The lines by seq, from the one behind `after`; retracted ones only when asked for. Raises BadQuery."""
        if limit is not None and (type(limit) is not int or limit < 0):
            raise BadQuery(f"limit must be a whole number from 0, got {limit!r}")
        if type(after) is not int:
            raise BadQuery(f"after must be a whole number, got {after!r}")
        behind = min(max(after, 0), LARGEST_SEQ)
        return self.store.lines(self.bank, where, after=behind, limit=limit, retracted=retracted)

    def sessions(self) -> list[Session]:
        """The conversations, in the order they began."""
        return self.store.sessions(self.bank)

    def end(self, session: str, at: datetime | None = None) -> None:
        """Say that a session is over, now or at a moment given: a line that names no session begins a new one then.
        Raises BadQuery and NotFound."""
        self.store.end_session(self.bank, validation.check_filter_name(session, "session"), at or now())

    def stats(self) -> Stats:
        """What the bank holds."""
        found = self.store.stats(self.bank, self.embedder.name, self.recipe.embedded)
        return replace(found, recipe=self.recipe.name)

    def retract(self, seq: int) -> Line:
        """Take a line out of recall for good, because it was edited, regenerated or is not true. Its text stays in the
        record; `forget` removes it. Raises BadQuery and NotFound."""
        line = self.store.retract(self.bank, validation.check_seq(seq, self.bank), now())
        self._update_derived()
        return line

    def correct(self, seq: int, text: str, *, key: str | None = None) -> Line:
        """Put another text in the place of a line: it is retracted, and one of the same speaker, session and time is
        kept, all at once. The new line has the key of the old one, or else the given key. Asked for again, the same
        correction is not made twice. Raises BadQuery, BadLine, NotFound and StoreUnavailable."""
        known = None if key is None else self.store.get_by_key(self.bank, [key]).get(key)
        if done := known or corrected(self.store, self.bank, validation.check_seq(seq, self.bank), text):
            return done
        new = corrections.correction(self.store, self.bank, seq, text, key)
        line = self.replace_lines([seq], [new], corrects=seq)[0]
        if line.text != keepable(text)[0]:  # the key was taken by another correction, just now
            raise missing(self.bank, seq)
        return line

    def forget(
        self,
        *,
        seq: int | None = None,
        session: str | None = None,
        speaker: str | None = None,
        everything: bool = False,
    ) -> Receipt:
        """Remove a line, a session, all that a speaker said, or the whole bank, for good.

        Exactly one of them. A line goes under every number that it has where branches were gone back to, and with what
        it said before it was corrected. What was noted or summarised of it goes, and a summary of what is left of its
        session is queued for the scribe; lines of others that quote it stay. In a folder no byte of it is left:
        each call but for the whole bank rewrites the bank's file, so one of a session is quicker than many of its
        lines. On Postgres nobody can ask for it any more, but its bytes stay in pages until Postgres uses them again
        (`everthread db scrub` sees to it at once), and in the write-ahead log and backups as long as those are kept.
        Raises BadQuery and NotFound; and StoreUnavailable where the lines are gone but bytes of them may be left.
        """
        scope, name = deletion.parse_scope(self.bank, seq, session, speaker, everything)
        receipt = deletion.forget(self.store, self.bank, scope, name)
        if scope != "bank":  # of one that is gone nothing is written, or it would be there again
            self._update_derived()
        return receipt

    # -------------------------------------------------------- what is written of it

    def add_unit(self, unit: NewUnit, *, supersedes: int | None = None, done: ScribeJob | None = None) -> Unit:
        """Keep a unit: a text written about lines. It takes the place of the unit of its kind that it supersedes, and
        the work that is done by it leaves the queue, all at once or not at all.

        Raises BadInput; NotFound where one of its sources is retracted or forgotten meanwhile, or what it supersedes is
        not current any more: nothing is kept then, and the work stays queued. Raises StoreUnavailable.
        """
        unit = validation.check_unit(unit)
        if supersedes is not None and (type(supersedes) is not int or not 1 <= supersedes <= LARGEST_SEQ):
            raise BadInput(f"supersedes must be the id of a unit, counted from 1, got {supersedes!r}")
        done = done and validation.check_job(done)
        vectors = self.try_embed([unit.text])
        return self.store.put_unit(
            *(self.bank, unit, vectors[0] if vectors else None, self.embedder.name, now()),
            supersedes=supersedes,
            done=done,
        )

    def edit_unit(self, kind: str, number: int, text: str) -> Unit:
        """Put another text in the place of a current unit, which it supersedes. Raises as `write`."""
        new = corrections.edit(self.store, self.bank, validation.check_name(kind, "kind"), number, text)
        return self.add_unit(new, supersedes=number)

    def set_notes(self, text: str) -> Unit:
        """Write the notes by hand: they take the place of those that stand. Raises as `write`."""
        new, before = corrections.note(self.store, self.bank, text)
        return self.add_unit(new, supersedes=before)

    def forget_unit(self, kind: str, number: int) -> list[int]:
        """Remove a unit for good, and those whose place it took; their ids. The lines stay. What is left of its bytes,
        `forget` tells. Raises BadInput, NotFound and StoreUnavailable."""
        return self.store.forget_unit(
            self.bank, validation.check_name(kind, "kind"), validation.check_at_least(number, "a unit's id", 1)
        )

    def restore_unit(self, unit: Unit) -> None:
        """Write a unit of another store as it is there. Raises StoreUnavailable."""
        vectors = self.try_embed([embedding_text(unit)]) if unit.retracted_at is None else None
        self.store.restore_unit(self.bank, unit, vectors[0] if vectors else None, self.embedder.name)

    def units(self, kind: str | None = None, *, current: bool = False, category: str | None = None) -> list[Unit]:
        """The units that are not retracted, of one kind or category or of all, by kind and id; only those that no other
        has superseded, if current. Raises BadInput."""
        found = self.store.units(
            self.bank, () if kind is None else (validation.check_name(kind, "kind"),), current=current
        )
        return [unit for unit in found if category in (None, unit.category)]

    def enqueue(self, work: ScribeJob) -> None:
        """Keep work that a scribe is to do, or how often it was tried and what went wrong. Raises BadInput, and
        NotFound for a session that is not there."""
        self.store.queue(self.bank, validation.check_job(work))

    def jobs(self) -> list[ScribeJob]:
        """The work that is still to be done, the oldest first."""
        return self.store.queued(self.bank)

    def dequeue(self, work: ScribeJob) -> None:
        """Take work out of the queue, if it is there. Raises BadInput."""
        self.store.dequeue(self.bank, validation.check_job(work))

    def settings(self) -> dict[str, JSONValue]:
        """What was set for this bank, by name."""
        return self.store.settings(self.bank)

    def set_setting(self, name: str, value: JSONValue | None) -> None:
        """Keep a setting of this bank; None removes it. Raises BadInput where JSON can't hold the value."""
        check_setting(name, value)
        self.store.set_setting(self.bank, name, value)

    def reindex(self, progress: Progress | None = None) -> int:
        """Give every unit, and every line that the recipe embeds, a vector of the present model, and drop those of
        other models; how many lines got one.

        May be stopped and started again at any time. Raises ModelError, with what is done kept.
        """
        self.state.retry_at = 0.0
        return reindex(self.store, self.bank, self.embedder, self._vectors, BATCH, progress, self.recipe.embedded)

    def close(self) -> None:
        """Let go of the files, unless the store was given open. The memory can be opened again."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

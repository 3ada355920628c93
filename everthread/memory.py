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

from everthread import checks, damage
from everthread import open as opening
from everthread import reindex as reindexing
from everthread.errors import BadInput, BadLine, BadQuery, EverthreadError, ModelError
from everthread.late import Late
from everthread.models import shapes
from everthread.models.embed import Embedder
from everthread.models.scale import EmbedderState, measured
from everthread.observe import byhand, forgetting, keys, offered
from everthread.observe.clean import clean, keepable
from everthread.observe.copies import corrected
from everthread.observe.entries import entries as prepared
from everthread.observe.units import pieces
from everthread.prompt.tokens import Counter, estimate
from everthread.recall import banks as several
from everthread.recall import derived, expand, fuse, overview, rewrite, search
from everthread.recipes.base import Asked, Ranked, Recalled, Recipe, Room
from everthread.recipes.kept import Kept
from everthread.stores.base import Store
from everthread.stores.ids import LARGEST_SEQ
from everthread.stores.lines import missing
from everthread.stores.lines import offered as as_offered
from everthread.stores.text import unspaced
from everthread.types import (
    Context,
    Hit,
    JSONValue,
    Line,
    Metadata,
    NewLine,
    NewUnit,
    Receipt,
    Role,
    Seqs,
    Session,
    Stats,
    Unit,
    Vector,
    Vectors,
    Where,
    Work,
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


@damage.named
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
        self.late = Late(store, bank, embedder.name, self.embed, recipe.embedded)

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
        held = opening.store(store)
        try:
            memory = cls(bank, held, opening.embedder(embedder), opening.recipe(recipe, Kept.of(held, bank), options))
            memory.count = opening.counter(tokens)
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
        cleaned = iter([clean(line, present) for line in lines])
        kept: list[Line] = []
        while batch := list(islice(cleaned, BATCH)):
            kept += self._keep(batch)
            if progress is not None:
                progress(len(kept))
        return kept

    def replace(
        self, seqs: Collection[int], lines: Iterable[NewLine] = (), *, late: bool = False, corrects: int | None = None
    ) -> list[Line]:
        """Retract lines, and keep others in their place, if any are given: all at once or not at all. Lines that are
        retracted or forgotten already are passed over. late: they are embedded by the next recall here that may find
        them, or by `late.catch_up`, if that comes first. corrects: which of these lines the first new one corrects; it
        is pinned if that was. Raises BadQuery, BadLine, StoreUnavailable; NotFound if the corrected line is gone."""
        cleaned = [clean(line, now().astimezone()) for line in lines]
        return self._keep(cleaned, sorted(checks.seqs(seqs, "seqs")), late, corrects)

    def _keep(
        self, lines: Sequence[NewLine], instead: Sequence[int] = (), late: bool = False, corrects: int | None = None
    ) -> list[Line]:
        """Write one batch. Lines known by their key are not embedded again; the store itself sees to it that none is
        written twice, whoever else is writing."""
        opening.settle(self)
        there, fresh = keys.sort_out(self.store, self.bank, lines, instead)
        entries = prepared(fresh, () if late else self.recipe.embedded, self.embed)
        put: list[Line] = []
        if fresh or instead:
            put = self.store.append(self.bank, entries, self.embedder.name, instead=instead, corrects=corrects)
        if late:
            self.late.add(put)
        self._derive()
        written = iter(put)
        return [line or next(written) for line in there]

    def _derive(self) -> None:
        """Have the recipe write what it writes of lines. They are kept in any case: where it fails, the next line or
        question brings it."""
        try:
            self.recipe.written(self)
        except (EverthreadError, *FAILURES) as error:
            log.warning("what %s writes beside the lines waits: %s", self.recipe.name, error)

    def restore(self, lines: Sequence[Line]) -> None:
        """Write lines of another store under their own numbers, which must be greater than the bank's last. Retracted
        ones come back as if they weren't: `retract` them. Raises BadLine and StoreUnavailable."""
        entries = prepared([as_offered(line) for line in lines], self.recipe.embedded, self.embed)
        entries = [replace(entry, seq=line.seq) for entry, line in zip(entries, lines, strict=True)]
        self.store.append(self.bank, entries, self.embedder.name)

    def embed(self, texts: Sequence[str]) -> list[Vectors] | None:
        """The vectors of each text's pieces, or None when the embedder is down: what is kept is kept without."""
        if time.monotonic() < self.state.retry_at:
            return None
        try:
            return self._vectors(texts)
        except FAILURES as error:
            self._rest(error)
            return None

    def _vectors(self, texts: Sequence[str]) -> list[Vectors]:
        parts = [pieces(text) or [BLANK] for text in texts]
        made = shapes.passages(self.embedder, [piece for part in parts for piece in part])  # (N, E, D)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        return [each.reshape(-1, each.shape[-1]) for each in np.split(made, ends)]

    def _rest(self, error: Exception) -> None:
        self.state.retry_at = time.monotonic() + COOLDOWN
        log.warning("no vectors for now, lines are kept and found by their words; later run reindex: %s", error)

    # ------------------------------------------------------------------- recall

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        where: Where | None = None,
        as_of: datetime | None = None,
        without: Collection[int] = (),
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
        checks.positive(k, "k")
        asked = Asked(query, where, as_of, checks.seqs(without))
        return self._recall(asked, k).hits if banks is None else several.recall(self, banks, asked, k)

    def measure(
        self,
        query: str,
        k: int = 0,
        *,
        where: Where | None = None,
        as_of: datetime | None = None,
        without: Collection[int] = (),
    ) -> tuple[search.Found, fuse.Signals]:
        """The candidates for a query, at least k of them, and the raw signals of each: what `recall` weighs, and
        weights are fitted on."""
        checks.text(query)
        gone = checks.seqs(without)
        self.late.catch_up(gone)
        past = None if as_of is None else self.store.allowed(self.bank, Where(), as_of)
        corpus = self.store.corpus(self.bank, past)
        clock = as_of or now().astimezone()  # the asker's, as far as it is known
        asked = rewrite.rewrite(query, corpus.names, clock)
        then = overview.said_then(self.store, self.bank, asked, clock, as_of) if asked.overview else None
        allowed = past if where is None else self.store.allowed(self.bank, where, as_of)
        vector = self.embed_query(asked.dense)
        found = search.search(
            *(self.store, self.bank, self.embedder.name, asked, vector, corpus),
            allowed=allowed,
            past=past,
            then=then,
            without=np.array(sorted(gone), np.int64) if gone else None,
            k=k,
        )
        self._warn(found, vector, gone)
        if vector is not None:
            found = replace(found, cosine=self.shipped(found.cosine))
        return found, fuse.signals(asked, found)

    def nearest(self, text: str, k: int, asked: Asked) -> list[tuple[int, float]]:
        """The k lines nearest in meaning to a text, and their cosines as the shipped model would give them; by codes
        first, exactly then. None where no embedder answers, or the lines have no vectors."""
        if (vector := self.embed_query(text)) is None:
            return []
        model = self.embedder.name
        wanted = max(k + len(asked.without), search.DENSE)
        seqs = self.store.nearest(self.bank, model, vector, wanted, self.allowed(asked))
        seqs = seqs[~np.isin(seqs, list(asked.without))]
        cosines = self.shipped(self.store.cosines(self.bank, model, vector, seqs))
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(int(seqs[at]), float(cosines[at])) for at in best if not np.isnan(cosines[at])]

    def allowed(self, asked: Asked) -> Seqs | None:
        """The lines that may be recalled for a question, ascending; None: all that stand."""
        return self.store.allowed(self.bank, asked.where or Where(), asked.as_of)

    def grown(
        self, ranked: Sequence[Ranked], width: int, allowed: Seqs | None, without: Collection[int] = ()
    ) -> list[Hit]:
        """The lines that were found, each with `width` neighbours on either side as far as they may be shown."""
        return expand.grown(ranked, width, lambda seqs: self.shown(seqs, allowed), without)

    def _recall(self, asked: Asked, k: int) -> Recalled:
        if kinds := derived.kinds(asked.where, asked.as_of):
            return self.find_units(asked, kinds, k)
        if isinstance(asked.query, str) and not asked.query.strip():  # nothing is asked, so no embedder is
            return Recalled(allowed=self.allowed(asked))
        checks.text(asked.query)
        self.late.catch_up(asked.without)
        return self._way(asked.where).recall(self, asked, k)

    def _way(self, where: Where | None) -> Recipe:
        """The recipe; the default, where lines are asked for by name and the recipe finds none."""
        derived.see_category(where, self.recipe.name, self.recipe.categorised)
        lines = where is not None and where.kind is not None and not derived.kinds(where)
        return opening.RECIPES["default"] if lines and "line" not in self.recipe.kinds else self.recipe

    def find_units(self, asked: Asked, kinds: tuple[str, ...], k: int) -> Recalled:
        """The k units of these kinds that bear most on a question: by their cosines and the words that they share."""
        checks.text(asked.query)
        query, where, as_of = asked.query, asked.where or Where(), asked.as_of
        rewritten = rewrite.rewrite(query, self.store.corpus(self.bank).names, as_of or now().astimezone())
        vector = self.embed_query(rewritten.dense) if query.strip() else None
        units = derived.eligible(self.store.units(self.bank, kinds), where, as_of) if query.strip() else []
        cosines = {} if vector is None else self.unit_cosines(vector, kinds)
        hits = self.placed(derived.rank(rewritten, units, cosines, k))
        whole = max((hit.relevance for hit in hits), default=0.0)
        passes = not rewritten.small_talk and any(hit.score >= derived.PASSES for hit in hits)
        return Recalled(hits, whole, passes, rewritten.terms, allowed=np.empty(0, np.int64))  # no lines were asked for

    def unit_cosines(self, vector: Vector, kinds: Sequence[str]) -> dict[derived.Key, float]:
        """How near the units of these kinds are to a question's vector, by kind and id; as `shipped`."""
        told = self.store.unit_cosines(self.bank, self.embedder.name, vector, kinds)
        values = self.shipped(np.array([cosine for *_, cosine in told], np.float32)).tolist()
        return {(kind, number): value for (kind, number, _), value in zip(told, values, strict=True)}

    def placed(self, hits: Sequence[Hit]) -> list[Hit]:
        """Hits that are units, each in the session of the last line that it was written of."""
        sessions = {line.seq: line.session for line in self.store.get(self.bank, [hit.line.seq for hit in hits])}
        return [derived.placed(hit, sessions) for hit in hits]

    def shipped(self, cosines: fuse.Floats) -> fuse.Floats:
        """Cosines of the embedder as the shipped model would give them, as far as a query was embedded yet."""
        return cosines if self.state.scale is None else self.state.scale.shipped(cosines)

    def _warn(self, found: search.Found, vector: Vector | None, without: Collection[int]) -> None:
        """Say once that a bank has no vectors of this model: it would answer, only worse, and nobody would know why."""
        if vector is None or self.bank in self.state.warned:
            return
        missing = np.isnan(found.cosine)
        if len(missing) and missing.all() and not np.isin(found.rows.seq, list(without)).all():
            self.state.warned.add(self.bank)
            log.warning(UNEMBEDDED, self.embedder.name)

    def embed_query(self, text: str) -> Vector | None:
        """The vector of a question; None where no embedder answers, or it knows nothing of the question's script."""
        if time.monotonic() < self.state.retry_at or (unspaced(text) and not self.embedder.multilingual):
            return None
        try:
            vector = shapes.question(self.embedder, text)  # first, for it is given up sooner than many texts are
            self.state.scale = self.state.scale or measured(self.embedder, vector.shape[-1])
            return vector
        except FAILURES as error:
            self._rest(error)
            return None

    def context(
        self,
        query: str,
        budget: int = 1000,
        *,
        where: Where | None = None,
        as_of: datetime | None = None,
        session: str | None = None,
        gated: bool = True,
        floor: float | None = None,
        without: Collection[int] = (),
        notes: Unit | None = None,
        count: Counter | None = None,
        banks: Collection[str] | None = None,
    ) -> Context:
        """What is remembered that bears on the query, laid out for a prompt in at most `budget` tokens by `count`.

        When nothing is relevant the text is empty, unless gated is False. Hits less relevant than floor (the recipe's,
        if not given) are left out, however much room there is. With a session, passages recalled at its earlier turns
        stay in view for a while (the relevance buffer), also when this query recalls nothing, as a blank one does.
        without as for `recall`; such lines are in no passage of the buffer, either. notes are those that are in
        the prompt already, which a recipe of notes would show else. banks as for `recall`: the text has a part for each
        bank, under its name; lines, hits and cut are of this memory's bank, and `others` are the contexts of the other
        banks. session, without and notes hold for this memory's bank alone. Raises BadQuery, and NotFound as `recall`.
        """
        checks.positive(budget, "budget")
        if banks is not None:
            options = {"where": where, "as_of": as_of, "gated": gated, "floor": floor, "count": count or self.count}
            return several.context(self, banks, query, budget, options, session=session, without=without, notes=notes)
        if floor is not None and not (isinstance(floor, int | float) and 0 <= floor <= 1):
            raise BadQuery(f"floor must be a relevance from 0 to 1, got {floor!r}")
        if session is not None:
            checks.name(session, "session")
        gone = checks.seqs(without)
        recipe = self._way(where)
        found = self._recall(Asked(query, where, as_of, gone, notes), recipe.hits)
        least = recipe.floor if floor is None else floor
        hits = [hit for hit in found.hits if hit.relevance >= least] if found.passes or not gated else []
        return recipe.lay_out(self, replace(found, hits=hits), Room(budget, count or self.count, session, gone, gated))

    def shown(self, seqs: Sequence[int], allowed: Seqs | None) -> list[Line]:
        """These lines, as far as the filter allows: a neighbour must not tell what the line itself could not."""
        if allowed is None:
            return self.store.get(self.bank, seqs)
        wanted = np.asarray(seqs, np.int64)
        there = np.append(allowed, 0)[np.searchsorted(allowed, wanted)] == wanted
        return self.store.get(self.bank, wanted[there].tolist())

    # ------------------------------------------------------- what is remembered

    def lines(
        self, where: Where | None = None, *, after: int = 0, limit: int | None = None, retracted: bool = False
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
        self.store.end_session(self.bank, checks.name(session, "session"), at or now())

    def stats(self) -> Stats:
        """What the bank holds."""
        found = self.store.stats(self.bank, self.embedder.name, self.recipe.embedded)
        return replace(found, recipe=self.recipe.name)

    def retract(self, seq: int) -> Line:
        """Take a line out of recall for good, because it was edited, regenerated or is not true. Its text stays in the
        record; `forget` removes it. Raises BadQuery and NotFound."""
        line = self.store.retract(self.bank, checks.seq(seq, self.bank), now())
        self._derive()
        return line

    def correct(self, seq: int, text: str, *, key: str | None = None) -> Line:
        """Put another text in the place of a line: it is retracted, and one of the same speaker, session and time is
        kept, all at once. The new line has the key of the old one, or else the given key. Asked for again, the same
        correction is not made twice. Raises BadQuery, BadLine, NotFound and StoreUnavailable."""
        known = None if key is None else self.store.known(self.bank, [key]).get(key)
        if done := known or corrected(self.store, self.bank, checks.seq(seq, self.bank), text):
            return done
        new = byhand.correction(self.store, self.bank, seq, text, key)
        line = self.replace([seq], [new], corrects=seq)[0]
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
        scope, name = forgetting.asked(self.bank, seq, session, speaker, everything)
        receipt = forgetting.forget(self.store, self.bank, scope, name)
        if scope != "bank":  # of one that is gone nothing is written, or it would be there again
            self._derive()
        return receipt

    # -------------------------------------------------------- what is written of it

    def write(self, unit: NewUnit, *, supersedes: int | None = None, done: Work | None = None) -> Unit:
        """Keep a unit: a text written about lines. It takes the place of the unit of its kind that it supersedes, and
        the work that is done by it leaves the queue, all at once or not at all.

        Raises BadInput; NotFound where one of its sources is retracted or forgotten meanwhile, or what it supersedes is
        not current any more: nothing is kept then, and the work stays queued. Raises StoreUnavailable.
        """
        unit = offered.unit(unit)
        if supersedes is not None and (type(supersedes) is not int or not 1 <= supersedes <= LARGEST_SEQ):
            raise BadInput(f"supersedes must be the id of a unit, counted from 1, got {supersedes!r}")
        done = done and offered.work(done)
        vectors = self.embed([unit.text])
        return self.store.put_unit(
            *(self.bank, unit, vectors[0] if vectors else None, self.embedder.name, now()),
            supersedes=supersedes,
            done=done,
        )

    def edit_unit(self, kind: str, number: int, text: str) -> Unit:
        """Put another text in the place of a current unit, which it supersedes. Raises as `write`."""
        new = byhand.edit(self.store, self.bank, offered.name(kind, "kind"), number, text)
        return self.write(new, supersedes=number)

    def note(self, text: str) -> Unit:
        """Write the notes by hand: they take the place of those that stand. Raises as `write`."""
        new, before = byhand.note(self.store, self.bank, text)
        return self.write(new, supersedes=before)

    def forget_unit(self, kind: str, number: int) -> list[int]:
        """Remove a unit for good, and those whose place it took; their ids. The lines stay. What is left of its bytes,
        `forget` tells. Raises BadInput, NotFound and StoreUnavailable."""
        return self.store.forget_unit(self.bank, offered.name(kind, "kind"), checks.whole(number, "a unit's id", 1))

    def restore_unit(self, unit: Unit) -> None:
        """Write a unit of another store as it is there. Raises StoreUnavailable."""
        vectors = self.embed([derived.embedded(unit)]) if unit.retracted_at is None else None
        self.store.restore_unit(self.bank, unit, vectors[0] if vectors else None, self.embedder.name)

    def units(self, kind: str | None = None, *, current: bool = False, category: str | None = None) -> list[Unit]:
        """The units that are not retracted, of one kind or category or of all, by kind and id; only those that no other
        has superseded, if current. Raises BadInput."""
        found = self.store.units(self.bank, () if kind is None else (offered.name(kind, "kind"),), current=current)
        return [unit for unit in found if category in (None, unit.category)]

    def queue(self, work: Work) -> None:
        """Keep work that a scribe is to do, or how often it was tried and what went wrong. Raises BadInput, and
        NotFound for a session that is not there."""
        self.store.queue(self.bank, offered.work(work))

    def queued(self) -> list[Work]:
        """The work that is still to be done, the oldest first."""
        return self.store.queued(self.bank)

    def dequeue(self, work: Work) -> None:
        """Take work out of the queue, if it is there. Raises BadInput."""
        self.store.dequeue(self.bank, offered.work(work))

    def settings(self) -> dict[str, JSONValue]:
        """What was set for this bank, by name."""
        return self.store.settings(self.bank)

    def set_setting(self, name: str, value: JSONValue | None) -> None:
        """Keep a setting of this bank; None removes it. Raises BadInput where JSON can't hold the value."""
        offered.setting(name, value)
        self.store.set_setting(self.bank, name, value)

    def reindex(self, progress: Progress | None = None) -> int:
        """Give every unit, and every line that the recipe embeds, a vector of the present model, and drop those of
        other models; how many lines got one.

        May be stopped and started again at any time. Raises ModelError, with what is done kept.
        """
        self.state.retry_at = 0.0
        return reindexing.reindex(
            self.store, self.bank, self.embedder, self._vectors, BATCH, progress, self.recipe.embedded
        )

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

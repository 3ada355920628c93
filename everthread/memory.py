"""Memory: the API of one bank. Each method validates its arguments and delegates to the modules below.

A line comes in (observe)
    bank.line_validation     clean_line                        validates and normalises it
    bank.line_keys           split_known                       finds the lines that are stored already
    bank.line_preparation    prepare_lines                     counts its terms, sets its flags
    embedders.encoder        Encoder.try_embed                 embeds its pieces
    stores.base              Store.append                      writes it, in one transaction
    recipes.base             Recipe.update                     updates the units that derive from lines

A question comes in (recall, context); a function calls those that are indented below it
    recall.rerank.names             RerankerOpener.open                 opens the reranker, if one is named
    recipes.dispatch                recall                              finds hits (recall)
    recipes.dispatch                build_context                       formats hits as text (context)
      recipes.dispatch              search                              searches lines or units
        bank.embedding_backlog      EmbeddingBacklog.embed_pending      embeds the pending lines
        recipes.default             Default.recall                      composes its steps; each recipe has its own
          recall.reader             BankReader.search                   embeds it, and reads the bank in one transaction
          recall.query_parsing      parse_query                         finds its terms, names and times
          recall.asked_question     AskedQuestion.expect                embeds it before, by the names read last
          recall.candidate_reader   CandidateReader.measure_candidates  measures the lines that may answer
            recall.time_overview    find_lines                          finds the lines of a time, if only that is named
            recall.candidates       find_candidates                     finds lines with similar meaning or words
            recall.features         compute_signals                     computes the signals of each candidate
          recall.candidate_reader   CandidateReader.measure_best        reads the best lines, and compares their words
          recall.features           weighted_sums                       combines them into scores
          recall.relevance          collect_query_features              collects the features of the question
          recall.relevance          estimate_relevance                  turns scores into probabilities
          recall.passages           build_hits                          reads the best lines and their neighbours
      recipes.dispatch              apply_gate                          drops hits that are not relevant (context)
      recall.rerank.names           rerank_hits                         puts them in the order of the reranker, if any
      recipes.base                  Recipe.lay_out                      lays out the hits (context)
        recall.relevance_buffer     push_ranges                         adds the passages of the buffer (context)
        recall.context_packing      fill_context                        fills the budget (context)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Self

from everthread import factory
from everthread.bank import damage, deletion, evidence, kept_backups, validation
from everthread.bank.bank_units import BankUnits
from everthread.bank.embedding_backlog import EmbeddingBacklog, reindex
from everthread.bank.line_keys import find_line
from everthread.bank.line_validation import clean_lines
from everthread.bank.sharing import save_setting
from everthread.bank.text_search import TextSearch
from everthread.common.keys import SETTING_BACKUPS, SETTING_RECIPE
from everthread.common.timestamps import to_micros
from everthread.common.tracing import traced
from everthread.common.undo import undo_on_error
from everthread.embedders.base import Embedder
from everthread.embedders.encoder import Encoder
from everthread.errors import BadQuery
from everthread.facts.asker import find_asker
from everthread.facts.bank_facts import MAX_LINES_READ, BankFacts
from everthread.facts.cache import FactCache
from everthread.facts.dropped_facts import read_dropped
from everthread.facts.reread_lines import reread_lines
from everthread.facts.rules import read_statements
from everthread.recall.fact_context import FactSource, ask_overview
from everthread.recall.reader import BankReader
from everthread.recall.rerank.base import Reranker
from everthread.recall.rerank.names import NO_RERANKING, RerankerOpener
from everthread.recall.types import ContextLimits, Query
from everthread.recipes import dispatch
from everthread.recipes.base import Recipe
from everthread.recipes.line_writer import LineWriter
from everthread.recipes.saved_recipe import SavedRecipe, save_recipe
from everthread.stores.base import Store
from everthread.stores.sqlite import shared_store
from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import (
    Context,
    Evidence,
    Filter,
    Hit,
    JSONValue,
    Line,
    Metadata,
    NewLine,
    Receipt,
    Role,
    Session,
    Stats,
    Unit,
    now,
)

BATCH_LINES = 512  # lines embedded and written together by observe_many: one fsync each

Progress = Callable[[int], None]


@damage.raises_bank_damaged
class Memory(TextSearch, BankUnits, BankFacts):
    """One open bank; a context manager. Thread-safe, also in processes that are forked while it is open.

        with Memory.open("alice") as memory:
            memory.observe("My sister Mia moved to Lisbon in May.", speaker="Alice")
            print(memory.context("Where does Mia live?").text)

    A write is durable when its call returns. Reads see all writes that have returned, of any process.
    """

    def __init__(self, bank: str, store: Store, embedder: Embedder, recipe: Recipe) -> None:
        """Open a bank of an open store, which the caller closes. Most callers use `open`."""
        store.create(bank)
        self.bank, self.store, self.recipe = bank, store, recipe
        self.count: TokenCounter = estimate_tokens
        self._encoder = Encoder(embedder)
        self._rerankers = RerankerOpener(embedder)
        self.backlog = EmbeddingBacklog(store, bank, self._encoder, recipe.embedded_roles, recipe.token_roles)
        self.backlog.try_update_words()
        self.reader = BankReader(store, bank, self._encoder, self.backlog)  # for recipes and benchmarks
        self._writer = LineWriter(self.reader, self.backlog)
        self.fact_cache = FactCache(store, bank)
        self.statement_reader = read_statements
        self._owns_store = False

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
            bank: the bank's id.
            store: a folder, whose memories share its store; the URL of a database; or a Store, which several memories
                may share.
            embedder: an embedding model or its name.
            recipe: a recipe or its name; None: the bank's saved one. A new bank saves the given recipe with its first
                line.
            options: values of the recipe's options, by name.
            tokens: a token counter or its name.

        An argument that is None is taken from the configuration (`everthread.config`).

        Raises:
            BadBankId: the bank's id is invalid.
            BadInput, ConfigError: an argument or a setting is invalid.
            BankTooNew, BankDamaged, StoreUnavailable: the bank can't be read.
        """
        opened = factory.open_store(store, open_folder=shared_store.open_shared)
        owns_store = opened is not store
        with undo_on_error(partial(shared_store.close_unused, opened) if owns_store else lambda: None):
            settings = opened.settings(bank) if opened.exists(bank) else {}
            memory = cls(
                bank,
                opened,
                factory.open_embedder(embedder),
                factory.open_recipe(recipe, SavedRecipe.parse(settings.get(SETTING_RECIPE)), options),
            )
            memory.count = factory.open_counter(tokens)
            if (recipe or options) and not opened.corpus_stats(bank).last_seq:
                memory._writer.before_first_write = memory.save_recipe
            kept_backups.finish(opened, bank, settings.get(SETTING_BACKUPS))
        memory._owns_store = owns_store
        if owns_store:
            shared_store.add_user(opened, memory)
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
        replace: bool = False,
        undated: bool = False,
    ) -> Line:
        """Store one line. When the call returns, the line is durable and can be recalled.

        Args:
            text: what was said.
            speaker: who said it; None: the role.
            role: the speaker's role.
            said_at: when it was said; None: now.
            session: the conversation; None: the one that is current at that time, or a new one after an hour of
                silence. An old line does not end the current one.
            metadata: JSON values by name.
            parent: the seq or the key of the line that it answers.
            key: identifies the line at its source. If the bank has a line with this key, it or its correction is
                returned, and nothing is stored; if it was retracted and not corrected, the new line takes its key.
            replace: replace the line with this key: it is retracted, and the new line takes its key and its pin, in one
                transaction; its time and its session are those of any new line. If the stored line has the same text,
                speaker, role and metadata, and the time and the session if they are given, it is returned, and nothing
                is stored. For the edit of a message, `correct` keeps the time, the session and the place.
            undated: it was said at an unknown time: it is shown without a date, and never found by a time.

        Raises:
            BadLine: an argument is invalid; nothing is stored.
            StoreUnavailable: the bank can't be written; nothing is stored.
        """
        name = role if speaker is None else speaker
        new = NewLine(text, name, role, said_at, session, metadata or {}, parent, key, undated=undated)
        return self.observe_many([new], replace=replace)[0]

    @traced("everthread.observe", lines=len)
    def observe_many(
        self, lines: Iterable[NewLine], progress: Progress | None = None, *, replace: bool = False
    ) -> list[Line]:
        """Store lines, embedded and written in batches, each in one transaction.

        Args:
            lines: the lines. All are validated before the first is stored, except their parents, which are looked up
                when they are written.
            progress: called after each batch with the number of lines stored so far.
            replace: each line, which needs a key, replaces the one with this key, as in `observe`. Of several with one
                key the last counts.

        Raises:
            BadLine, StoreUnavailable: as in `observe`. Written batches stay stored; if the lines have keys, the same
                call stores the rest.
            NotFound: the bank was forgotten after a batch was written.
        """
        return self._writer.write_all(self.recipe, lines, BATCH_LINES, progress, replacing=replace)

    def replace_lines(
        self,
        seqs: Collection[int],
        lines: Iterable[NewLine] = (),
        *,
        defer_embedding: bool = False,
        corrects: int | None = None,
        after: int = 0,
    ) -> list[Line]:
        """Retract lines and store others in their place, in one transaction.

        Args:
            seqs: the lines to retract; retracted and forgotten ones are skipped.
            lines: the lines to store.
            defer_embedding: embed the lines later: in this object's next recall, or in `backlog.embed_pending`.
            corrects: which of the retracted lines the first new line corrects; a pin on it moves to the new line.
            after: a number that the bank has given to a line. If the bank was forgotten since, nothing is stored;
                otherwise the lines would create it again.

        Returns:
            The stored lines.

        Raises:
            BadQuery, BadLine: an argument is invalid.
            NotFound: the corrected line is retracted or forgotten, or the bank was forgotten after `after`.
            StoreUnavailable: the bank can't be written.
        """
        replacing = sorted(validation.check_seqs(seqs, "seqs"))
        corrected = {} if corrects is None else {corrects: 0}
        return self._writer.write(
            self.recipe,
            clean_lines(lines),
            replacing=replacing,
            corrects=corrected,
            defer_embedding=defer_embedding,
            after=after,
        )

    # ------------------------------------------------------------------- recall

    @traced("everthread.recall", hits=len)
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
        facts: bool = False,
    ) -> list[Hit]:
        """Find the lines most relevant to a query.

        Args:
            query: the query. A blank one finds nothing; one that only names a time ("What did we talk about
                yesterday?") finds the lines of that time.
            k: the maximum number of hits.
            where: a filter for hits and for the lines around them. With `kind`, units of these kinds are found instead
                of lines ("note", "summary", "fact"; of facts, the current ones): `hit.unit` is then the unit, and its
                relevance is its cosine, not calibrated.
            as_of: the moment as of which the bank is read, with the UTC offset of the user; later lines are ignored,
                and "yesterday" is the day before. None: now.
            exclude: numbers of lines that are in the prompt already; they are neither found nor shown around a hit.
            banks: ids of banks in the same store that are searched instead of this one. Access control is the caller's
                responsibility.
            rerank: a reranker or its name (`recall.rerank.names`), which chooses at most k hits from four times as
                many and orders them. None: the recipe's reranker; "none" or "": no reranking.
            facts: whether what is known of those that the query names takes the place of the lines that state it, as
                hits of kind "fact" with the relevance and the passage of these lines. A query with a filter gets no
                facts; of several banks, this one has facts.

        Returns:
            The hits, best first, each with its relevance, which the default recipe calibrates for lines. Hits of
            several banks are ordered by relevance, and each names its bank.

        Raises:
            BadQuery: an argument is invalid.
            NotFound: a bank doesn't exist.
            ConfigError: the reranker is unknown.
        """
        validation.check_positive(k, "k")
        bank_query = Query(query, where, as_of, validation.check_seqs(exclude))
        reranker = self._rerankers.open(self.recipe.rerank if rerank is None else rerank)
        read_facts = partial(self._read_facts, MAX_LINES_READ, True) if facts else None
        return dispatch.recall(self.recipe, self.reader, bank_query, k, banks, reranker, read_facts)

    @traced("everthread.context", tokens=attrgetter("tokens"))
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
        deadline_s: float | None = None,
        facts: bool | None = None,
    ) -> Context:
        """Format the memories relevant to a query as text for a prompt.

        If nothing is relevant, the text is empty, unless the session's relevance buffer has passages.

        Args:
            query: the query. A blank one finds nothing; the context then has only the passages of the buffer.
            budget: the maximum number of tokens of the text.
            where, as_of: as for `recall`.
            session: a session whose relevance buffer repeats recently recalled passages.
            gate: whether the relevance gate applies; without it, a query to which nothing is relevant gets hits, too.
            min_relevance: the least relevance of a hit; None: the recipe's.
            exclude: as for `recall`; these lines are left out of the buffer's passages, too.
            notes: the notes that are in the prompt already, so that a notes-based recipe does not repeat them.
            count: counts the tokens of a text; None: the counter of this memory.
            banks: as for `recall`. The text has a part for each bank, under its id. `lines`, `hits` and `cut` are of
                this memory's bank; session, exclude and notes apply to it alone; `others` has the other contexts.
            rerank: as for `recall`; the budget is filled in the reranker's order.
            deadline_s: the time in which to return, in seconds; None: as long as it takes. A model that does not answer
                in time is left out, and `complete` is False: without the question's vector, lines are found by their
                words. Pending lines stay pending. With 0 no model is called.
            facts: whether to add what is known of those that the query names, and notes on lines that are no longer
                true; None: the recipe's choice. A query with a filter gets no facts.

        Raises:
            BadQuery: an argument is invalid.
            NotFound: a bank doesn't exist.
            ConfigError: the reranker is unknown.
        """
        reader = self.reader.within(validation.check_duration(deadline_s, "deadline_s"))
        validation.check_positive(budget, "budget")
        validation.check_relevance(min_relevance, "min_relevance")
        validation.check_counter(count)
        if session is not None:
            validation.check_filter_name(session, "session")
        excluded = validation.check_seqs(exclude)
        bank_query = Query(query, where, as_of, excluded, notes)
        limits = ContextLimits(budget, count or self.count, session, excluded, gate, min_relevance)
        spec = self.recipe.rerank if rerank is None else rerank
        reranker = None if spec in NO_RERANKING else reader.call_model(partial(self._rerankers.open, spec), None)
        wants_facts = self.recipe.facts if facts is None else facts
        limit = 0 if deadline_s is not None else MAX_LINES_READ  # reading lines for facts takes long
        read_facts = partial(self._read_facts, limit, wants_facts)
        return dispatch.build_context(
            self.recipe, reader, bank_query, limits, banks, reranker, read_facts=read_facts, facts=wants_facts
        )

    def _read_facts(self, limit: int, wants_facts: bool, query: Query) -> FactSource:
        """Read what is known for a query, with the facts of at most `limit` lines that were not read for facts yet.

        If facts are not wanted, such lines are read only for a question for all that is known.
        """
        allowed = limit if wants_facts or ask_overview(query) else 0
        known = self.read_known(allowed, query.exclude)
        return FactSource(known, partial(find_asker, self.store, self.bank, known))

    # ------------------------------------------------------- lines and sessions

    def get(self, seq: int | None = None, *, key: str | None = None) -> Line | None:
        """Return the line with a number or a key, also without words; None if it does not exist or was retracted.

        Args:
            seq: the line's number.
            key: its key. Of a line that version 0.1.0 corrected, the correction is returned.

        Raises:
            BadQuery: not exactly one argument is given, or its value is invalid.
        """
        return find_line(self.store, self.bank, *validation.check_line_id(seq, key))

    def lines(
        self,
        where: Filter | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        include_retracted: bool = False,
        include_wordless: bool = False,
    ) -> Iterator[Line]:
        """Iterate over the lines by number.

        Args:
            where: a filter.
            after: skip lines up to this number.
            limit: the maximum number of lines.
            include_retracted, include_wordless: whether to include retracted lines, and lines without words.

        Raises:
            BadQuery: an argument is invalid.
        """
        options = {"include_retracted": include_retracted, "include_wordless": include_wordless}
        return self.store.lines(self.bank, where, after=validation.check_page(after, limit), limit=limit, **options)

    def evidence(self, seq: int) -> Evidence:
        """Return the memories that a reply was given. Raises BadQuery; NotFound if they are not recorded."""
        return evidence.read_evidence(self.store, self.bank, validation.check_seq(seq, self.bank))

    def sessions(self) -> list[Session]:
        """Return the sessions, in the order in which they began."""
        return self.store.sessions(self.bank)

    def end(self, session: str, at: datetime | None = None) -> None:
        """End a session, now or `at` a time: a line without a session starts another. Raises BadQuery and NotFound."""
        name, at = validation.check_filter_name(session, "session"), now() if at is None else at
        to_micros(at, "at", BadQuery)
        self.store.end_session(self.bank, name, at)

    def set_session(self, session: str, *, title: str | None = None, metadata: Metadata | None = None) -> Session:
        """Set the title or values in the metadata of a session. Raises BadInput and NotFound.

        Args:
            session: its id.
            title: its title; "" removes it, None leaves it as it is.
            metadata: JSON values by name; None removes one. Values that are not named are left as they are.
        """
        name = validation.check_filter_name(session, "session")
        title, metadata = validation.check_title(title), validation.check_session_metadata(metadata)
        return self.store.set_session(self.bank, name, title, metadata)

    def stats(self) -> Stats:
        """Return statistics of the bank."""
        counts = self.store.stats(self.bank, self.embedder.name, self.recipe.embedded_roles)
        return replace(counts, recipe=self.recipe.name, dropped_facts=read_dropped(self.store, self.bank))

    def retract(self, seq: int) -> Line:
        """Exclude a line from recall permanently; its text stays in the record.

        Units that derive from the line are retracted, and the line is unpinned. Raises BadQuery and NotFound.
        """
        line = self.store.retract(self.bank, validation.check_seq(seq, self.bank), now())
        self._writer.update_units(self.recipe)
        return line

    def correct(self, seq: int, text: str, *, key: str | None = None) -> Line:
        """Replace the text of a line: retract it, and store a new line with its speaker, session and time.

        Args:
            seq: the line.
            text: the new text. If the line was already corrected to it, that correction is returned.
            key: the new line's key, if the line has none from its source.

        Returns:
            The new line.

        Raises:
            BadQuery, BadLine, NotFound, StoreUnavailable: as in `replace_lines`.
        """
        return self._writer.correct(self.recipe, validation.check_seq(seq, self.bank), text, key)

    def restore(self, seq: int) -> list[Line]:
        """Continue a session from a line, in one transaction.

        The lines after it, or after the point at which its branch separates from the current lines, are retracted. If
        it was retracted itself, it and the lines that led to it are stored again, as copies.

        Args:
            seq: the line.

        Returns:
            The copies, in their order, the last of which is the line's; empty if the line is current.

        Raises:
            BadQuery: the number is invalid, or a line that led to the line was forgotten.
            NotFound: there is no such line.
            StoreUnavailable: the bank can't be written; nothing is changed.
        """
        return self._writer.restore(self.recipe, validation.check_seq(seq, self.bank))

    @traced("everthread.forget")
    def forget(
        self,
        *,
        seq: int | Collection[int] | None = None,
        session: str | None = None,
        speaker: str | None = None,
        everything: bool = False,
    ) -> Receipt:
        """Delete lines, a session, all lines of a speaker, or the bank. Exactly one argument must be given; seq is the
        number of a line, or of several, of which those that don't exist are skipped.

        A line is deleted with its earlier and later versions and its copies in other branches, its pin and its key; an
        import of its source stores it again. Units that derive from it are deleted, and if its session had a summary, a
        new one is queued. Lines that quote it stay. In a folder no byte of it remains; each call rewrites the bank's
        file, so that one call for several lines is faster than a call for each. In Postgres bytes remain in pages until
        they are reused (`everthread db scrub` erases them at once), and in the write-ahead log. Backups by `everthread
        backup` lose the lines as well; the receipt names those that could not be reached.

        Raises:
            BadQuery: an argument is invalid.
            NotFound: there is nothing to delete.
            StoreUnavailable: the lines are deleted, but bytes of them may remain.
        """
        scope, name = deletion.parse_scope(self.bank, seq, session, speaker, everything)
        receipt = deletion.forget(self.store, self.bank, scope, name)
        self.fact_cache.clear()
        if scope != "bank":  # a write would create the bank again
            self._writer.update_units(self.recipe)
        return receipt

    # ----------------------------------------------------------------- settings

    def settings(self) -> dict[str, JSONValue]:
        """Return the bank's settings by name."""
        return self.store.settings(self.bank)

    def set_setting(self, name: str, value: JSONValue | None) -> None:
        """Save a setting of the bank; None removes it.

        Raises:
            BadInput: the value is invalid, or not JSON-serialisable.
            NotFound: a bank in `recall_from` doesn't exist.
        """
        save_setting(self.store, self.bank, name, value)

    def save_recipe(self) -> None:
        """Save the recipe of this memory in the bank, which is then opened with it by default."""
        save_recipe(self.store, self.bank, self.recipe, factory.configured_recipes().get(self.recipe.name))

    def reindex(self, progress: Progress | None = None) -> int:
        """Embed all units and lines without a vector, or without codes of words, of the current model; delete vectors
        of other models.

        Before, the words of lines that an earlier version analysed are analysed, and the lines that it read for facts
        are read again. Lines of roles that the recipe does not embed are skipped. An interrupted call is continued by
        the next one.

        Args:
            progress: called after each batch with the number of lines embedded so far.

        Returns:
            The number of embedded lines.

        Raises:
            ModelError: the embedder failed; finished batches stay stored.
        """
        reread_lines(self.store, self.bank, self.statement_reader)
        self._encoder.resume()
        roles, token_roles = self.recipe.embedded_roles, self.recipe.token_roles
        return reindex(self.store, self.bank, self._encoder, BATCH_LINES, progress, roles, token_roles)

    def close(self) -> None:
        """Close the reranker's model, and the store unless the caller opened it or a memory of its folder is open.

        A later call opens them again.
        """
        self._rerankers.close()
        if self._owns_store:
            shared_store.remove_user(self.store, self)
            shared_store.close_unused(self.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""Writes notes, summaries and titles in the background: runs the queued jobs of a bank while a conversation continues.

It also reads new lines for facts and, in a thread of its own, embeds those whose embedding was deferred: a recall is
complete only with their vectors, so they wait neither for a language model nor for facts.

A job is stored in the bank when it is queued, and removed in the transaction that saves its result. If the model fails
or the process ends, the job stays queued and is tried again later; `stats` counts it. No line is lost, since lines are
stored first.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from everthread.chat import session_title
from everthread.chat.conversation import find_session
from everthread.chat.quote_detection import QuoteIndex
from everthread.chat.scribe_material import mark_undated, read_lines
from everthread.chat.session_facts import list_session_facts
from everthread.common.fork_safety import Lock
from everthread.common.keys import META_NEEDS_CONSENT, META_NOTED_TO, SETTING_MODEL_FACTS
from everthread.common.task_thread import Task, TaskThread
from everthread.common.tracing import traced
from everthread.errors import EverthreadError, NotFound, ScribeFailed
from everthread.memory import Memory
from everthread.scribes.base import FactScribe, Scribe, TitleScribe
from everthread.text import redaction
from everthread.text.analyzer import terms
from everthread.types import Filter, FoundUnit, Line, NewUnit, ScribeJob, Unit, now

log = logging.getLogger("everthread")

RETRY_DELAY_S = 30.0  # before a failed job is tried again; doubled each time
MAX_RETRY_DELAY_S = 3600.0
MAX_LINES_AT_ONCE = 128  # read for facts, before another task is looked for
MAX_VECTOR_WAIT_S = 10.0  # lines are read for facts once all have vectors, which takes twice as long beside reading
MAX_CONFLICT_RETRIES = 3  # immediate retries, if a line was retracted while the job ran


class ScribeWorker:
    """Runs the queued jobs of one bank and embeds its pending lines, in two threads that exist only while there is
    anything to do."""

    def __init__(
        self,
        memory: Memory,
        scribe: Scribe,
        scribe_slot: Callable[[], AbstractContextManager[object]] = nullcontext,
        embedding_slot: Callable[[], AbstractContextManager[object]] = nullcontext,
        reading_slot: Callable[[], AbstractContextManager[object]] = nullcontext,
        writes_titles: bool = False,
    ) -> None:
        """Begin without threads; `start` runs the jobs that are queued already.

        Args:
            memory: the bank.
            scribe: writes the notes and summaries.
            scribe_slot: limits how many workers use a scribe at once; held while it writes.
            embedding_slot: limits embedding in the background; held while lines are embedded.
            reading_slot: limits reading for facts in the background; held while lines are read.
            writes_titles: whether conversations get titles by the scribe's model.
        """
        self.memory, self.scribe = memory, scribe
        self._scribe_slot, self._embedding_slot, self._reading_slot = scribe_slot, embedding_slot, reading_slot
        self._writes_titles = writes_titles
        self.background: Sequence[Line | FoundUnit] = ()  # recalled for the latest reply; context for the scribe
        self.quotes = QuoteIndex()
        self._closing = self._closed = False
        self._not_before: dict[tuple[str, str, int], float] = {}  # by time.monotonic()
        self._embedding = TaskThread("everthread embedding", "vectors")
        self._jobs = TaskThread("everthread scribe", "facts, notes and summaries")
        self._saving_vectors, self._saving = Lock(), Lock()  # held while vectors, and while other results are saved

    def submit(self, job: ScribeJob) -> None:
        """Store a job in the bank's queue, and start it."""
        self.memory.enqueue(job)
        self.start()

    def end_session(self, session: str, at: datetime, consented: bool = True) -> None:
        """Queue the summary of a session and notes on its remaining lines, if the recipe wants them, and end it: at a
        time, or after its last line if that is later, because the clock was set back.

        The jobs are queued first, since the process may end. Without the user's consent nothing is written on lines
        that were said under a recipe that needs it, even if the recipe has changed since.
        """
        lines = list(self.memory.lines(Filter(session=session)))
        if lines and (consented or not any(line.metadata.get(META_NEEDS_CONSENT) for line in lines)):
            self.queue_session(lines)
        stored = find_session(self.memory, session)
        self.memory.end(session, max(at, stored.last_at + timedelta.resolution) if stored else at)

    def queue_session(self, lines: Sequence[Line], with_notes: bool = True) -> None:
        """Queue the summary of a session, notes on those of its lines that have none, and its facts, as the recipe and
        the bank's settings want them."""
        if self.memory.recipe.summaries:
            self.submit(make_job("summary", lines))
        noted = self.last_noted_seq(lines)
        unnoted = [line for line in lines if line.seq > noted]
        if unnoted and self.memory.recipe.notes and with_notes:
            self.submit(make_job("notes", unnoted))
        if self.memory.settings().get(SETTING_MODEL_FACTS) is True and isinstance(self.scribe, FactScribe):
            self.submit(make_job("facts", lines))

    def queue_title(self, lines: Sequence[Line]) -> None:
        """Queue the title of a session if these lines, all that it has, end with its first reply."""
        if self._writes_titles and isinstance(self.scribe, TitleScribe) and session_title.is_first_exchange(lines):
            self.submit(make_job("title", lines))

    def start(self) -> None:
        """Start the threads that have anything to do."""
        self._embedding.start(self._next_embedding)
        self._jobs.start(self._next_job)

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the worker is idle, at most `timeout` seconds; return whether it is."""
        deadline = None if timeout is None else time.monotonic() + timeout
        return self._embedding.join(timeout) and self._jobs.join(None if deadline is None else _seconds_until(deadline))

    def close(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for the job in progress, then write nothing more. The rest stays queued."""
        self._closing = not self._jobs.is_running  # from now on no job is started
        if self.memory.backlog:
            with suppress(EverthreadError):  # of the store, which the thread that embeds logs
                self.start()
        self.join(timeout)
        self._closed = True
        deadline = time.monotonic() + timeout
        for saving in (self._saving_vectors, self._saving):  # something may be being saved
            if saving.acquire(timeout=_seconds_until(deadline)):
                saving.release()

    def notes(self) -> Unit | None:
        """Return the current notes; else None."""
        units = self.memory.units("note", only_current=True)
        return units[-1] if units else None

    # ------------------------------------------------------------------ working

    def _next_embedding(self) -> Task | None:
        return self._embed_pending if self.memory.backlog and not self._closed else None

    def _next_job(self) -> Task | None:
        if self._closed or not self.memory.store.exists(self.memory.bank):  # forgotten
            return None
        if self._count_unread_lines():
            return self._read_facts
        job = None if self._closing else self._find_due_job()
        return None if job is None else partial(self._attempt, job)

    def _find_due_job(self) -> ScribeJob | None:
        present = time.monotonic()
        return next((job for job in self.memory.jobs() if self._not_before.get(_job_key(job), 0.0) <= present), None)

    def _embed_pending(self) -> None:
        """Embed the lines whose embedding was deferred, and some of earlier versions."""
        with self._embedding_slot(), self._saving_vectors:
            if not self._closed:
                self.memory.backlog.embed_pending()
                self.memory.backlog.embed_earlier()

    def _count_unread_lines(self) -> int:
        """Count the lines that were not read for facts yet, if the recipe wants that; others read them when asked."""
        recipe = self.memory.recipe
        is_wanted = recipe.facts or recipe.profile or recipe.reads_facts
        return self.memory.fact_cache.count_unread() if is_wanted else 0

    def _read_facts(self) -> None:
        """Read some of the lines that were not read for facts yet, after those that are being embedded have vectors."""
        self._embedding.join(MAX_VECTOR_WAIT_S)
        with self._reading_slot(), self._saving:
            if not self._closed:
                self.memory.read_facts(limit=MAX_LINES_AT_ONCE)

    def _attempt(self, job: ScribeJob) -> None:
        self._not_before[_job_key(job)] = time.monotonic() + RETRY_DELAY_S  # in case the job kills the thread
        try:
            with self._scribe_slot():
                self._perform(job)
        except EverthreadError as error:
            self._record_failure(job, error)
        else:
            self._not_before.pop(_job_key(job), None)

    def _record_failure(self, job: ScribeJob, error: EverthreadError) -> None:
        """Store the failure with the job, if it is still queued, and set when to try again."""
        lines_changed = isinstance(error, NotFound) and job.tries < MAX_CONFLICT_RETRIES
        delay_s = 0.0 if lines_changed else min(RETRY_DELAY_S * 2**job.tries, MAX_RETRY_DELAY_S)
        self._not_before[_job_key(job)] = time.monotonic() + delay_s
        with self._saving, suppress(NotFound):  # the session was forgotten, and the job with it
            if not self._closed and (queued := self._find_queued(job)):
                if job.kind == "title" and job.tries + 1 >= session_title.MAX_TRIES:
                    self.memory.dequeue(queued)
                else:
                    self.memory.enqueue(replace(queued, tries=job.tries + 1, error=type(error).__name__))
        log.info("a scribe's %s failed: %s", job.kind, error)  # users see it in the stats

    def _find_queued(self, job: ScribeJob) -> ScribeJob | None:
        """Return the job as it is queued now: another process may have done it, or lines may have been added."""
        return next((queued for queued in self.memory.jobs() if _job_key(queued) == _job_key(job)), None)

    @traced("everthread.scribe")
    def _perform(self, job: ScribeJob) -> None:
        if job.kind == "facts":
            self._write_facts(job)
        else:
            self._write_unit(job)

    def _write_facts(self, job: ScribeJob) -> None:
        """Write the facts of a session, if the scribe can list any and the session still exists."""
        session = find_session(self.memory, job.session)
        listed = None
        if session is not None and isinstance(self.scribe, FactScribe):
            listed = list_session_facts(self.memory, self.scribe, session)
        with self._saving:
            if self._closed or (queued := self._find_queued(job)) is None:
                return
            if listed is not None:
                listed.store()
            if queued.last_seq == job.last_seq:
                self.memory.dequeue(queued)

    def _write_unit(self, job: ScribeJob) -> None:
        lines = read_lines(self.memory, job.session, job.first_seq, job.last_seq)
        job_seqs = {line.seq for line in lines}
        background = self._filter_stored([source for source in self.background if _last_seq(source) not in job_seqs])
        if job.kind == "summary":
            old = self._find_summary(job.session)
            unit = self._write_summary(job, lines, old)
        elif job.kind == "title":
            old, unit = None, self._write_title(job, lines)
        else:
            old = self.notes()
            unit = self._write_notes(job, lines, old, background)
        with self._saving:
            if self._closed:
                return
            if len(self._filter_stored(background)) < len(background):
                raise NotFound("a recalled line was removed while the job ran; the text may quote it")
            if self._was_bank_recreated(lines, job):
                raise NotFound("the bank was created again while the job ran; the text is about the former one")
            if (queued := self._find_queued(job)) is None:
                return  # another process was quicker
            finished = job if queued.last_seq == job.last_seq else None  # else lines were added to it
            if unit is not None:
                self.memory.add_unit(unit, supersedes=old.id if old else None, finished_job=finished)
            elif finished is not None:
                self.memory.dequeue(finished)

    def _was_bank_recreated(self, lines: Sequence[Line], job: ScribeJob) -> bool:
        """Return whether others have forgotten the bank and created it again, with other lines of these numbers."""
        stored = {line.seq: line for line in read_lines(self.memory, job.session, job.first_seq, job.last_seq)}
        return any(line.seq in stored and _identify(stored[line.seq]) != _identify(line) for line in lines)

    def _filter_stored(self, sources: Sequence[Line | FoundUnit]) -> list[Line | FoundUnit]:
        """Return the sources that were neither retracted nor forgotten.

        Lines are compared by what excerpts of them keep too, since another process may have forgotten the bank and
        created it again, with other lines of these numbers. Units are compared by text, since the id of a forgotten
        unit is given to another one. An excerpt of a unit doesn't match, and is left out.
        """
        seqs = [source.seq for source in sources if isinstance(source, Line)]
        stored_lines = {_identify(line) for line in self.memory.store.get(self.memory.bank, seqs)}
        texts = {(unit.kind, unit.text) for unit in self.memory.units()} if len(seqs) < len(sources) else set()

        def is_stored(source: Line | FoundUnit) -> bool:
            if isinstance(source, Line):
                return _identify(source) in stored_lines
            return (source.unit.kind, source.unit.text) in texts

        return [source for source in sources if is_stored(source)]

    def _find_summary(self, session: str) -> Unit | None:
        """Return the current summary of a session; else None."""
        units = self.memory.units("summary", only_current=True)
        return next((unit for unit in reversed(units) if unit.metadata.get("session") == session), None)

    def _write_summary(self, job: ScribeJob, lines: Sequence[Line], old: Unit | None) -> NewUnit | None:
        people = Counter(line.speaker for line in lines if line.role == "user")
        if not people or (old is not None and old.last_seq >= lines[-1].seq):
            return None
        text = self.scribe.summarize(lines, people.most_common(1)[0][0])
        redacted, recipe = self._redact(text), self.memory.recipe
        if redacted is None or (summary := recipe.narrow_summary(self.memory.reader, self.scribe, redacted)) is None:
            return None
        return NewUnit(
            kind="summary",
            text=summary,
            first_seq=lines[0].seq,
            last_seq=lines[-1].seq,
            said_at=lines[-1].said_at,
            importance=self.scribe.rate_importance(summary),
            category=recipe.choose_category(self.scribe, summary),
            metadata={"session": job.session, "scribe": self.scribe.name, **mark_undated(lines)},
            sources=tuple(line.seq for line in lines),
        )

    def _write_title(self, job: ScribeJob, lines: Sequence[Line]) -> NewUnit | None:
        """Return a title that repeats no recalled text, unless the lines contain it too."""
        unit = session_title.write_title(self.memory, self.scribe, job.session, lines)
        return unit if unit and self._drop_quotes(unit.text, [line.text for line in lines]) else None

    def _write_notes(
        self, job: ScribeJob, lines: Sequence[Line], old: Unit | None, background: Sequence[Line | FoundUnit]
    ) -> NewUnit | None:
        """Return notes that also cover these lines; with the old text, if nothing in them is worth a note."""
        if not lines or self.last_noted_seq(list(self.memory.lines(Filter(session=job.session)))) >= lines[-1].seq:
            return None
        written = self.scribe.update_notes(old.text if old else "", background, lines)
        own_texts = [line.text for line in lines] + ([old.text] if old else [])
        text = self._drop_quotes(written, own_texts)
        redacted = self._redact(text)
        if redacted is None and old is None:
            return None
        last = lines[-1]
        used = _find_used(redacted or "", own_texts, background)
        spans = [(lines[0].seq, last.seq, last.said_at)] + ([(old.first_seq, old.last_seq, old.said_at)] if old else [])
        spans += [(*_find_span(source), last.said_at) for source in used]
        first_seqs, last_seqs, times = zip(*spans, strict=True)
        return NewUnit(
            kind="note",
            text=redacted or (old.text if old else ""),
            first_seq=min(first_seqs),
            last_seq=max(last_seqs),
            said_at=max(times),
            metadata={"scribe": self.scribe.name, META_NOTED_TO: last.seq, **mark_undated(lines)},
            sources=tuple(line.seq for line in (*lines, *used) if isinstance(line, Line)),
        )

    def _redact(self, text: str) -> str | None:
        """Return the text without secrets; None if it is blank. If the model fails, rules redact the text."""
        if not text.strip():
            return None
        try:
            return self.scribe.redact(text)
        except ScribeFailed as error:
            log.info("secrets are redacted by rules alone: %s", error)
            return redaction.redact_rows(text)

    def last_noted_seq(self, lines: Sequence[Line]) -> int:
        """Return the number of the last line that notes cover, among all lines of one session; 0 without notes.

        Notes cover all sessions, which may alternate.
        """
        seqs = {line.seq for line in lines}
        noted = [unit.metadata.get(META_NOTED_TO, unit.last_seq) for unit in self.memory.units("note")]
        return max((seq for seq in noted if isinstance(seq, int) and seq in seqs), default=0)

    def _drop_quotes(self, written: str, sources: Sequence[str]) -> str:
        """Drop the rows that quote recalled text, unless the sources contain every quotation, too."""
        source_index = QuoteIndex()
        source_index.add(sources)

        def is_own(row: str) -> bool:
            own = source_index.find_spans(row) if (recalled := self.quotes.find_spans(row)) else []
            return all(any(first <= start and end <= last for first, last in own) for start, end in recalled)

        return "\n".join(row for row in written.splitlines() if is_own(row))


def _find_used(text: str, own_texts: Sequence[str], background: Sequence[Line | FoundUnit]) -> list[Line | FoundUnit]:
    """Return the recalled sources that a text has taken words from, which its own material doesn't contain.

    A model may copy what it was shown as background. The text then derives from this as well.

    Args:
        text: what the model has written.
        own_texts: the texts that it was to be written about.
        background: the recalled sources.
    """
    foreign = set(terms(text)).difference(*map(terms, own_texts))
    return [source for source in background if _last_seq(source) and not foreign.isdisjoint(terms(source.text))]


def _find_span(source: Line | FoundUnit) -> tuple[int, int]:
    """Return the first and the last line from which a source derives."""
    return (source.seq, source.seq) if isinstance(source, Line) else (source.unit.first_seq, source.unit.last_seq)


def make_job(kind: Literal["summary", "notes", "title", "facts"], lines: Sequence[Line]) -> ScribeJob:
    """Build a job on these lines of one session."""
    return ScribeJob(kind, lines[0].session, lines[0].seq, lines[-1].seq, now())


def _seconds_until(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.0)


def _identify(line: Line) -> tuple[int, str, datetime]:
    return line.seq, line.session, line.said_at


def _job_key(job: ScribeJob) -> tuple[str, str, int]:
    return job.kind, job.session, job.first_seq


def _last_seq(source: Line | FoundUnit) -> int:
    return source.seq if isinstance(source, Line) else source.unit.last_seq

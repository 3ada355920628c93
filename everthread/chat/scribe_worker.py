"""The scribe's desk: what is to be written about conversations, done one after the other while the talk goes on.

Work lies in the bank from the moment it is known until what was written of it is kept, in one transaction. A model that
fails, or a process that ends, leaves it there: it is tried again later, and `stats` counts it. No line is ever lost for
it, for lines are kept before.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime

from everthread.chat.quote_detection import QuoteIndex
from everthread.common.fork_safety import register
from everthread.common.keys import META_GREETING, META_NEEDS_CONSENT, META_NOTED_TO
from everthread.errors import EverthreadError, NotFound, ScribeFailed
from everthread.memory import Memory
from everthread.scribes.base import Scribe
from everthread.text import redaction
from everthread.text.analyzer import without_quotes
from everthread.types import Filter, FoundUnit, Line, NewUnit, ScribeJob, Unit, now

log = logging.getLogger("everthread")

RETRY_DELAY_S = 30.0  # seconds until failed work is tried again, doubled each time
MAX_RETRY_DELAY_S = 3600.0  # seconds, the longest of these waits
MAX_CONFLICT_RETRIES = 3  # times that it is tried again at once, where a line was taken back while it was written about


class ScribeWorker:
    """Does the queued work of one bank in a thread of its own, which is there only while there is some."""

    def __init__(
        self,
        memory: Memory,
        scribe: Scribe,
        scribe_slot: Callable[[], AbstractContextManager[object]] = nullcontext,
        background_slot: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Where many desks share a machine: turn is held while a scribe writes, calm while lines are embedded."""
        self.memory, self.scribe = memory, scribe
        self._turn, self._calm = scribe_slot, background_slot
        self.background: Sequence[Line | FoundUnit] = ()  # what was recalled lately: for the notes to be understood by
        self.quotes = QuoteIndex()
        self._closing = self._closed = False
        self._not_before: dict[tuple[str, str, int], float] = {}  # by time.monotonic()
        self.renew()
        register(self)

    def renew(self) -> None:
        """Begin with no thread at work, as in a forked child: what the parent's thread is writing stays its own."""
        self._done = threading.Condition()
        self._writing = threading.Lock()  # held while what was written is kept
        self._working = False

    def submit(self, job: ScribeJob) -> None:
        """Queue work, durably, and see that it is done."""
        self.memory.enqueue(job)
        self.start()

    def end_session(self, session: str, at: datetime, agreed_to_remember: bool = True) -> None:
        """Have a session summarised, and noted as far as it isn't, where the recipe wants either, and end it; in this
        order, for the process may. Where the person has not agreed, nothing is written of what was said under a recipe
        that asks, whatever the recipe is now."""
        lines, recipe = list(self.memory.lines(Filter(session=session))), self.memory.recipe
        if lines and (agreed_to_remember or not any(line.metadata.get(META_NEEDS_CONSENT) for line in lines)):
            if recipe.summaries:
                self.submit(make_job("summary", lines))
            noted = self.last_noted_seq(lines)
            rest = [line for line in lines if line.seq > noted]
            if rest and recipe.notes:
                self.submit(make_job("notes", rest))
        self.memory.end(session, at)

    def start(self) -> None:
        """See to it that what is due is done."""
        with self._done:
            if self._working or self._closed or not (self.memory.backlog or self._next()):
                return
            self._working = True
        threading.Thread(target=self._work, name="everthread scribe", daemon=True).start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being written; False where that takes longer than `timeout` seconds."""
        with self._done:
            return self._done.wait_for(lambda: not self._working, timeout)

    def close(self, timeout: float) -> None:
        """Write nothing more, once what is being written is done or so many seconds are over. The rest stays queued."""
        with self._done:
            self._closing = not self._working  # then lines are given their vectors, and nothing else is begun
        if self.memory.backlog:
            self.start()
        self.join(timeout)
        self._closed = True
        if self._writing.acquire(timeout=timeout):  # something may be on its way to the bank just now
            self._writing.release()

    def notes(self) -> Unit | None:
        """The notes as they stand."""
        found = self.memory.units("note", current=True)
        return found[-1] if found else None

    # ------------------------------------------------------------------ working

    def _next(self) -> ScribeJob | None:
        at = time.monotonic()
        due = (work for work in self.memory.jobs() if self._not_before.get(_key(work), 0.0) <= at)
        return next(due, None)

    def _work(self) -> None:
        try:
            while (task := self._next_task()) is not None:
                task()
        except EverthreadError as error:  # of the store: whoever talks hears of it as well
            log.warning("what a scribe is to write waits: %s", error)
            self._mark_idle()
        except BaseException:  # a scribe of somebody else's may raise anything; the next thread may try again
            self._mark_idle()
            raise

    def _next_task(self) -> Callable[[], None] | None:
        """What is to be done next; where there is nothing, the thread's end is told in the same breath, so that nothing
        that comes now is overlooked."""
        with self._done:
            if not self._closed and self.memory.backlog:
                return self._catch_up
            found = None if self._closing or self._closed else self._next()
            if found is None:
                self._mark_idle()
                return None
            return lambda: self._try(found)

    def _catch_up(self) -> None:
        """Embed what was said: for it, too, nobody waits."""
        with self._calm(), self._writing:
            if not self._closed:
                self.memory.backlog.embed_pending()

    def _mark_idle(self) -> None:
        with self._done:
            self._working = False
            self._done.notify_all()

    def _try(self, work: ScribeJob) -> None:
        self._not_before[_key(work)] = time.monotonic() + RETRY_DELAY_S  # should the thread itself end of it
        try:
            with self._turn():
                self._do(work)
        except EverthreadError as error:
            self._failed(work, error)
        else:
            self._not_before.pop(_key(work), None)

    def _failed(self, work: ScribeJob, error: EverthreadError) -> None:
        """Keep that it failed, if it is still to be done."""
        changed = isinstance(error, NotFound) and work.tries < MAX_CONFLICT_RETRIES
        self._not_before[_key(work)] = time.monotonic() + (
            0 if changed else min(RETRY_DELAY_S * 2**work.tries, MAX_RETRY_DELAY_S)
        )
        with self._writing, suppress(NotFound):  # the session is forgotten, and its work with it
            if not self._closed and (waiting := self._waiting(work)):
                self.memory.enqueue(replace(waiting, tries=work.tries + 1, error=type(error).__name__))
        log.info("a scribe's %s is tried again later: %s", work.kind, error)  # who talks sees it in the stats

    def _waiting(self, work: ScribeJob) -> ScribeJob | None:
        """The work as it is queued now: another process may have done it, or more lines may have come to it."""
        return next((each for each in self.memory.jobs() if _key(each) == _key(work)), None)

    def _do(self, work: ScribeJob) -> None:
        lines = self._lines(work)
        about = {line.seq for line in lines}
        background = self._still_valid([each for each in self.background if _last_seq(each) not in about])
        if work.kind == "summary":
            old = self._summarized(work.session)
            unit = self._summary(work, lines, old)
        else:
            old = self.notes()
            unit = self._noted(work, lines, old, background)
        with self._writing:
            if self._closed:
                return
            if len(self._still_valid(background)) < len(background):
                raise NotFound("a recalled line is gone since; what was written may tell of it")
            if (waiting := self._waiting(work)) is None:
                return  # another process was quicker
            done = work if waiting.last_seq == work.last_seq else None
            if unit is not None:
                self.memory.add_unit(unit, supersedes=old.id if old else None, done=done)
            elif done is not None:
                self.memory.dequeue(done)

    def _still_valid(self, sources: Sequence[Line | FoundUnit]) -> list[Line | FoundUnit]:
        """Return those that were neither retracted nor forgotten. The id of a forgotten unit goes to another one, so
        units are compared by their texts; an excerpt is not found by it, and is left out."""
        seqs = [each.seq for each in sources if isinstance(each, Line)]
        there = {line.seq for line in self.memory.store.get(self.memory.bank, seqs)}
        texts = {(unit.kind, unit.text) for unit in self.memory.units()} if len(seqs) < len(sources) else set()
        return [
            each
            for each in sources
            if (each.seq in there if isinstance(each, Line) else (each.unit.kind, each.unit.text) in texts)
        ]

    def _lines(self, work: ScribeJob) -> list[Line]:
        """The lines that it is about, as far as they stand, without what they repeat of memories, and without what a
        card says."""
        found = []
        for line in self.memory.lines(Filter(session=work.session), after=work.first_seq - 1):
            if line.seq > work.last_seq:
                break
            text = without_quotes(line.text, line.metadata).strip()
            if text and not line.metadata.get(META_GREETING):
                found.append(replace(line, text=text))
        return found

    def _summarized(self, session: str) -> Unit | None:
        """The summary of a session, if there is one."""
        found = [unit for unit in self.memory.units("summary", current=True) if unit.metadata.get("session") == session]
        return found[-1] if found else None

    def _summary(self, work: ScribeJob, lines: Sequence[Line], old: Unit | None) -> NewUnit | None:
        people = Counter(line.speaker for line in lines if line.role == "user")
        if not people or (old is not None and old.last_seq >= lines[-1].seq):
            return None
        text = self.scribe.summarize(lines, people.most_common(1)[0][0])
        stripped, recipe = self._stripped(text), self.memory.recipe
        if stripped is None or (kept := recipe.narrowed(self.memory.reader, self.scribe, stripped)) is None:
            return None
        return NewUnit(
            *("summary", kept, lines[0].seq, lines[-1].seq, lines[-1].said_at),
            importance=self.scribe.importance(kept),
            category=recipe.category(self.scribe, kept),
            metadata={"session": work.session, "scribe": self.scribe.name},
            sources=tuple(line.seq for line in lines),
        )

    def _noted(
        self, work: ScribeJob, lines: Sequence[Line], old: Unit | None, background: Sequence[Line | FoundUnit]
    ) -> NewUnit | None:
        """The notes with these lines in them. Where nothing of them is worth a note, the old ones stand for them."""
        if not lines or self.last_noted_seq(list(self.memory.lines(Filter(session=work.session)))) >= lines[-1].seq:
            return None
        written = self.scribe.note(old.text if old else "", background, lines)
        text = self._drop_echoes(written, [line.text for line in lines] + ([old.text] if old else []))
        kept = self._stripped(text)
        if kept is None and old is None:
            return None
        last = lines[-1]
        spans = [(lines[0].seq, last.seq, last.said_at)] + ([(old.first_seq, old.last_seq, old.said_at)] if old else [])
        first_seqs, last_seqs, said = zip(*spans, strict=True)
        return NewUnit(
            *("note", kept or (old.text if old else ""), min(first_seqs), max(last_seqs), max(said)),
            metadata={"scribe": self.scribe.name, META_NOTED_TO: last.seq},
            sources=tuple(line.seq for line in lines),
        )

    def _stripped(self, text: str) -> str | None:
        """The text without what must not be remembered. A model that can't be made to leave it out does not cost the
        text: what the rules know is taken out in any case."""
        if not text.strip():
            return None
        try:
            return self.scribe.strip(text)
        except ScribeFailed as error:
            log.info("secrets are left out by rules alone: %s", error)
            return redaction.strip(text)

    def last_noted_seq(self, lines: Sequence[Line]) -> int:
        """Up to which of these lines, all those of one session, the notes go; 0 where none is noted. The notes are of
        all sessions, which may alternate."""
        seqs = {line.seq for line in lines}
        noted = [unit.metadata.get(META_NOTED_TO, unit.last_seq) for unit in self.memory.units("note")]
        return max((seq for seq in noted if isinstance(seq, int) and seq in seqs), default=0)

    def _drop_echoes(self, written: str, sources: Sequence[str]) -> str:
        """The rows that repeat nothing recalled, but for what was said again in the lines that they are about."""
        said = QuoteIndex()
        said.add(sources)
        rows = written.splitlines()
        return "\n".join(row for row in rows if not self.quotes.find_spans(row) or said.find_spans(row))


def make_job(kind: str, lines: Sequence[Line]) -> ScribeJob:
    """Work on these lines of one session."""
    return ScribeJob("summary" if kind == "summary" else "notes", lines[0].session, lines[0].seq, lines[-1].seq, now())


def _key(work: ScribeJob) -> tuple[str, str, int]:
    return work.kind, work.session, work.first_seq


def _last_seq(source: Line | FoundUnit) -> int:
    return source.seq if isinstance(source, Line) else source.unit.last_seq

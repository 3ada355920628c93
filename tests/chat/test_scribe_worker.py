from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hardship import PATIENCE, SOON
from hardship.served import wait_until

from everthread import Filter, Line, Memory
from everthread.bank import corrections
from everthread.chat import scribe_worker
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.scribe_worker import ScribeWorker, make_job
from everthread.errors import LLMUnavailable, ScribeFailed
from everthread.facts.rules import read_statements
from everthread.facts.types import Statement
from everthread.scribes.base import NOTES_TOKENS, SUMMARY_TOKENS
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder
from everthread.types import FoundUnit, NewLine, NewUnit, ScribeJob, Vectors

Opened = Callable[..., ScribeWorker]


class Waiting(ExtractiveScribe):
    """Scribe that waits for `go` before it returns a text."""

    def __init__(self) -> None:
        self.writes, self.go = threading.Event(), threading.Event()

    def _wait(self) -> None:
        self.writes.set()
        assert self.go.wait(PATIENCE)

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        text = super().summarize(lines, person, limit)
        self._wait()
        return text

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        text = super().update_notes(old, (), leaving, limit) + "\n" + "\n".join(line.text for line in recalled)
        self._wait()
        return text


class Failing(ExtractiveScribe):
    """Scribe that raises these errors one after the other, and then works."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return super().summarize(lines, person, limit)


@pytest.fixture
def desk(memory: Memory) -> Iterator[Opened]:
    made: list[ScribeWorker] = []

    def open_(scribe: ExtractiveScribe | None = None, on: Memory = memory) -> ScribeWorker:
        made.append(ScribeWorker(on, scribe or ExtractiveScribe()))
        return made[-1]

    yield open_
    for each in made:
        if isinstance(each.scribe, Waiting):
            each.scribe.go.set()
        assert each.join(PATIENCE)
        each.close(5)


def observe_lines(memory: Memory, session: str, *texts: str) -> list[Line]:
    return [memory.observe(text, speaker="Nora", session=session) for text in texts]


MIA = "My sister Mia moved to Lisbon in May."
TOM = "My brother Tom works at the harbour of Oslo."


def test_new_lines_are_read_for_facts_in_the_background(memory: Memory, desk: Opened) -> None:
    observe_lines(memory, "s", MIA)
    busy = desk(ExtractiveScribe())
    busy.start()
    assert busy.join(PATIENCE)
    assert [unit.metadata["value"] for unit in memory.units("fact")] == ["Mia", "Lisbon"]
    assert memory.fact_cache.count_unread() == 0


class Gate:
    """Holds up the threads that pass it until `go` is set; `begun` is set by the first one."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.begun.set()
        assert self.go.wait(PATIENCE)


class GatedEmbedder(HashEmbedder):
    """Waits at a gate, once it has one."""

    gate: Gate | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.gate is not None:
            self.gate.wait()
        return super().embed(texts)


def defer(memory: Memory, session: str, *texts: str) -> list[Line]:
    """Store lines whose embedding is deferred, as a chat does."""
    new = [NewLine(text, speaker="Nora", session=session) for text in texts]
    return memory.replace_lines((), new, defer_embedding=True)


def test_vectors_do_not_wait_while_lines_are_read_for_facts(memory: Memory, desk: Opened) -> None:
    gate = Gate()

    def read(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
        gate.wait()
        return read_statements(lines, known)

    memory.statement_reader = read
    worker = desk()
    defer(memory, "s", MIA)
    worker.start()
    assert gate.begun.wait(PATIENCE)
    defer(memory, "s", TOM)
    worker.start()
    wait_until(lambda: not memory.backlog)
    assert (memory.stats().pending, memory.fact_cache.count_unread()) == (0, 2)
    assert memory.context("Where does Mia live?", 200, deadline_s=PATIENCE).complete
    gate.go.set()
    assert worker.join(PATIENCE)
    assert memory.fact_cache.count_unread() == 0


def test_vectors_do_not_wait_while_the_scribe_writes(memory: Memory, desk: Opened) -> None:
    scribe = Waiting()
    worker = desk(scribe)
    worker.submit(make_job("summary", observe_lines(memory, "s", MIA)))
    assert scribe.writes.wait(PATIENCE)
    defer(memory, "t", TOM)
    worker.start()
    wait_until(lambda: not memory.backlog)
    assert (memory.stats().pending, len(memory.jobs())) == (0, 1)
    scribe.go.set()
    assert worker.join(PATIENCE)
    assert len(memory.units("summary")) == 1


def test_facts_are_read_once_the_pending_lines_have_vectors(tmp_path: Path, desk: Opened) -> None:
    embedder, gate = GatedEmbedder(64), Gate()
    with Memory.open("bob", store=tmp_path / "more", embedder=embedder) as bob:
        pending: list[int] = []

        def read(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
            pending.append(bob.stats().pending)
            return []

        bob.statement_reader = read
        worker = desk(on=bob)
        defer(bob, "s", MIA)
        embedder.gate = gate
        worker.start()
        assert gate.begun.wait(PATIENCE)
        assert not worker.join(0.1)
        gate.go.set()
        assert worker.join(PATIENCE)
        assert pending == [0]


def test_facts_and_summaries_do_not_wait_for_an_embedder_that_hangs(
    tmp_path: Path, desk: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe_worker, "MAX_VECTOR_WAIT_S", 0.05)
    embedder, gate = GatedEmbedder(64), Gate()
    with Memory.open("bob", store=tmp_path / "more", embedder=embedder) as bob:
        worker = desk(on=bob)
        lines = defer(bob, "s", MIA)
        embedder.gate = gate
        worker.start()
        assert gate.begun.wait(PATIENCE)
        wait_until(lambda: bob.fact_cache.count_unread() == 0)
        assert [unit.metadata["value"] for unit in bob.units("fact")] == ["Mia", "Lisbon"]
        assert not worker.join(0)
        embedder.gate = None
        worker.submit(make_job("summary", lines))
        wait_until(lambda: not bob.jobs())
        gate.go.set()
        assert worker.join(PATIENCE)
        assert bob.stats().pending == 0


def test_close_raises_no_error_of_the_store_and_then_starts_nothing(
    tmp_path: Path, desk: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory.open("bob", store=tmp_path / "more", embedder="hash") as bob:
        worker = desk(on=bob)
        defer(bob, "s", MIA)
        damaged = tmp_path / "damaged"
        damaged.touch()  # SQLite applies the log to any other file
        damaged.replace(tmp_path / "more" / "bob.bank")
        worker.close(PATIENCE)
        assert "vectors are postponed" in caplog.text
        worker.start()
        assert worker.join(0)


def test_close_embeds_the_pending_lines_and_starts_no_job(memory: Memory, desk: Opened) -> None:
    worker = desk()
    lines = defer(memory, "s", MIA)
    memory.enqueue(make_job("summary", lines))
    worker.close(PATIENCE)
    assert (memory.stats().pending, len(memory.jobs()), memory.fact_cache.count_unread()) == (0, 1, 0)


def test_close_does_not_wait_for_an_embedder_that_hangs_and_the_lines_stay_pending(
    tmp_path: Path, desk: Opened
) -> None:
    embedder, gate = GatedEmbedder(64), Gate()
    with Memory.open("bob", store=tmp_path / "more", embedder=embedder) as bob:
        worker = desk(on=bob)
        defer(bob, "s", MIA)
        embedder.gate = gate
        worker.start()
        assert gate.begun.wait(PATIENCE)
        begun = time.monotonic()
        worker.close(0.2)
        assert time.monotonic() - begun < SOON
        assert bob.stats().pending == 1
        gate.go.set()
        assert worker.join(PATIENCE)
        defer(bob, "s", TOM)
        worker.start()
        assert worker.join(0)
        assert bob.stats().pending > 0


def test_a_bank_that_is_forgotten_while_lines_are_embedded_and_read_is_not_created_again(
    tmp_path: Path, desk: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe_worker, "MAX_VECTOR_WAIT_S", 0.05)
    embedder, embedding, reading = GatedEmbedder(64), Gate(), Gate()
    with Memory.open("bob", store=tmp_path / "more", embedder=embedder) as bob:

        def read(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
            reading.wait()
            return read_statements(lines, known)

        bob.statement_reader = read
        worker = desk(on=bob)
        defer(bob, "s", MIA)
        embedder.gate = embedding
        worker.start()
        for gate in (embedding, reading):
            assert gate.begun.wait(PATIENCE)
        bob.forget(everything=True)
        for gate in (embedding, reading):
            gate.go.set()
        assert worker.join(PATIENCE)
        assert not bob.store.exists("bob")


def test_close_does_not_wait_for_a_hanging_scribe_which_then_writes_nothing(memory: Memory, desk: Opened) -> None:
    scribe = Waiting()
    busy = desk(scribe)
    busy.submit(make_job("summary", observe_lines(memory, "s", MIA)))
    assert scribe.writes.wait(PATIENCE)
    begun = time.monotonic()
    busy.close(0.2)
    assert time.monotonic() - begun < SOON
    scribe.go.set()
    assert busy.join(PATIENCE)
    assert memory.units("summary") == []
    assert [waiting.tries for waiting in memory.jobs()] == [0]


class Copying(ExtractiveScribe):
    """Scribe that copies the recalled lines into its note, in one row with the lines that it is about."""

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        return f"{leaving[0].text}\n{' '.join(line.text for line in (*recalled, *leaving))}"


def test_a_note_has_no_row_that_quotes_a_recalled_line_beside_its_own(memory: Memory, desk: Opened) -> None:
    [recalled] = observe_lines(memory, "r", MIA)
    worker = desk(Copying())
    worker.background = [recalled]
    worker.quotes.add([MIA])
    worker.submit(make_job("notes", observe_lines(memory, "s", TOM)))
    assert worker.join(PATIENCE)
    assert [note.text for note in memory.units("note")] == [TOM]


class Alluding(ExtractiveScribe):
    """Scribe that uses a word of the recalled lines in its note."""

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        return f"{leaving[0].text} {' '.join(line.text.split()[2] for line in recalled)} was mentioned."


def test_a_note_with_a_word_of_a_recalled_line_is_forgotten_with_that_line(memory: Memory, desk: Opened) -> None:
    recalled, unrelated = observe_lines(memory, "r", MIA, "The kettle boils over.")
    memory.forget(seq=unrelated.seq)
    worker = desk(Alluding())
    worker.background = [recalled]
    worker.submit(make_job("notes", observe_lines(memory, "s", TOM)))
    assert worker.join(PATIENCE)
    [note] = memory.units("note")
    assert (note.first_seq, note.last_seq) == (recalled.seq, 3)
    memory.forget(seq=recalled.seq)
    assert memory.units("note") == []


def test_a_note_that_uses_no_recalled_line_is_not_forgotten_with_it(memory: Memory, desk: Opened) -> None:
    [recalled] = observe_lines(memory, "r", MIA)
    worker = desk()
    worker.background = [recalled]
    worker.submit(make_job("notes", observe_lines(memory, "s", TOM)))
    assert worker.join(PATIENCE)
    memory.forget(seq=recalled.seq)
    assert len(memory.units("note")) == 1


def test_a_closed_worker_starts_no_job(memory: Memory, desk: Opened) -> None:
    idle = desk()
    idle.close(1)
    idle.submit(make_job("summary", observe_lines(memory, "s", MIA)))
    assert idle.join(1)
    assert len(memory.jobs()) == 1


def test_an_unexpected_error_of_a_scribe_stops_neither_the_worker_nor_join(
    memory: Memory, desk: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    odd = desk(Failing(ZeroDivisionError()))
    odd.submit(make_job("summary", observe_lines(memory, "s", MIA)))
    assert odd.join(PATIENCE)
    assert told == [ZeroDivisionError]
    odd.submit(
        make_job("notes", observe_lines(memory, "t", TOM))
    )  # the other job waits, so it isn't started at every line
    assert odd.join(PATIENCE)
    assert [waiting.kind for waiting in memory.jobs()] == ["summary"]
    assert len(memory.units("note")) == 1


def test_a_failed_job_stays_queued_and_is_not_retried_at_once(memory: Memory, desk: Opened) -> None:
    failing = desk(Failing(LLMUnavailable("down")))
    failing.submit(make_job("summary", observe_lines(memory, "s", MIA)))
    assert failing.join(PATIENCE)
    failing.start()
    assert failing.join(PATIENCE)
    assert [(waiting.tries, waiting.error) for waiting in memory.jobs()] == [(1, "LLMUnavailable")]


@pytest.mark.parametrize("scope", [{"session": "s"}, {"everything": True}, {"seq": 1}])
def test_lines_forgotten_during_a_job_get_no_unit(
    memory: Memory, desk: Opened, tmp_path: Path, scope: dict[str, object]
) -> None:
    scribe = Waiting()
    busy = desk(scribe)
    busy.submit(make_job("notes", observe_lines(memory, "s", MIA)))
    assert scribe.writes.wait(PATIENCE)
    memory.forget(**scope)  # type: ignore[arg-type]
    scribe.go.set()
    assert busy.join(PATIENCE)
    assert memory.units() == []
    assert memory.jobs() == []
    assert not any(b"Lisbon" in path.read_bytes() for path in tmp_path.iterdir())


def test_other_jobs_are_done_if_a_session_is_forgotten_while_its_job_fails(memory: Memory, desk: Opened) -> None:
    forgotten, remaining = observe_lines(memory, "s", MIA), observe_lines(memory, "t", TOM)

    class Forgetting(Failing):
        def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
            if lines[0].session == "s":
                memory.forget(session="s")
            return super().summarize(lines, person, limit)

    for lines in (forgotten, remaining):
        memory.enqueue(make_job("summary", lines))
    failing = desk(Forgetting(LLMUnavailable("down")))
    failing.start()
    assert failing.join(PATIENCE)
    assert [unit.metadata["session"] for unit in memory.units("summary")] == ["t"]
    assert memory.jobs() == []


def test_a_background_line_forgotten_during_the_job_is_in_no_notes(memory: Memory, desk: Opened) -> None:
    old_lines = observe_lines(memory, "old", TOM)
    scribe = Waiting()
    busy = desk(scribe)
    busy.background = old_lines
    busy.submit(make_job("notes", observe_lines(memory, "s", MIA)))
    assert scribe.writes.wait(PATIENCE)
    memory.forget(seq=old_lines[0].seq)
    scribe.go.set()
    assert busy.join(PATIENCE)
    (note,) = memory.units("note")
    assert "Lisbon" in note.text
    assert "Oslo" not in note.text


def test_a_recalled_line_of_a_bank_that_was_created_again_is_in_no_notes(memory: Memory, desk: Opened) -> None:
    former = observe_lines(memory, "s", TOM)
    memory.forget(everything=True)
    again = observe_lines(memory, "s", "And so the evening went.", MIA)
    assert again[0].seq == former[0].seq
    worker = desk(Copying())
    worker.background = former
    worker.submit(make_job("notes", again[1:]))
    assert worker.join(PATIENCE)
    assert [note.text for note in memory.units("note")] == [f"{MIA}\n{MIA}"]


def test_a_text_about_lines_of_a_bank_that_was_created_again_is_not_stored(memory: Memory, desk: Opened) -> None:
    scribe = Waiting()
    busy = desk(scribe)
    busy.submit(make_job("summary", observe_lines(memory, "s", TOM)))
    assert scribe.writes.wait(PATIENCE)
    memory.forget(everything=True)
    busy.submit(make_job("summary", observe_lines(memory, "s", MIA)))
    scribe.go.set()
    assert busy.join(PATIENCE)
    assert all("Oslo" not in unit.text for unit in memory.units())
    assert any("Lisbon" in unit.text for unit in memory.units())


def test_removed_notes_are_not_used_as_background(memory: Memory, desk: Opened) -> None:
    old_lines = observe_lines(memory, "old", TOM, "And so the evening went.")
    note = memory.add_unit(NewUnit("note", "Tom works in Oslo.", 1, 2, old_lines[1].said_at, sources=(1, 2)))
    scribe = Waiting()
    scribe.go.set()
    busy = desk(scribe)
    busy.background = [FoundUnit(note, "old", "note")]
    memory.forget(seq=old_lines[0].seq)
    again = memory.add_unit(NewUnit("note", "The evening went.", 2, 2, old_lines[1].said_at, sources=(2,)))
    assert again.id == note.id  # the id is reused
    busy.submit(make_job("notes", observe_lines(memory, "s", MIA)))
    assert busy.join(PATIENCE)
    assert "Oslo" not in memory.units("note")[-1].text
    busy.background = [FoundUnit(again, "old", "note")]
    busy.submit(make_job("notes", observe_lines(memory, "t", TOM.replace("Oslo", "Bergen"))))
    assert busy.join(PATIENCE)
    assert "The evening went." in memory.units("note")[-1].text  # current notes are used as background


def test_two_workers_of_one_bank_write_a_summary_once(memory: Memory, desk: Opened, tmp_path: Path) -> None:
    scribe = Waiting()
    slow, quick = desk(scribe), desk()
    slow.submit(make_job("summary", observe_lines(memory, "s", MIA)))
    assert scribe.writes.wait(PATIENCE)
    quick.start()
    assert quick.join(PATIENCE)
    scribe.go.set()
    assert slow.join(PATIENCE)
    assert len(memory.units("summary")) == 1
    assert memory.jobs() == []


def test_concurrent_first_notes_are_merged_into_one_current_note(memory: Memory, desk: Opened) -> None:
    scribe = Waiting()
    slow = desk(scribe)
    slow.submit(make_job("notes", observe_lines(memory, "s", MIA)))
    assert scribe.writes.wait(PATIENCE)
    new, before = corrections.build_note(memory.store, memory.bank, "Tom works in Oslo.")
    memory.add_unit(new, supersedes=before)
    scribe.go.set()
    assert slow.join(PATIENCE)
    (current,) = memory.units("note", only_current=True)
    assert "Tom works in Oslo." in current.text
    assert "Lisbon" in current.text
    assert memory.jobs() == []


def test_lines_added_to_a_running_job_are_processed_too(memory: Memory, desk: Opened) -> None:
    scribe = Waiting()
    busy = desk(scribe)
    first = observe_lines(memory, "s", MIA)
    busy.submit(make_job("summary", first))
    assert scribe.writes.wait(PATIENCE)
    memory.enqueue(make_job("summary", [*first, *observe_lines(memory, "s", TOM)]))
    scribe.go.set()
    assert busy.join(PATIENCE)
    (current,) = memory.units("summary", only_current=True)
    assert "Lisbon" in current.text
    assert "Oslo" in current.text
    assert memory.jobs() == []


def test_a_continued_session_has_one_current_summary(memory: Memory, desk: Opened) -> None:
    writing = desk()
    first = observe_lines(memory, "s", MIA)
    writing.submit(make_job("summary", first))
    assert writing.join(PATIENCE)
    writing.submit(make_job("summary", [*first, *observe_lines(memory, "s", TOM)]))
    assert writing.join(PATIENCE)
    assert len(memory.units("summary")) == 2
    (current,) = memory.units("summary", only_current=True)
    assert "Oslo" in current.text


def test_alternating_sessions_are_both_noted(memory: Memory, desk: Opened) -> None:
    writing = desk()
    one, other = observe_lines(memory, "s", MIA), observe_lines(memory, "t", TOM)
    writing.submit(make_job("notes", other))
    assert writing.join(PATIENCE)
    assert (writing.last_noted_seq(one), writing.last_noted_seq(other)) == (0, other[-1].seq)
    writing.submit(make_job("notes", one))
    assert writing.join(PATIENCE)
    notes = writing.notes()
    assert notes is not None
    assert "Lisbon" in notes.text
    assert "Oslo" in notes.text
    assert (writing.last_noted_seq(one), writing.last_noted_seq(other)) == (one[-1].seq, other[-1].seq)
    memory.retract(other[0].seq)
    assert writing.notes() is None  # the notes covered it


def test_lines_count_as_noted_if_the_scribe_writes_nothing_about_them(memory: Memory, desk: Opened) -> None:
    writing = desk()
    writing.submit(make_job("notes", observe_lines(memory, "s", MIA)))
    assert writing.join(PATIENCE)

    class Empty(ExtractiveScribe):
        def update_notes(
            self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
        ) -> str:
            return ""

    idle = observe_lines(memory, "s", "Hm.")
    other = desk(Empty())
    other.submit(make_job("notes", idle))
    assert other.join(PATIENCE)
    notes = other.notes()
    assert notes is not None
    assert "Lisbon" in notes.text
    assert other.last_noted_seq(list(memory.lines(Filter(session="s")))) == idle[-1].seq
    assert memory.jobs() == []


def test_jobs_queued_by_another_process_are_done(tmp_path: Path, desk: Opened) -> None:
    with Memory.open("bob", store=tmp_path / "more", embedder=HashEmbedder(64)) as first:
        lines = observe_lines(first, "s", MIA)
        first.enqueue(ScribeJob("summary", "s", lines[0].seq, lines[0].seq, lines[0].said_at, 3, "LLMUnavailable"))
    with Memory.open("bob", store=tmp_path / "more", embedder=HashEmbedder(64)) as second:
        late = desk(on=second)
        late.start()
        assert late.join(PATIENCE)
        assert len(second.units("summary")) == 1
        late.close(1)


def test_notes_are_written_if_the_model_cannot_redact_secrets(memory: Memory) -> None:
    class Careless(ExtractiveScribe):
        def redact(self, text: str) -> str | None:
            raise ScribeFailed("its answer could not be used")

    with Chat(memory, Character("Captain", person="Nora"), None, scribe=Careless()) as chat:
        list(chat.reply("My sister Mia moved to Lisbon. My password is hunter2."))
        chat.end(remember=True)
        assert chat.wait(PATIENCE)
    text = " ".join(unit.text for unit in memory.units())
    assert "Mia moved to Lisbon" in text
    assert "hunter2" not in text
    assert memory.stats().queued == 0

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hardship import PATIENCE

from everthread.chat.reply import Reply, Truncation
from everthread.chat.reply_filter import ReplyFilter
from everthread.errors import LLMUnavailable, StoreUnavailable
from everthread.testing import ScriptedLLM, StreamCut
from everthread.types import Context, Line, Usage

NOTHING = Context("", 0, (), (), (), 0.0)


class SavedReplies:
    """Records the texts that replies save, in order."""

    def __init__(self, error: Exception | None = None) -> None:
        self.texts: list[tuple[str, bool]] = []
        self.error = error

    def __call__(self, text: str, *, truncation: Truncation, refused: bool) -> Line | None:
        if self.error is not None:
            raise self.error
        self.texts.append((text, bool(truncation)))
        return None


class Silent:
    """Stream that yields one piece and then waits until it is closed."""

    usage = Usage()
    finish = None

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.waiting = threading.Event()
        self._pieces = iter(["one"])

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for piece in self._pieces:
            return piece
        self.waiting.set()
        assert self.closed.wait(PATIENCE)
        raise StopIteration

    def close(self) -> None:
        self.closed.set()


def reply(saved: SavedReplies, *script: str | Exception | StreamCut) -> Reply:
    llm = ScriptedLLM(script)
    return Reply(NOTHING, None, lambda: llm.stream([]), ReplyFilter("Captain", ()), saved)


def test_a_reply_that_is_read_is_saved_once() -> None:
    saved = SavedReplies()
    one = reply(saved, "one two")
    assert list(one) == ["one", " two"]
    one.stop()
    assert list(one) == []
    assert saved.texts == [("one two", False)]


def test_a_reply_stopped_before_it_begins_calls_no_model_and_saves_nothing() -> None:
    saved = SavedReplies()
    asked: list[int] = []
    llm = ScriptedLLM(["one"])

    def start() -> object:
        asked.append(1)
        return llm.stream([])

    one = Reply(NOTHING, None, start, ReplyFilter("Captain", ()), saved)  # type: ignore[arg-type]
    one.stop()
    one.stop()
    assert list(one) == []
    assert (asked, saved.texts) == ([], [])


def test_a_reply_can_be_stopped_from_within_its_own_loop() -> None:
    saved = SavedReplies()
    one = reply(saved, "one two three")
    for piece in one:
        if piece == " two":
            one.stop()
    assert saved.texts == [("one two", True)]
    assert one.partial


def test_stopping_a_complete_reply_does_not_mark_it_as_partial() -> None:
    saved = SavedReplies()
    one = Reply(NOTHING, None, lambda: ScriptedLLM(["one  "]).stream([]), ReplyFilter("Captain", ()), saved)
    assert next(one) == "one"
    assert next(one, None) is None
    one.stop()
    assert saved.texts == [("one", False)]


def test_text_that_arrived_before_an_error_of_the_reader_can_be_saved() -> None:
    saved = SavedReplies()
    one = reply(saved, "one two three")
    with suppress(ZeroDivisionError):
        for _ in one:
            raise ZeroDivisionError
    one.stop()
    assert saved.texts == [("one", True)]


def test_stopping_returns_with_the_reply_saved_while_another_thread_waits() -> None:
    saved, stream = SavedReplies(), Silent()
    one = Reply(NOTHING, None, lambda: stream, ReplyFilter("Captain", ()), saved)
    shown: list[str] = []
    thread = threading.Thread(target=lambda: shown.extend(one))
    thread.start()
    assert stream.waiting.wait(PATIENCE)
    one.stop()
    assert saved.texts == [("one", True)]
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert shown == ["one"]


def test_iteration_ends_for_every_reader_only_after_the_reply_is_saved() -> None:
    keeping, go = threading.Event(), threading.Event()

    def keep(text: str, *, truncation: Truncation, refused: bool) -> Line | None:
        keeping.set()
        assert go.wait(PATIENCE)
        return Line(1, "s", "assistant", "Captain", text, datetime.now(UTC))

    one = Reply(NOTHING, None, lambda: ScriptedLLM(["one two"]).stream([]), ReplyFilter("Captain", ()), keep)
    next(one)
    stopping = threading.Thread(target=one.stop)
    stopping.start()
    assert keeping.wait(PATIENCE)
    found: list[Line | None] = []
    reading = threading.Thread(target=lambda: found.append(next(one, None) or one.line))  # type: ignore[arg-type]
    reading.start()
    reading.join(0.1)
    assert found == []
    go.set()
    reading.join(PATIENCE)
    stopping.join(PATIENCE)
    assert [line.text for line in found if line] == ["one"]


def test_stopping_during_the_request_returns_at_once_and_discards_later_text() -> None:
    saved, stream = SavedReplies(), Silent()
    asked, answer = threading.Event(), threading.Event()

    def start() -> Silent:
        asked.set()
        assert answer.wait(PATIENCE)
        return stream

    one = Reply(NOTHING, None, start, ReplyFilter("Captain", ()), saved)
    shown: list[str] = []
    thread = threading.Thread(target=lambda: shown.extend(one))
    thread.start()
    assert asked.wait(PATIENCE)
    one.stop()
    answer.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert stream.closed.is_set()
    assert (shown, saved.texts) == ([], [])


def test_an_error_caused_by_closing_the_stream_is_not_raised() -> None:
    saved = SavedReplies()

    class Broken(Silent):
        def __next__(self) -> str:
            try:
                return super().__next__()
            except StopIteration:
                raise LLMUnavailable("the connection was closed") from None

    stream = Broken()
    one = Reply(NOTHING, None, lambda: stream, ReplyFilter("Captain", ()), saved)
    errors: list[BaseException] = []

    def read() -> None:
        try:
            list(one)
        except LLMUnavailable as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    assert stream.waiting.wait(PATIENCE)
    one.stop()
    thread.join(PATIENCE)
    assert errors == []
    assert saved.texts == [("one", True)]


def test_a_reply_that_cannot_be_saved_raises_and_retains_its_text() -> None:
    one = reply(SavedReplies(StoreUnavailable("no room")), "one two")
    with pytest.raises(StoreUnavailable):
        list(one)
    assert one.text == "one two"
    assert one.line is None
    assert list(one) == []


def test_stopping_a_reply_that_cannot_be_saved_raises() -> None:
    one = reply(SavedReplies(StoreUnavailable("no room")), "one two")
    next(one)
    with pytest.raises(StoreUnavailable):
        one.stop()
    assert one.text == "one"


class PushStream(Silent):
    """Stream that pushes its pieces to a listener at once."""

    def __init__(self, *pieces: str) -> None:
        super().__init__()
        self.pieces = list(pieces)

    def listen(self, heard: Callable[[str], bool], over: Callable[[], None]) -> None:
        while self.pieces and heard(self.pieces.pop(0)):
            pass
        over()

    def __next__(self) -> str:
        if not self.pieces:
            raise StopIteration
        return self.pieces.pop(0)


def listened(one: Reply) -> list[str]:
    """Return the texts that a reply pushes, and a mark for its end."""
    events: list[str] = []
    one.listen(events.append, lambda: events.append("over"))
    return events


def test_a_pushed_reply_is_saved_by_its_reader() -> None:
    saved = SavedReplies()
    one = Reply(NOTHING, None, lambda: PushStream("Captain: one", " two"), ReplyFilter("Captain", ()), saved)
    assert listened(one) == ["one", " two", "over"]
    assert saved.texts == []
    assert list(one) == []
    assert saved.texts == [("one two", False)]


def test_a_pushed_reply_ends_where_it_speaks_for_the_user() -> None:
    saved, stream = SavedReplies(), PushStream("one\n", "Nora: and you?", " three")
    one = Reply(NOTHING, None, lambda: stream, ReplyFilter("Captain", ["Nora"]), saved)
    assert listened(one) == ["one", "over"]
    assert list(one) == []
    assert (saved.texts, stream.pieces) == ([("one", False)], [" three"])


def test_a_stream_that_cannot_push_is_read_by_iteration() -> None:
    saved = SavedReplies()
    one = reply(saved, "one two")
    assert listened(one) == ["over"]
    assert list(one) == ["one", " two"]
    assert saved.texts == [("one two", False)]


def test_an_error_of_a_pushed_request_is_raised_by_iteration() -> None:
    one = reply(SavedReplies(), LLMUnavailable("down"))
    assert listened(one) == ["over"]
    with pytest.raises(LLMUnavailable, match="down"):
        next(one)
    assert list(one) == []


def test_listening_to_a_stopped_reply_ends_at_once() -> None:
    saved = SavedReplies()
    one = Reply(NOTHING, None, lambda: PushStream("one"), ReplyFilter("Captain", ()), saved)
    one.stop()
    assert listened(one)[-1] == "over"
    assert (list(one), saved.texts) == ([], [])


def test_an_empty_reply_is_an_error_once() -> None:
    one = reply(SavedReplies(), "")
    with pytest.raises(LLMUnavailable, match="empty reply"):
        list(one)
    assert list(one) == []


@pytest.mark.parametrize("reads", [0, 1])
def test_a_garbage_collected_reply_writes_nothing(reads: int) -> None:
    """Garbage is collected in any thread and at any time, even during another write."""
    saved = SavedReplies()
    one = reply(saved, "one two three")
    for _ in range(reads):
        next(one)
    reference = weakref.ref(one)
    del one
    gc.collect()
    assert reference() is None
    assert saved.texts == []


def test_a_broken_stream_saves_its_text_and_raises() -> None:
    saved = SavedReplies()
    one = reply(saved, StreamCut("one two", LLMUnavailable("cut")))
    with pytest.raises(LLMUnavailable, match="cut"):
        list(one)
    assert saved.texts == [("one two", True)]


def test_an_interrupt_while_waiting_reaches_the_reader() -> None:
    saved = SavedReplies()

    class Interrupted(Silent):
        def __next__(self) -> str:
            for piece in self._pieces:
                return piece
            raise KeyboardInterrupt

    one = Reply(NOTHING, None, Interrupted, ReplyFilter("Captain", ()), saved)
    with pytest.raises(KeyboardInterrupt):
        list(one)
    assert saved.texts == [("one", True)]

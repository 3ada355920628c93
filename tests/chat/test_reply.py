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


class Kept:
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


def reply(kept: Kept, *script: str | Exception | StreamCut) -> Reply:
    llm = ScriptedLLM(script)
    return Reply(NOTHING, None, lambda: llm.stream([]), ReplyFilter("Captain", ()), kept)


def test_a_reply_that_is_read_is_saved_once() -> None:
    kept = Kept()
    one = reply(kept, "one two")
    assert list(one) == ["one", " two"]
    one.stop()
    assert list(one) == []
    assert kept.texts == [("one two", False)]


def test_a_reply_stopped_before_it_begins_calls_no_model_and_saves_nothing() -> None:
    kept = Kept()
    asked: list[int] = []
    llm = ScriptedLLM(["one"])

    def start() -> object:
        asked.append(1)
        return llm.stream([])

    one = Reply(NOTHING, None, start, ReplyFilter("Captain", ()), kept)  # type: ignore[arg-type]
    one.stop()
    one.stop()
    assert list(one) == []
    assert (asked, kept.texts) == ([], [])


def test_a_reply_can_be_stopped_from_within_its_own_loop() -> None:
    kept = Kept()
    one = reply(kept, "one two three")
    for piece in one:
        if piece == " two":
            one.stop()
    assert kept.texts == [("one two", True)]
    assert one.partial


def test_stopping_a_complete_reply_does_not_mark_it_as_partial() -> None:
    kept = Kept()
    one = Reply(NOTHING, None, lambda: ScriptedLLM(["one  "]).stream([]), ReplyFilter("Captain", ()), kept)
    assert next(one) == "one"
    assert next(one, None) is None
    one.stop()
    assert kept.texts == [("one", False)]


def test_text_that_arrived_before_an_error_of_the_reader_can_be_saved() -> None:
    kept = Kept()
    one = reply(kept, "one two three")
    with suppress(ZeroDivisionError):
        for _ in one:
            raise ZeroDivisionError
    one.stop()
    assert kept.texts == [("one", True)]


def test_stopping_returns_with_the_reply_saved_while_another_thread_waits() -> None:
    kept, stream = Kept(), Silent()
    one = Reply(NOTHING, None, lambda: stream, ReplyFilter("Captain", ()), kept)
    shown: list[str] = []
    thread = threading.Thread(target=lambda: shown.extend(one))
    thread.start()
    assert stream.waiting.wait(PATIENCE)
    one.stop()
    assert kept.texts == [("one", True)]
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
    kept, stream = Kept(), Silent()
    asked, answer = threading.Event(), threading.Event()

    def start() -> Silent:
        asked.set()
        assert answer.wait(PATIENCE)
        return stream

    one = Reply(NOTHING, None, start, ReplyFilter("Captain", ()), kept)
    shown: list[str] = []
    thread = threading.Thread(target=lambda: shown.extend(one))
    thread.start()
    assert asked.wait(PATIENCE)
    one.stop()
    answer.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert stream.closed.is_set()
    assert (shown, kept.texts) == ([], [])


def test_an_error_caused_by_closing_the_stream_is_not_raised() -> None:
    kept = Kept()

    class Broken(Silent):
        def __next__(self) -> str:
            try:
                return super().__next__()
            except StopIteration:
                raise LLMUnavailable("the connection was closed") from None

    stream = Broken()
    one = Reply(NOTHING, None, lambda: stream, ReplyFilter("Captain", ()), kept)
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
    assert kept.texts == [("one", True)]


def test_a_reply_that_cannot_be_saved_raises_and_retains_its_text() -> None:
    one = reply(Kept(StoreUnavailable("no room")), "one two")
    with pytest.raises(StoreUnavailable):
        list(one)
    assert one.text == "one two"
    assert one.line is None
    assert list(one) == []


def test_stopping_a_reply_that_cannot_be_saved_raises() -> None:
    one = reply(Kept(StoreUnavailable("no room")), "one two")
    next(one)
    with pytest.raises(StoreUnavailable):
        one.stop()
    assert one.text == "one"


class Told(Silent):
    """Stream that pushes its pieces to a listener at once."""

    def __init__(self, *pieces: str) -> None:
        super().__init__()
        self.left = list(pieces)

    def listen(self, heard: Callable[[str], bool], over: Callable[[], None]) -> None:
        while self.left and heard(self.left.pop(0)):
            pass
        over()

    def __next__(self) -> str:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)


def listened(one: Reply) -> list[str]:
    """Return the texts that a reply pushes, and a mark for its end."""
    told: list[str] = []
    one.listen(told.append, lambda: told.append("over"))
    return told


def test_a_pushed_reply_is_saved_by_its_reader() -> None:
    kept = Kept()
    one = Reply(NOTHING, None, lambda: Told("Captain: one", " two"), ReplyFilter("Captain", ()), kept)
    assert listened(one) == ["one", " two", "over"]
    assert kept.texts == []
    assert list(one) == []
    assert kept.texts == [("one two", False)]


def test_a_pushed_reply_ends_where_it_speaks_for_the_user() -> None:
    kept, stream = Kept(), Told("one\n", "Nora: and you?", " three")
    one = Reply(NOTHING, None, lambda: stream, ReplyFilter("Captain", ["Nora"]), kept)
    assert listened(one) == ["one", "over"]
    assert list(one) == []
    assert (kept.texts, stream.left) == ([("one", False)], [" three"])


def test_a_stream_that_cannot_push_is_read_by_iteration() -> None:
    kept = Kept()
    one = reply(kept, "one two")
    assert listened(one) == ["over"]
    assert list(one) == ["one", " two"]
    assert kept.texts == [("one two", False)]


def test_an_error_of_a_pushed_request_is_raised_by_iteration() -> None:
    one = reply(Kept(), LLMUnavailable("down"))
    assert listened(one) == ["over"]
    with pytest.raises(LLMUnavailable, match="down"):
        next(one)
    assert list(one) == []


def test_listening_to_a_stopped_reply_ends_at_once() -> None:
    kept = Kept()
    one = Reply(NOTHING, None, lambda: Told("one"), ReplyFilter("Captain", ()), kept)
    one.stop()
    assert listened(one)[-1] == "over"
    assert (list(one), kept.texts) == ([], [])


def test_an_empty_reply_is_an_error_once() -> None:
    one = reply(Kept(), "")
    with pytest.raises(LLMUnavailable, match="empty reply"):
        list(one)
    assert list(one) == []


@pytest.mark.parametrize("reads", [0, 1])
def test_a_garbage_collected_reply_writes_nothing(reads: int) -> None:
    """Garbage is collected in any thread and at any time, even during another write."""
    kept = Kept()
    one = reply(kept, "one two three")
    for _ in range(reads):
        next(one)
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None
    assert kept.texts == []


def test_a_broken_stream_saves_its_text_and_raises() -> None:
    kept = Kept()
    one = reply(kept, StreamCut("one two", LLMUnavailable("cut")))
    with pytest.raises(LLMUnavailable, match="cut"):
        list(one)
    assert kept.texts == [("one two", True)]


def test_an_interrupt_while_waiting_reaches_the_reader() -> None:
    kept = Kept()

    class Interrupted(Silent):
        def __next__(self) -> str:
            for piece in self._pieces:
                return piece
            raise KeyboardInterrupt

    one = Reply(NOTHING, None, Interrupted, ReplyFilter("Captain", ()), kept)
    with pytest.raises(KeyboardInterrupt):
        list(one)
    assert kept.texts == [("one", True)]

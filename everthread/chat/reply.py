"""A reply in progress: an iterator over its text, which is saved as a line when the reply ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from typing import Literal, Protocol

from everthread.bank.deletion import has_forgotten_since
from everthread.chat.offline_answer import OfflineAnswer
from everthread.chat.prompt_builder import Prompt
from everthread.common.fork_safety import register
from everthread.errors import EverthreadError, LLMUnavailable, ModelError
from everthread.llms.base import PushStream, Stream
from everthread.memory import Memory
from everthread.text.refusal import is_refusal
from everthread.types import Context, EndResult, JSONValue, Line, Usage, now

MAX_REPLY_CHARS = 65_536  # an hour's reading; a longer reply is cut
REFUSAL_REASONS = ("content_filter", "refusal")


# Why a reply is incomplete: it was stopped, its stream was interrupted, or it reached the maximum length.
Truncation = Literal["", "stopped", "broken", "length"]


def reply_metadata(model: str, truncation: Truncation, refused: bool) -> dict[str, JSONValue]:
    """Return the metadata of a reply: its model, and whether it was cut short or refused."""
    partial: dict[str, JSONValue] = {"partial": True, "cut": truncation} if truncation else {}
    return {"model": model, **partial, **({"refused": True} if refused else {})}


class TextFilter(Protocol):
    """Decides which text of a stream is shown. `ReplyFilter` is the usual one."""

    is_over: bool  # nothing more is shown
    stop_reason: Literal["", "person", "long"]

    def feed(self, piece: str) -> str: ...

    def end(self) -> str: ...


class SaveReply(Protocol):
    """Saves a finished reply and returns the stored line, if any."""

    def __call__(self, text: str, *, truncation: Truncation, refused: bool) -> Line | None: ...


class Reply(Iterator[str]):
    """An iterator over the pieces of a reply.

    When the iteration ends, the reply is saved, and `line` is its line. If the stream is interrupted, the
    reply is stopped, or the conversation continues or is closed before the end, the text so far is saved and marked as
    partial. A refusal is saved as retracted, so it is never recalled. Nothing is saved if the line that it answers was
    forgotten in the meantime.

    Iterating raises LLMUnavailable, LLMDenied, LLMRejected, ModelNotFound, and StoreUnavailable if the line can't be
    saved; `text` then holds the text so far.
    """

    # Not a generator: the interpreter may end an abandoned generator at any time and in any thread, even during another
    # write to the same bank, and the end of a reply writes a line.

    def __init__(
        self,
        context: Context,
        prompt: Prompt | None,
        start: Callable[[], Stream],
        reply_filter: TextFilter,
        save: SaveReply,
        is_refusal: Callable[[str], bool] = is_refusal,
    ) -> None:
        self.context = context  # recalled for this reply
        self.began_at = now()
        self.prompt = prompt  # None without a model
        self.answer: OfflineAnswer | None = None  # without a model
        self.person_names: Collection[str] = ()  # under which the lines of the user are stored; without a model
        self.reminder = ""  # the event or line that the character was reminded of
        self.notes = ""  # in the prompt
        self.text = ""
        self.line: Line | None = None
        self.truncation: Truncation = ""
        self.refused = False
        self.ending: EndResult | None = None  # set if the reply ends the conversation, or asks whether to remember it
        self.goodbye: Line | None = None  # the user's goodbye that it answers, if that was saved as a line
        self.on_saved: Callable[[Line], None] | None = None  # called with `line` once it is saved
        self.usage = Usage()
        self._start, self._filter, self._save, self._is_refusal = start, reply_filter, save, is_refusal
        self._stream: Stream | None = None
        self._start_error: EverthreadError | None = None  # raised when the model was asked
        self._stream_ended = self._stopped = False
        self._finished = False  # the reply is saved, or about to be
        self._create_locks()
        register(self)

    def _create_locks(self) -> None:
        self._read_lock = threading.RLock()  # never held while waiting for the model or the store
        self._save_lock = threading.RLock()  # held while the reply is saved; reading a piece doesn't take it

    def renew(self) -> None:
        """Finish in a forked child without saving: a reply in progress belongs to the parent."""
        self._create_locks()
        if not self._finished:
            self._finished, self.truncation = True, "stopped"

    @property
    def partial(self) -> bool:
        """True if the reply was cut short."""
        return self.truncation != ""

    def __next__(self) -> str:
        while not self._finished:
            if self._stream_ended:
                if self._finish() and not self.text.strip():
                    raise LLMUnavailable("the model gave an empty reply; ask again", reason="reply-empty")
                break
            try:
                piece = self._next_piece()
            except BaseException as error:  # of any model, or an interrupt: the text so far is saved first
                self._finish("broken" if isinstance(error, Exception) else "stopped")
                if not (self._stopped and isinstance(error, ModelError)):
                    raise
                break  # another thread closed the stream
            if shown := self._read(piece):
                return shown
        with self._save_lock:  # another thread may be saving it
            raise StopIteration

    def listen(self, on_text: Callable[[str], None], on_end: Callable[[], None]) -> None:
        """Request the stream, and let it push its pieces if it can. Iterate the reply afterwards: that saves it and
        raises errors.

        Args:
            on_text: called with each text to show, from another thread. It must return quickly and not stop the reply.
            on_end: called when the stream has ended; at once if the stream can't push.
        """

        def on_piece(piece: str) -> bool:
            if shown := self._read(piece):
                on_text(shown)
            return not self._stream_ended

        pushes = False
        try:
            stream = self._get_stream()
            if isinstance(stream, PushStream):
                stream.listen(on_piece, on_end)
                pushes = True
        except EverthreadError as error:
            self._start_error = error
        finally:  # a third-party model may raise anything; iterating asks it again and raises that
            if not pushes:
                on_end()

    def stop(self) -> None:
        """Stop the reply, from any thread. When this returns, the text so far is saved."""
        self._stopped = not self._stream_ended
        if (stream := self._stream) is not None:
            stream.close()
        self._finish()

    def _next_piece(self) -> str | None:
        """Wait for the next piece from the model; None at its end."""
        if self._start_error is not None:
            raise self._start_error
        return next(self._get_stream(), None)

    def _get_stream(self) -> Stream:
        """Return the model's stream, requested on the first call."""
        if self._stream is None:
            self._stream = stream = self._start()
            if self._finished:  # stopped in the meantime
                stream.close()
        return self._stream

    def _read(self, piece: str | None) -> str:
        """Filter a piece (None: the end), and return what to show of it."""
        with self._read_lock:
            if self._finished:
                return ""
            shown = self._filter.end() if piece is None else self._filter.feed(piece)
            self._stream_ended = piece is None or self._filter.is_over
            self.text += shown
            return shown

    def _finish(self, truncation: Truncation = "") -> bool:
        """Save the text so far, once; return False if it was saved before. `truncation`: why it is incomplete."""
        with self._save_lock:
            with self._read_lock:
                if self._finished:
                    return False
                self._finished = True  # from now on nothing is read
            truncation = "stopped" if self._stopped else truncation
            finish = None
            if self._stream is not None:
                self._stream.close()
                self.usage, finish = self._stream.usage, self._stream.finish
            text = self.text.strip()
            self.refused = finish in REFUSAL_REASONS or (not truncation and bool(text) and self._is_refusal(text))
            if not truncation and (finish == "length" or self._filter.stop_reason == "long"):
                truncation = "length"
            self.truncation = truncation or ("broken" if finish == "content_filter" else "")
            if text:
                self.line = self._save(text, truncation=self.truncation, refused=self.refused)
                if self.line is not None and self.on_saved is not None:
                    self.on_saved(self.line)
            return True


def is_outdated(memory: Memory, reply: Reply) -> bool:
    """Return whether something was forgotten, by any process, since memories of a bank were recalled for a reply."""
    banks = [memory.bank, *(other.bank for other in reply.context.others)]
    return has_forgotten_since(memory.store, banks, reply.began_at)

"""A reply on its way: pieces of text as they come, kept as a line when the last has come, or as far as it came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Literal, Protocol

from everthread.chat.prompt_builder import Prompt
from everthread.common.fork_safety import register
from everthread.errors import EverthreadError, LLMUnavailable, ModelError
from everthread.llms.base import PushStream, Stream
from everthread.text.refusal import refuses
from everthread.types import Context, EndResult, JSONValue, Line, Usage

MAX_REPLY_CHARS = 65_536  # characters of a reply: an hour's reading; what would come behind is not waited for
REFUSAL_REASONS = ("content_filter", "refusal")


# Why a reply is not whole: somebody stopped it, or went on; its stream broke off; it had reached the most it may have.
Truncation = Literal["", "stopped", "broken", "length"]


def reply_metadata(model: str, truncation: Truncation, refused: bool) -> dict[str, JSONValue]:
    """What a reply's metadata say: which model gave it, and whether it was cut short or a refusal."""
    partial: dict[str, JSONValue] = {"partial": True, "cut": truncation} if truncation else {}
    return {"model": model, **partial, **({"refused": True} if refused else {})}


class TextFilter(Protocol):
    """Decides which text of a stream is shown. `ReplyFilter` is the usual one."""

    is_over: bool  # nothing more is shown
    stop_reason: Literal["", "person", "long"]

    def feed(self, piece: str) -> str: ...

    def end(self) -> str: ...


class SaveReply(Protocol):
    """What is done with a reply once it is over: the line that was kept of it."""

    def __call__(self, text: str, *, truncation: Truncation, refused: bool) -> Line | None: ...


class Reply(Iterator[str]):
    """An iterator over the pieces of a reply.

    Read to its end, it has been kept, and `line` is the line. Where the stream is cut, or it is stopped, or the
    conversation goes on or is closed before, what has arrived is kept and marked as partial. A refusal is kept as
    retracted: nobody will be reminded of it. While it is iterated it raises LLMUnavailable, LLMDenied, LLMRejected,
    ModelNotFound, and StoreUnavailable where it can't be kept; `text` is what has arrived then, too.
    """

    # No generator: the interpreter ends one that nobody reads on whenever it likes, in any thread, even in the middle
    # of another write to the same bank; and what ends a generator is to be kept.

    def __init__(
        self,
        context: Context,
        prompt: Prompt | None,
        start: Callable[[], Stream],
        reply_filter: TextFilter,
        save: SaveReply,
    ) -> None:
        self.context = context  # what was recalled for it
        self.prompt = prompt  # what the model was asked; None where there is no model
        self.offer = ""  # what the character could bring up
        self.notes = ""  # the notes that it was asked with
        self.text = ""
        self.line: Line | None = None
        self.truncation: Truncation = ""
        self.refused = False
        self.ending: EndResult | None = None  # how the conversation ended, or the question whether to remember it
        self.goodbye: Line | None = None  # the goodbye that was kept with it, if any
        self.usage = Usage()
        self._start, self._speech, self._keep = start, reply_filter, save
        self._stream: Stream | None = None
        self._failed: EverthreadError | None = None  # when it was asked for
        self._ended = self._stopped = False  # the stream
        self._over = False  # the reply, and it is kept
        self._unlock()
        register(self)

    def _unlock(self) -> None:
        self._lock = threading.RLock()  # held while a piece is read, and never while anything is waited for
        self._ending = threading.RLock()  # held while it is kept; whoever tells a piece doesn't wait for that

    def renew(self) -> None:
        """Be over in a forked child, and not kept there: a reply on its way is the parent's."""
        self._unlock()
        if not self._over:
            self._over, self.truncation = True, "stopped"

    @property
    def partial(self) -> bool:
        """Whether it is over before it was whole."""
        return self.truncation != ""

    def __next__(self) -> str:
        while not self._over:
            if self._ended:
                if self._finish() and not self.text.strip():
                    raise LLMUnavailable("the model gave an empty reply; ask again")
                break
            try:
                piece = self._awaited()
            except BaseException as error:
                self._finish("broken" if isinstance(error, Exception) else "stopped")
                if not (self._stopped and isinstance(error, ModelError)):
                    raise
                break  # its stream was closed in another thread
            if shown := self._read(piece):
                return shown
        with self._ending:  # another thread may be keeping it just now
            raise StopIteration

    def listen(self, on_text: Callable[[str], None], on_end: Callable[[], None]) -> None:
        """Ask for it, and have the pieces told as they come, as far as the stream can do so by itself; then that it is
        over. Who iterates on then waits for no piece, keeps it, and hears what went wrong. Whoever is told must be
        quick, and not stop it: others are waiting."""

        def heard(piece: str) -> bool:
            if shown := self._read(piece):
                on_text(shown)
            return not self._ended

        tells = False
        try:
            stream = self._asked()
            if isinstance(stream, PushStream):
                stream.listen(heard, on_end)
                tells = True
        except EverthreadError as error:
            self._failed = error
        finally:  # a model of somebody else's may raise anything; whoever iterates asks it again, and hears of it
            if not tells:
                on_end()

    def stop(self) -> None:
        """Stop it, from any thread: when this returns, what has arrived is kept."""
        self._stopped = not self._ended
        if (stream := self._stream) is not None:
            stream.close()
        self._finish()

    def _awaited(self) -> str | None:
        """The next piece from the model; None where there is none."""
        if self._failed is not None:
            raise self._failed
        return next(self._asked(), None)

    def _asked(self) -> Stream:
        """The model's stream. It is asked for once."""
        if self._stream is None:
            self._stream = stream = self._start()
            if self._over:  # stopped while the model was asked
                stream.close()
        return self._stream

    def _read(self, piece: str | None) -> str:
        """What of a piece is shown."""
        with self._lock:
            if self._over:
                return ""
            shown = self._speech.end() if piece is None else self._speech.feed(piece)
            self._ended = piece is None or self._speech.is_over
            self.text += shown
            return shown

    def _finish(self, truncation: Truncation = "") -> bool:
        """Keep what there is, once; whether it was not done before. truncation: why it ends before the stream does."""
        with self._ending:
            with self._lock:
                if self._over:
                    return False
                self._over = True  # nothing is read from now on
            truncation = "stopped" if self._stopped else truncation
            finish = None
            if self._stream is not None:
                self._stream.close()
                self.usage, finish = self._stream.usage, self._stream.finish
            said = self.text.strip()
            self.refused = finish in REFUSAL_REASONS or (not truncation and bool(said) and refuses(said))
            if not truncation and (finish == "length" or self._speech.stop_reason == "long"):
                truncation = "length"
            self.truncation = truncation or ("broken" if finish == "content_filter" else "")
            if said:
                self.line = self._keep(said, truncation=self.truncation, refused=self.refused)
            return True

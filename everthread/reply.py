"""A reply on its way: pieces of text as they come, kept as a line when the last has come, or as far as it came."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Protocol

from everthread.errors import LLMUnavailable
from everthread.models.llm import Stream
from everthread.observe.refusal import refuses
from everthread.observe.speech import Speech
from everthread.prompt.layout import Prompt
from everthread.types import Context, Line, Usage

LONGEST = 65_536  # characters of a reply: an hour's reading; what would come behind is not waited for
CUT_SHORT = ("length", "content_filter")  # why a model's server ended a reply that was not at its end
REFUSED = ("content_filter", "refusal")


class Keep(Protocol):
    """What is done with a reply once it is over: the line that was kept of it."""

    def __call__(self, text: str, *, partial: bool, refused: bool) -> Line | None: ...


class Reply(Iterator[str]):
    """An iterator over the pieces of a reply.

    Read to its end, it has been kept, and `line` is the line. Where the stream is cut, or it is stopped or thrown away
    before, what has arrived is kept and marked as partial. A refusal is kept as retracted: nobody will be reminded of
    it. While it is iterated it raises LLMUnavailable, LLMDenied, LLMRejected, ModelNotFound, and StoreUnavailable where
    it can't be kept.
    """

    def __init__(
        self, context: Context, prompt: Prompt | None, start: Callable[[], Stream], speech: Speech, keep: Keep
    ) -> None:
        self.context = context  # what was recalled for it
        self.prompt = prompt  # what the model was asked; None where there is no model
        self.offer = ""  # what the character could bring up
        self.text = ""
        self.line: Line | None = None
        self.partial = self.refused = False
        self.usage = Usage()
        self._start, self._speech, self._keep = start, speech, keep
        self._stream: Stream | None = None
        self._stopped = False
        self._pieces = self._run()

    def __next__(self) -> str:
        return next(self._pieces)

    def stop(self) -> None:
        """Stop it, from any thread: what has arrived is kept."""
        self._stopped = True
        if (stream := self._stream) is not None:
            stream.close()
        with suppress(ValueError):  # another thread is waiting in it, and finishes what is to be done
            self._pieces.close()

    def _run(self) -> Generator[str]:
        whole = False
        try:
            self._stream = self._start()
            for piece in self._stream:
                if shown := self._speech.feed(piece):
                    self.text += shown
                    yield shown
                if self._speech.over or self._stopped:
                    break
            if shown := self._speech.end():
                self.text += shown
                yield shown
            whole = not self._stopped
        finally:
            if self._stream is not None:
                self._stream.close()
                self.usage = self._stream.usage
            self._finish(whole)
        if not self.text and not self._stopped:
            raise LLMUnavailable("the model gave an empty reply; ask again")

    def _finish(self, whole: bool) -> None:
        """Keep what there is."""
        finish = self._stream.finish if self._stream is not None else None
        said = self.text.strip()
        self.partial = not whole or finish in CUT_SHORT or self._speech.why == "long"
        self.refused = finish in REFUSED or (whole and bool(said) and refuses(said))
        if said:
            self.line = self._keep(said, partial=self.partial, refused=self.refused)


class Spoken:
    """A stream of what is known already: what a chat without a model says."""

    usage = Usage()
    finish: str | None = "stop"

    def __init__(self, text: str) -> None:
        self._left = [text] if text else []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if not self._left:
            raise StopIteration
        return self._left.pop()

    def close(self) -> None:
        self._left = []

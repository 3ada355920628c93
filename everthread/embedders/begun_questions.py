"""BegunQuestions: the embeddings of questions that began before the questions are asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

from everthread.common import fork_safety
from everthread.common.deadline import begin
from everthread.embedders.embedded import EmbeddedQuestion

MAX_BEGUN = 32  # questions that are not asked yet


class BegunQuestions:
    """The embeddings of questions that began before the questions are asked. Thread-safe.

    Each is used once: nothing of a question is kept after it was asked.
    """

    def __init__(self) -> None:
        self._begun: OrderedDict[str, Future[EmbeddedQuestion | None]] = OrderedDict()
        self._lock = fork_safety.Lock()
        fork_safety.register(self)

    def renew(self) -> None:
        """Drop all in a forked child, in which no thread completes them."""
        self._begun = OrderedDict()

    def begin(self, text: str, embed: Callable[[str], EmbeddedQuestion | None]) -> None:
        """Begin to embed a question, unless too many calls of models run.

        Args:
            text: the question.
            embed: embeds it.
        """
        with self._lock:  # `take` waits until the future is there
            future = begin(lambda: embed(text))
            self._begun.pop(text, None)
            if future is not None:
                self._begun[text] = future
            while len(self._begun) > MAX_BEGUN:
                self._begun.popitem(last=False)

    def take(self, text: str) -> Future[EmbeddedQuestion | None] | None:
        """Return the embedding of a question, and drop it; None if it has not begun."""
        with self._lock:
            return self._begun.pop(text, None)

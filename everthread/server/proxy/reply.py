"""The reply in an answer of the upstream, as far as it has been read."""

from __future__ import annotations

from abc import ABC, abstractmethod

from everthread.server.proxy.message_text import remove_thoughts

# Finish reasons of replies that are not cut off, in lower case.
COMPLETE_REASONS = ("stop", "eos", "eos_token", "complete", "end_turn", "stop_sequence")


class Reply(ABC):
    """The words of a reply, as far as they have been read. Each format has a subclass.

    Attributes:
        model: the model that the upstream names.
        response_id: the id of the answer, if the format has one by which a later request continues it.
        message_id: the id of the reply, if the format has one by which a later request names it.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._transcript: list[str] = []
        self._calls_tools = False
        self._reason: object = None  # the finish reason
        self._has_ended = False
        self.model = self.response_id = self.message_id = ""

    @property
    def text(self) -> str:
        """The words, without thoughts."""
        return remove_thoughts(self.join_words(), cuts_unfinished=True).strip()

    def join_words(self) -> str:
        """Return the words with thoughts."""
        return "".join(self._pieces or self._transcript)

    def join(self, beginning: str) -> str:
        """Return the text after its beginning, which some upstreams repeat."""
        said = remove_thoughts("".join(self._pieces), cuts_unfinished=True)
        return (said if said.lstrip().startswith(beginning.strip()) else beginning + said).strip()

    @property
    def is_finished(self) -> bool:
        """True once nothing more will be said."""
        return self._has_ended or self._reason is not None

    @property
    def is_partial(self) -> bool:
        """True if it was cut off, or only precedes calls of tools."""
        is_complete = self._has_ended if self._reason is None else str(self._reason).lower() in COMPLETE_REASONS
        return self._calls_tools or not is_complete

    @abstractmethod
    def add(self, event: object) -> None:
        """Add an answer, or an event of a stream of them. Anything else is ignored."""

    def end(self) -> None:
        """Note that the answer is complete."""
        self._has_ended = True

    def say(self, words: str) -> None:
        """Add words."""
        if words:
            self._pieces.append(words)

    def speak(self, words: str) -> None:
        """Add the transcript of audio."""
        if words:
            self._transcript.append(words)

    def note_call(self) -> None:
        """Note that a tool is called."""
        self._calls_tools = True

    def finish(self, reason: object) -> None:
        """Note why nothing more will be said; None or an empty reason is ignored."""
        if reason:
            self._reason = reason

"""The documents of a framework in a bank: LangChain's or Haystack's.

A document is a line without a time, under a key that begins with the framework's name. Each is a session of its own,
because the lines around a line in its session count for its relevance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from everthread.bank.line_validation import MAX_NAME_CHARS, clean_lines, replace_unstorable
from everthread.errors import BadInput, NotFound
from everthread.types import Condition, Filter, Hit, Line, Metadata, NewLine

if TYPE_CHECKING:
    from everthread.client.client import Client
    from everthread.memory import Memory


class DocumentLines:
    """The lines of the documents of one framework."""

    def __init__(self, memory: Memory | Client, framework: str) -> None:
        """Use a bank, which the caller closes.

        Args:
            memory: the bank, on this machine or on a server.
            framework: the name of the framework.
        """
        self._memory, self._prefix, self._speaker = memory, f"{framework}:", f"{framework} document"

    def build(self, document_id: str, text: str, metadata: Metadata) -> NewLine:
        """Return the checked line of a document. Raises BadLine."""
        key = f"{self._prefix}{document_id}"
        said = text if text.strip() else ""
        line = NewLine(said, self._speaker, session=key, metadata=metadata, key=key, undated=True)
        return clean_lines([line])[0]

    def id_of(self, line: Line) -> str:
        """Return the id of the document in a line."""
        return (line.key or "").removeprefix(self._prefix)

    def write(self, lines: Iterable[NewLine]) -> None:
        """Store documents, or replace those that are stored. Of several with one id the last counts."""
        self._memory.observe_many(lines, replace=True)

    def add(self, lines: Sequence[NewLine]) -> list[Line]:
        """Store the documents whose ids are not stored, and return their lines; the others stay as they are."""
        stored = self._memory.observe_many(lines)
        # A line that is stored already was built at another time.
        return [line for line, new in zip(stored, lines, strict=True) if line.said_at == new.said_at]

    def find_all(self, document_ids: Iterable[str]) -> list[Line]:
        """Return the lines of documents, in the order of the ids, without those that are not stored.

        Raises:
            BadInput: a single id was given instead of several.
        """
        if isinstance(document_ids, str):
            raise BadInput(f"expected a list of ids, got {document_ids!r}; write [{document_ids!r}]")
        found = map(self.find, document_ids)
        return [line for line in found if line is not None]

    def find(self, document_id: str) -> Line | None:
        """Return the line of a document; None if it is not stored."""
        key, _ = replace_unstorable(f"{self._prefix}{document_id}")
        if len(key) > MAX_NAME_CHARS:
            return None
        try:
            return self._memory.get(key=key)
        except NotFound:  # a server has no bank before its first line
            return None

    def read(self, condition: Condition | None = None) -> Iterator[Line]:
        """Yield the lines of the documents that a condition allows, in the order in which they were written."""
        where = Filter(key_prefix=self._prefix, condition=condition)
        with suppress(NotFound):  # as above
            yield from self._memory.lines(where, include_wordless=True)

    def recall(self, query: str, k: int, condition: Condition | None = None) -> list[Hit]:
        """Return at most k documents, the most relevant first."""
        where = Filter(kind="line", key_prefix=self._prefix, condition=condition)
        try:
            return self._memory.recall(query, k, where=where)
        except NotFound:  # as above
            return []

    def forget(self, lines: Iterable[Line]) -> None:
        """Delete documents at once, with their earlier versions."""
        if seqs := [line.seq for line in lines]:
            with suppress(NotFound):  # another process was faster
                self._memory.forget(seq=seqs)

"""AskedQuestion: a question on its way through one recall, parsed and embedded once.

A bank is read in one transaction, in which no model is called. But the names of the bank's speakers, without which a
question is embedded, are read there. So the question is embedded before, by the names that were read last. If it reads
otherwise by now, the transaction ends, the question is embedded, and the bank is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from everthread.embedders.embedded import EmbeddedQuestion
from everthread.embedders.encoder import Encoder
from everthread.recall.candidates import MAX_EXHAUSTIVE_LINES, MAX_POSTINGS, lookup_terms, max_terms
from everthread.recall.learned_names import find_owners, find_unknown_names
from everthread.recall.query_parsing import ParsedQuery, parse_query
from everthread.stores.base import CorpusStats, Store
from everthread.stores.expected_reads import ExpectedReads
from everthread.types import Seqs


class NotEmbedded(Exception):
    """A question has to be embedded, and a transaction is open.

    Attributes:
        parsed: the question.
    """

    def __init__(self, parsed: ParsedQuery) -> None:
        super().__init__("a question was not embedded before the bank was read")
        self.parsed = parsed


class AskedQuestion:
    """A question that is asked at one moment, with what was computed of it. Not thread-safe.

    Attributes:
        clock: the moment of asking, on the asker's clock.
    """

    def __init__(self, text: str, clock: datetime, encoder: Encoder) -> None:
        """Remember the question; nothing is computed yet.

        Args:
            text: the question.
            clock: the moment of asking, on the asker's clock.
            encoder: embeds it.
        """
        self.clock = clock
        self._text, self._encoder = text, encoder
        self._parsed: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], ParsedQuery] = {}
        self._unknown: dict[tuple[str, ...], list[str]] = {}
        self._owners: dict[CorpusStats, dict[str, str]] = {}
        self._embedded: dict[str, EmbeddedQuestion | None] = {}

    def parse(self, speakers: Sequence[str], learned: Mapping[str, str]) -> ParsedQuery:
        """Parse the question, as `parse_query` does."""
        key = tuple(speakers), tuple(learned.items())
        if key not in self._parsed:
            self._parsed[key] = parse_query(self._text, speakers, self.clock, learned)
        return self._parsed[key]

    def find_owners(self, store: Store, bank: str, corpus: CorpusStats, visible: Seqs | None) -> dict[str, str]:
        """Find which unknown names in the question are a speaker's, as `learned_names.find_owners` does.

        They are read again only from a bank whose statistics differ: no line can be added, retracted or forgotten
        without a change of the counts and the last number together.
        """
        if corpus not in self._owners or visible is not None:
            names = self.find_unknown_names(corpus.names)
            self._owners[corpus] = find_owners(store, bank, names, corpus.names, visible)
        return self._owners[corpus]

    def find_unknown_names(self, speakers: Sequence[str]) -> list[str]:
        """Return the names in the question that no speaker has, as `learned_names.find_unknown_names` does."""
        key = tuple(speakers)
        if key not in self._unknown:
            self._unknown[key] = find_unknown_names(self._text, speakers)
        return self._unknown[key]

    def embed(self, parsed: ParsedQuery) -> EmbeddedQuestion | None:
        """Embed the question, unless it is embedded; None while the embedder is down."""
        text = parsed.embedding_text
        if text not in self._embedded:
            self._embedded[text] = self._encoder.try_embed_question(text)
        return self._embedded[text]

    def get_embedded(self, parsed: ParsedQuery) -> EmbeddedQuestion | None:
        """Return the question as it was embedded. Raises NotEmbedded."""
        if parsed.embedding_text not in self._embedded:
            raise NotEmbedded(parsed)
        return self._embedded[parsed.embedding_text]

    def expect(self, parsed: ParsedQuery, is_filtered: bool) -> ExpectedReads:
        """Embed the question, and return what a search for it reads first.

        Args:
            parsed: the question.
            is_filtered: whether only some lines may be found, so that other terms are counted.
        """
        question = self.embed(parsed)
        vector = None if question is None else question.vector
        if is_filtered:
            return ExpectedReads(self._encoder.name, vector)
        terms = lookup_terms(parsed)
        return ExpectedReads(self._encoder.name, vector, terms, max_terms(parsed), MAX_POSTINGS, MAX_EXHAUSTIVE_LINES)

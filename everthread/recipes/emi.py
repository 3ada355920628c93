"""The recipe emi: recalls the earlier reply that shares most keywords with the question."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

import numpy as np

from everthread.errors import ModelError, StoreUnavailable
from everthread.recall.context_packing import fill_context
from everthread.recall.reader import BankReader
from everthread.recall.rerank.base import KeywordOverlap, add_signal, judged_text
from everthread.recall.types import ContextLimits, Query, SearchResult
from everthread.recipes.base import FACTS_MEANING, OFFERS_MEANING, Recipe
from everthread.recipes.options import option
from everthread.recipes.role_filter import restrict_to_roles
from everthread.stores.base import CorpusStats
from everthread.text.analyzer import is_unspaced_script, terms
from everthread.text.formatting import format_line
from everthread.text.indentation import indent
from everthread.text.keywords import term_counts, top_terms
from everthread.text.refusal import is_refusal
from everthread.types import Context, Hit, Line, Role, Seqs

log = logging.getLogger("everthread")

SEARCH_DEPTH_FACTOR = 10  # lines searched for each candidate, since some lines are refusals
LABEL, LABEL_UNSPACED = "For reference", "供参考"
TOLERATED_ERRORS = (StoreUnavailable, ModelError, OSError)  # OSError includes TimeoutError


@dataclass(frozen=True, kw_only=True)
class Emi(Recipe):
    """Recalls the earlier reply of the bot that shares most keywords with the question.

    The recipe follows Emi, a desktop chatbot over ChatGPT's API, primarily in Simplified Chinese. The bot's replies are
    searched, except its refusals (`text.refusal`). Of the `candidates` nearest by vector, the one that shares most
    keywords with the question is recalled; in a tie, the nearer one. The keywords of a text are its `top` terms by
    TF-IDF. If no keyword is shared, nothing is recalled.

    `include_user` searches the person's lines as well; Emi names the lack of this as its first limitation. In a bank
    without a bot (people among themselves) all lines are searched. `max_hits` limits how many enter a prompt. `facts`
    adds what is known of those that the question names, also if nothing is recalled: Emi plans a database of facts.

    Deviations:
    - The memory is part of a prompt's last message, not a system message, since many servers accept only one of those.
      As in Emi, only this turn has it. The rules already say that the character may rely on it.
    - Without a vector of the question (the embedder is down, or can't read its script: the shipped one reads no
      Chinese) the candidates are the lines with most of its words, weighted by rarity. Emi searches by vector only.
    - Keywords of Chinese are pairs of characters, not jieba's words (`text.keywords` gives the reason). The bank, not a
      dictionary, determines how rare a term is. Emi doesn't specify the number of keywords; 20 are jieba's default.
    - A hit's score is the number of shared keywords, and its relevance is their share of the question's keywords. It
      is not a calibrated probability.
    """

    name = "emi"
    description = "Emi's: the one reply that shares most keywords with the question"
    kinds = ("line",)
    notes = False
    summaries = False
    offers: bool = option(False, OFFERS_MEANING)
    facts: bool = option(False, FACTS_MEANING)
    facts_alone = True

    max_hits: int = option(1, "Maximum number of lines recalled for a message.", low=1, high=1000)
    min_relevance: float = option(
        0.0, "Minimum share of the question's keywords that a line contains; 0: one keyword is enough.", low=0, high=1
    )
    buffer_hits: int = 0
    candidates: int = option(
        10, "Number of nearest lines whose keywords are compared with the question's.", low=1, high=10_000
    )
    top: int = option(20, "Number of keywords taken from each text.", low=1)
    include_user: bool = option(False, "Search the person's lines as well as the character's.")
    ignored: tuple[str, ...] = option((), "Words that don't count as keywords, in addition to the bot's name.")
    patience: float = option(10.0, "Seconds after which a search is abandoned and nothing is recalled.", low=0.01)

    def recall(self, reader: BankReader, query: Query, k: int) -> SearchResult:
        """Find the best hits; none, with a warning, if the search fails or takes longer than `patience`."""
        pool = ThreadPoolExecutor(1, "everthread emi")
        try:
            return pool.submit(self._search, reader, query, k).result(self.patience)
        except TOLERATED_ERRORS as error:
            log.warning("nothing was recalled because the search failed or took too long: %r", error)
            return SearchResult()
        finally:
            pool.shutdown(wait=False)  # a search in progress ends by itself: every store and embedder has a timeout

    def lay_out(self, reader: BankReader, result: SearchResult, limits: ContextLimits) -> Context:
        """Lay out the hits of this turn alone, without the session's buffer."""
        return fill_context(result.hits, (), limits.tokens, limits.count, result.relevance, result.terms)

    def render(self, context: Context, name: str, now: datetime) -> str:
        """Render a label and the text, with the speaker of lines that are not the character's.

        The date is left out: a quoted line after a date sounds like a reproach.
        """
        text = "\n".join(_format_line(line) for line in context.lines)
        return f"[{LABEL_UNSPACED if is_unspaced_script(text) else LABEL}]\n{text}"

    def _search(self, reader: BankReader, query: Query, k: int) -> SearchResult:
        visible = None if query.as_of is None else reader.allowed_seqs(Query("", as_of=query.as_of))
        corpus = reader.corpus_stats(visible)
        roles: tuple[Role, ...] = ("assistant", "user") if self.include_user else ("assistant",)
        query = replace(query, where=restrict_to_roles(query.where, roles, corpus))
        hits = list(islice(_find_candidates(reader, query, self.candidates * SEARCH_DEPTH_FACTOR), self.candidates))
        texts = [query.text, *map(judged_text, hits)]
        query_keywords, *hit_keywords = self._extract_keywords(reader, texts, corpus, visible)
        keyword_count = max(len(query_keywords), 1)
        shared_counts = [len(query_keywords & keywords) for keywords in hit_keywords]
        rated = [
            replace(add_signal(hit, KeywordOverlap.name, shared), score=float(shared), relevance=shared / keyword_count)
            for hit, shared in zip(hits, shared_counts, strict=True)
            if shared
        ]
        best = sorted(rated, key=lambda hit: -hit.score)[:k]  # stable: in a tie, the nearer hit stays first
        return SearchResult(best, best[0].relevance if best else 0.0, bool(best))

    def _extract_keywords(
        self, reader: BankReader, texts: Sequence[str], corpus: CorpusStats, visible: Seqs | None
    ) -> list[set[str]]:
        """Return the keywords of each text, without the bot's own name and the words to ignore."""
        bots = [speaker.name for speaker in corpus.speakers if speaker.role == "assistant"]
        names = {term for text in (*bots, *self.ignored) for term in terms(text)}
        frequencies = [term_counts(text) for text in texts]
        all_terms = list(dict.fromkeys(term for counts in frequencies for term in counts))
        postings = reader.store.postings(
            reader.bank, all_terms, len(all_terms), 0, visible
        )  # 0: terms are only counted
        df = {term: posting.df for term, posting in postings.items()}
        return [set(top_terms(counts, self.top, df, corpus.lines)) - names for counts in frequencies]


def _find_candidates(reader: BankReader, query: Query, limit: int) -> Iterator[Hit]:
    """Yield the nearest lines except refusals: by vector, or by words if there is no vector."""
    nearest, signal = reader.find_nearest(query, limit), "cosine"
    if not nearest:
        nearest, signal = _find_by_words(reader, query, limit), "share"
    lines = {line.seq: line for line in reader.get_visible(sorted(seq for seq, _ in nearest), None)}
    words = reader.refusal_words
    for seq, value in nearest:
        line = lines.get(seq)  # None if it was forgotten in the meantime
        if line is not None and not (line.role == "assistant" and is_refusal(line.text, words)):
            yield Hit(line, 0.0, 0.0, {signal: value}, (line,))


def _find_by_words(reader: BankReader, query: Query, limit: int) -> list[tuple[int, float]]:
    """Return the lines that share most words with the question, weighted by rarity, each with its share of them."""
    candidates, signals = reader.measure_candidates(query, limit)
    share = signals["share"]
    best = np.lexsort((-signals["bm25_window"], -share))[:limit]
    return [(int(candidates.seqs[index]), float(share[index])) for index in best if share[index] > 0]


def _format_line(line: Line) -> str:
    """Format a line for a prompt, without the character's own name before it."""
    return indent(line.text) if line.role == "assistant" else format_line(line)

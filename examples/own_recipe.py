"""A recipe of your own: the lines nearest in meaning, above a threshold, each with its neighbours.

A recipe is a frozen dataclass. It must define `recall`; `everthread.recipes.base` has the defaults of all else. Lines
are stored verbatim with every recipe, so any bank can be opened with it.

    python examples/own_recipe.py
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

from everthread import Memory
from everthread.recall.reader import BankReader
from everthread.recall.types import Query, ScoredLine, SearchResult
from everthread.recipes.base import Recipe
from everthread.recipes.options import option


@dataclass(frozen=True, kw_only=True)
class Nearest(Recipe):
    """Recall the lines whose cosine with the query reaches a threshold."""

    name = "nearest"
    description = "the lines nearest in meaning, above a threshold"
    threshold: float = option(0.25, "Cosine that a line must reach.", low=0, high=1)
    neighbours: int = option(1, "Lines on either side that are added to a hit.", low=0, high=10)

    def recall(self, reader: BankReader, query: Query, k: int) -> SearchResult:
        """Find the k nearest lines.

        Args:
            reader: the bank.
            query: the query, with its filter and the lines that are in the prompt already.
            k: maximum number of hits.
        """
        nearest = [(seq, cosine) for seq, cosine in reader.find_nearest(query, k) if cosine >= self.threshold]
        scored = [ScoredLine(seq, cosine, cosine, {"cosine": cosine}) for seq, cosine in nearest]
        allowed = reader.allowed_seqs(query)
        hits = reader.read_hits(scored, self.neighbours, allowed, query.exclude)
        best = max((hit.relevance for hit in hits), default=0.0)
        return SearchResult(hits, relevance=best, passes=bool(hits), allowed=allowed)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Memory.open("alice", store=folder, recipe=Nearest()) as memory:
        memory.observe("My sister Mia moved to Lisbon in May.", speaker="Alice")
        memory.observe("The invoice is overdue.", speaker="Alice")
        print(memory.context("Which city does Mia live in?").text)
        print(f"{len(memory.recall('What is the capital of Mongolia?'))} hits for what was never said")


if __name__ == "__main__":
    main()

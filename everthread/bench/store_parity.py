"""Compares the hits of two stores for the questions of a dataset."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from everthread import factory
from everthread.bench.metrics import mean, recall_at, share
from everthread.bench.questions import AnnotatedConversation
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.base import Store

TOP_K = 10

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ParityResult:
    """Percentages: questions with the same TOP_K hits in the same order, and recall@TOP_K from each store."""

    questions: int
    same: float
    sqlite: float
    postgres: float

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """Return the figures as text, for the terminal and the docs."""
        return (
            f"{self.questions} questions: {self.same:.1f}% with the same {TOP_K} hits in the same order; "
            f"recall@{TOP_K} {self.sqlite:.2f} from SQLite, {self.postgres:.2f} from Postgres"
        )


def measure_parity(
    url: str,
    conversations: Sequence[AnnotatedConversation],
    *,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> ParityResult:
    """Ask every question of a bank in a folder and of one in the database, and compare the hits.

    The banks in the database are deleted afterwards.

    Args:
        url: of the database.
        conversations: with their questions.
        embedder: name of the embedder; default: the configured one.
        progress: called with the id of each conversation.

    Raises:
        BadInput: without questions.
    """
    if not any(conversation.questions for conversation in conversations):
        raise BadInput("there is no question with gold; choose other conversations")
    model = factory.open_embedder(embedder)
    equal: list[bool] = []
    recalls: tuple[list[float], list[float]] = ([], [])
    with tempfile.TemporaryDirectory(prefix="everthread-same-") as folder:
        stores = factory.open_store(Path(folder)), factory.open_store(url)
        for conversation in conversations:
            progress(conversation.id)
            hits = [_find_hits(store, conversation, model) for store in stores]
            equal += [one == other for one, other in zip(*hits, strict=True)]
            for recall, ranked in zip(recalls, hits, strict=True):
                recall += [recall_at(ids, q.gold, TOP_K) for ids, q in zip(ranked, conversation.questions, strict=True)]
        for store in stores:
            store.close()
    return ParityResult(len(equal), 100 * share(equal), *(100 * mean(recall) for recall in recalls))


def _find_hits(store: Store, conversation: AnnotatedConversation, embedder: Embedder) -> list[list[str]]:
    """Return the ids of the hits of each question, best first."""
    memory = Memory(f"{conversation.id} {uuid4()}", store, embedder, factory.open_recipe("default"))
    try:
        lines = memory.observe_many(conversation.lines)
        ids = {line.seq: id for line, id in zip(lines, conversation.ids, strict=True)}
        return [[ids[hit.line.seq] for hit in memory.recall(q.text, TOP_K)] for q in conversation.questions]
    finally:
        memory.forget(everything=True)

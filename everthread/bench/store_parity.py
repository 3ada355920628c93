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
    """Shares in percent: of questions with the same K hits in the same order, and recall@K from either store."""

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
    progress: Progress | None = None,
) -> ParityResult:
    """Ask every question in a folder and in the database, whose banks are deleted afterwards. Raises BadInput without
    questions."""
    if not any(conversation.questions for conversation in conversations):
        raise BadInput("there is no question with gold; choose other conversations")
    model, tell = factory.open_embedder(embedder), progress or (lambda _: None)
    equal: list[bool] = []
    recalls: tuple[list[float], list[float]] = ([], [])
    with tempfile.TemporaryDirectory(prefix="everthread-same-") as folder:
        stores = factory.open_store(Path(folder)), factory.open_store(url)
        for each in conversations:
            tell(each.id)
            answers = [_answers(store, each, model) for store in stores]
            equal += [one == other for one, other in zip(*answers, strict=True)]
            for recall, ranked in zip(recalls, answers, strict=True):
                recall += [recall_at(ids, q.gold, TOP_K) for ids, q in zip(ranked, each.questions, strict=True)]
        for store in stores:
            store.close()
    return ParityResult(len(equal), 100 * share(equal), *(100 * mean(recall) for recall in recalls))


def _answers(store: Store, conversation: AnnotatedConversation, embedder: Embedder) -> list[list[str]]:
    """The ids of the hits of each question, best first."""
    memory = Memory(f"{conversation.id} {uuid4()}", store, embedder, factory.open_recipe("default"))
    try:
        lines = memory.observe_many(conversation.lines)
        ids = {line.seq: id for line, id in zip(lines, conversation.ids, strict=True)}
        return [[ids[hit.line.seq] for hit in memory.recall(each.text, TOP_K)] for each in conversation.questions]
    finally:
        memory.forget(everything=True)

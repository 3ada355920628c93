"""Measures recall from nearly empty banks: packabby's options, and the default recipe's gate.

A bank contains one, two or three consecutive sessions of a conversation, and a summary of each. It is asked questions
about its lines, and questions about another conversation: unchanged, and with the bank's names.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, groupby
from typing import Any

from everthread import factory
from everthread.bench.metrics import percentile, share
from everthread.bench.questions import AnnotatedConversation
from everthread.bench.run import replace_names
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default
from everthread.recipes.packabby import DECOYS, KIND, Packabby
from everthread.scribes.base import Scribe
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.base import Store
from everthread.types import NewLine, NewUnit, Vector, Vectors

SESSIONS_PER_BANK = (1, 2, 3)  # summaries in a bank
BANK_STRIDE_SESSIONS = 3  # every third session begins a bank of each size; more banks would mostly repeat questions
MAX_STRANGE_QUESTIONS = 20  # questions of another conversation that a bank is asked
ARMS: Mapping[str, Recipe] = {
    "packabby, as in the source": Packabby(),
    "with general texts": Packabby(decoys=DECOYS),
    "with a threshold of 0.2": Packabby(threshold=0.2),
    "with a threshold of 0.3": Packabby(threshold=0.3),
    "with the extractive scribe's verdict": Packabby(scribe=ExtractiveScribe()),
    "the default recipe's gate": Default(),
}

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PassRates:
    """Shares (0..1) of questions for which something is recalled.

    known are questions that the bank can answer, strange those that it can't, renamed the latter with the bank's names.
    """

    known: float
    strange: float
    renamed: float


@dataclass(frozen=True, slots=True)
class SmallBanksResult:
    """Pass rates by arm and by the number of summaries in the banks."""

    dataset: str
    embedder: str
    banks: int
    questions: int
    strange: int
    passed: Mapping[tuple[str, int], PassRates]
    milliseconds: Mapping[str, float]  # median of a recall by arm, without embedding the question

    def json(self) -> dict[str, Any]:
        rows = [{"arm": arm, "summaries": size, **asdict(rates)} for (arm, size), rates in self.passed.items()]
        counts = {"banks": self.banks, "questions": self.questions, "strange": self.strange}
        return {
            "dataset": self.dataset,
            "embedder": self.embedder,
            **counts,
            "passed": rows,
            "milliseconds": self.milliseconds,
        }

    def text(self) -> str:
        """Return the shares in percent as text: a table for each size of bank, a row for each arm."""
        width = max(map(len, self.milliseconds))
        head = f"{'':<{width}}" + "".join(
            f"{f'{size} summaries' if size > 1 else '1 summary':>24}" for size in SESSIONS_PER_BANK
        )
        head += f"{'ms':>8}"
        rows = [
            f"{arm:<{width}}"
            + "".join(f"{_format_shares(self.passed[arm, size]):>24}" for size in SESSIONS_PER_BANK)
            + f"{self.milliseconds[arm]:>8.2f}"
            for arm in self.milliseconds
        ]
        about = (
            f"{self.dataset}, {self.embedder}: {self.banks} banks, {self.questions} questions that they can "
            f"answer and {self.strange} that they can't. Percent with anything recalled: "
            "known / strange / strange with their names"
        )
        return "\n".join([about, "", head, *rows])


def _format_shares(rates: PassRates) -> str:
    return " / ".join(f"{100 * value:.1f}" for value in (rates.known, rates.strange, rates.renamed))


@dataclass(frozen=True, slots=True)
class _Bank:
    """A few sessions of a conversation, and questions about them."""

    name: str
    person: str  # the subject of the summaries
    sessions: tuple[tuple[NewLine, ...], ...]
    known: tuple[str, ...]
    strange: tuple[str, ...]
    renamed: tuple[str, ...]

    def fill(self, store: Store, embedder: Embedder, scribe: Scribe) -> None:
        """Store the lines with vectors, which packabby itself does not need, and a summary of each session."""
        memory = Memory(self.name, store, embedder, Default())
        for new in self.sessions:
            lines = memory.observe_many(new)
            text = scribe.summarize(lines, self.person)
            if text.strip():
                first, last = lines[0], lines[-1]
                metadata = {"session": first.session, "scribe": scribe.name}
                memory.add_unit(NewUnit(KIND, text, first.seq, last.seq, last.said_at, metadata=metadata))

    def ask(self, memory: Memory, times_ms: list[float]) -> tuple[list[bool], ...]:
        """Return whether something is recalled for each of the known, strange and renamed questions.

        The milliseconds of each recall are appended to `times_ms`.
        """

        def recalls(text: str) -> bool:
            started_at = time.perf_counter()
            context = memory.context(text)
            times_ms.append(1000 * (time.perf_counter() - started_at))
            return bool(context)

        return tuple([recalls(text) for text in texts] for texts in (self.known, self.strange, self.renamed))


def measure_small_banks(
    conversations: Sequence[AnnotatedConversation],
    *,
    dataset: str,
    embedder: Embedder | str | None = None,
    progress: Progress = lambda done, total: None,
) -> SmallBanksResult:
    """Measure all arms on small banks. Raises BadInput unless two conversations have questions."""
    usable = [conversation for conversation in conversations if conversation.questions]
    if len(usable) < 2:
        raise BadInput(f"{dataset} has {len(usable)} conversations with questions, and two are needed; choose others")
    banks = [bank for index, own in enumerate(usable) for bank in _build_banks(own, usable[index - 1])]
    model, scribe = _CachedQueries(factory.open_embedder(embedder)), ExtractiveScribe()
    recalled: dict[tuple[str, int], list[tuple[list[bool], ...]]] = defaultdict(list)
    times_ms: dict[str, list[float]] = {arm: [] for arm in ARMS}
    with (
        tempfile.TemporaryDirectory(prefix="everthread-priming-") as folder,
        closing(factory.open_store(folder)) as store,
    ):
        for done, bank in enumerate(banks, 1):
            bank.fill(store, model, scribe)
            for arm, recipe in ARMS.items():
                memory = Memory(bank.name, store, model, recipe)
                recalled[arm, len(bank.sessions)].append(bank.ask(memory, times_ms[arm]))
            progress(done, len(banks))
    passed = {
        key: PassRates(*map(share, map(chain.from_iterable, zip(*rows, strict=True)))) for key, rows in recalled.items()
    }
    counts = len(banks), sum(len(bank.known) for bank in banks), sum(len(bank.strange) for bank in banks)
    medians = {arm: percentile(times, 50) for arm, times in times_ms.items()}
    return SmallBanksResult(dataset, model.name, *counts, passed, medians)


def _build_banks(own: AnnotatedConversation, other: AnnotatedConversation) -> Iterator[_Bank]:
    """Yield the banks of a conversation that have all gold lines of a question, said by the summaries' subject."""
    person = own.speakers[0]
    ids = {line.key: id for line, id in zip(own.lines, own.ids, strict=True)}
    sessions = [tuple(lines) for _, lines in groupby(own.lines, lambda line: line.session)]
    strange = [question.text for question in other.questions]
    strange = strange[:: max(len(strange) // MAX_STRANGE_QUESTIONS, 1)][:MAX_STRANGE_QUESTIONS]
    mapped = [replace_names(text, other.speakers, own.speakers) for text in strange]
    for size in SESSIONS_PER_BANK:
        for first in range(0, len(sessions) - size + 1, BANK_STRIDE_SESSIONS):
            stored = tuple(sessions[first : first + size])
            said_ids = {ids[line.key] for lines in stored for line in lines if line.speaker == person}
            known = tuple(question.text for question in own.questions if question.gold <= said_ids)
            if known:
                yield _Bank(f"{own.id} {size} {first}", person, stored, known, tuple(strange), tuple(mapped))


class _CachedQueries:
    """Caches the vectors of questions, which several banks and all recipes are asked."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.multilingual = embedder.name, embedder.multilingual
        self.embed: Callable[[Sequence[str]], Vectors] = embedder.embed
        self.embed_query: Callable[[str], Vector] = cache(embedder.embed_query)

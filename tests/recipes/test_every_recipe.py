"""Properties of every recipe, over banks of any recipe, for any query, and with failing models."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hardship.embedders import Moody

from everthread import Filter, Memory, NewLine
from everthread.errors import LLMUnavailable, ScribeFailed
from everthread.recipes.base import Recipe
from everthread.scribes.base import CATEGORIES, NOTES_TOKENS, SUMMARY_TOKENS
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder
from everthread.types import Context, FoundUnit, Hit, Line
from recipes.talking import EVERY, LATER, asked, talk, written_up
from recipes.twenty import SESSIONS, TWENTY

pytestmark = pytest.mark.slow  # every recipe on every bank

SUMMER = SESSIONS["summer"]
ODD = (
    "",
    " \n\t ",
    "?!",
    "Good morning!",
    "Where did Olga move to? " * 834,  # 20,016 characters
    "x" * 20_000,
    "\N{OTTER}\N{FACE WITH TEARS OF JOY}",
    "奥尔加搬到哪里去了？",
    "What did we talk about yesterday?",
    'note: "Biscuit" OR 1=1; -- %s {0} \N{NO-BREAK SPACE}',
)
LONG = 1_000  # characters of a query that takes longest, and that a recipe is only asked in a bank of its own
QUESTIONS = ("What did the vet say about Biscuit?", "Where did Olga move?", "When does Mara start at the library?")

# Queries, and the numbers of the lines of the twenty that each excludes.
EXCLUDING: Mapping[str, tuple[Mapping[str, Any], set[int]]] = {
    "a session": ({"where": Filter(session="spring")}, set(range(11, 21))),
    "the other session": ({"where": Filter(session=("summer",))}, set(range(1, 11))),
    "a speaker": ({"where": Filter(speaker="Mara")}, set(range(2, 21, 2))),
    "a role": ({"where": Filter(role="assistant")}, set(range(1, 21, 2))),
    "a day": ({"where": Filter(since=SUMMER)}, set(range(1, 11))),
    "until": ({"where": Filter(until=SUMMER)}, set(range(11, 21))),
    "hours of an evening": (
        {"where": Filter(since=TWENTY[4].said_at, until=TWENTY[14].said_at)},
        {*range(1, 5), *range(15, 21)},
    ),
    "as of then": ({"as_of": SUMMER - timedelta(days=1)}, set(range(11, 21))),
    "in the prompt": ({"exclude": {3, 13, 17}}, {3, 13, 17}),
    "metadata": ({"where": Filter(metadata={"topic": "dogs"})}, set(range(1, 21))),
    "nobody": ({"where": Filter(speaker="Wanda")}, set(range(1, 21))),
    "all at once": (
        {"where": Filter(session="summer", speaker="Mara", until=LATER), "as_of": LATER, "exclude": {17}},
        {*range(1, 11), *range(12, 21, 2), 17},
    ),
}

every_recipe = pytest.mark.parametrize("recipe", EVERY.values(), ids=EVERY, scope="module")


class Faltering(ExtractiveScribe):
    """Fails at every nth call, with alternating errors."""

    def __init__(self, nth: int) -> None:
        self.nth, self.calls, self.failed = nth, 0, 0

    def _falter(self) -> None:
        self.calls += 1
        if self.calls % self.nth == 0:
            self.failed += 1
            raise (ScribeFailed("no text") if self.failed % 2 else LLMUnavailable("no answer"))

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        self._falter()
        return super().summarize(lines, person, limit)

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        self._falter()
        return super().update_notes(old, recalled, leaving, limit)

    def categorize(self, text: str, categories: Sequence[str] = CATEGORIES) -> str:
        self._falter()
        return super().categorize(text, categories)

    def redact(self, text: str) -> str | None:
        self._falter()
        return super().redact(text)

    def rate_importance(self, text: str) -> int:
        self._falter()
        return super().rate_importance(text)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return by recipe the folder of a bank with a conversation under it."""
    folders: dict[str, Path] = {}
    for name, recipe in EVERY.items():
        folders[name] = tmp_path_factory.mktemp("talked")
        with Memory.open("mara", store=folders[name], embedder=HashEmbedder(512), recipe=recipe) as memory:
            talk(memory)
    return folders


def opened(folder: Path, recipe: Recipe, embedder: HashEmbedder | Moody | None = None) -> Memory:
    return Memory.open("mara", store=folder, embedder=embedder or HashEmbedder(512), recipe=recipe)


def opened_copy(folders: Mapping[str, Path], target: Path, recipe: Recipe) -> Memory:
    """Open a copy of the bank whose conversation was under this recipe."""
    name = next(name for name, each in EVERY.items() if each is recipe)
    return opened(shutil.copytree(folders[name], target), recipe)


@contextmanager
def copies(folders: Mapping[str, Path], target: Path, recipe: Recipe) -> Iterator[dict[str, Memory]]:
    """Copy the banks to a folder, and open the copies with a recipe."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(opened(shutil.copytree(folder, target / name), recipe))
            for name, folder in folders.items()
        }


@pytest.fixture(scope="module")
def banks(
    folders: dict[str, Path], recipe: Recipe, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Memory]]:
    """Yield banks of all recipes, opened with this one, which may write its units to them when it is first asked.

    Tests write nothing: they name no session for a context, because its buffer would be stored.
    """
    with copies(folders, tmp_path_factory.mktemp("copied"), recipe) as found:
        yield found


@pytest.fixture
def own_banks(folders: dict[str, Path], recipe: Recipe, tmp_path: Path) -> Iterator[dict[str, Memory]]:
    """Yield such banks for one test, which may write to them."""
    with copies(folders, tmp_path, recipe) as found:
        yield found


def standing(hits: Sequence[Hit], context: Context) -> list[str]:
    """Return every text of hits and contexts."""
    found = [source for hit in hits for source in (hit.source, *hit.passage)]
    return [context.text, *(source.text for source in (*found, *context.sources))]


def quoted(texts: Iterable[str], excluded: Set[int]) -> list[tuple[str, str]]:
    """Return the four-word sequences in these texts that only excluded lines contain."""
    others = {run for seq in range(1, 21) if seq not in excluded for run in runs(TWENTY[seq - 1].text)}
    excluded_runs = {run for seq in excluded for run in runs(TWENTY[seq - 1].text)} - others
    return [(run, text) for text in texts for run in runs(text) if run in excluded_runs]


def runs(text: str, words: int = 4) -> Iterator[str]:
    found = re.findall(r"\w+", text)
    return (" ".join(found[at : at + words]) for at in range(max(1, len(found) - words + 1)))


# ----------------------------------------------------------------------- what is asked


@every_recipe
def test_an_empty_bank_finds_nothing_for_any_query(recipe: Recipe, tmp_path: Path) -> None:
    everything: Mapping[str, Any] = {}
    asked_for = [(query, everything) for query in (*ODD, *QUESTIONS)]
    asked_for += [(query, options) for options, _ in EXCLUDING.values() for query in QUESTIONS]
    with opened(tmp_path, recipe) as memory:
        for query, options in asked_for:
            assert memory.recall(query, 5, **options) == []
            context = memory.context(query, 100, session="s", gate=False, **options)
            assert (context.text, context.tokens, context.sources) == ("", 0, ())
        assert memory.units() == []
        assert QUESTIONS[0] in asked(memory, QUESTIONS[0])


@every_recipe
def test_no_query_raises_an_unexpected_error(recipe: Recipe, own_banks: dict[str, Memory]) -> None:
    for name, memory in own_banks.items():
        for query in (query for query in ODD if len(query) < LONG or EVERY[name] is recipe):
            hits = memory.recall(query, 5)
            assert len(hits) <= 5
            for gated in (True, False):
                context = memory.context(query, 120, session="spring", gate=gated)
                assert context.tokens <= 120
            if not query.strip():
                assert hits == []
                assert context.hits == ()


@every_recipe
def test_a_recipe_finds_the_units_that_it_wrote(recipe: Recipe, banks: dict[str, Memory]) -> None:
    own = next(memory for name, memory in banks.items() if EVERY[name] is recipe)
    for query in QUESTIONS:
        hits = own.recall(query)
        assert hits
        assert {hit.kind for hit in hits} <= {"line", *recipe.kinds}
    assert any(own.context(query).text for query in QUESTIONS)


@every_recipe
@pytest.mark.parametrize("what", EXCLUDING)
def test_excluded_lines_are_not_found_in_banks_of_any_recipe(
    recipe: Recipe, what: str, banks: dict[str, Memory]
) -> None:
    options, excluded = EXCLUDING[what]
    # In another recipe's bank, one question is enough: every query is tried with each of the questions in some bank.
    for place, (name, memory) in enumerate(banks.items()):
        for query in QUESTIONS if EVERY[name] is recipe else (QUESTIONS[place % len(QUESTIONS)],):
            hits = memory.recall(query, 20, **options)
            context = memory.context(query, 300, gate=False, **options)
            assert quoted(standing(hits, context), excluded) == []
            seqs = {line.seq for hit in hits for line in hit.passage if hit.kind == "line"}
            assert seqs.isdisjoint(excluded)


@every_recipe
@pytest.mark.parametrize("kind", ["line", "note", "summary", "fact"])
def test_a_filter_by_kind_finds_only_that_kind(recipe: Recipe, kind: str, banks: dict[str, Memory]) -> None:
    for memory in banks.values():
        hits = [hit for query in QUESTIONS for hit in memory.recall(query, 20, where=Filter(kind=kind))]
        assert {hit.kind for hit in hits} <= {kind}
        if kind in memory.stats().units:
            assert hits


@every_recipe
def test_lines_are_stored_while_the_embedder_is_down(recipe: Recipe, tmp_path: Path) -> None:
    embedder = Moody(calls=1)  # it goes down in the middle of the talk
    with opened(tmp_path, recipe, embedder) as memory:
        talk(memory)
        assert embedder.down
        assert [line.text for line in memory.lines(include_retracted=True)] == [line.text for line in TWENTY]
        for query in (*ODD, *QUESTIONS):
            hits = memory.recall(query, 5, exclude={17})
            context = memory.context(query, 200, exclude={17}, gate=False)
            assert quoted(standing(hits, context), {17}) == []
        embedder.down, embedder.calls = False, None
        memory.reindex()
        assert memory.stats().pending == 0
        assert all(memory.recall(query) for query in QUESTIONS)


@every_recipe
def test_lines_are_embedded_if_the_recipe_finds_lines_or_by_reindex(
    recipe: Recipe, folders: dict[str, Path], tmp_path: Path
) -> None:
    with opened_copy(folders, tmp_path / "banks", recipe) as memory:
        assert memory.stats().pending == 0
        standing = len(list(memory.lines()))
        assert memory.stats().vectors == ({"hash-512": standing} if "line" in recipe.kinds else {})
        bank = memory.bank
    with Memory.open(bank, store=tmp_path / "banks", embedder=HashEmbedder(512), recipe="default") as memory:
        assert all(memory.recall(query) for query in QUESTIONS)
        assert memory.reindex() == (0 if "line" in recipe.kinds else standing)
        assert (memory.stats().pending, memory.stats().vectors) == (0, {"hash-512": standing})


@every_recipe
def test_recall_in_one_bank_never_shows_lines_of_another(recipe: Recipe, tmp_path: Path) -> None:
    swapped = {"Biscuit": "Pretzel", "Olga": "Wanda", "vet": "dentist", "library": "bakery", "aquarium": "circus"}

    def other(line: NewLine) -> NewLine:
        text = line.text
        for ours, theirs in swapped.items():
            text = text.replace(ours, theirs)
        return NewLine(text, line.speaker, line.role, line.said_at, line.session)

    with (
        Memory.open("mara", store=tmp_path, embedder=HashEmbedder(512), recipe=recipe) as one,
        Memory.open("nora", store=one.store, embedder=HashEmbedder(512), recipe=recipe) as two,
    ):
        prompts = talk(one), talk(two, lines=[other(line) for line in TWENTY])
        for memory, told, strange in ((one, prompts[0], swapped.values()), (two, prompts[1], swapped.keys())):
            contexts = [memory.context(" ".join(swapped), gate=False) for _ in range(2)]
            hits = memory.recall(" ".join((*swapped, *swapped.values())), 20)
            texts = [*told, *(unit.text for unit in memory.units()), *(context.text for context in contexts)]
            texts += standing(hits, contexts[0])
            assert not [(word, text) for word in strange for text in texts if word in text]


# ------------------------------------------------------------------------- what fails


@every_recipe
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_scribe_that_fails_once_loses_nothing(
    recipe: Recipe, nth: int, folders: dict[str, Path], tmp_path: Path
) -> None:
    scribe = Faltering(nth)
    waiting: list[int] = []
    with opened(tmp_path / "troubled", recipe) as memory, opened_copy(folders, tmp_path / "calm", recipe) as calm:
        prompts = talk(memory, scribe=scribe, after=lambda _: waiting.append(memory.stats().queued))
        assert [line.text for line in memory.lines(include_retracted=True)] == [line.text for line in TWENTY]
        assert [line.text for line in memory.lines()] == [line.text for line in calm.lines()]
        for at, prompt in enumerate(prompts):
            assert TWENTY[2 * at].text in prompt
        writes = bool(calm.units("note") or calm.units("summary"))
        if nth == 1:
            assert memory.units("note") == memory.units("summary") == []
            assert bool(scribe.failed) == (max(waiting) > 0) == writes
        errors = {work.error for work in memory.jobs()}  # none, if more lines have joined a job since
        assert errors <= {"ScribeFailed", "LLMUnavailable", None}
        assert memory.stats().queued == len(memory.jobs()) == waiting[-1]

        written_up(memory)
        assert memory.jobs() == []
        assert told(memory, "summary") == told(calm, "summary")
        assert noted(memory) == noted(calm)
        for query in QUESTIONS:
            assert bool(memory.context(query).text) == bool(calm.context(query).text)


def told(memory: Memory, kind: str) -> list[tuple[Any, ...]]:
    units = memory.units(kind, only_current=True)
    return sorted((unit.text, unit.first_seq, unit.last_seq, unit.category, unit.importance) for unit in units)


def noted(memory: Memory) -> set[int]:
    """Return the lines that the notes cover."""
    return {seq for unit in memory.units("note") for seq in range(unit.first_seq, unit.last_seq + 1)}


@every_recipe
@pytest.mark.parametrize("nth", [1, 5, 7])
def test_pending_work_is_retried_until_it_is_written(recipe: Recipe, nth: int, tmp_path: Path) -> None:
    scribe = Faltering(nth)
    with opened(tmp_path, recipe) as memory:
        talk(memory, scribe=scribe)
        before = [(work.kind, work.session, work.first_seq) for work in memory.jobs()]
        for _ in range(3):
            written_up(memory, scribe)
        jobs = [(work.kind, work.session, work.first_seq) for work in memory.jobs()]
        assert jobs == (before if nth == 1 else [])
        if nth == 1:
            assert all(work.tries >= 3 for work in memory.jobs())
        assert [line.text for line in memory.lines(include_retracted=True)] == [line.text for line in TWENTY]

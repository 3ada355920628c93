from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import Result

from bench.command import run_bench
from everthread.bench.metrics import KS
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.recipes import compare_recipes, measure_write_costs
from everthread.bench.report import BUDGETS_TOKENS
from everthread.bench.run import run_benchmark as measure
from everthread.errors import BadInput, ConfigError
from everthread.factory import open_store
from everthread.recall.reader import BankReader
from everthread.recall.types import Query, ScoredLine, SearchResult
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder
from everthread.types import Line, NewLine, Vector, Vectors

BEGUN = datetime(2024, 5, 1, tzinfo=UTC)
HASH = HashEmbedder(512)


def conversation(
    name: str, speakers: tuple[str, str], texts: Sequence[str], asked: Sequence[Question]
) -> AnnotatedConversation:
    """Build a conversation with two lines in each session."""
    lines = tuple(
        NewLine(text, speakers[n % 2], said_at=BEGUN + timedelta(days=n // 2, minutes=n), session=session, key=f"{n}")
        for n, (text, session) in enumerate(zip(texts, "aabb", strict=False))
    )
    return AnnotatedConversation(name, lines, tuple(f"{name}{n}" for n in range(len(texts))), tuple(asked), speakers)


def ask(text: str, *gold: str, after: int | None = None, answer: str = "") -> Question:
    return Question(text, frozenset(gold), "any", after, answer)


GARDEN = conversation(
    "garden",
    ("Ida", "Tom"),
    ["I planted a walnut tree.", "The roof leaks again.", "My parrot speaks Danish.", "We sold the old tractor."],
    [
        ask("Was the tractor sold?", "garden3", answer="the old tractor"),
        ask("What did Ida say?", "garden0", "garden3"),
        ask("Does the roof leak, Tom?", "garden1", after=2, answer="leaks in spring"),
    ],
)
HARBOUR = conversation(
    "harbour",
    ("Ada", "Ben"),
    ["I painted the lighthouse white.", "Our ferry leaves at nine."],
    [ask("When does the ferry leave, Ben?", "harbour1")],
)


@dataclass(frozen=True, kw_only=True)
class Newest(Recipe):
    """Recalls the newest line for every query; the gate accepts it unless Ben is named."""

    name = "newest"
    description = "the newest line"
    max_hits: int = 1

    def recall(self, reader: BankReader, asked: Query, k: int) -> SearchResult:
        newest = reader.corpus_stats().lines
        hits = reader.read_hits([ScoredLine(newest, 1.0, 1.0, {})], 0, reader.allowed_seqs(asked))
        return SearchResult(hits, 1.0, "Ben" not in asked.text)


@dataclass(frozen=True, kw_only=True)
class Summaries(Recipe):
    """Recalls all summaries of sessions."""

    name = "summaries"
    description = "the summaries of sessions"
    kinds = ("summary",)
    notes = False
    min_relevance: float = 0.0

    def recall(self, reader: BankReader, asked: Query, k: int) -> SearchResult:
        return reader.search_units(asked, self.kinds, k)


def test_every_figure_of_a_recipe_that_finds_lines() -> None:
    comparison = compare_recipes([GARDEN, HARBOUR], [Newest()], dataset="sample", embedder=HASH)
    (row,) = comparison.rows
    assert (comparison.dataset, comparison.embedder, comparison.scribe, comparison.questions) == (
        "sample",
        "hash-512",
        "extractive",
        4,
    )
    # Of the four questions' gold: all, half (the newest of two), all (the newest after two lines), all.
    assert row.gold == row.numbered == dict.fromkeys(BUDGETS_TOKENS, 0.875)
    assert row.recall == dict.fromkeys(KS, 0.875)
    # The contexts have all words of "old tractor" and half of those of "leaks in spring".
    assert row.words == dict.fromkeys(BUDGETS_TOKENS, 0.75)
    assert row.kept == 0.75  # the last names Ben
    # The garden is asked the harbour's one question, whose mapped form names Tom for Ben. The harbour is asked the
    # garden's three; the mapped form of the last names Ben for Tom.
    assert (row.unchanged, row.mapped) == (0.75, 0.75)
    assert row.laid_out[500] == row.laid_out[2000] > row.tokens > 0  # with the gate one context of four is empty
    assert (row.units, row.calls, row.waiting) == (0, 0, 0)
    assert row.write_ms > 0
    assert row.recall_ms > 0


def test_every_figure_of_a_recipe_that_finds_what_a_scribe_wrote() -> None:
    comparison = compare_recipes([GARDEN, HARBOUR], [Summaries()], dataset="sample", embedder=HASH)
    (row,) = comparison.rows
    assert (row.numbered, row.recall) == (None, None)
    # A summary covers the lines of the most frequent speaker, here the first one: Ida or Ada. So only one
    # of the eight gold lines, garden0, is in a summary: half of the gold of the second question.
    assert row.gold == dict.fromkeys(BUDGETS_TOKENS, 0.125)
    assert row.units == 3 / 6
    assert row.calls == 3 * 4 / 6  # a summary is written, cleaned, rated and given a category
    assert row.waiting == 0


def test_a_question_sees_no_summary_of_an_open_session() -> None:
    texts = [line.text for line in GARDEN.lines]

    def gold(after: int) -> float:
        question = ask("Who planted the walnut tree?", "garden0", after=after)
        asked = conversation("garden", ("Ida", "Tom"), texts, [question])
        return compare_recipes([asked], [Summaries()], dataset="sample", embedder=HASH).rows[0].gold[500]

    assert (gold(1), gold(2), gold(4)) == (0, 1, 1)


def test_the_default_recipe_has_the_figures_of_its_own_benchmark() -> None:
    report = measure([GARDEN, HARBOUR], dataset="sample", embedder=HASH)
    (row,) = compare_recipes([GARDEN, HARBOUR], ["default"], dataset="sample", embedder=HASH).rows
    assert (row.recall, row.numbered, row.kept) == (report.recall, report.gold_in_context, report.kept)
    assert report.false_injection
    assert (row.unchanged, row.mapped) == (report.false_injection.unchanged, report.false_injection.mapped)


def test_each_recipe_has_its_own_banks_and_progress_is_reported() -> None:
    steps: list[str] = []
    both = compare_recipes(
        [GARDEN, HARBOUR], [Default(), Summaries()], dataset="x", embedder=HASH, progress=steps.append
    )
    alone = compare_recipes([GARDEN, HARBOUR], [Summaries()], dataset="x", embedder=HASH)
    assert [row.recipe for row in both.rows] == ["default", "summaries"]
    assert (both.rows[1].gold, both.rows[1].units) == (alone.rows[0].gold, alone.rows[0].units)
    assert steps[1:] == [
        "garden, default: 4 lines, 3 questions",
        "garden, summaries: 4 lines, 3 questions",
        "harbour, default: 2 lines, 1 questions",
        "harbour, summaries: 2 lines, 1 questions",
    ]


def test_one_conversation_alone_has_no_strangers() -> None:
    (row,) = compare_recipes([HARBOUR], [Newest()], dataset="sample", embedder=HASH).rows
    assert (row.unchanged, row.mapped) == (None, None)


class CountingEmbedder(HashEmbedder):
    """Counts the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__(64)
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return super().embed(texts)

    def embed_query(self, text: str) -> Vector:
        return HashEmbedder(64).embed_query(text)


def test_writing_is_measured_with_the_model_itself_for_every_recipe(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    store = open_store(tmp_path)
    costs = measure_write_costs(GARDEN, [Default(), Newest(), Summaries()], store, embedder, ExtractiveScribe())
    store.close()
    assert list(costs) == ["default", "newest", "summaries"]
    assert min(costs.values()) > 0
    assert embedder.texts == 1 + 3 * len(GARDEN.lines) + 2  # one to load the model, and the summaries of two sessions


class FixedScribe(ExtractiveScribe):
    """Writes a fixed summary, which contains a line of the other speaker."""

    name = "fixed"

    def summarize(self, lines: Sequence[Line], person: str, limit: int = 300) -> str:
        return "They sold the old tractor."


def test_another_scribe_may_write() -> None:
    comparison = compare_recipes([GARDEN], [Summaries()], dataset="sample", embedder=HASH, scribe=FixedScribe())
    assert comparison.scribe == "fixed"
    assert comparison.rows[0].gold[500] == (1 + 0.5 + 0) / 3


def test_without_questions_there_is_nothing_to_measure() -> None:
    silent = conversation("silent", ("Ida", "Tom"), ["Hello."], [])
    for conversations in ([], [silent]):
        with pytest.raises(BadInput, match="sample has no question with gold"):
            compare_recipes(conversations, dataset="sample", embedder=HASH)


def test_a_recipe_named_twice_or_unknown_is_refused() -> None:
    with pytest.raises(BadInput, match="a recipe is named twice: default, default"):
        compare_recipes([GARDEN], ["default", Default(neighbours=2)], dataset="sample", embedder=HASH)
    with pytest.raises(ConfigError, match="unknown recipe 'elephant'"):
        compare_recipes([GARDEN], ["elephant"], dataset="sample", embedder=HASH)


# ------------------------------------------------------------------- the command

TURNS = [
    {"speaker": "Ida", "dia_id": "D1:1", "text": "I planted a walnut tree."},
    {"speaker": "Tom", "dia_id": "D1:2", "text": "The roof leaks again."},
]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ida",
            "speaker_b": "Tom",
            "session_1": TURNS,
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "qa": [{"question": "Who planted the walnut?", "evidence": ["D1:1"], "category": 4, "answer": "Ida"}],
    }
]


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(LOCOMO))
    return path


def run(*arguments: str | Path) -> Result:
    """Run the command with the default recipe."""
    return run_bench("recipes", *arguments, "--recipe", "default")


def test_the_command_prints_json_and_shows_progress_on_standard_error(locomo: Path) -> None:
    result = run("locomo", locomo, "--json")
    assert result.exit_code == 0, result.stderr
    figures = json.loads(result.stdout)
    assert (figures["dataset"], figures["questions"], figures["scribe"]) == ("locomo", 1, "extractive")
    assert figures["recipes"]["default"]["gold_in_context"] == {"500": 100, "1000": 100, "2000": 100}
    assert "conv-1, default: 2 lines, 1 questions" in result.stderr


@pytest.mark.slow
def test_the_command_prints_tables_draws_them_and_puts_them_into_a_page(locomo: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page, plot = tmp_path / "page.md", tmp_path / "plot.png"
    page.write_text("<!-- recipes on locomo --><!-- end of recipes on locomo -->")
    result = run("locomo", locomo, "--plot", plot, "--write-docs", page)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("locomo: 1 questions")
    assert "| default | 100.00 |" in page.read_text(encoding="utf-8")
    assert plot.stat().st_size > 1000


def test_the_command_names_the_model_that_writes(locomo: Path, no_ollama: str) -> None:
    result = run("locomo", locomo, "--json", "--model", f"http://{no_ollama}/v1#tiny")
    assert json.loads(result.stdout)["scribe"] == "llm:tiny"
    assert json.loads(run("locomo", locomo, "--json", "--model", "none").stdout)["scribe"] == "extractive"


def test_an_unwritable_output_is_refused_before_the_measurement(locomo: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# No marks")
    for given in (("--write-docs", page), ("--plot", tmp_path / "out.txt")):
        result = run("locomo", locomo, *given)
        assert result.exit_code == 2
        assert str(given[1]) in result.stderr
        assert "what a write costs" not in result.stderr


def test_a_dataset_that_is_unknown_and_a_path_with_nothing_in_it_are_refused(locomo: Path, tmp_path: Path) -> None:
    assert run("nothing", locomo).exit_code == 2
    result = run("locomo", tmp_path / "nowhere.json")
    assert (result.exit_code, "nowhere.json" in result.stderr) == (2, True)

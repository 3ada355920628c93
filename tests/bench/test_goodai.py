from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from bench.command import run_bench
from everthread.bench.goodai import MAX_QUERY_TOKENS, NAMES, PUBLISHED, build_query, evaluate
from everthread.bench.goodai_datasets import FactItem, strategyqa
from everthread.errors import BadInput
from everthread.recipes.goodai.tokenizers import word_pieces
from everthread.testing import HashEmbedder

STRATEGYQA = Path(__file__).resolve().parents[3] / "shared" / "data" / "strategyqa"
THINGS = "walnut kite parrot tractor saxophone ferry lighthouse alpaca boiler tulip greyhound motorbike".split()
FORMS = ("{}", "{}s", "{}ish", "{}less", "un{}", "{}ward")  # so that no two facts are alike
ITEMS = [
    FactItem(" ".join(form.format(thing) for form in FORMS), f"Who has the {thing}?", ())
    for thing in THINGS
]  # fmt: skip


def test_two_names_take_turns_over_the_last_three_things_said() -> None:
    item = FactItem("f", "Why?", ("One.", "Two.", "Three.", "Four."))
    queries = {build_query(item, Random(seed)) for seed in range(60)}
    rows = max(queries, key=len).split("\n")
    first, second = rows[-2].split(":")[0], rows[-1].removesuffix(":")
    assert {first, second} <= set(NAMES)
    assert rows == [f"{second}: Two.", f"{first}: Three.", f"{second}: Four.", f"{first}: Why?", f"{second}:"]


def test_a_query_keeps_its_own_turn_and_is_cut_to_random_lengths_up_to_forty() -> None:
    item = FactItem("f", "Why is the kite so red?", ("word " * 200,))
    queries = [build_query(item, Random(seed)) for seed in range(300)]
    assert all("Why is the kite so red?\n" in query for query in queries)
    turn_tokens = len(word_pieces("Ada: Why is the kite so red?\nTom:"))
    assert {len(word_pieces(query)) for query in queries} == set(range(turn_tokens, MAX_QUERY_TOKENS + 1))


def test_a_question_that_is_too_long_keeps_its_end() -> None:
    query = build_query(FactItem("f", "why " * 60 + "now?", ()), Random(1))
    assert len(word_pieces(query)) == MAX_QUERY_TOKENS
    assert query.split("\n")[0].endswith("why now?")


def test_the_same_seed_makes_the_same_queries() -> None:
    one, other = Random(5), Random(5)
    assert [build_query(item, one) for item in ITEMS] == [build_query(item, other) for item in ITEMS]


def test_facts_that_share_a_word_with_their_question_are_found() -> None:
    progress_calls: list[tuple[int, int]] = []
    result = evaluate("qrecc", ITEMS, HashEmbedder(4096), lambda done, total: progress_calls.append((done, total)))
    assert (result.questions, result.embedder) == (12, "hash-4096")
    assert result.accuracy == {3: 1.0, 10: 1.0}
    assert progress_calls[-1] == (12, 12)


def test_a_question_about_something_else_counts_as_missed() -> None:
    wrong = [FactItem(item.fact, "Who has the kite?", ()) for item in ITEMS]
    result = evaluate("qrecc", wrong, HashEmbedder(4096))
    assert 1 / 12 <= result.accuracy[3] < result.accuracy[10]
    assert result.accuracy[3] < 0.75


def test_chunks_as_in_the_source_straddle_facts() -> None:
    facts = [FactItem(f"{item.fact} Then it went on.", item.question, ()) for item in ITEMS]
    shipped, source = (evaluate("qrecc", facts, HashEmbedder(4), as_in_source=source) for source in (False, True))
    assert shipped.accuracy != source.accuracy


def test_a_matcher_that_knows_more_than_the_finder_answers_more() -> None:
    progress_calls: list[tuple[int, int]] = []
    items = [FactItem(item.fact, f"{item.question} or an aardvark?", ()) for item in ITEMS]
    result = evaluate(
        *("qrecc", items, HashEmbedder(4), lambda done, total: progress_calls.append((done, total))),
        matcher="em:minilm",
        factors=(1, 4),
    )
    assert result.accuracy[3] < result.by_factor[1][3] <= result.by_factor[4][3]
    assert result.accuracy[10] <= result.by_factor[1][10]  # nearly the same ten in another order
    assert progress_calls[-1] == (36, 36)


def test_facts_are_found_by_words_without_an_embedder() -> None:
    result = evaluate("qrecc", ITEMS, "none", matcher="em:hash", factors=(2,))
    assert (result.embedder, result.accuracy[3]) == ("none", 1.0)


def test_without_questions_there_is_nothing_to_measure() -> None:
    with pytest.raises(BadInput, match="msmarco: there is no question to ask"):
        evaluate("msmarco", [])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    entries = [{"question": item.question, "facts": [item.fact], "description": "A thing"} for item in ITEMS]
    (tmp_path / "train.json").write_text(json.dumps(entries))
    return tmp_path


def test_the_command_shows_measured_and_published_figures(path: Path) -> None:
    result = run_bench("goodai", "--dataset", "strategyqa", path)
    assert result.exit_code == 0, result.stderr
    rows = result.stdout.splitlines()
    assert rows[0].startswith("goodai-ltm's evaluation on strategyqa: 12 questions")
    assert [row.split() for row in rows if row.startswith("multi-qa")] == [
        ["multi-qa-MiniLM-L6-cos-v1", "73.90", "87.75"]
    ]
    assert any(row.startswith("hash-") and "(measured)" in row for row in rows)


def test_the_command_prints_json_and_reads_no_more_than_the_limit(path: Path) -> None:
    result = run_bench("goodai", "--dataset", "strategyqa", path, "--limit", "5", "--json")
    figures = json.loads(result.stdout)
    assert (figures["dataset"], figures["questions"], set(figures["accuracy"])) == ("strategyqa", 5, {"3", "10"})
    assert [row["model"] for row in figures["published"]] == [accuracy.model for accuracy in PUBLISHED["strategyqa"]]


def test_the_command_measures_a_matching_model_once_a_factor(path: Path) -> None:
    options = "--matcher", "em:hash", "--k-factor", "1", "--k-factor", "2.5"
    result = run_bench("goodai", "--dataset", "strategyqa", path, *options)
    assert result.exit_code == 0, result.stderr
    rows = [row.split()[:-2] for row in result.stdout.splitlines() if "factor" in row]
    assert rows == [["em:hash,", "factor", "1"], ["em:hash,", "factor", "2.5"]]
    figures = json.loads(run_bench("goodai", "--dataset", "strategyqa", path, *options, "--json").stdout)
    assert set(figures["by_factor"]) == {"1", "2.5"}
    assert run_bench("goodai", "--dataset", "strategyqa", path, "--matcher", "minilm").exit_code == 2


def test_the_command_reports_a_missing_file(tmp_path: Path) -> None:
    result = run_bench("goodai", "--dataset", "qrecc", tmp_path / "nowhere.json")
    assert result.exit_code == 2
    assert "nowhere.json" in result.stderr


@pytest.mark.slow
@pytest.mark.skipif(not STRATEGYQA.is_dir(), reason="StrategyQA's files are not beside the project")
def test_the_shipped_model_finds_most_facts_of_the_real_file() -> None:
    result = evaluate("strategyqa", strategyqa(STRATEGYQA, 100))
    assert result.accuracy[3] > 0.85
    assert result.accuracy[10] > 0.93

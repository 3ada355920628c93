from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from everthread.bench.comparison import Comparison, RecipeRow, find_table_span
from everthread.bench.metrics import KS
from everthread.bench.report import BUDGETS_TOKENS
from everthread.errors import BadFile, ConfigError

LINES = RecipeRow(
    recipe="default",
    kinds=("line",),
    gold=dict(zip(BUDGETS_TOKENS, (0.8368, 0.8816, 0.9159), strict=True)),
    numbered=dict(zip(BUDGETS_TOKENS, (0.8366, 0.8816, 0.92), strict=True)),
    words=dict(zip(BUDGETS_TOKENS, (0.5, 0.6, 0.7), strict=True)),
    laid_out=dict(zip(BUDGETS_TOKENS, (470.04, 890, 1600), strict=True)),
    recall=dict(zip(KS, (0.4956, 0.7909, 0.8507, 0.9033, 0.9381), strict=True)),
    tokens=851.6,
    kept=0.9509,
    unchanged=0.0421,
    mapped=0.343,
    write_ms=5.0,
    units=0.0,
    calls=0.0,
    recall_ms=4.0,
)
SUMMARIES = replace(
    LINES,
    recipe="packabby",
    kinds=("summary",),
    numbered=None,
    recall=None,
    words={},
    unchanged=None,
    mapped=None,
    write_ms=7.5,
    units=0.05,
    calls=0.2,
    recall_ms=1.0,
    waiting=2,
)
COMPARISON = Comparison("sample", "minilm", "extractive", 997, (LINES, SUMMARIES))


def test_json_has_exactly_the_promised_names() -> None:
    found = json.loads(json.dumps(COMPARISON.json()))
    assert {name: found[name] for name in found if name != "recipes"} == {
        "dataset": "sample",
        "embedder": "minilm",
        "scribe": "extractive",
        "questions": 997,
    }
    assert list(found["recipes"]) == ["default", "packabby"]
    assert found["recipes"]["default"] == {
        "kinds": ["line"],
        "gold_in_context": {"500": 83.68, "1000": 88.16, "2000": 91.59},
        "gold_by_number": {"500": 83.66, "1000": 88.16, "2000": 92.0},
        "answer_words_in_context": {"500": 50.0, "1000": 60.0, "2000": 70.0},
        "recall": {"1": 49.56, "5": 79.09, "10": 85.07, "25": 90.33, "50": 93.81},
        "tokens_laid_out": {"500": 470.0, "1000": 890, "2000": 1600},
        "tokens": 851.6,
        "kept": 95.09,
        "unchanged": 4.21,
        "mapped": 34.3,
        "write_ms": 5.0,
        "write_ms_ratio": 1.0,
        "units": 0.0,
        "calls": 0.0,
        "recall_ms": 4.0,
        "recall_ms_ratio": 1.0,
        "waiting": 0,
    }
    other = found["recipes"]["packabby"]
    assert (other["write_ms_ratio"], other["recall_ms_ratio"]) == (1.5, 0.25)
    assert (other["recall"], other["gold_by_number"], other["unchanged"], other["mapped"]) == (None,) * 4


def test_the_tables_show_every_figure_and_a_dash_if_it_was_not_measured() -> None:
    rows = [row.split() for row in COMPARISON.text().splitlines()]
    gold, recall = ["83.68", "88.16", "91.59"], ["49.56", "79.09", "85.07", "90.33", "93.81"]
    assert ["default", *gold, "50.00", "60.00", "70.00", *recall] in rows
    assert ["packabby", *gold, *"–" * 8] in rows
    costs = ["default", "852", "95.09", "4.21", "34.30", "5.00", "1.00", "0.000", "0.000", "4.00", "1.00"]
    assert costs in rows
    assert ["packabby", "852", "95.09", "–", "–", "7.50", "1.50", "0.050", "0.200", "1.00", "0.25"] in rows


def test_columns_are_aligned_with_their_heads() -> None:
    table = [row for row in COMPARISON.text().splitlines() if row.startswith(("recipe", "default ", "packabby "))]
    assert len({len(row) for row in table[:3]}) == len({len(row) for row in table[3:]}) == 1


def test_the_difference_of_the_two_criteria_is_reported_for_lines() -> None:
    (note,) = [row for row in COMPARISON.text().splitlines() if row.startswith("default: ")]
    assert note.endswith("83.66 / 88.16 / 92.00; by their text +0.02 / +0.00 / -0.41")


def test_failed_scribe_jobs_are_reported() -> None:
    assert "packabby: the scribe failed in 2 jobs" in COMPARISON.text()


def test_without_the_default_recipe_there_is_nothing_to_compare_times_with() -> None:
    alone = replace(COMPARISON, rows=(SUMMARIES,))
    assert alone.json()["recipes"]["packabby"]["write_ms_ratio"] is None
    assert alone.text().splitlines()[6].split()[5:7] == ["7.50", "–"]


def test_calls_are_attributed_to_the_model_if_one_writes() -> None:
    assert "made without a model" in COMPARISON.text()
    assert "at least one call of the model" in replace(COMPARISON, scribe="llm:tiny").text()


PAGE = "# Recipes\n\n<!-- recipes on sample -->\nyesterday's\n<!-- end of recipes on sample -->\n\nThe end.\n"


def test_the_tables_are_written_between_the_marks_of_a_page_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    COMPARISON.write(page)
    first = page.read_text(encoding="utf-8")
    assert first.startswith("# Recipes\n\n<!-- recipes on sample -->\n997 questions, embedder minilm")
    assert first.endswith("\n<!-- end of recipes on sample -->\n\nThe end.\n")
    assert "yesterday's" not in first
    assert "| recipe | gold @500 |" in first
    assert "| packabby | 83.68 | 88.16 | 91.59 | – |" in first
    COMPARISON.write(page)
    assert page.read_text(encoding="utf-8") == first


def test_a_table_of_the_docs_has_as_many_columns_in_each_row() -> None:
    rows = [row for row in COMPARISON.markdown().splitlines() if row.startswith("|")]
    assert len(rows) == 8
    assert [row.count("|") for row in rows] == [13] * 4 + [12] * 4


def test_a_page_without_marks_is_refused_with_the_marks_to_add(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    with pytest.raises(BadFile, match=r"write <!-- recipes on locomo --> and <!-- end of recipes on locomo -->"):
        find_table_span(page, "locomo")
    with pytest.raises(BadFile, match=r"cannot read .*missing\.md"):
        COMPARISON.write(tmp_path / "missing.md")
    page.write_bytes(b"\xff\xfe")
    with pytest.raises(BadFile, match=r"cannot read .*page\.md"):
        find_table_span(page, "sample")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.png", "out.svg"])
def test_a_plot_is_drawn(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    COMPARISON.plot(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000


def test_a_plot_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"out\.txt.*\.png"):
        COMPARISON.plot(tmp_path / "out.txt")

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from everthread.bench.metrics import KS
from everthread.bench.report import BUDGETS_TOKENS, CategoryResult, FalseInjection, GatePoint, Report
from everthread.common.installation import extra_command
from everthread.errors import ConfigError

RECALL = dict(zip(KS, (0.43214, 0.75, 0.8333333, 0.9, 1.0), strict=True))
REPORT = Report(
    dataset="sample",
    recipe="default",
    embedder="minilm",
    questions=3,
    left_out=2,
    unresolved=1,
    recall=RECALL,
    categories={"temporal": CategoryResult(1, RECALL), "multi-hop": CategoryResult(2, RECALL)},
    ndcg10=0.61239,
    gold_in_context=dict(zip(BUDGETS_TOKENS, (0.5, 0.6, 0.7), strict=True)),
    tokens_in_context=dict(zip(BUDGETS_TOKENS, (400.4, 700, 900), strict=True)),
    kept=0.98,
    false_injection=FalseInjection(0.01, 0.2, (GatePoint(0.0, 1, 1, 1), GatePoint(0.5, 0.9, 0.0, 0.1))),
    latency_p50=3.14159,
    latency_p95=9,
)


def test_json_has_exactly_the_promised_names() -> None:
    figures = json.loads(json.dumps(REPORT.json()))
    percents = {"1": 43.21, "5": 75.0, "10": 83.33, "25": 90.0, "50": 100.0}
    assert figures == {
        "dataset": "sample",
        "recipe": "default",
        "embedder": "minilm",
        "questions": 3,
        "left_out": 2,
        "recall": percents,
        "categories": {
            "temporal": {"questions": 1, "recall": percents},
            "multi-hop": {"questions": 2, "recall": percents},
        },
        "ndcg10": 61.24,
        "gold_in_context": {"500": 50.0, "1000": 60.0, "2000": 70.0},
        "tokens_in_context": {"500": 400, "1000": 700, "2000": 900},
        "kept": 98.0,
        "false_injection": {
            "unchanged": 1.0,
            "mapped": 20.0,
            "curve": [
                {"threshold": 0.0, "kept": 100, "unchanged": 100, "mapped": 100},
                {"threshold": 0.5, "kept": 90.0, "unchanged": 0.0, "mapped": 10.0},
            ],
        },
        "latency_ms": {"p50": 3.14, "p95": 9},
    }


def test_the_table_shows_every_figure() -> None:
    text = REPORT.text()
    for figure in (
        "R@50",
        "43.21",
        "61.24",
        "500: 50.00",
        "500: 400",
        "98.00%",
        "1.00%",
        "20.00%",
        "p95 9.0 ms",
        "2 questions",
        "1 unresolved",
    ):
        assert figure in text
    assert [line.split()[0] for line in text.splitlines()[3:6]] == ["multi-hop", "temporal", "all"]


def test_with_one_conversation_there_is_no_false_injection() -> None:
    alone = replace(REPORT, false_injection=None)
    assert alone.json()["false_injection"] is None
    assert "false injection" not in alone.text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.png", "out.SVG"])
def test_a_plot_is_drawn(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    REPORT.plot(tmp_path / name)
    replace(REPORT, false_injection=None).plot(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000


def test_without_matplotlib_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError, match=re.escape(extra_command("bench"))):
        REPORT.plot(tmp_path / "out.png")


def test_a_plot_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"out\.txt.*\.png"):
        REPORT.plot(tmp_path / "out.txt")

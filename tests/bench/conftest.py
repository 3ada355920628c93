"""Few calls of each kind: these tests check how the benchmarks measure, not what."""

from __future__ import annotations

import json
from importlib.resources import files
from types import ModuleType

import pytest

from everthread.bench import chat, client_load, fact_cost, first_facts, load, network_delay, places, speed

COUNTS: dict[ModuleType, dict[str, int]] = {
    chat: {"CONTEXT_TOKENS": 2048, "STREAMED_REPLIES": 10, "WARMUP_TURNS": 25},  # which fill the context
    client_load: {"CALLS_ALONE": 20},
    fact_cost: {"PASSES": 2, "SYNTHETIC_LINES": 40},
    load: {"OBSERVED_LINES": 10, "QUERY_COUNT": 20, "SAMPLE_LINES": 40},
    network_delay: {"QUERY_COUNT": 20},
    places: {"QUERY_COUNT": 20},
    speed: {"OBSERVED_LINES": 10, "QUERY_COUNT": 20, "SAMPLE_LINES": 40},
}


@pytest.fixture(autouse=True)
def _few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, counts in COUNTS.items():
        for name, count in counts.items():
            monkeypatch.setattr(module, name, count)


@pytest.fixture(scope="module")
def few_first_facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return by language a file with four of the banks of first facts, all of which every fit asks."""
    folder = tmp_path_factory.mktemp("firsts")
    for name in first_facts.DATA_FILES.values():
        banks = json.loads(files("everthread.bench").joinpath(name).read_text("utf-8"))
        (folder / name).write_text(json.dumps(banks[:4]))
    return {language: str(folder / name) for language, name in first_facts.DATA_FILES.items()}

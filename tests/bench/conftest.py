"""Few calls of each kind: these tests check how the benchmarks measure, not what."""

from __future__ import annotations

from types import ModuleType

import pytest

from everthread.bench import chat, client_load, fact_cost, load, network_delay, places, speed

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

"""The benchmark of the memory proxy, with few turns and the hash embedder."""

from __future__ import annotations

import json

import pytest

from bench.command import run_bench
from everthread.bench import kills, proxy, proxy_stages
from everthread.errors import BadInput
from everthread.memory import Memory

pytestmark = pytest.mark.slow  # servers are started, killed and asked


def test_the_first_byte_is_measured_through_the_proxy_and_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "LONG_MESSAGES", 30)
    monkeypatch.setattr(proxy, "PIECE_INTERVAL_S", 0.002)
    result = run_bench("proxy", "--lines", "50", "--turns", "2", "--streams", "3", "--json")
    figures = json.loads(result.stdout)
    assert (figures["lines"], figures["turns"], figures["streams"]) == (50, 2, 3)
    assert figures["errors"] == 0
    for name in ("short", "long", "at_once"):
        proxied, direct = figures[name]["proxy"], figures[name]["direct"]
        assert 0 < proxied["p50"] <= proxied["p99"]
        assert 0 < direct["p50"] <= direct["p99"]
        assert figures[name]["added"] == proxied["p50"] - direct["p50"]
        assert figures[name]["ratio"] == proxied["p50"] / direct["p50"]
    assert figures["length_ratio"] == figures["long"]["proxy"]["p50"] / figures["short"]["proxy"]["p50"]


def test_a_message_outlives_a_kill_of_the_server_and_is_stored_once_when_it_is_sent_again() -> None:
    result = run_bench("proxy", "--kills", "1", "--json")
    figures = json.loads(result.stdout)
    assert (figures["kills"], figures["missing"], figures["doubled"]) == (1, 0, 0)
    assert figures["absent"] + figures["partial"] + figures["whole"] == 1


def test_lines_that_are_missing_or_stored_twice_are_counted(memory: Memory) -> None:
    asked = [{"role": "user", "content": "Where is Mia?"}]
    answered = [*asked, {"role": "assistant", "content": "In Rome. "}]
    result = kills.KillResult(1)
    kills.count_stored(result, [], asked)
    assert (result.missing, result.absent) == (1, 1)

    question = memory.observe("Where is Mia?")
    for text, metadata in (("In", {"partial": True}), ("In Rome.", {})):
        memory.observe(text, role="assistant", parent=question.seq, metadata=metadata)
        kills.count_stored(result, list(memory.lines()), asked)
    assert (result.missing, result.partial, result.whole, result.doubled) == (1, 1, 1, 1)

    kills.count_after_retry(result, list(memory.lines()), answered)
    assert (result.missing, result.doubled) == (1, 2)  # "In" is no message of the conversation


def test_the_stages_of_a_turn_are_measured() -> None:
    result = run_bench("proxy", "--stages", "--lines", "50", "--turns", "2", "--json")
    short, long = json.loads(result.stdout)
    assert (short["messages"], long["messages"]) == (10, 500)
    assert short["clock"].keys() == short["processor"].keys() == long["clock"].keys() >= {"parse", "recall"}
    assert min(short["clock"].values()) > 0


def test_counts_that_are_too_small_are_refused() -> None:
    with pytest.raises(BadInput, match="0 turns"):
        proxy.measure_proxy(turns=0)
    with pytest.raises(BadInput, match="0 turns"):
        proxy_stages.measure_stages(turns=0)
    with pytest.raises(BadInput, match="0 kills"):
        kills.measure_kills(0)
    assert run_bench("proxy", "--kills", "-1").exit_code != 0

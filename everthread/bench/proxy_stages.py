"""Measures the stages of the memory proxy in one process, without connections: what a turn costs before its first byte.

The times of the processor can be compared between machines that are busy with other work, the others only with an idle
one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, TypeVar

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.proxy import BANK, BANK_LINES, LONG_MESSAGES, SHORT_MESSAGES, TURN_COUNT
from everthread.bench.serve import Progress
from everthread.bench.speed import store_synthetic_lines
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.sqlite.store import SQLiteStore

WARMUP_TURNS = 3
EMBEDDING_TIMEOUT_S = 60.0

Result = TypeVar("Result")


@dataclass
class StageTimes:
    """Milliseconds of each stage, p50: on the clock, and of the processor."""

    messages: int
    clock: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)


class Stopwatch:
    """Measures calls by the name of their stage."""

    def __init__(self) -> None:
        self._times: dict[str, list[tuple[float, float]]] = {}

    def time(self, stage: str, call: Callable[[], Result]) -> Result:
        """Call a function, and return its result."""
        clock, processor = time.perf_counter(), time.process_time()
        result = call()
        elapsed = 1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - processor)
        self._times.setdefault(stage, []).append(elapsed)
        return result

    def summarize(self, messages: int) -> StageTimes:
        """Return the medians, without the turns for warming up."""
        measured = {stage: list(zip(*times[WARMUP_TURNS:], strict=True)) for stage, times in self._times.items()}
        clock = {stage: median(times[0]) for stage, times in measured.items()}
        return StageTimes(messages, clock, {stage: median(times[1]) for stage, times in measured.items()})


def measure_stages(
    lines: int = BANK_LINES,
    turns: int = TURN_COUNT,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> list[StageTimes]:
    """Measure the stages of turns of a short and of a long conversation.

    Args:
        lines: lines of the bank at the start.
        turns: measured turns of each conversation.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for a number below 1.
    """
    if min(lines, turns) < 1:
        raise BadInput(f"{lines} lines, {turns} turns are too few; give at least 1 of each")
    from everthread.recipes.default import Default
    from everthread.server.app import create_app
    from everthread.server.services import Services

    with tempfile.TemporaryDirectory(prefix="everthread-stages-") as folder, closing(SQLiteStore(folder)) as store:
        services = Services(store, factory.open_embedder(embedder), None, Default())
        progress(f"{lines:,} lines: storing")
        memory = services.get_memory(BANK, create=True)
        store_synthetic_lines(memory, lines)
        app = create_app(services)
        texts = (line.text for line in synthetic.lines(sys.maxsize, skip=lines))
        results = []
        for count in (SHORT_MESSAGES, LONG_MESSAGES):
            progress(f"{turns} turns of {count} messages")
            results.append(_measure_conversation(app.state.proxied_conversations, memory, texts, count, turns))
        app.state.conversations.close()
    return results


def _measure_conversation(proxied: Any, memory: Memory, texts: Iterator[str], count: int, turns: int) -> StageTimes:
    messages = [
        {"role": role, "content": next(texts)} for _ in range((count - 2) // 2) for role in ("user", "assistant")
    ]
    watch = Stopwatch()
    for number in range(WARMUP_TURNS + turns):
        messages.append({"role": "user", "content": next(texts)})
        _measure_turn(watch, proxied, messages, f"This is reply {number} of {count}.")
        _wait_for_embedding(memory)
    return watch.summarize(count)


def _measure_turn(watch: Stopwatch, proxied: Any, messages: list[dict[str, str]], text: str) -> None:
    from everthread.server.proxy.formats.chat_completions import ChatReply, ChatRequest
    from everthread.server.proxy.place import write_request

    body = json.dumps({"model": f"m@{BANK}", "messages": messages, "stream": True}).encode()
    request = watch.time("parse", lambda: ChatRequest.parse(body))
    person_turn = watch.time("find the newest message", lambda: request.find_turn({"via": "proxy"}))
    assert person_turn is not None
    watch.time("begin to embed it", lambda: proxied.prepare(BANK, person_turn.text))
    turn = watch.time("store it", lambda: proxied.begin(BANK, person_turn, None))
    block = watch.time("recall", lambda: proxied.recall(BANK, person_turn, turn, None, EMBEDDING_TIMEOUT_S))
    watch.time("write the request", lambda: write_request(request, "m", block.text, person_turn.index))
    reply = ChatReply()
    reply.say(text)
    reply.end()
    watch.time("store the reply (at its end)", lambda: proxied.finish(BANK, turn, reply, {"via": "proxy"}))
    messages.append({"role": "assistant", "content": text})


def _wait_for_embedding(memory: Memory) -> None:
    """Wait until the lines of the turn are embedded, as they are while a person reads."""
    end = time.monotonic() + EMBEDDING_TIMEOUT_S
    while memory.backlog and time.monotonic() < end:
        time.sleep(0.01)


def table(results: list[StageTimes]) -> str:
    """Return the figures for the terminal and the docs."""
    heads = [f"{result.messages} messages" for result in results]
    rows = [("ms on the clock / of the processor, p50", *heads)]
    for stage in results[0].clock:
        rows.append((stage, *(f"{each.clock[stage]:.2f} / {each.processor[stage]:.2f}" for each in results)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def as_json(results: list[StageTimes]) -> list[dict[str, Any]]:
    """Return the figures by name."""
    return [asdict(result) for result in results]

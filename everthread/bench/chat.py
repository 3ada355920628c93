"""Measures the cost of a conversation in addition to the model: the time of a turn, the delay of its first word, and
the share of each prompt that the model's server has cached.

The bank is synthetic, as in `speed`, and the model is scripted: it replies at once, so that the timings are
Everthread's own: recall, prompt, and two durable writes. For the first word, a server on this machine streams, and
writes into each first piece the time at which it was sent.
"""

from __future__ import annotations

import json
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.speed import BANK, Timing, store_synthetic_lines
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.prompt_builder import Prompt, shared_prefix_ratio
from everthread.errors import BadInput
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import ScriptedLLM, ScriptedStream
from everthread.types import Message, NewLine, Sampling, Usage

BANK_LINES = 10_000
MEASURED_TURNS = 200  # turns measured once the window is full
WARMUP_TURNS = 100  # turns before them, in which the window fills
STREAMED_REPLIES = 50  # replies of the streaming server
REPLY_WORDS = 90  # words of a reply; a character is asked for 50 to 120
TOKENS_PER_WORD_RATIO = 1.4  # tokens of a made-up word for each token of an English one; texts are shortened by it
CONTEXT_TOKENS = 8192  # the default of EVERTHREAD_LLM_CONTEXT

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ChatCosts:
    """The measured costs.

    Times are milliseconds without the model's own, before the model is called and after its last word. shared is the
    mean share (0..1) of a prompt's tokens that are also the beginning of the previous prompt.
    """

    lines: int
    words: int  # of a reply, counted as English words
    turn: Timing
    before: Timing
    after: Timing
    first_word: Timing
    shared: float
    shared_least: float
    prompt_tokens: float
    largest_prompt: int
    context: int


def measure_chat(
    lines: int = BANK_LINES,
    turns: int = MEASURED_TURNS,
    words: int = REPLY_WORDS,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> ChatCosts:
    """Measure the costs in a bank of synthetic lines.

    Args:
        lines: lines of the bank at the start.
        turns: turns to measure.
        words: words of a reply.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for fewer than 1 line, 2 turns or 2 words.
    """
    if lines < 1 or turns < 2 or words < 2:
        raise BadInput(f"{lines} lines, {turns} turns, {words} words are too few; give at least 1, 2 and 2")
    bulk = BulkEmbedder(factory.open_embedder(embedder))
    with (
        tempfile.TemporaryDirectory(prefix="everthread-chat-") as folder,
        Memory.open(BANK, store=Path(folder), embedder=bulk) as memory,
    ):
        progress(f"{lines:,} lines: building")
        store_synthetic_lines(memory, lines)
        progress("talking")
        before, after, prompts = measure_turns(memory, lines, turns, round(words / TOKENS_PER_WORD_RATIO))
        progress("streaming")
        first_words = _measure_first_words(memory, lines)
    shares = [shared_prefix_ratio(earlier, later) for earlier, later in pairwise(prompts)]
    tokens = [prompt.tokens for prompt in prompts]
    return ChatCosts(
        lines=lines,
        words=words,
        turn=Timing.from_times([sum(pair) for pair in zip(before, after, strict=True)]),
        before=Timing.from_times(before),
        after=Timing.from_times(after),
        first_word=Timing.from_times(first_words),
        shared=sum(shares) / len(shares),
        shared_least=min(shares),
        prompt_tokens=sum(tokens) / len(tokens),
        largest_prompt=max(tokens),
        context=CONTEXT_TOKENS,
    )


def table(costs: ChatCosts) -> str:
    """Return the figures for the terminal and the docs."""
    rows = {
        "a turn beside the model": f"{_format_timing(costs.turn)}, at {costs.lines:,} lines, "
        f"replies of {costs.words} words",
        "  before the model is asked": _format_timing(costs.before),
        "  after its last word": _format_timing(costs.after),
        "first word, server to caller": _format_timing(costs.first_word),
        "prompt": f"{costs.prompt_tokens:,.0f} tokens on average, {costs.largest_prompt:,} at most, "
        f"of a context of {costs.context:,}",
        "shared with the one before": f"{costs.shared:.1%} of the tokens on average, {costs.shared_least:.1%} at least",
    }
    return "\n".join(f"{label:<29} {figures}" for label, figures in rows.items())


def _format_timing(timing: Timing) -> str:
    return f"{timing.p50:.1f} / {timing.p95:.1f} ms (p50 / p95 of {timing.calls})"


def as_json(costs: ChatCosts) -> dict[str, Any]:
    """Return the figures by name."""
    return asdict(costs)


def measure_turns(memory: Memory, skip: int, turns: int, words: int) -> tuple[list[float], list[float], list[Prompt]]:
    """Return the milliseconds of each turn before the model is called and after its last word, and the prompts.

    The first `skip` synthetic lines are not said; a reply has `words` words.
    """
    user_texts, replies = split_sides(synthetic.lines(2 * (turns + WARMUP_TURNS), skip=skip), words)
    model = TimedLLM(replies, context=CONTEXT_TOKENS)
    before: list[float] = []
    after: list[float] = []
    prompts: list[Prompt] = []
    with Chat(memory, CHARACTER, model, scribe=ExtractiveScribe(), session="bench") as conversation:
        for number, text in enumerate(user_texts):
            started_at = time.perf_counter()
            reply = conversation.reply(text)
            for _ in reply:
                pass
            ended_at = time.perf_counter()
            if number >= WARMUP_TURNS and reply.prompt is not None:
                before.append(1000 * (model.called_at - started_at))
                after.append(1000 * (ended_at - model.finished_at))
                prompts.append(reply.prompt)
            conversation.wait()  # a person takes longer to read a reply than a scribe to note what left the window
    return before, after, prompts


class TimedLLM(ScriptedLLM):
    """A scripted model that records when it was called, and when its last word was read."""

    called_at = finished_at = 0.0

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ScriptedStream:
        self.called_at = time.perf_counter()
        pieces = super().stream(messages, sampling)
        return CountedStream(tuple(messages), self._record_end(pieces), None, lambda usage: None)

    def _record_end(self, pieces: Iterator[str]) -> Iterator[str]:
        yield from pieces
        self.finished_at = time.perf_counter()


class CountedStream(ScriptedStream):
    """A stream with usage, as most servers report it, so that tokens are not counted here."""

    @property
    def usage(self) -> Usage:
        return Usage()


def split_sides(lines: Iterator[NewLine], reply_words: int) -> tuple[list[str], list[str]]:
    """Return the texts of the person, and as many replies of the character, each of `reply_words` words."""
    texts = [
        " ".join(words[: math.ceil(len(words) / TOKENS_PER_WORD_RATIO)])
        for line in lines
        if (words := line.text.split())
    ]
    words = " ".join(texts[1::2]).split()
    starts = [number * 20 % len(words) for number in range(len(texts) // 2)]
    replies = [" ".join((words + words)[start : start + reply_words]) for start in starts]
    return texts[::2], replies


CHARACTER = Character(
    "Jonas", "{{char}} keeps a lighthouse, knows the sea and is never in a hurry.", person="Mara", location="the pier"
)


def _measure_first_words(memory: Memory, skip: int) -> list[float]:
    """Return the milliseconds between the sending of each first word by the server and its arrival at the caller."""
    delays = []
    with (
        _run_clock_server() as url,
        Chat(memory, CHARACTER, OpenAICompatible(url, "clock"), scribe=ExtractiveScribe()) as conversation,
    ):
        for line in synthetic.lines(STREAMED_REPLIES, skip=skip + 10_000):
            reply = conversation.reply(line.text)
            sent_at_ns = int(next(reply))
            delays.append((time.monotonic_ns() - sent_at_ns) / 1e6)
            reply.stop()
    return delays


class _ClockHandler(BaseHTTPRequestHandler):
    """Streams two pieces; the first is the time at which it is sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for finish in (None, "stop"):
            text = " o'clock" if finish else str(time.monotonic_ns())
            delta = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
            row = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "clock", "choices": [delta]}
            self.wfile.write(f"data: {json.dumps(row)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _run_clock_server() -> Iterator[str]:
    """Run the server until the block ends; yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _ClockHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""The cost of a conversation in addition to the model: the time of a turn, the delay of its first word, and how much of
each prompt the model's server has cached.

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
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.metrics import percentile
from everthread.bench.speed import BANK, BulkEmbedder, Timing
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
MEASURED_TURNS = 200  # that are measured, once the window is full
WARMUP_TURNS = 100  # turns before them, in which it fills
STREAMED_REPLIES = 50  # replies of the streaming server
REPLY_WORDS = 90  # of a reply: the 50 to 120 that a character is asked for
TOKENS_PER_WORD_RATIO = (
    1.4  # that a made-up word has for each of an English one, so that lines and replies have fewer of them
)
CONTEXT_TOKENS = 8192  # tokens, the default of EVERTHREAD_LLM_CONTEXT

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ChatCosts:
    """The results. Times are milliseconds without the model's own, before the model is called and after its last word;
    shared is the mean share (0..1) of a prompt's tokens that are also the beginning of the previous one."""

    lines: int
    words: int  # of a reply, as English ones
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
    tell: Progress | None = None,
) -> ChatCosts:
    """Measure, with replies of `words` words. Raises BadInput for too few of anything."""
    if lines < 1 or turns < 2 or words < 2:
        raise BadInput(f"{lines} lines, {turns} turns, {words} words are too few; give at least 1, 2 and 2")
    tell = tell or (lambda _: None)
    real = factory.open_embedder(embedder)
    bulk = BulkEmbedder(real)
    place = tempfile.TemporaryDirectory(prefix="everthread-chat-")
    with place as folder, Memory.open(BANK, store=Path(folder), embedder=bulk) as memory:
        tell(f"{lines:,} lines: building")
        said = synthetic.lines(lines)
        while batch := list(islice(said, 10_000)):
            memory.observe_many(batch)
        tell("talking")
        before, after, prompts = _talk(memory, lines, turns, round(words / TOKENS_PER_WORD_RATIO))
        tell("streaming")
        waits = _measure_first_words(memory, lines)
    shares = [shared_prefix_ratio(before, after) for before, after in pairwise(prompts)]
    tokens = [prompt.tokens for prompt in prompts]
    return ChatCosts(
        lines=lines,
        words=words,
        turn=_timing([sum(both) for both in zip(before, after, strict=True)]),
        before=_timing(before),
        after=_timing(after),
        first_word=_timing(waits),
        shared=sum(shares) / len(shares),
        shared_least=min(shares),
        prompt_tokens=sum(tokens) / len(tokens),
        largest_prompt=max(tokens),
        context=CONTEXT_TOKENS,
    )


def table(costs: ChatCosts) -> str:
    """Return the figures for the terminal and the docs."""
    rows = {
        "a turn beside the model": f"{_both(costs.turn)}, at {costs.lines:,} lines, replies of {costs.words} words",
        "  before the model is asked": _both(costs.before),
        "  after its last word": _both(costs.after),
        "first word, server to caller": _both(costs.first_word),
        "prompt": f"{costs.prompt_tokens:,.0f} tokens on average, {costs.largest_prompt:,} at most, "
        f"of a context of {costs.context:,}",
        "shared with the one before": f"{costs.shared:.1%} of the tokens on average, {costs.shared_least:.1%} at least",
    }
    return "\n".join(f"{what:<29} {figures}" for what, figures in rows.items())


def _both(timing: Timing) -> str:
    return f"{timing.p50:.1f} / {timing.p95:.1f} ms (p50 / p95 of {timing.calls})"


def as_json(costs: ChatCosts) -> dict[str, Any]:
    """Return the figures by name."""
    return asdict(costs)


def _talk(memory: Memory, behind: int, turns: int, length: int) -> tuple[list[float], list[float], list[Prompt]]:
    """Return the milliseconds of each turn before the model is called and after its last word, and the prompts."""
    said, answered = _sides(synthetic.lines(2 * (turns + WARMUP_TURNS), skip=behind), length)
    model = TimedLLM(answered, context=CONTEXT_TOKENS)
    before: list[float] = []
    after: list[float] = []
    prompts: list[Prompt] = []
    with Chat(memory, CHARACTER, model, scribe=ExtractiveScribe(), session="bench") as talk:
        for number, text in enumerate(said):
            begun = time.perf_counter()
            reply = talk.reply(text)
            for _ in reply:
                pass
            ended = time.perf_counter()
            if number >= WARMUP_TURNS and reply.prompt is not None:
                before.append(1000 * (model.asked - begun))
                after.append(1000 * (ended - model.done))
                prompts.append(reply.prompt)
            talk.wait()  # a person takes longer to read a reply than a scribe to note what left the window
    return before, after, prompts


class TimedLLM(ScriptedLLM):
    """Records when it was called, and when its last word was read."""

    asked = done = 0.0

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ScriptedStream:
        self.asked = time.perf_counter()
        found = super().stream(messages, sampling)
        return CountedStream(tuple(messages), self._record_end(found), None, lambda usage: None)

    def _record_end(self, pieces: Iterator[str]) -> Iterator[str]:
        yield from pieces
        self.done = time.perf_counter()


class CountedStream(ScriptedStream):
    """A stream whose server counts its tokens, as most do."""

    @property
    def usage(self) -> Usage:
        return Usage()


def _sides(lines: Iterator[NewLine], length: int) -> tuple[list[str], list[str]]:
    """Return what the person says and what the character replies: equally many, the latter `length` words long."""
    texts = [
        " ".join(words[: math.ceil(len(words) / TOKENS_PER_WORD_RATIO)])
        for line in lines
        if (words := line.text.split())
    ]
    words = " ".join(texts[1::2]).split()
    starts = [at * 20 % len(words) for at in range(len(texts) // 2)]
    answers = [" ".join((words + words)[start : start + length]) for start in starts]
    return texts[::2], answers


CHARACTER = Character(
    "Jonas", "{{char}} keeps a lighthouse, knows the sea and is never in a hurry.", person="Mara", location="the pier"
)


def _measure_first_words(memory: Memory, behind: int) -> list[float]:
    """Return the milliseconds from a server's sending a first word to the caller's receiving it."""
    waits = []
    with _server() as url, Chat(memory, CHARACTER, OpenAICompatible(url, "clock"), scribe=ExtractiveScribe()) as talk:
        for line in synthetic.lines(STREAMED_REPLIES, skip=behind + 10_000):
            reply = talk.reply(line.text)
            first = next(reply)
            waits.append((time.monotonic_ns() - int(first)) / 1e6)
            reply.stop()
    return waits


class _Clock(BaseHTTPRequestHandler):
    """Streams two pieces, of which the first is the moment at which it is sent."""

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
def _server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Clock)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _timing(times: list[float]) -> Timing:
    return Timing(percentile(times, 50), percentile(times, 95), len(times))

"""Kills the server while the memory proxy streams replies, and counts which lines are stored afterwards.

After each kill a new server gets the same request again, as from a client that retries, and then the next one.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from everthread import factory
from everthread.bench.loopback import HOST, REPLY_PIECES, TIMEOUT_S, Running, run_model, run_process, run_server
from everthread.bench.proxy import PIECE_INTERVAL_S, StreamClient, build_path, build_request, send
from everthread.bench.serve import Progress
from everthread.errors import BadInput, ModelError
from everthread.memory import Memory
from everthread.types import Line

BANK = "killed"


@dataclass
class KillResult:
    """The results of one run.

    Attributes:
        kills: number of kills.
        missing: messages of the person that were not stored.
        doubled: messages and replies that were stored twice.
        absent: kills after which the reply was not stored.
        partial: kills after which a part of the reply was stored.
        whole: kills that came too late: the whole reply was stored.
    """

    kills: int
    missing: int = 0
    doubled: int = 0
    absent: int = 0
    partial: int = 0
    whole: int = 0


def measure_kills(kills: int, embedder: str | None = None, progress: Progress = lambda text: None) -> KillResult:
    """Kill the server in the middle of replies.

    Args:
        kills: how many times.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for fewer kills than 1.
        ModelError: a server does not answer.
    """
    if kills < 1:
        raise BadInput(f"{kills} kills are too few; give at least 1")
    result, rng = KillResult(kills), random.Random(0)
    messages: list[dict[str, str]] = []
    with (
        tempfile.TemporaryDirectory(prefix="everthread-kills-") as folder,
        run_process(run_model, PIECE_INTERVAL_S) as model,
        Memory.open(BANK, store=Path(folder), embedder=factory.open_embedder(embedder)) as memory,
    ):
        for number in range(kills + 1):
            with run_process(run_server, folder, f"http://{HOST}:{model.port}/v1", embedder) as server:
                if messages:
                    messages.append({"role": "assistant", "content": asyncio.run(_retry(server.port, messages))})
                    count_after_retry(result, list(memory.lines()), messages)
                if number == kills:
                    break
                messages.append({"role": "user", "content": f"This is message {number}, of many."})
                delay_s = rng.uniform(0, REPLY_PIECES * PIECE_INTERVAL_S)
                asyncio.run(_kill_during_reply(server, messages, delay_s))
            count_stored(result, list(memory.lines()), messages)
            progress(f"{number + 1} of {kills} kills")
    return result


def table(result: KillResult) -> str:
    """Return the figures for the terminal and the docs."""
    return (
        f"{result.kills} kills: {result.missing} messages missing, {result.doubled} lines stored twice; replies: "
        f"{result.absent} absent, {result.partial} partial, {result.whole} whole"
    )


def as_json(result: KillResult) -> dict[str, Any]:
    """Return the figures by name."""
    return asdict(result)


async def _retry(port: int, messages: list[dict[str, str]]) -> str:
    """Return the whole reply to an interrupted request."""
    answer = await send(port, build_path(BANK), messages)
    if not answer.text:
        raise ModelError(f"the new server at port {port} did not answer; run it again when the machine is less busy")
    return answer.text


async def _kill_during_reply(server: Running, messages: list[dict[str, str]], delay_s: float) -> None:
    """Send a request, and kill the server `delay_s` after the first byte of the answer."""
    client = StreamClient(build_request(server.port, build_path(BANK), messages))
    transport, _ = await asyncio.get_running_loop().create_connection(lambda: client, HOST, server.port)
    async with asyncio.timeout(TIMEOUT_S):
        await client.begun.wait()
        await asyncio.sleep(delay_s)
        server.process.kill()
        await client.ended
    transport.close()
    server.process.join(TIMEOUT_S)


def count_stored(result: KillResult, lines: Sequence[Line], messages: Sequence[dict[str, str]]) -> None:
    """Count what is stored of the last turn after a kill."""
    newest = [line for line in lines if line.text == messages[-1]["content"]]
    replies = [line for line in lines if newest and line.parent == newest[-1].seq]
    result.missing += not newest
    result.doubled += max(0, len(newest) - 1) + max(0, len(replies) - 1)
    result.absent += not replies
    if replies and replies[-1].metadata.get("partial"):
        result.partial += 1
    elif replies:
        result.whole += 1


def count_after_retry(result: KillResult, lines: Sequence[Line], messages: Sequence[dict[str, str]]) -> None:
    """Count which lines of a conversation are missing or stored twice after a retry."""
    wanted = Counter(message["content"].strip() for message in messages)
    stored = Counter(line.text.strip() for line in lines)
    result.missing += sum((wanted - stored).values())
    result.doubled += sum((stored - wanted).values())

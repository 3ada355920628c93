"""A language model on this machine that often fails: errors, silence, replies that break off, and malformed ones.

Titles, notes and summaries quote the lines in the prompt, so that forgetting
a line must also remove what was written about it.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Any

from everthread.bench.soak.markers import find_markers, make_marker

PIECE_INTERVAL_S = 0.01
MAX_WORDS = 60  # of a reply
SILENCE_S = 30.0  # after which a silent reply ends; the server gives up earlier
QUOTED = 6  # lines that a summary, notes or a title quote at most
WORDS = "I see that sounds good tell me more about it when you come home we could walk along the river again".split()
FAULTS = {  # share of the requests
    "error": 0.03,
    "busy": 0.02,
    "silent": 0.01,
    "cut": 0.03,
    "malformed": 0.02,
    "empty": 0.01,
    "page": 0.01,
}
STATUS_LINES = {"error": "500 Internal Server Error", "busy": "429 Too Many Requests"}
PAGE = "<!doctype html><title>Sign in</title><p>Sign in to the network"


def run_model(listening: socket.socket, workers: int, seed: int) -> None:
    """Run the server of the model until the process is terminated."""
    rng = Random(seed)

    async def serve() -> None:
        server = await asyncio.start_server(lambda reader, writer: answer(reader, writer, rng), sock=listening)
        async with server:
            await server.serve_forever()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rng: Random) -> None:
    """Answer one request, and close the connection."""
    with suppress(OSError, asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        body = await reader.readexactly(int(length[1]) if length else 0)
        request = json.loads(body) if body else {}
        fault = rng.choices([*FAULTS, ""], [*FAULTS.values(), 1 - sum(FAULTS.values())])[0] if request else ""
        if fault in STATUS_LINES:
            _write(writer, STATUS_LINES[fault], "application/json", b'{"error": {"message": "not now"}}')
        elif fault == "page":
            _write(writer, "200 OK", "text/html", PAGE.encode())
        elif request.get("stream"):
            await _stream(writer, fault, rng)
        elif fault == "silent":
            await asyncio.sleep(SILENCE_S)
        else:
            _write(writer, "200 OK", "application/json", _complete(request, fault))
        await writer.drain()
    writer.close()


async def _stream(writer: asyncio.StreamWriter, fault: str, rng: Random) -> None:
    """Stream a reply that begins with a new marker, until the fault."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    words = [] if fault == "empty" else [make_marker(rng, "model"), *rng.choices(WORDS, k=rng.randint(1, MAX_WORDS))]
    end = rng.randint(1, len(words)) if fault in ("silent", "cut", "malformed") else len(words)
    for word in words[:end]:
        _write_event(writer, {"choices": [{"index": 0, "delta": {"content": f"{word} "}}]})
        await writer.drain()
        await asyncio.sleep(PIECE_INTERVAL_S)
    if fault == "silent":
        await asyncio.sleep(SILENCE_S)
    elif fault == "malformed":
        writer.write(b'data: {"choices": [{"delta": {"content": "Hel\n\n')
    elif fault == "cut":
        writer.transport.abort()
    else:
        _write_event(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        writer.write(b"data: [DONE]\n\n")


def _complete(request: Mapping[str, Any], fault: str) -> bytes:
    """Return the answer to a request of the scribe."""
    prompt = "\n".join(str(message.get("content")) for message in request.get("messages", ()))
    content = "" if fault == "empty" else json.dumps(write_answer(prompt, json.dumps(request.get("response_format"))))
    if fault in ("malformed", "cut"):
        content = content[: len(content) // 2]
    message = {"role": "assistant", "content": content}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


def write_answer(prompt: str, schema: str) -> dict[str, Any]:
    """Return an answer in the form that a schema asks for, quoting the markers of the prompt."""
    quoted = list(dict.fromkeys(find_markers(prompt)))[-QUOTED:]
    sentences = [f"There was talk of {marker}." for marker in quoted]
    if '"points"' in schema:
        return {"points": [{"date": "", "point": sentence} for sentence in sentences]}
    if '"notes"' in schema:
        return {"notes": sentences}
    if '"title"' in schema:
        return {"title": f"About {quoted[0]}" if quoted else "A talk"}
    if '"category"' in schema:
        return {"category": "other"}
    if '"facts"' in schema:
        return {"facts": []}
    return {"text": "", "keep": [], "relevant": True, "importance": 3}


def _write(writer: asyncio.StreamWriter, status: str, kind: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)


def _write_event(writer: asyncio.StreamWriter, data: dict[str, Any]) -> None:
    writer.write(b"data: " + json.dumps(data).encode() + b"\n\n")

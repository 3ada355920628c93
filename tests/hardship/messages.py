"""Answers of Anthropic's Messages API, whole or as a stream, as the client asks.

Source: Anthropic's API reference, "Create a Message" and "Streaming Messages".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hardship.llm import Raw, Request

USAGE = {"input_tokens": 11, "output_tokens": 7}

Answer = Callable[[Request], Raw]


def words(text: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": text}


def say(*blocks: Any, reason: str = "end_turn", id: str = "msg_1") -> Answer:
    """Return a behaviour that answers with these blocks, streamed if the client wants it; a text is a block."""
    content = [words(block) if isinstance(block, str) else block for block in blocks]
    head = {"id": id, "type": "message", "role": "assistant", "model": "m-1", "stop_sequence": None}

    def answer(request: Request) -> Raw:
        if not (request.body or {}).get("stream"):
            body = {**head, "content": content, "stop_reason": reason, "usage": USAGE}
            return Raw(json.dumps(body).encode(), "application/json")
        start: dict[str, Any] = {**head, "content": [], "stop_reason": None, "usage": USAGE}
        values: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for index, block in enumerate(content):
            values += stream_block(index, block)
        end = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": USAGE}
        return Raw(encode([*values, end, {"type": "message_stop"}]))

    return answer


def stream_block(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a block, whose text comes in two pieces."""
    match block["type"]:
        case "text":
            empty, half = {**block, "text": ""}, len(block["text"]) // 2
            pieces = [block["text"][:half], block["text"][half:]]
            deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in pieces]
        case "thinking":
            empty = {**block, "thinking": "", "signature": ""}
            deltas = [{"type": f"{name}_delta", name: block[name]} for name in ("thinking", "signature")]
        case _:
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def encode(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a stream of events."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)

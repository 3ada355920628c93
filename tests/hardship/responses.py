"""Answers of OpenAI's Responses API, whole or as the events of a stream, for the server in `llm`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from hardship.llm import PIECE, Raw, Request, ServerBehaviour

NUMBERS = count(1)


def message(text: str, **more: Any) -> dict[str, Any]:
    """Return a message of the assistant."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return item("message", role="assistant", content=[part], **more)


def refusal(text: str) -> dict[str, Any]:
    """Return a message that is a refusal."""
    return item("message", role="assistant", content=[{"type": "refusal", "refusal": text}])


def reasoning(text: str) -> dict[str, Any]:
    """Return the summary of a model's thoughts."""
    return item("reasoning", summary=[{"type": "summary_text", "text": text}])


def call(name: str = "look_up") -> dict[str, Any]:
    """Return a call of a tool of the client."""
    return item("function_call", call_id=f"call_{next(NUMBERS)}", name=name, arguments="{}")


def result(called: Mapping[str, Any], output: str) -> dict[str, Any]:
    """Return the result of a call."""
    return {"type": "function_call_output", "call_id": called["call_id"], "output": output}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a complete item of the output."""
    prefix = {"message": "msg", "function_call": "fc", "reasoning": "rs"}.get(kind, kind)
    return {"type": kind, "id": f"{prefix}_{next(NUMBERS)}", "status": "completed", **fields}


def response(*output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
    """Return a response; of its output, a text is short for a message."""
    items = [message(each) if isinstance(each, str) else each for each in output]
    fixed = {"object": "response", "created_at": 1.0, "model": "m-1", "parallel_tool_calls": True, "tools": []}
    fixed |= {"tool_choice": "auto", "error": None, "incomplete_details": None, "instructions": None, "metadata": {}}
    return {**fixed, "id": f"resp_{next(NUMBERS)}", "status": status, "output": items, **fields}


def events(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream that ends with a response."""
    begun = {**whole, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, each in enumerate(whole["output"]):
        yield from _item_events(index, each)
    yield {"type": f"response.{whole['status']}", "response": whole}


def _item_events(index: int, each: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**each, "status": "in_progress", **({"content": []} if each["type"] == "message" else {})}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    for place, part in enumerate(each.get("content", ())):
        at = {"item_id": each["id"], "output_index": index, "content_index": place}
        kind = part["type"]
        field = kind.removeprefix("output_")
        yield {"type": "response.content_part.added", **at, "part": {**part, field: ""}}
        for piece in PIECE.findall(part[field]):
            yield {"type": f"response.{kind}.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": f"response.{kind}.done", **at, field: part[field], "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": part}
    for thought in each.get("summary", ()):
        at = {"item_id": each["id"], "output_index": index, "summary_index": 0}
        yield {"type": "response.reasoning_summary_text.delta", **at, "delta": thought["text"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": each}


def stream(values: Sequence[Mapping[str, Any]] | Iterator[Mapping[str, Any]]) -> bytes:
    """Return events as the bytes of a stream."""
    numbered = ({**value, "sequence_number": number} for number, value in enumerate(values))
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in numbered)


def answer(*output: Any, **fields: Any) -> ServerBehaviour:
    """Return a behaviour that answers with a new response, streamed if the client wants that."""

    def behave(request: Request) -> Raw:
        whole = response(*output, **fields)
        if (request.body or {}).get("stream"):
            return Raw(stream(events(whole)))
        return Raw(json.dumps(whole).encode(), "application/json")

    return behave

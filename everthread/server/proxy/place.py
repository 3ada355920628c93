"""Writes the request that goes upstream: the client's, with the memories directly before the newest message's words.

Everything before them is byte for byte what the client sent, so that the prompt cache of the upstream holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from everthread.server.proxy.body_options import OPTIONS_FIELD
from everthread.server.proxy.content import read_content, read_text_or_number, remove_block
from everthread.server.proxy.formats.base import BANK_FIELD, METADATA_FIELD, ModelRequest
from everthread.server.proxy.memory_block import BlockRole, begins_with_block, may_hold_block
from everthread.server.proxy.model_names import split_model
from everthread.server.proxy.raw_json import Edit, Scanner, Span, apply_edits, remove, to_json

MODEL_FIELDS = ("model", "name")  # the second is Ollama's


def write_request(
    request: ModelRequest, model: str, block: str = "", index: int = 0, role: BlockRole = "system"
) -> bytes:
    """Write the request that goes upstream.

    Args:
        request: the client's request.
        model: the name of the model at the upstream.
        block: the memories; empty for none.
        index: the position of the message for which they are.
        role: the role in which they are sent.

    Returns:
        The body; the same object if nothing has to change.
    """
    scanner = Scanner(request.text)
    edits = [*_remove_own_fields(list(request.members.items()), scanner), *_remove_blocks(request, scanner)]
    if model != request.get_text("model"):
        span = request.members["model"]
        edits.append(Edit(span.value_start, span.end, to_json(model)))
    if block:
        edits.append(request.insert_block(scanner, request.locate_message(index), block, role))
    return apply_edits(request.text, edits).encode() if edits else request.body


def remove_own(body: bytes, is_bank: Callable[[str], bool]) -> tuple[bytes, str | None]:
    """Remove what is meant for Everthread from a request that is passed on without memories.

    Args:
        body: the request; one that is not understood stays as it is.
        is_bank: as for `split_model`.

    Returns:
        The request, and the bank in the name of the model, or None.
    """
    try:
        text = body.decode()
        scanner = Scanner(text)
        members = scanner.read_pairs()
        scanner.require_end()
        edits = list(_remove_own_fields(members, scanner))
    except (ValueError, RecursionError):
        return body, None
    bank = None
    for span in (span for name, span in members if name in MODEL_FIELDS and isinstance(span.value, str)):
        model, suffix = split_model(span.value, is_bank)
        if suffix is not None:
            bank = suffix
            edits.append(Edit(span.value_start, span.end, to_json(model)))
    return apply_edits(text, edits).encode() if edits else body, bank


def _remove_own_fields(members: Sequence[tuple[str, Span]], scanner: Scanner) -> Iterator[Edit]:
    """Remove the options, and the bank in the metadata, or the metadata if they have nothing else."""
    named = [name == METADATA_FIELD and _names_bank(span.value) for name, span in members]
    own = {
        index
        for index, (name, span) in enumerate(members)
        if name == OPTIONS_FIELD or (named[index] and len(span.value) == 1)
    }
    yield from remove([span for _, span in members], own)
    for index in (index for index, names_bank in enumerate(named) if names_bank and index not in own):
        pairs = scanner.move_to(members[index][1].value_start).read_pairs()
        banks = {place for place, (name, _) in enumerate(pairs) if name == BANK_FIELD}
        yield from remove([member for _, member in pairs], banks)


def _names_bank(metadata: object) -> bool:
    return isinstance(metadata, dict) and bool(read_text_or_number(metadata.get(BANK_FIELD)))


def _remove_blocks(request: ModelRequest, scanner: Scanner) -> Iterator[Edit]:
    """Remove blocks that the client sends back: whole messages, or the beginnings of the person's."""
    if not may_hold_block(request.text):
        return
    found = [
        index
        for index, message in enumerate(request.messages)
        if begins_with_block(read_content(message.get("content"))[0])
    ]
    whole = {index for index in found if request.entries[index].role == "instruction"}
    spans = request.locate_messages(scanner) if found else []
    yield from remove(spans, whole)
    for index in found:
        if request.entries[index].role == "user":
            yield from remove_block(scanner, spans[index])

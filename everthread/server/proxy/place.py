"""Writes the request that goes upstream: the client's, with the memories directly before the newest message.

Everything before that message is byte for byte what the client sent, so that the prompt cache of the upstream holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from everthread.server.proxy.memory_block import CLOSING, SEPARATOR, begins_with_block
from everthread.server.proxy.raw_json import Edit, Scanner, Span, apply_edits, remove, to_json
from everthread.server.proxy.wire import INSTRUCTION_ROLES, METADATA_FIELD, OPTIONS_FIELD, ChatRequest, read_content

BlockRole = Literal["system", "developer", "user-prefix"]  # as what the block is sent; the last: at the message's head
BLOCK_ROLES: tuple[BlockRole, ...] = get_args(BlockRole)
BANK_FIELD = "bank"  # of the metadata


def write_request(
    request: ChatRequest, model: str, block: str = "", index: int = 0, role: BlockRole = "system"
) -> bytes:
    """Write the request that goes upstream.

    Args:
        request: the client's request.
        model: the name of the model at the upstream.
        block: the memories; empty for none.
        index: the position of the message before which they are inserted.
        role: as what they are sent.

    Returns:
        The body; the very same one if nothing has to change.
    """
    scanner = Scanner(request.text)
    edits = [*_remove_own_fields(request, scanner), *_remove_blocks(request, scanner)]
    if model != request.get_text("model"):
        span = request.members["model"]
        edits.append(Edit(span.value_start, span.end, to_json(model)))
    if block:
        edits.append(_insert_block(scanner, block, request.messages[index], role))
    return apply_edits(request.text, edits).encode() if edits else request.body


def _remove_own_fields(request: ChatRequest, scanner: Scanner) -> Iterator[Edit]:
    """Remove the options, and the bank in the metadata."""
    names = list(request.members)
    if OPTIONS_FIELD in names:
        yield from remove(list(request.members.values()), {names.index(OPTIONS_FIELD)})
    if request.get_metadata(BANK_FIELD):
        pairs = scanner.move_to(request.members[METADATA_FIELD].value_start).read_pairs()
        banks = {index for index, (name, _) in enumerate(pairs) if name == BANK_FIELD}
        yield from remove([span for _, span in pairs], banks)


def _remove_blocks(request: ChatRequest, scanner: Scanner) -> Iterator[Edit]:
    """Remove blocks that the client sends back: whole messages, or the beginnings of the person's."""
    found = [
        index
        for index, message in enumerate(request.messages)
        if begins_with_block(read_content(message.value.get("content"))[0])
    ]
    whole = {index for index in found if request.messages[index].value.get("role") in INSTRUCTION_ROLES}
    yield from remove(request.messages, whole)
    for index in found:
        if request.messages[index].value.get("role") == "user":
            yield from _remove_prefix(scanner, request.messages[index])


def _remove_prefix(scanner: Scanner, message: Span) -> Iterator[Edit]:
    """Remove the block at the beginning of a message's text."""
    content = scanner.move_to(message.start).read_members()["content"]
    if isinstance(content.value, str):
        yield from _remove_from_string(scanner.text, content)
        return
    parts = scanner.move_to(content.value_start).read_items()
    whole = {index for index, part in enumerate(parts) if _is_block(part.value)}
    yield from remove(parts, whole)
    for index, part in enumerate(parts):
        if index not in whole and begins_with_block(read_content([part.value])[0]):
            yield from _remove_from_string(scanner.text, scanner.move_to(part.start).read_members()["text"])


def _is_block(part: object) -> bool:
    """Return whether a part of a message is a block and nothing else."""
    text = read_content([part])[0]
    return begins_with_block(text) and text.rstrip().endswith(CLOSING)


def _remove_from_string(text: str, string: Span) -> Iterator[Edit]:
    """Remove the block at the beginning of a string; the line that closes it has no characters to escape."""
    end = text.find(CLOSING, string.value_start, string.end)
    if end >= 0:
        end += len(CLOSING)
        separator = to_json(SEPARATOR)[1:-1]
        yield Edit(string.value_start + 1, end + len(separator) * text.startswith(separator, end))


def _insert_block(scanner: Scanner, block: str, message: Span, role: BlockRole) -> Edit:
    if role != "user-prefix":
        return Edit(message.start, message.start, f"{to_json({'role': role, 'content': block})}, ")
    content = scanner.move_to(message.start).read_members()["content"]
    at = content.value_start + 1  # after the quotation mark, or the bracket of a list
    if isinstance(content.value, str):
        return Edit(at, at, to_json(block + SEPARATOR)[1:-1])
    comma = "" if all(map(_is_block, content.value)) else ", "
    return Edit(at, at, to_json({"type": "text", "text": block}) + comma)

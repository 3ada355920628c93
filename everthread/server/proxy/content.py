"""The content of a message: a text, or a list of parts, some of which are texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import takewhile

from everthread.bank.line_validation import MAX_NAME_CHARS
from everthread.server.proxy.memory_block import CLOSING, SEPARATOR, begins_with_block, without_block
from everthread.server.proxy.raw_json import Edit, Scanner, Span, remove, to_json

TEXT_PARTS = ("text", "input_text", "output_text")
MAX_ID_CHARS = 200  # longer ones are ignored


def read_content(content: object) -> tuple[str, int]:
    """Return the text of a message's content, and the number of its parts without words."""
    if not isinstance(content, list):
        return read_text(content), 0
    texts = [
        part["text"]
        for part in content
        if isinstance(part, dict) and part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str)
    ]
    return "\n".join(texts), len(content) - len(texts)


def read_text(value: object) -> str:
    """Return a value that is a text, or an empty text."""
    return value if isinstance(value, str) else ""


def read_id(value: object) -> str:
    """Return a value that is an id, or an empty text."""
    return value if isinstance(value, str) and len(value) <= MAX_ID_CHARS and value.isprintable() else ""


def read_text_or_number(value: object) -> str:
    """Return a text, or a whole number as text: programs send ids of users and sessions as either. Else empty."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else read_text(value)


def read_name(value: object) -> str | None:
    """Return the name of a speaker, cut to the length that a line can have; None if the value is no name."""
    return read_text(value).strip()[:MAX_NAME_CHARS] or None


def insert_block(scanner: Scanner, message: Span, block: str, part: str = "text") -> Edit:
    """Return the edit that inserts memories at the beginning of a message's content: of its text, or before its parts.

    Args:
        scanner: of the text that the message is in.
        message: the message.
        block: the memories.
        part: the type of the part that they become in a list.
    """
    content = _find_content(scanner, message)
    if not isinstance(content.value, str):
        return insert_part(scanner, message, block, part)
    at = content.value_start + 1  # after the quotation mark
    return Edit(at, at, to_json(block + SEPARATOR)[1:-1])


def insert_part(scanner: Scanner, message: Span, block: str, part: str = "text", after: Collection[str] = ()) -> Edit:
    """Return the edit that inserts memories as a part of a message, before the others. A text becomes a part as well.

    Args:
        scanner: as for `insert_block`.
        message: as for `insert_block`.
        block: as for `insert_block`.
        part: the type of the part.
        after: the types of parts that have to stay at the beginning.
    """
    content = _find_content(scanner, message)
    written = to_json({"type": part, "text": block})
    if isinstance(content.value, str):
        return Edit(content.value_start, content.end, f"[{written}, {write_part(scanner, content, part)}]")
    parts = scanner.move_to(content.value_start).read_items()
    first = list(takewhile(lambda span: isinstance(span.value, dict) and span.value.get("type") in after, parts))
    if first:
        return Edit(first[-1].end, first[-1].end, f", {written}")
    at = content.value_start + 1  # after the bracket
    comma = "" if all(map(_is_block, content.value)) else ", "
    return Edit(at, at, written + comma)


def write_part(scanner: Scanner, text: Span, part: str) -> str:
    """Write a text as a part, with its own bytes unless memories at its beginning are left out.

    Args:
        scanner: of the text that it is in.
        text: the text.
        part: the type of the part.
    """
    own = scanner.text[text.value_start : text.end]
    written = to_json(without_block(text.value)) if begins_with_block(text.value) else own
    return f'{{"type": "{part}", "text": {written}}}'


def remove_block(scanner: Scanner, message: Span) -> Iterator[Edit]:
    """Iterate over the edits that remove the memories at the beginning of a message's text."""
    content = _find_content(scanner, message)
    if isinstance(content.value, str):
        yield from _remove_from_string(scanner.text, content)
        return
    parts = scanner.move_to(content.value_start).read_items()
    whole = {index for index, part in enumerate(parts) if _is_block(part.value)}
    yield from remove(parts, whole)
    for index, part in enumerate(parts):
        if index not in whole and begins_with_block(read_content([part.value])[0]):
            yield from _remove_from_string(scanner.text, scanner.move_to(part.start).read_members()["text"])


def _find_content(scanner: Scanner, message: Span) -> Span:
    """Return the content of a message; a text may be a message of its own."""
    is_text = scanner.move_to(message.start).next_is('"')
    return scanner.read_value() if is_text else scanner.read_members()["content"]


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

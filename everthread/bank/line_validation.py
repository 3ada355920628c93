"""Validates and normalises lines, without a store or a model.

Text, names and metadata are stored verbatim, except for NUL and half surrogate pairs, which no database can store:
they become U+FFFD. The metadata of the line record the number of replaced characters (`META_REPLACED_CHARACTERS`).
`META_REPLACES` is removed: only a bank itself sets it, because forgetting a line deletes the lines that it replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from reprlib import repr as shortly
from typing import get_args

from everthread.common.keys import META_PREFIX, META_REPLACED_CHARACTERS, META_REPLACES, META_UNDATED
from everthread.common.timestamps import from_micros, to_micros, utc_offset_s
from everthread.errors import BadLine
from everthread.stores.limits import MAX_SEQ, UNSTORABLE_CHARACTERS
from everthread.types import JSONValue, Metadata, NewLine, Role, now

MAX_TEXT_CHARS = 4_000_000  # a novel; import a longer file in parts
MAX_NAME_CHARS = 200  # of a speaker, a session id or a key
MAX_METADATA_DEPTH = 100  # of nested lists and objects, so that any JSON library can read them

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPE = re.compile(r"\\\\|\\u0000")  # in JSON: a backslash, or NUL


def check_lines(lines: Iterable[NewLine]) -> list[NewLine]:
    """Return the lines that a caller gives. Raises BadLine if they are not several, such as None or a single one."""
    if not isinstance(lines, Iterable):
        raise BadLine(f"lines must be an iterable of NewLine, such as a list, got {type(lines).__name__}")
    return list(lines)


def clean_lines(lines: Iterable[NewLine]) -> list[NewLine]:
    """Return lines as they are stored. A line without a time is said now, in the time zone of this machine, which is
    assumed to be the speaker's.

    Raises:
        BadLine: a line or a value is invalid.
    """
    present = now().astimezone()
    return [clean_line(line, present) for line in check_lines(lines)]


def clean_line(new: NewLine, present: datetime) -> NewLine:
    """Return a line as it is stored.

    Args:
        new: the line.
        present: the time of a line without one.

    Raises:
        BadLine: a value is invalid.
    """
    if not isinstance(new, NewLine):
        raise BadLine(f"a line must be a NewLine, got {type(new).__name__}: {str(new)[:40]!r}")
    if new.role not in get_args(Role):
        raise BadLine(f"unknown role {new.role!r}; expected one of {', '.join(get_args(Role))}")
    text, in_text = replace_unstorable(check_text(new.text, new.metadata))
    speaker, in_speaker = _clean_name(new.speaker, "speaker")
    session, in_session = (None, 0) if new.session is None else _clean_name(new.session, "session")
    key, in_key = (None, 0) if new.key is None else _clean_name(new.key, "key")
    metadata, in_metadata = _clean_metadata(new.metadata)
    if replaced := in_text + in_speaker + in_session + in_key + in_metadata:
        metadata[META_REPLACED_CHARACTERS] = replaced
    if new.undated or metadata.get(META_UNDATED) is not True:
        metadata.pop(META_UNDATED, None)
    if new.undated:
        if new.said_at is not None:
            raise BadLine(f"an undated line can't have a said_at, got {new.said_at!r}; omit one of them")
        metadata[META_UNDATED] = True
    parent = _clean_parent(new.parent)
    said_at = present if new.said_at is None else new.said_at
    # As it is stored: two times of different zones are never equal in Python where one is repeated, as in autumn.
    said_at = from_micros(to_micros(said_at), utc_offset_s(said_at))
    if new.retracted_at is not None:
        to_micros(new.retracted_at, "retracted_at")
    return replace(
        new,
        text=text,
        speaker=speaker,
        session=session,
        key=key,
        parent=parent,
        said_at=said_at,
        metadata=metadata,
        undated=False,
    )


def _clean_parent(parent: int | str | None) -> int | str | None:
    if isinstance(parent, str):
        return _clean_name(parent, "parent")[0]
    if parent is not None and (type(parent) is not int or not 1 <= parent <= MAX_SEQ):
        raise BadLine(f"parent must be the seq of a line (1, 2, 3 …) or its key, got {parent!r}")
    return parent


def check_text(text: str, metadata: Metadata) -> str:
    """Return the text of a line with these metadata. Raises BadLine if no line can have it."""
    if not isinstance(text, str):
        raise BadLine(f"text must be a str, got {type(text).__name__}")
    if not text and _has_payload(metadata):
        return text
    if not text.strip():
        raise BadLine(
            f"text is empty: {text!r}; a line needs at least one character that is not blank, or metadata and no text",
            reason="blank-text",
        )
    if len(text) > MAX_TEXT_CHARS:
        raise BadLine(
            f"text has {len(text):,} characters; at most {MAX_TEXT_CHARS:,} are allowed in a line; import it in parts",
            reason="long-text",
            values={"limit": MAX_TEXT_CHARS},
        )
    return text


def _has_payload(metadata: Metadata) -> bool:
    """Return whether metadata has a name that is not Everthread's own."""
    return isinstance(metadata, Mapping) and any(not str(name).startswith(META_PREFIX) for name in metadata)


def replace_unstorable(text: str) -> tuple[str, int]:
    """Join surrogate pairs, and replace the characters that no database can store.

    Returns:
        The text, and the number of replaced characters.
    """
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return UNSTORABLE_CHARACTERS.subn("\ufffd", joined)


def _clean_name(name: str, what: str) -> tuple[str, int]:
    if not isinstance(name, str) or not name.strip():
        raise BadLine(f"{what} must be text that is not blank, got {name!r}")
    if len(name) > MAX_NAME_CHARS:
        raise BadLine(f"{what} {name[:40]!r}… has {len(name)} characters; at most {MAX_NAME_CHARS} are allowed")
    return replace_unstorable(name)


def _clean_metadata(metadata: Metadata) -> tuple[dict[str, JSONValue], int]:
    try:
        written = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
        written = _ESCAPE.sub(lambda escape: "\0" if escape[0] == r"\u0000" else escape[0], written)
        written, replaced = replace_unstorable(written)
        cleaned = json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadLine(f"metadata must be JSON-serialisable, got {_shorten(metadata)}: {error}") from error
    if not isinstance(cleaned, dict):
        raise BadLine(f"metadata must be a mapping, got {type(metadata).__name__}")
    cleaned.pop(META_REPLACES, None)
    if nesting_depth(cleaned) > MAX_METADATA_DEPTH:
        raise BadLine(f"metadata is nested more than {MAX_METADATA_DEPTH} deep; simplify it")
    return cleaned, replaced


def nesting_depth(value: JSONValue) -> int:
    """Return the nesting depth of lists and objects."""
    depth, values = 0, [value]
    while containers := [item for item in values if isinstance(item, dict | list)]:
        depth += 1
        values = [inner for outer in containers for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return depth


def _shorten(metadata: Metadata) -> str:
    """Return metadata for a message."""
    try:
        return shortly(metadata)
    except ValueError:  # Python does not print numbers of more than 4,300 digits
        return "a number of thousands of digits"

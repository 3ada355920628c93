"""What may be remembered, and as what. Pure: no store, no model, no clock.

Text is kept verbatim, with two exceptions that no database can hold: a lone half of a surrogate pair becomes U+FFFD,
and so does NUL; in names and metadata too. How many were replaced is written into the line's metadata under CLEANED,
so nothing changes silently.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from reprlib import repr as shortly
from typing import get_args

from everthread.common.keys import META_REPLACED_CHARACTERS
from everthread.common.timestamps import micros
from everthread.errors import BadLine
from everthread.stores.limits import MAX_SEQ, UNSTORABLE_CHARACTERS
from everthread.types import JSONValue, Metadata, NewLine, Role

LONGEST_TEXT = 4_000_000  # characters: a novel; a longer "message" is a file that should be imported in parts
LONGEST_NAME = 200  # characters of a speaker or a session id
DEEPEST = 100  # lists and objects within one another in metadata: what is kept can be written as JSON by any program

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPE = re.compile(r"\\\\|\\u0000")  # in JSON: a backslash, or NUL


def clean_line(new: NewLine, present: datetime) -> NewLine:
    """The line as it will be kept, with its time. Raises BadLine, naming the value and the remedy."""
    text, in_text = keepable(_text(new.text))
    speaker, in_speaker = _name(new.speaker, "speaker")
    session, in_session = (None, 0) if new.session is None else _name(new.session, "session")
    key, in_key = (None, 0) if new.key is None else _name(new.key, "key")
    metadata, in_metadata = _metadata(new.metadata)
    if replaced := in_text + in_speaker + in_session + in_key + in_metadata:
        metadata[META_REPLACED_CHARACTERS] = replaced
    if new.role not in get_args(Role):
        raise BadLine(f"role {new.role!r} is unknown; use one of {', '.join(get_args(Role))}")
    parent = new.parent
    if isinstance(parent, str):
        parent = _name(parent, "parent")[0]
    elif parent is not None and (type(parent) is not int or not 1 <= parent <= MAX_SEQ):
        raise BadLine(f"parent must be the seq of a line (1, 2, 3 …) or its key, got {parent!r}")
    said_at = present if new.said_at is None else new.said_at
    micros(said_at)
    if new.retracted_at is not None:
        micros(new.retracted_at, "retracted_at")
    return replace(
        new,
        text=text,
        speaker=speaker,
        session=session,
        key=key,
        said_at=said_at,
        metadata=metadata,
        parent=parent,
    )


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise BadLine(f"text must be a str, got {type(text).__name__}")
    if not text.strip():
        raise BadLine(f"text is empty: {text!r}; a line needs at least one character that is not blank")
    if len(text) > LONGEST_TEXT:
        raise BadLine(
            f"text has {len(text):,} characters, at most {LONGEST_TEXT:,} are kept in a line; import it in parts"
        )
    return text


def keepable(text: str) -> tuple[str, int]:
    """The text with whole surrogate pairs joined and what can't be kept replaced; how much was replaced."""
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return UNSTORABLE_CHARACTERS.subn("\ufffd", joined)


def _name(name: str, what: str) -> tuple[str, int]:
    if not isinstance(name, str) or not name.strip():
        raise BadLine(f"{what} must be text that is not blank, got {name!r}")
    if len(name) > LONGEST_NAME:
        raise BadLine(f"{what} {name[:40]!r}… has {len(name)} characters; at most {LONGEST_NAME} are allowed")
    return keepable(name)


def _metadata(metadata: Metadata) -> tuple[dict[str, JSONValue], int]:
    try:
        written = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
        written = _ESCAPE.sub(lambda escape: "\0" if escape[0] == r"\u0000" else escape[0], written)
        written, replaced = keepable(written)
        kept = json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadLine(f"metadata must be what JSON can hold, got {_shown(metadata)}: {error}") from error
    if not isinstance(kept, dict):
        raise BadLine(f"metadata must be a mapping, got {type(metadata).__name__}")
    if _depth(kept) > DEEPEST:
        raise BadLine(f"metadata is nested more than {DEEPEST} deep; simplify it")
    return kept, replaced


def _depth(value: JSONValue) -> int:
    """How many lists and objects are within one another."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


def _shown(metadata: Metadata) -> str:
    try:
        return shortly(metadata)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"

"""JSON as it is stored: with sorted keys, so that equal values have equal text."""

from __future__ import annotations

import json
from reprlib import repr as shortly

from everthread.errors import BadInput, BadQuery
from everthread.stores.limits import check_storable
from everthread.types import JSONValue


def canonical_json(value: JSONValue) -> str:
    """Serialise a value for storage. Keys are sorted, so that equal values have equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def storable_json(value: JSONValue, name: str, error: type[BadInput] = BadQuery) -> str:
    """Serialise a value for storage.

    Args:
        value: the value.
        name: its name in messages.
        error: the class of the error to raise.

    Raises:
        BadInput: it is not JSON-serialisable, or contains NUL or half a surrogate pair.
    """
    try:
        written = canonical_json(value)
    except (TypeError, ValueError, RecursionError) as cause:
        raise error(f"{name} must be JSON-serialisable, got {shortly(value)}: {cause}") from cause
    # Without the escaped backslashes, the escape sequence of NUL is unambiguous.
    check_storable(written.replace(r"\\", "").replace(r"\u0000", "\0"), name, error)
    return written

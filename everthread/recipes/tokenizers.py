"""Where the tokens of a text begin: the shipped model's own word pieces, or plain words."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from everthread.errors import ModelNotFound
from everthread.models.embed import MINILM, REMEDY

if TYPE_CHECKING:
    import tokenizers

Tokenizer = Callable[[str], Sequence[int]]  # a text to the ascending places at which its tokens begin

KNOWN = 10_000  # texts whose tokens' places are kept in mind
_known: dict[int, Sequence[int]] = {}  # by the hash of a text
_BREAKS = re.compile(r"\n+")
_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[int]:
    """Words and marks, for tests and where no model's pieces are wanted."""
    return [match.start() for match in _WORD.finditer(text)]


def word_pieces(text: str) -> Sequence[int]:
    """The word pieces of the shipped model, however long the text. It is to hold no lone surrogate.

    Line breaks are a token, too: the model leaves them out, but goodai-ltm's tokenizer counts them, and a chunk of so
    many tokens is to hold as much as there. A line is looked at again and again: its places are kept in mind, and no
    word of it.
    """
    key = hash(text)
    if (known := _known.get(key)) is None:
        pieces = {start for start, _ in _pieces().encode(text, add_special_tokens=False).offsets}
        known = array("I", sorted(pieces.union(match.start() for match in _BREAKS.finditer(text))))  # 4 bytes each
        if len(_known) >= KNOWN:
            _known.clear()
        _known[key] = known
    return known


def piece_names(text: str) -> list[str]:
    """The same pieces by their names: lower-cased, ## before one that goes on with a word."""
    names: list[str] = _pieces().encode(text, add_special_tokens=False).tokens
    return names


@cache
def _pieces() -> tokenizers.Tokenizer:
    from tokenizers import Tokenizer

    path = MINILM / "tokenizer.json"
    if not path.is_file():
        raise ModelNotFound(f"{path} is not there; {REMEDY}")
    found = Tokenizer.from_file(str(path))
    found.no_padding()
    found.no_truncation()
    return found

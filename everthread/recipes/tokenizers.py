"""Where the tokens of a text begin: the shipped model's own word pieces, or plain words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from everthread.errors import ModelNotFound
from everthread.models.embed import MINILM, REMEDY

if TYPE_CHECKING:
    import tokenizers

Tokenizer = Callable[[str], Sequence[int]]  # a text to the ascending places at which its tokens begin

_BREAKS = re.compile(r"\n+")
_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[int]:
    """Words and marks, for tests and where no model's pieces are wanted."""
    return [match.start() for match in _WORD.finditer(text)]


def word_pieces(text: str) -> list[int]:
    """The word pieces of the shipped model, however long the text. It is to hold no lone surrogate.

    Line breaks are a token, too: the model leaves them out, but goodai-ltm's tokenizer counts them, and a chunk of so
    many tokens is to hold as much as there.
    """
    pieces = {start for start, _ in _pieces().encode(text, add_special_tokens=False).offsets}
    return sorted(pieces.union(match.start() for match in _BREAKS.finditer(text)))


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

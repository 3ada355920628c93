"""What is asked of a bank, checked: numbers and names as far as any line could have them."""

from __future__ import annotations

from collections.abc import Collection
from reprlib import repr as shortly

import numpy as np

from everthread.bank.line_validation import LONGEST_NAME
from everthread.errors import BadInput, BadQuery, NotFound
from everthread.stores.filters import holdable
from everthread.stores.limits import LARGEST_SEQ


def seqs(seqs: Collection[int], name: str = "exclude") -> frozenset[int]:
    """The numbers of lines that are to be left out, as far as any line could have them."""
    if not isinstance(seqs, Collection) or not all(isinstance(seq, int | np.integer) for seq in seqs):
        raise BadQuery(f"{name} must be the seqs of lines, got {shortly(seqs)}")
    return frozenset(int(seq) for seq in seqs if 1 <= seq <= LARGEST_SEQ)


def text(query: str) -> None:
    """A question."""
    if not isinstance(query, str):
        raise BadQuery(f"query must be a str, got {type(query).__name__}")


def positive(number: int, name: str) -> None:
    """A number from 1."""
    if type(number) is not int or number < 1:
        raise BadQuery(f"{name} must be a whole number from 1, got {number!r}")


def name(name: str, what: str) -> str:
    """The name of a session or a speaker, as far as any line could have it."""
    if not isinstance(name, str):
        raise BadQuery(f"{what} must be a str, got {name!r}")
    if len(name) > LONGEST_NAME:
        raise BadQuery(f"{what} {name[:40]!r}… has {len(name)} characters; at most {LONGEST_NAME} are allowed")
    return holdable(name, what)


def seq(seq: int, bank: str) -> int:
    """The number of a line, as far as any line could have it."""
    if type(seq) is not int:
        raise BadQuery(f"seq must be a whole number, got {seq!r}")
    if not 1 <= seq <= LARGEST_SEQ:
        raise NotFound(f"bank {bank!r} has no line {seq}; lines are counted from 1")
    return seq


def whole(value: int, name: str, least: int) -> int:
    """The value, if it is a whole number of at least that much. Raises BadInput."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadInput(f"{name} must be a whole number of at least {least}, got {value!r}")
    return value

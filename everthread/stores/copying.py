"""CopySource: the part of a store that reads what a copy of a bank needs and no query returns."""

from __future__ import annotations

from typing import Protocol

from everthread.types import Vectors


class CopyReader(Protocol):
    """Reads the vectors, codes and buffers of one bank."""

    def models(self) -> list[tuple[str, int]]:
        """Return the name and the dimension of each model, in the order in which they were first used."""

    def vectors(self, model: str, dim: int, first: int, last: int) -> dict[int, Vectors]:
        """Return (pieces, D) the vectors of the lines from `first` to `last`, by number."""

    def unit_vectors(self, model: str, dim: int) -> dict[tuple[str, int], Vectors]:
        """Return (pieces, D) the vectors of the units, by kind and id."""

    def schemes(self) -> list[tuple[str, str]]:
        """Return the model and the scheme of the codes of words."""

    def codes(self, model: str, scheme: str, first: int, last: int) -> dict[int, bytes]:
        """Return the codes of the words of the lines from `first` to `last`, by number."""

    def buffers(self) -> dict[str, list[tuple[int, int]]]:
        """Return the relevance buffers, by session."""


class CopySource(Protocol):
    """Gives readers of what a copy of a bank needs and no query returns."""

    def copy_reader(self, bank: str) -> CopyReader:
        """Return a reader of a bank. Each of its calls is a transaction, unless the store reads one snapshot."""

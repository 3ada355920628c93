"""TokenStore: the part of a store that holds the codes of lines' content words, for late interaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from everthread.types import ROLES, Line, Role, Seqs


class TokenStore(Protocol):
    """Reads the codes of content words, which `append` and `put_vectors` store beside the vectors of lines.

    A bank has codes of one scheme of a model: the first ones of another scheme delete them.
    """

    def token_codes(self, bank: str, model: str, scheme: str, seqs: Seqs) -> list[tuple[int, bytes]]:
        """Return numbers and codes, row by row, of those of these lines that have codes of this scheme, in any order.

        Args:
            bank: the bank.
            model: the name of the embedder.
            scheme: the scheme of the codes.
            seqs: the lines, ascending.
        """

    def lines_without_tokens(
        self, bank: str, model: str, scheme: str, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        """Return at most `limit` lines of these roles after the number `after` that have no codes of this scheme."""

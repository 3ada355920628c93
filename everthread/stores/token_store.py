"""TokenStore: the part of a store that holds the codes of lines' content words, for late interaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from everthread.types import ROLES, Line, Role, Seqs


class TokenStore(Protocol):
    """Reads the codes of content words, which `append` and `put_vectors` store beside the vectors of lines.

    A bank has codes of one scheme of a model: the first ones of another scheme delete them.
    """

    def texts_with_codes(self, bank: str, model: str, scheme: str, seqs: Seqs) -> list[tuple[int, str, bytes | None]]:
        """Return what `texts` returns, and the codes of each line, row by row; None for a line without this scheme's.

        Args:
            bank: the bank.
            model: the name of the embedder.
            scheme: the scheme of the codes.
            seqs: the lines, ascending; at least one.
        """

    def lines_without_tokens(
        self, bank: str, model: str, scheme: str, limit: int, after: int = 0, roles: Collection[Role] = ROLES
    ) -> list[Line]:
        """Return at most `limit` lines of these roles after the number `after` that have no codes of this scheme."""

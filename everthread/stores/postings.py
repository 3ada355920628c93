"""Records of terms for BM25: grouped from analysed lines, and estimated from block headers. Every store uses them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from everthread.text.analyzer import TermCounts
from everthread.types import Seqs

MAX_COUNT = 65_535  # largest count that a record holds (two bytes)


def group_by_term(lines: Iterable[tuple[int, TermCounts]]) -> dict[str, list[tuple[int, int, int]]]:
    """Group the term counts of lines by term.

    Args:
        lines: Numbers and term counts, ascending by number.

    Returns:
        term -> (seq, count in the line, count in the line's head), ascending by seq.
    """
    found: dict[str, list[tuple[int, int, int]]] = {}
    for seq, words in lines:
        for term, (tf, head) in words.terms.items():
            found.setdefault(term, []).append((seq, min(tf, MAX_COUNT), min(head, MAX_COUNT)))
    return found


def estimate_df(first: Seqs, count: Seqs, within: Seqs) -> int:
    """Estimate how many of some lines contain a common term, from its block headers alone.

    A block contributes its count times the share of the lines between its first line and the next block's that are in
    `within`. For all lines up to a moment, every block is exact except the one at the boundary.

    Args:
        first: (B,) the first seq of each block, ascending.
        count: (B,) the number of records of each block.
        within: the lines to consider, ascending.
    """
    reach = np.append(first, max(int(within[-1]) if len(within) else 0, int(first[-1]) + int(count[-1])) + 1)
    inside = np.diff(np.searchsorted(within, reach))  # (B,) lines within each block's reach
    return int(np.ceil((count * np.minimum(inside / np.diff(reach), 1)).sum()))

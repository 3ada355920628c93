"""Records of terms for BM25, in every store: grouped from lines, chosen for a query, estimated from block headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import is_member, take_records
from everthread.text.analyzer import TermCounts, count_terms, remove_quotes_json
from everthread.types import Seqs

TermRecords = Mapping[str, Sequence[tuple[int, int, int]]]  # term -> (seq, tf, head), as in POSTING_DTYPE

# One record for each line that contains a term.
POSTING_DTYPE = np.dtype(
    [
        ("seq", "<u4"),
        ("tf", "<u2"),  # occurrences of the term in the line, at most 65,535
        ("head", "<u2"),  # occurrences in the line's first HEAD_CHARS characters
    ]
)

Records = npt.NDArray[np.void]  # (n,) of POSTING_DTYPE

MAX_COUNT = 65_535  # largest count that a record holds (two bytes)


@dataclass(frozen=True, slots=True)
class Postings:
    """The records of one term.

    Attributes:
        df: the number of lines that contain the term.
        records: (df,) of `POSTING_DTYPE`, ascending by seq; empty if the term is too common to be read.
    """

    df: int
    records: npt.NDArray[np.void]


def group_by_term(lines: Iterable[tuple[int, TermCounts]]) -> dict[str, list[tuple[int, int, int]]]:
    """Group the term counts of lines by term.

    Args:
        lines: Numbers and term counts, ascending by number.

    Returns:
        term -> (seq, count in the line, count in the line's head), ascending by seq.
    """
    records: dict[str, list[tuple[int, int, int]]] = {}
    for seq, counts in lines:
        for term, (tf, head) in counts.terms.items():
            records.setdefault(term, []).append((seq, min(tf, MAX_COUNT), min(head, MAX_COUNT)))
    return records


def find_records(blocks: Iterable[tuple[str, bytes]], seqs: Seqs) -> dict[str, list[tuple[int, int, int]]]:
    """Find the records of lines, whatever their terms.

    Args:
        blocks: the term and the data of each block.
        seqs: the lines, ascending.

    Returns:
        term -> (seq, count in the line, count in the line's head).
    """
    terms, data = zip(*blocks, strict=True)
    records = np.frombuffer(b"".join(data), POSTING_DTYPE)
    positions = np.flatnonzero((records["seq"] >= seqs[0]) & (records["seq"] <= seqs[-1]))
    found = np.take(records, positions)
    is_wanted = np.isin(found["seq"], seqs)  # in the order of the terms
    ends = np.cumsum([len(block) // POSTING_DTYPE.itemsize for block in data])
    owners = np.searchsorted(ends, positions[is_wanted], "right").tolist()
    by_term: dict[str, list[tuple[int, int, int]]] = {}
    for owner, record in zip(owners, found[is_wanted].tolist(), strict=True):
        by_term.setdefault(terms[owner], []).append(record)
    return by_term


def compare_records(
    old: TermRecords, new: TermRecords
) -> tuple[dict[str, list[int]], dict[str, list[tuple[int, int, int]]]]:
    """Compare the records of lines by term, as `group_by_term` returns them.

    Returns:
        For each term the lines whose records change or disappear, ascending, and the records that are new or changed.
    """
    removed: dict[str, list[int]] = {}
    added: dict[str, list[tuple[int, int, int]]] = {}
    for term in old.keys() | new.keys():
        before, after = set(old.get(term, ())), set(new.get(term, ()))
        if gone := before - after:
            removed[term] = sorted(seq for seq, _, _ in gone)
        if more := after - before:
            added[term] = sorted(more)
    return removed, added


def merge_blocks(blocks: Iterable[bytes], records: Sequence[tuple[int, int, int]], size: int) -> list[Records]:
    """Merge records (of other lines) into the blocks of a term; return blocks of about equal size.

    Args:
        blocks: the data of the blocks.
        records: the new records.
        size: the largest number of records in a block.
    """
    merged = np.frombuffer(b"".join((*blocks, np.array(records, POSTING_DTYPE).tobytes())), POSTING_DTYPE)
    ordered = np.take(merged, np.argsort(merged["seq"], kind="stable"))
    return np.array_split(ordered, -(-len(ordered) // size))


@dataclass(slots=True)
class LineCounts:
    """The terms and counts that some lines contribute to their bank.

    Attributes:
        by_term: term -> the lines that contain it, ascending.
        by_session: session number -> number of lines, and of their terms.
        head_terms: the number of terms in the heads of all lines.
    """

    by_term: dict[str, list[int]] = field(default_factory=dict)
    by_session: dict[int, tuple[int, int]] = field(default_factory=dict)
    head_terms: int = 0

    @property
    def lines(self) -> int:
        """The number of lines."""
        return sum(lines for lines, _ in self.by_session.values())

    @property
    def terms(self) -> int:
        """The number of terms in all lines."""
        return sum(terms for _, terms in self.by_session.values())


def count_lines(rows: Iterable[tuple[int, int, str, str]]) -> LineCounts:
    """Analyse stored lines again, and count them.

    Args:
        rows: seq, session number, text and metadata (JSON) of each line, ascending by seq.
    """
    counts = LineCounts()
    for seq, session, text, metadata in rows:
        analysed = count_terms(remove_quotes_json(text, metadata))
        lines, terms = counts.by_session.get(session, (0, 0))
        counts.by_session[session] = lines + 1, terms + analysed.length
        counts.head_terms += analysed.head_length
        for term in analysed.terms:
            counts.by_term.setdefault(term, []).append(seq)
    return counts


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


def choose_terms(
    terms: Sequence[str], counts: Mapping[str, int], max_terms: int, limit: int
) -> tuple[list[str], list[str]]:
    """Choose the rarest terms of a query.

    Args:
        terms: the terms of the query.
        counts: the document frequencies of the terms that the bank contains.
        max_terms: the largest number of terms.
        limit: the largest number of records in all.

    Returns:
        The chosen terms, rarest first, and those of them whose records are within the limit.
    """
    known = [term for term in dict.fromkeys(terms) if counts.get(term)]
    chosen = sorted(known, key=lambda term: counts[term])[:max_terms]
    totals = accumulate(counts[term] for term in chosen)
    return chosen, [term for term, total in zip(chosen, totals, strict=True) if total <= limit]


def select_records(records: Records | None, df: int, within: Seqs | None) -> Postings:
    """Build the postings of a term.

    Args:
        records: its records; None if it is too common to be read.
        df: its document frequency, used if there are no records.
        within: only records of these lines (ascending); None for all.
    """
    if records is None:
        return Postings(df, np.empty(0, POSTING_DTYPE))
    selected = records
    if within is not None:
        selected = take_records(records, np.flatnonzero(is_member(records["seq"], within)))
    return Postings(len(selected), selected)


def order_by_rarity(
    terms: Sequence[str], counts: Mapping[str, int], postings: Mapping[str, Postings], max_terms: int
) -> dict[str, Postings]:
    """Order postings as `TermIndex.postings` returns them: terms without lines, then the others by document frequency.

    Args:
        terms: the terms of the query.
        counts: the document frequencies of the terms that the bank contains.
        postings: the postings of the chosen terms.
        max_terms: the largest number of terms without lines.
    """
    absent = [
        term for term in dict.fromkeys(terms) if not counts.get(term) or (term in postings and not postings[term].df)
    ]
    empty = Postings(0, np.empty(0, POSTING_DTYPE))
    return {**dict.fromkeys(absent[:max_terms], empty), **dict(sorted(postings.items(), key=lambda item: item[1].df))}

"""Validates arguments: queries, line numbers and names, and units and jobs to store.

Invalid queries raise BadQuery, invalid values to store raise BadInput.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf
from reprlib import repr as shortly
from typing import get_args, get_type_hints

import numpy as np

from everthread.bank.line_validation import (
    MAX_METADATA_DEPTH,
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    nesting_depth,
    replace_unstorable,
)
from everthread.common.timestamps import to_micros
from everthread.errors import BadInput, BadQuery, NotFound
from everthread.stores.json_text import storable_json
from everthread.stores.limits import MAX_SEQ, check_storable
from everthread.text.tokens import TokenCounter
from everthread.types import JSONValue, Metadata, NewUnit, ScribeJob

NO_LINES = (0, 0)  # the span of a unit that derives from no line, such as one of general knowledge
MAX_IMPORTANCE = 2**53  # of a unit: every whole number up to it is a float
MAX_TITLE_CHARS = 1000  # of a session; a title is often its first message
JOB_KINDS = get_args(get_type_hints(ScribeJob)["kind"])

# --------------------------------------------------------- arguments of queries


def check_query(query: str) -> None:
    """Check the text of a query.

    Raises:
        BadQuery: it is not a str.
    """
    if not isinstance(query, str):
        raise BadQuery(f"query must be a str, got {type(query).__name__}")


def check_positive(number: int, name: str) -> None:
    """Check that a number is whole and at least 1.

    Raises:
        BadQuery: it is not.
    """
    if type(number) is not int or number < 1:
        raise BadQuery(f"{name} must be a whole number from 1, got {number!r}")


def check_counter(count: TokenCounter | None) -> None:
    """Check a counter of tokens, which may be None.

    Raises:
        BadQuery: it can't be called.
    """
    if count is not None and not callable(count):
        raise BadQuery(f"count must be a function of a text, got {count!r}; Memory.open(tokens=…) also takes a name")


def check_page(after: int, limit: int | None) -> int:
    """Check the part of the lines to read.

    Args:
        after: the number of the line before the first.
        limit: the maximum number of lines; None for all.

    Returns:
        The number of the line before the first, as one that a line can have, or 0.

    Raises:
        BadQuery: a number is not whole, or the limit is negative.
    """
    if limit is not None and (type(limit) is not int or limit < 0):
        raise BadQuery(f"limit must be a whole number from 0, got {limit!r}")
    if type(after) is not int:
        raise BadQuery(f"after must be a whole number, got {after!r}")
    return min(max(after, 0), MAX_SEQ)


def check_relevance(value: float | None, name: str) -> None:
    """Check a relevance, which may be None.

    Raises:
        BadQuery: it is not a number from 0 to 1.
    """
    if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
        raise BadQuery(f"{name} must be a relevance from 0 to 1, got {value!r}")


def check_duration(seconds: float | None, name: str) -> float | None:
    """Check a duration, which may be None, and return it.

    Raises:
        BadQuery: it is not a finite number of seconds from 0.
    """
    if seconds is not None and (type(seconds) not in (int, float) or not 0 <= seconds < inf):
        raise BadQuery(f"{name} must be a number of seconds from 0, got {seconds!r}")
    return seconds


def check_seq(seq: int, bank: str) -> int:
    """Check the number of a line.

    Raises:
        BadQuery: it is not an int.
        NotFound: no line can have this number.
    """
    if type(seq) is not int:
        raise BadQuery(f"seq must be a whole number, got {seq!r}")
    if not 1 <= seq <= MAX_SEQ:
        raise NotFound(f"bank {bank!r} has no line {seq}; lines are counted from 1")
    return seq


def check_line_id(seq: int | None, key: str | None) -> tuple[int | None, str | None]:
    """Check the number or the key of a line to look for, and return both. A number that no line can have becomes None.

    Raises:
        BadQuery: not exactly one is given, or it is invalid.
    """
    if (seq is None) == (key is None):
        raise BadQuery(f"expected either the seq or the key of a line, got seq={seq!r} and key={key!r}")
    if key is not None:
        return None, check_filter_name(key, "key")
    if type(seq) is not int:
        raise BadQuery(f"seq must be a whole number, got {seq!r}")
    return (seq if 1 <= seq <= MAX_SEQ else None), None


def check_seqs(seqs: Collection[int], name: str = "exclude") -> frozenset[int]:
    """Check numbers of lines, and drop those that no line can have.

    Raises:
        BadQuery: they are not a collection of integers.
    """
    if not isinstance(seqs, Collection) or not all(issubclass(kind, int | np.integer) for kind in set(map(type, seqs))):
        raise BadQuery(f"{name} must be the seqs of lines, got {shortly(seqs)}")
    return frozenset(seq for seq in map(int, seqs) if 1 <= seq <= MAX_SEQ)


def check_bank_ids(banks: Collection[str]) -> list[str]:
    """Check the ids of banks to search, and return them.

    Raises:
        BadQuery: they are not a collection of texts, or it is empty.
    """
    if isinstance(banks, str) or not isinstance(banks, Collection) or not all(isinstance(bank, str) for bank in banks):
        raise BadQuery(f"banks must be a list of banks' ids, got {shortly(banks)}")
    if not banks:
        raise BadQuery("banks names no bank; name one or several, or leave it out to search the memory's own")
    return list(banks)


def check_filter_name(name: str, what: str) -> str:
    """Check the name of a session or a speaker to look for, and return it as it is stored.

    Raises:
        BadQuery: it is not a str, or longer than any stored name.
    """
    if not isinstance(name, str):
        raise BadQuery(f"{what} must be a str, got {name!r}")
    if len(name) > MAX_NAME_CHARS:
        raise BadQuery(f"{what} {name[:40]!r}… has {len(name)} characters; at most {MAX_NAME_CHARS} are allowed")
    return check_storable(name, what)


# ------------------------------------------------------------- values to store


def check_at_least(value: int, name: str, least: int) -> int:
    """Check that a value is a whole number of at least `least`, and return it.

    Raises:
        BadInput: it is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadInput(f"{name} must be a whole number of at least {least}, got {value!r}")
    return value


def check_unit(new: NewUnit) -> NewUnit:
    """Check a unit, and return it with a text that every database can store (see `bank.line_validation`).

    Raises:
        BadInput: a field is invalid; the message names it.
    """
    if not isinstance(new, NewUnit):
        raise BadInput(f"a unit must be a NewUnit, got {type(new).__name__}: {shortly(new)}")
    if check_name(new.kind, "a unit's kind") == "line":
        raise BadInput("a unit's kind can't be 'line'; store lines with observe")
    if not isinstance(new.text, str) or not new.text.strip():
        raise BadInput(
            f"a unit's text must have a character that is not blank, got {shortly(new.text)}", reason="blank-text"
        )
    if len(new.text) > MAX_TEXT_CHARS:
        raise BadInput(
            f"a unit's text has {len(new.text):,} characters; at most {MAX_TEXT_CHARS:,} are allowed",
            reason="long-text",
            values={"limit": MAX_TEXT_CHARS},
        )
    if (new.first_seq, new.last_seq) != NO_LINES:
        check_span(new.first_seq, new.last_seq, "a unit")
    if outside := [seq for seq in new.sources if type(seq) is not int or not new.first_seq <= seq <= new.last_seq]:
        raise BadInput(
            f"source {outside[0]!r} of a unit is outside its span from {new.first_seq} to {new.last_seq}; extend the "
            "span to contain all sources, because the unit is removed with any line of its span"
        )
    to_micros(new.said_at, "a unit's said_at", BadInput)
    importance = new.importance
    if importance is not None and not (type(importance) in (int, float) and abs(importance) <= MAX_IMPORTANCE):
        raise BadInput(f"a unit's importance must be a number, got {new.importance!r}")
    if new.category is not None:
        check_name(new.category, "a unit's category")
    if not isinstance(new.metadata, dict):
        raise BadInput(f"a unit's metadata must be a mapping, got {shortly(new.metadata)}")
    storable_json(new.metadata, "a unit's metadata", BadInput)
    return replace(new, text=replace_unstorable(new.text)[0], sources=tuple(new.sources))


def check_title(title: str | None) -> str | None:
    """Check the title of a session, and return it as one line of text; None for None.

    Raises:
        BadInput: it is not a str, too long, or has characters that no database can store.
    """
    if title is None:
        return None
    if not isinstance(title, str):
        raise BadInput(f"invalid title: got {shortly(title)}, expected a str")
    if len(title) > MAX_TITLE_CHARS:
        raise BadInput(
            f"invalid title: it has {len(title):,} characters, expected at most {MAX_TITLE_CHARS:,}",
            reason="long-title",
            values={"limit": MAX_TITLE_CHARS},
        )
    return check_storable(" ".join(title.split()), "a title", BadInput)


def check_session_metadata(metadata: Metadata | None) -> Metadata | None:
    """Check the metadata of a session, and return them as they are stored; None for None.

    Raises:
        BadInput: they are not a mapping of JSON values, nested too deep, or have characters that no database can store.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise BadInput(f"invalid metadata of a session: got {shortly(metadata)}, expected a mapping")
    stored: dict[str, JSONValue] = json.loads(storable_json(dict(metadata), "the metadata of a session", BadInput))
    if nesting_depth(stored) > MAX_METADATA_DEPTH:
        raise BadInput(f"the metadata of a session are nested more than {MAX_METADATA_DEPTH} deep; simplify them")
    return stored


def check_superseded(number: int | None) -> None:
    """Check the id of a unit to supersede, which may be None.

    Raises:
        BadInput: it is not a whole number from 1.
    """
    if number is not None and (type(number) is not int or not 1 <= number <= MAX_SEQ):
        raise BadInput(f"supersedes must be the id of a unit, a whole number from 1, got {number!r}")


def check_job(job: ScribeJob) -> ScribeJob:
    """Check a job of a scribe, and return it.

    Raises:
        BadInput: a field is invalid; the message names it.
    """
    if not isinstance(job, ScribeJob):
        raise BadInput(f"a job must be a ScribeJob, got {type(job).__name__}: {shortly(job)}")
    if job.kind not in JOB_KINDS:
        raise BadInput(f"unknown kind {job.kind!r} of a job; expected one of {', '.join(JOB_KINDS)}")
    check_name(job.session, "the session of a job")
    check_span(job.first_seq, job.last_seq, "a job")
    to_micros(job.queued_at, "queued_at", BadInput)
    if type(job.tries) is not int or not 0 <= job.tries <= MAX_SEQ:
        raise BadInput(f"the tries of a job must be a whole number from 0, got {job.tries!r}")
    if job.error is not None:
        check_name(job.error, "the error of a job")
    return job


def check_name(name: str, what: str) -> str:
    """Check a short text that is not blank, and return it.

    Raises:
        BadInput: it is blank, too long, or has characters that no database can store.
    """
    if not isinstance(name, str) or not name.strip():
        raise BadInput(f"{what} must be text that is not blank, got {shortly(name)}")
    if len(name) > MAX_NAME_CHARS:
        raise BadInput(f"{what} {name[:40]!r}… has {len(name)} characters; at most {MAX_NAME_CHARS} are allowed")
    return check_storable(name, what, BadInput)


def check_span(first: int, last: int, what: str) -> None:
    """Check the numbers of a first and a last line.

    Raises:
        BadInput: they are not whole numbers from 1 in that order.
    """
    if type(first) is not int or type(last) is not int or not 1 <= first <= last <= MAX_SEQ:
        raise BadInput(f"{what} must be of lines from first_seq to last_seq, counted from 1, got {first!r} to {last!r}")

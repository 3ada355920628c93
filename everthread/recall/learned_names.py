"""Learns what else a speaker is called, from the lines in which the name is used.

People are often not called as their account is: "kayaker42" is Sam, and Helen is Mum. If a question has a name that no
speaker has, the lines that contain it show whose it is: "Thanks, Sam!" is said to the other one of two speakers, and
"call me Sam" by Sam. Nothing is stored, so that a name is forgotten with its lines.

The words beside names, of several languages, are in `learned_names.toml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from everthread.recall.candidates import MAX_POSTINGS, sample_evenly
from everthread.recall.nicknames import find_nicknames, find_unused_name
from everthread.recall.query_parsing import MAX_QUERY_CHARS, find_mentioned_speakers, find_names, split_messages
from everthread.stores.base import Store
from everthread.text.analyzer import normalize, split_words, terms
from everthread.text.line_features import SMALL_TALK
from everthread.text.word_lists import alternation, load_word_lists
from everthread.types import Line, Seqs

MAX_NAMES = 4  # of a question that are looked up, the first ones
MAX_READ_LINES = 32  # with a name, evenly spaced
MIN_VOTES = 3  # of lines; one in which people introduce themselves has three
MIN_CLAUSE_WORDS = 3  # between two commas, the second before an address; fewer are an item of a list
MAX_CLAUSE_CHARS = 80  # before the comma of an address
LEAST_RATIO = 3  # of its votes to those of another speaker
MIN_SHARE = 0.5  # of the lines with the name, those that give it to this speaker

_WORDS = load_word_lists(__file__)["all"]
_KIN = frozenset(_WORDS["kin"])
_END = r"\s*(?:[!?.…:;)]|$|[^\w\s,'’-])"  # also an emoji


def learn_names(
    store: Store, bank: str, question: str, speakers: Sequence[str], visible: Seqs | None = None
) -> dict[str, str]:
    """Find the names in a question that are a speaker's, as `find_owners` does."""
    return find_owners(store, bank, find_unknown_names(question, speakers), speakers, visible)


def find_owners(
    store: Store, bank: str, names: Sequence[str], speakers: Sequence[str], visible: Seqs | None = None
) -> dict[str, str]:
    """Find which names are a speaker's by the lines of the bank, or by its account.

    Args:
        store: the store.
        bank: the bank's id.
        names: names that no speaker has (`find_unknown_names`).
        speakers: the names of the bank's speakers.
        visible: the numbers of the lines that are known at the moment of asking, ascending; None: all.

    Returns:
        The speakers by folded name.
    """
    owners = {normalize(name): _read_owner(store, bank, name, speakers, visible) for name in names}
    return {name: owner for name, owner in owners.items() if owner is not None}


def _read_owner(store: Store, bank: str, name: str, speakers: Sequence[str], visible: Seqs | None) -> str | None:
    """Return the speaker who is called by a name in the lines that contain it; without a line by the account."""
    read = store.postings(bank, terms(name), 1, MAX_POSTINGS, visible)
    seqs = next((posting.records["seq"] for posting in read.values()), None)
    if seqs is None or not len(seqs):
        return find_unused_name(name, speakers)
    chosen = [int(seq) for seq in sample_evenly(seqs, MAX_READ_LINES)]
    before = [seq - 1 for seq in chosen] if len(speakers) > 2 else []
    lines = {line.seq: line for line in store.get(bank, sorted({*chosen, *before} - {0}))}
    return find_owner(name, [(lines[seq], lines.get(seq - 1)) for seq in chosen if seq in lines], speakers)


def find_owner(name: str, uses: Iterable[tuple[Line, Line | None]], speakers: Sequence[str]) -> str | None:
    """Return the speaker who is called by a name, or None if the lines don't tell, or if several are.

    Args:
        name: the name.
        uses: lines that contain it, each with the line before it, which matters among more than two speakers.
        speakers: the names of the bank's speakers.
    """
    votes: Counter[str] = Counter()
    total = 0
    for line, before in uses:
        is_introduced, is_addressed, is_used = _classify(name, line.text)
        total += is_used
        if is_introduced:
            votes[line.speaker] += MIN_VOTES
        elif is_addressed and (addressee := _find_addressee(line, before, speakers)) is not None:
            votes[addressee] += 1
    (owner, count), *others = [*votes.most_common(2), ("", 0)]
    is_clear = count >= max(MIN_VOTES, MIN_SHARE * total) and all(LEAST_RATIO * other <= count for _, other in others)
    return owner if is_clear and owner in speakers else None


def find_unknown_names(question: str, speakers: Sequence[str]) -> list[str]:
    """Return the names that no speaker has in a question, or in the last message of a dialogue: the first ones."""
    if len(speakers) < 2:
        return []
    last = split_messages(question[:MAX_QUERY_CHARS], speakers)[-1]
    return list(islice(_find_unknown_names(last, speakers), MAX_NAMES))


def _find_unknown_names(question: str, speakers: Sequence[str]) -> Iterator[str]:
    """Yield the names in a question that no speaker has, in no other form either."""
    names = [*find_names(question), *(word for word in split_words(question) if word in _KIN)]
    for name in dict.fromkeys(names):
        is_known = find_mentioned_speakers(normalize(name), speakers) or find_nicknames([name], speakers)
        if not is_known and terms(name) and normalize(name) not in SMALL_TALK:
            yield name


def _find_addressee(line: Line, before: Line | None, speakers: Sequence[str]) -> str | None:
    """Return the speaker that a line addresses: the other one of two, else the one who spoke before."""
    if len(speakers) == 2:
        return next((speaker for speaker in speakers if speaker != line.speaker), None)
    if before is None or before.session != line.session or before.speaker == line.speaker:
        return None
    return before.speaker


def _classify(name: str, text: str) -> tuple[bool, bool, bool]:
    """Return whether a text introduces its speaker by a name, addresses a person by it, and contains it at all."""
    introduced, opening, closing, used = _patterns(name)
    is_addressed = opening.search(text) is not None or any(map(_is_address, closing.finditer(text)))
    return introduced.search(text) is not None, is_addressed, used.search(text) is not None


def _is_address(match: re.Match[str]) -> bool:
    """Return whether a name after a comma is an address, not the end of a list or of "Lisbon, Portugal"."""
    words = match["clause"].split()
    is_list = match["before"] == "," and len(words) < MIN_CLAUSE_WORDS
    return bool(words) and not is_list and not (len(words) > 1 and words[-1][:1].isupper())


@lru_cache(maxsize=64)
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of an introduction by a name, of addresses before and after a comma, and of any use."""
    word = rf"{re.escape(name)}(?![\w'’-])"
    introductions, greetings = (alternation(map(re.escape, _WORDS[each])) for each in ("introductions", "greetings"))
    opening = rf"(?:^|[.!?…\n]\s*){word}\s*[,!]|\b{greetings}[,!]?\s+{word}(?:,|{_END})"
    closing = rf"(?P<before>^|[,.!?…\n])(?P<clause>[^,.!?…\n]{{1,{MAX_CLAUSE_CHARS}}}),\s*{word}{_END}"
    return (
        re.compile(rf"\b(?i:{introductions}),?\s+{word}"),  # not "call me crazy" for Crazy
        re.compile(opening, re.I),
        re.compile(closing, re.I),
        re.compile(rf"\b{re.escape(name)}(?!\w)", re.I),
    )

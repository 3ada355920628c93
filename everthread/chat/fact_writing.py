"""Writes the facts of sessions, such as imported ones: each a unit that derives from the lines that say it.

A session's metadata has the number of the last line whose facts were listed, so an interrupted call is continued by the
next one, and a session without facts is not read twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from everthread.chat.scribe_worker import mark_undated, read_lines
from everthread.chat.session_writing import describe_failure, find_idle
from everthread.common.keys import META_NEEDS_CONSENT, SESSION_FACTS_TO
from everthread.errors import BadInput, EverthreadError, NotFound, ScribeFailed
from everthread.memory import Memory
from everthread.scribes.base import Fact, FactScribe, Scribe
from everthread.scribes.extractive import is_repeated, term_set
from everthread.text import redaction
from everthread.text.salience import informative_words
from everthread.types import Line, NewUnit, Session


def require_fact_scribe(scribe: Scribe) -> FactScribe:
    """Return the scribe if it can list facts.

    Raises:
        BadInput: it can't.
    """
    if not isinstance(scribe, FactScribe):
        raise BadInput(
            f"facts are written by a language model, and the scribe {scribe.name!r} uses none; name a model with "
            "--model, or connect one with: everthread model connect"
        )
    return scribe


def list_factless(memory: Memory) -> list[Session]:
    """Return the sessions with lines whose facts were not listed, oldest first, except one that is going on.

    Raises:
        BadInput: the bank never remembers conversations.
    """
    return [session for session in find_idle(memory) if _listed_to(session) < session.last_seq]


def write_facts(
    memory: Memory, scribe: FactScribe, sessions: Sequence[Session], progress: Callable[[int], None] | None = None
) -> int:
    """Write the facts that the bank lacks. Sessions that wait for the person's consent are left out.

    Args:
        memory: the bank.
        scribe: lists the facts.
        sessions: the sessions, of `list_factless`.
        progress: called with 1 after each session.

    Returns:
        The number of new facts.

    Raises:
        ScribeFailed: the scribe failed, or lines were removed while it read them; what was written before stays.
    """
    known = [term_set(unit.text) for unit in memory.units("fact")]
    before = len(known)
    for session in sessions:
        try:
            _write_session(memory, scribe, session, known)
        except EverthreadError as error:
            raise ScribeFailed(describe_failure(scribe, "facts", session.id, type(error).__name__)) from error
        if progress is not None:
            progress(1)
    return len(known) - before


def _write_session(memory: Memory, scribe: FactScribe, session: Session, known: list[frozenset[str]]) -> None:
    """Write the facts of a session's lines that were not read yet, and add their terms to the known ones."""
    span = (session.id, _listed_to(session) + 1, session.last_seq)
    lines = read_lines(memory, *span)
    if any(line.metadata.get(META_NEEDS_CONSENT) for line in lines):
        return
    facts = scribe.list_facts(lines) if any(line.role == "user" for line in lines) else []
    if read_lines(memory, *span) != lines:
        raise NotFound("a line was removed while the scribe read it; any of the facts may be about it")
    by_seq, seqs_by_term = {line.seq: line for line in lines}, _index_terms(lines)
    for fact in facts:
        text = redaction.redact_rows(fact.text)
        if text is None or is_repeated(terms := term_set(text), known):
            continue
        said = [by_seq[seq] for seq in _find_sources(fact, seqs_by_term)]
        memory.add_unit(_build_unit(text, said, session, scribe))
        known.append(terms)
    memory.set_session(session.id, metadata={SESSION_FACTS_TO: session.last_seq})


def _index_terms(lines: Sequence[Line]) -> dict[str, list[int]]:
    """Return the numbers of the lines that contain each term. The speakers' names come from no line."""
    seqs_by_term: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        for term in term_set(line.text):
            seqs_by_term[term].append(line.seq)
    for name in term_set(" ".join({line.speaker for line in lines})):
        seqs_by_term.pop(name, None)
    return seqs_by_term


def _find_sources(fact: Fact, seqs_by_term: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the lines that a fact derives from: those that it names, and the nearest with each word that they lack.

    So a name that the model took from another line is forgotten with that line.
    """
    sources = set(fact.seqs)
    for term in term_set(" ".join(informative_words(fact.text))):
        seqs = seqs_by_term.get(term, ())
        if seqs and sources.isdisjoint(seqs):
            sources.add(min(seqs, key=lambda seq: abs(seq - fact.seqs[0])))
    return sorted(sources)


def _build_unit(text: str, said: Sequence[Line], session: Session, scribe: FactScribe) -> NewUnit:
    """Build the unit of a fact that these lines say, dated by the last of them."""
    return NewUnit(
        kind="fact",
        text=text,
        first_seq=said[0].seq,
        last_seq=said[-1].seq,
        said_at=said[-1].said_at,
        metadata={"session": session.id, "scribe": scribe.name, **mark_undated(said)},
        sources=tuple(line.seq for line in said),
    )


def _listed_to(session: Session) -> int:
    """Return the number of the last line of a session whose facts were listed; 0 without any."""
    seq = session.metadata.get(SESSION_FACTS_TO)
    return seq if isinstance(seq, int) else 0

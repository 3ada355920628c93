"""The answer to a message without a language model: the memory that bears most on it, or what becomes of the message.

A question for all that is known of someone is answered with facts (`chat.known_facts`), and one for all that was said
with several lines.

It is chosen when the message is said. Later it is read from the record of what was recalled (`stores.recall_records`),
with the quoted line as it is by then.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal

from everthread.bank.line_versions import group_versions, read_recorded
from everthread.chat.deletion_requests import is_deletion_request
from everthread.chat.goodbye import is_goodbye
from everthread.chat.known_facts import NO_FACTS, KnownFacts, find_known, list_lines
from everthread.common.keys import META_CORRECTS
from everthread.facts.answering_lines import find_answering_lines
from everthread.facts.asker import find_asker
from everthread.facts.cache import MAX_KEPT_STATEMENTS, FactIndex
from everthread.memory import Memory
from everthread.recall.answer_order import limit_relevance, order_by_answer
from everthread.recall.context_packing import identify_source
from everthread.recall.fact_context import describe_outdated
from everthread.recall.query_parsing import find_quoted_speakers, parse_query
from everthread.stores import recall_records
from everthread.stores.base import Store
from everthread.text.bot_questions import BotQuestion, find_bot_question
from everthread.text.line_features import is_small_talk
from everthread.text.questions import is_question, is_question_only
from everthread.types import Context, FoundUnit, Hit, Line

STATED_RELEVANCE = 0.7  # of a message that asks nothing; one that is on a known subject mostly has more
SURE_SUBJECT = 0.95  # of such a message that has no word of a memory; the first ones in a new bank often have 0.7
MIN_SHARE = 0.25  # of the best hit's relevance; a hit with less is hardly about the message

# A quote of a memory; facts that hold, or that have changed; nothing is remembered; the message will be remembered, or
# not; it was only heard; or it asks to delete something, which only a command does.
AnswerKind = Literal["quote", "known", "changed", "nothing", "remembered", "unsaved", "listening", "command"]
Speech = Literal["you_said", "you_asked", "i_said", "i_noted", "other_said"]


@dataclass(frozen=True, slots=True)
class OfflineAnswer:
    """An answer without a model.

    Attributes:
        kind: what it says.
        source: the quoted memory; with "remembered" and "unsaved", one that the message is about. None if it was
            forgotten or discarded since, and for the other kinds.
        is_sure: whether the memory is relevant enough to be stated without a doubt.
        is_corrected: whether the source is a correction of the line that was quoted.
        outdated: what the source states that is no longer true, in words.
        known: the facts; without those whose lines were forgotten or corrected since.
    """

    kind: AnswerKind
    source: Line | FoundUnit | None = None
    is_sure: bool = True
    is_corrected: bool = False
    outdated: str = ""
    known: KnownFacts = NO_FACTS


def select_memories(context: Context, message: str) -> Context:
    """Return the memories that are shown with the answer to a message. They have no text, which is for a prompt.

    A message that asks nothing and hardly concerns what is remembered is shown no memory; any other those that are not
    much less relevant than the best one, without lines that state nothing. A question about the bot is shown only the
    bot's lines.
    """
    contexts = (context, *context.others)
    if not is_question(message) and not any(_is_on_subject(each) for each in contexts):
        return Context("", 0, (), (), (), context.relevance, context.bank, (), context.complete)
    hits = [hit for each in contexts for hit in each.hits]
    if find_bot_question(message) is BotQuestion.BOT:
        hits = [hit for hit in hits if not isinstance(hit.source, Line) or hit.source.role == "assistant"]
    statements = [hit for hit in hits if _has_statement(hit.source.text)] or hits
    bound = MIN_SHARE * max((hit.relevance for hit in statements), default=0.0)
    shown = [hit for hit in statements if hit.relevance >= bound]
    others = tuple(_keep_hits(other, shown) for other in context.others)
    return replace(_keep_hits(context, shown), others=others)


def _is_on_subject(context: Context) -> bool:
    """Return whether a message that asks nothing concerns memories: it has a word of one, or is surely near to them."""
    bound = STATED_RELEVANCE if any(hit.signals.get("share", 1.0) > 0 for hit in context.hits) else SURE_SUBJECT
    return context.relevance >= bound


def _keep_hits(context: Context, shown: Sequence[Hit]) -> Context:
    """Return a context without its other hits, what is only in their passages, and its text."""
    hits = tuple(hit for hit in context.hits if any(hit is each for each in shown))
    dropped = [hit for hit in context.hits if not any(hit is each for each in shown)]
    gone = _list_sources(dropped) - _list_sources(hits)
    sources = tuple(source for source in context.sources if identify_source(source) not in gone)
    return replace(context, text="", tokens=0, hits=hits, sources=sources)


def _list_sources(hits: Iterable[Hit]) -> set[Hashable]:
    """Return what hits and their passages consist of."""
    return {identify_source(source) for hit in hits for source in (hit.source, *hit.passage)}


def order_by_facts(
    context: Context,
    question: Line,
    memory: Memory,
    known: FactIndex,
    moment: datetime,
    *,
    is_past: bool = False,
    hidden: Collection[int] = (),
) -> Context:
    """Put the line before the other memories by whose fact a question is answered.

    Args:
        context: the memories.
        question: the question.
        memory: the bank.
        known: what is known in it.
        moment: when it is asked.
        is_past: whether it is asked as of that moment, so that later statements are left out.
        hidden: the numbers of lines that must not be quoted.
    """
    asker = partial(find_asker, memory.store, memory.bank, known, question.speaker)
    found = find_answering_lines(question.text, known, asker, moment, is_past=is_past)
    shown = replace(found, answering=tuple(seq for seq in found.answering if seq not in hidden))
    return order_by_answer(context, shown, memory.get)


def order_by_speaker(context: Context, question: str, speakers: Sequence[str]) -> Context:
    """Put the lines of those first whose own words a question asks for, and let those of others be in doubt.

    Args:
        context: the memories.
        question: the question.
        speakers: the names of the bank's speakers.
    """
    quoted = find_quoted_speakers(question, speakers)
    if not quoted:
        return context
    own = [hit for hit in context.hits if _is_by(hit, quoted)]
    others = [limit_relevance(hit) for hit in context.hits if not _is_by(hit, quoted)]
    return replace(context, hits=(*own, *others))


def _is_by(hit: Hit, speakers: Collection[str]) -> bool:
    return hit.kind == "line" and hit.line.speaker in speakers


def note_outdated(answer: OfflineAnswer, known: FactIndex, as_of: datetime | None = None) -> OfflineAnswer:
    """Add to a quoted line of the bank what it states that is no longer true."""
    if not isinstance(answer.source, Line):
        return answer
    return replace(answer, outdated=describe_outdated(answer.source, known, as_of))


def has_quick_facts(memory: Memory) -> bool:
    """Return whether the facts of a bank are kept in memory, so that they are read quickly."""
    return memory.store.corpus_stats(memory.bank).lines <= MAX_KEPT_STATEMENTS


def choose_answer(context: Context, message: Line | None, incognito: bool) -> OfflineAnswer:
    """Choose the answer to a message, if one was said, by the memories that were recalled for it."""
    kind = "nothing" if message is None else _name_kind(message.text, incognito)
    source = None if kind in ("listening", "command") else find_source(context)
    if source is None:
        return OfflineAnswer(kind)
    return OfflineAnswer("quote" if kind == "nothing" else kind, source, is_source_sure(context, source))


def asks_for_overview(question: Line, memory: Memory) -> bool:
    """Return whether a question asks what was said, at a time or at all, so that one line is no answer."""
    names = memory.store.corpus_stats(memory.bank).names
    return parse_query(question.text, names, question.said_at).asks_for_overview


def list_recalled(context: Context) -> KnownFacts:
    """Return the lines of the bank that were recalled, without small talk and orders unless there is nothing else."""
    lines = [hit.source for hit in context.hits if isinstance(hit.source, Line)]
    return list_lines([line for line in lines if _is_told(line.text)] or lines)


def _is_told(text: str) -> bool:
    return not is_small_talk(text) and find_bot_question(text) is None


def answer_known(known: KnownFacts) -> OfflineAnswer:
    """Return the answer that lists facts."""
    return OfflineAnswer("known" if known.since is None else "changed", known=known)


def _name_kind(message: str, incognito: bool) -> AnswerKind:
    """Return what is said to a message for which nothing is remembered."""
    if is_deletion_request(message):
        return "command"
    if is_question(message) or find_bot_question(message) is not None:
        return "nothing"
    if is_small_talk(message) or is_goodbye(message):
        return "listening"
    return "unsaved" if incognito else "remembered"


def find_source(context: Context) -> Line | FoundUnit | None:
    """Return the best hit that states something; else what was said after one; else the best question."""
    hits = [hit for each in (context, *context.others) for hit in each.hits]
    statements = (hit.source for hit in hits if _has_statement(hit.source.text))
    return next(statements, None) or _find_response(hits) or (hits[0].source if hits else None)


def _find_response(hits: Sequence[Hit]) -> Line | None:
    """Return the first line after one of the hits, in its passage, that states something."""
    after = (line for hit in hits for line in hit.passage if line.position > hit.seq)
    return next((line for line in after if _has_statement(line.text)), None)


def _has_statement(text: str) -> bool:
    """Return whether a text states something, and neither only asks nor only requests to delete something."""
    return not is_question_only(text) and not is_deletion_request(text)


def is_source_sure(context: Context, source: Line | FoundUnit) -> bool:
    """Return whether the hit that holds a memory is relevant enough to be stated."""
    hits = (hit for each in (context, *context.others) for hit in each.hits)
    return recall_records.is_memory_sure(hit.relevance for hit in hits if source == hit.source or source in hit.passage)


def read_answers(memory: Memory, lines: Iterable[Line]) -> dict[int, OfflineAnswer]:
    """Read how lines were answered without a model.

    Args:
        memory: the bank.
        lines: the lines.

    Returns:
        The answers, by the numbers of the lines that have one.
    """
    recorded = [line for line in lines if line.role == "user" and recall_records.get_record(line.metadata) is not None]
    seqs = {seq for line in recorded if (seq := recall_records.get_answer(line.metadata)) is not None}
    sources = {line.seq: line for line in memory.store.get(memory.bank, sorted(seqs))}
    sources |= _find_versions(memory.store, memory.bank, seqs - sources.keys())
    answers = ((line.seq, _read_known(memory, line) or _read_answer(line, sources)) for line in recorded)
    found = {seq: answer for seq, answer in answers if answer is not None}
    if not any(isinstance(answer.source, Line) for answer in found.values()) or not has_quick_facts(memory):
        return found
    known = memory.read_known(limit=0)
    return {seq: note_outdated(answer, known) for seq, answer in found.items()}


def _read_known(memory: Memory, line: Line) -> OfflineAnswer | None:
    """Return the answer to a line; None if it lists no facts."""
    record = recall_records.get_record(line.metadata) or {}
    kind = record.get("kind")
    if kind not in ("known", "changed", "listed"):
        return None
    shown = {seq for hit in recall_records.list_hits(record) if recall_records.is_seq(seq := hit.get("seq"))}
    if kind == "listed":
        return answer_known(list_lines(memory.store.get(memory.bank, sorted(shown))))
    known = find_known(
        memory.store, memory.bank, memory.read_known(limit=0), line, lambda seqs: not shown.isdisjoint(seqs)
    )
    return OfflineAnswer(kind, known=replace(known, has_more=record.get("more") is True))


def _read_answer(line: Line, sources: Mapping[int, Line]) -> OfflineAnswer | None:
    kind = (recall_records.get_record(line.metadata) or {}).get("kind")
    is_quoting = recall_records.has_answer(line.metadata)
    if kind in ("nothing", "listening", "command") or (kind in ("remembered", "unsaved") and not is_quoting):
        return OfflineAnswer(kind)
    if not is_quoting:
        return None  # it quoted a unit or a line of another bank, which is not recorded
    quoting: AnswerKind = kind if kind in ("remembered", "unsaved") else "quote"
    seq = recall_records.get_answer(line.metadata)
    source = sources.get(seq) if seq else None
    if source is None:
        return OfflineAnswer(quoting)
    is_corrected = source.seq != seq and META_CORRECTS in source.metadata
    return OfflineAnswer(quoting, source, recall_records.is_answer_sure(line.metadata), is_corrected)


def _find_versions(store: Store, bank: str, seqs: Collection[int]) -> dict[int, Line]:
    """Return the current versions of lines that were corrected or said again, by the numbers of the old ones."""
    groups = group_versions(store, bank, read_recorded(store, bank, seqs))
    current = {seq: [line for line in groups[seq] if line.retracted_at is None] for seq in groups.keys() & seqs}
    return {seq: max(lines, key=lambda line: line.seq) for seq, lines in current.items() if lines}


def name_speech(source: Line | FoundUnit, names: Collection[str]) -> Speech:
    """Return who said a memory, and how. `names` are those under which the lines of the user are stored."""
    if isinstance(source, FoundUnit):
        return "i_noted"
    if source.role == "assistant":
        return "i_said"
    if source.speaker in names:
        return "you_asked" if is_question_only(source.text) else "you_said"
    return "other_said"

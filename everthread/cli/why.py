"""Explains in words, or with figures, what was recalled for a reply."""

from __future__ import annotations

from datetime import datetime

from everthread.chat.chat import Chat
from everthread.cli.excerpts import shorten
from everthread.cli.repl_text import format_line
from everthread.languages.wording import Wording
from everthread.text.questions import is_question_only
from everthread.text.shared_words import find_shared_words
from everthread.types import Context, FoundUnit, Hit, Line, now

FIGURES = "figures"  # the argument that asks for them
RELATED_COSINE, CLOSE_COSINE = 0.2, 0.45  # about the mean of unrelated texts; usually the same subject


def explain_reply(chat: Chat, argument: str = "") -> str:
    """List what was recalled for the last reply: with reasons in words, or with relevance and signals."""
    reply, words = chat.last_reply, chat.words
    if reply is None:
        return words("why.nothing_recalled")
    context = reply.context
    rows = _list_figures(context, words) if argument == FIGURES else _list_reasons(chat, context)
    passages = {line.seq for hit in context.hits for line in hit.passage}
    if buffered := [format_line(line, words) for line in context.lines if line.seq not in passages]:
        rows += [words("why.still_in_view"), *buffered]
    if context.hits:
        rows.append(words("why.legend" if argument == FIGURES else "why.figures_hint"))
    return "\n".join(rows)


def _list_reasons(chat: Chat, context: Context) -> list[str]:
    words = chat.words
    question = next((line.text for line in reversed(chat.lines) if line.role == "user"), "")
    rows = [row for hit in context.hits for row in _reason_rows(hit, question, words)]
    for other in context.others:
        rows += [words("why.from_bank", bank=other.bank)]
        rows += [row for hit in other.hits for row in _reason_rows(hit, question, words)]
    if rows:
        return rows
    nearby = _find_in_conversation(chat.lines, question)
    if nearby is None:
        return [words("why.nothing_relevant")]
    return [words("why.in_conversation"), format_line(nearby, words)]


def _reason_rows(hit: Hit, question: str, words: Wording) -> list[str]:
    text = f"{hit.source.speaker}: {shorten(hit.source.text)}"
    reasons = list_reasons(hit, question, now().astimezone(), words)
    return [f"{hit.seq:>6}  {text}", f"        {' · '.join(reasons)}"]


def list_reasons(hit: Hit, question: str, at: datetime, words: Wording) -> list[str]:
    """Return the reasons for a hit as phrases: who said it, what it has in common with the question, how long ago."""
    source, signals = hit.source, hit.signals
    cosine = signals.get("cosine", RELATED_COSINE)
    shared = words.join([words("why.quote", word=word) for word in find_shared_words(question, source.text)])
    reasons = [
        words("why.close") if cosine >= CLOSE_COSINE else words("why.related") if cosine > RELATED_COSINE else "",
        words("why.share", words=shared) if shared else "",
        words("why.same_day") if signals.get("day", 0) > 0 else "",
        words("why.standing") if signals.get("standing", 0) > 0 else "",
    ]
    age = "" if source.is_undated else words.distance(source.said_at, at)
    return [reason for reason in (_origin(source, words), *_or_loose(reasons, words), age) if reason]


def _origin(source: Line | FoundUnit, words: Wording) -> str:
    """Return who said a memory, or what kind of unit it is from."""
    if not isinstance(source, FoundUnit):
        return words("why.speaker_said", speaker=source.speaker)
    kinds = {"note": words("why.note"), "summary": words("why.summary")}
    return words("why.from_unit", unit=kinds.get(source.speaker, source.speaker))


def _or_loose(reasons: list[str], words: Wording) -> list[str]:
    return reasons if any(reasons) else [words("why.loose")]


def _find_in_conversation(lines: list[Line], question: str) -> Line | None:
    """Return the line of the conversation, before the question, that has the most words in common with it."""
    asked = max((place for place, line in enumerate(lines) if line.text == question), default=0)
    shared = {line.seq: len(find_shared_words(question, line.text, 9)) for line in lines[:asked]}
    candidates = [line for line in lines[:asked] if shared[line.seq] and not is_question_only(line.text)]
    return max(candidates, key=lambda line: shared[line.seq], default=None)


def _list_figures(context: Context, words: Wording) -> list[str]:
    key = "why.query_relevance" if context.hits else "why.query_irrelevant"
    rows = [words(key, percent=f"{context.relevance:.0%}")]
    for hit in context.hits:
        signals = "  ".join(f"{name} {value:.2f}" for name, value in hit.signals.items() if value)
        text = f"{hit.source.speaker}: {shorten(hit.source.text)}"
        rows.append(f"{hit.relevance:4.0%}  #{hit.seq} {text}\n      {signals}")
    for other in context.others:
        other_rows = (f"{hit.seq:>6}  {hit.source.speaker}: {shorten(hit.source.text)}" for hit in other.hits)
        rows += [words("why.from_bank", bank=other.bank), *other_rows]
    return rows

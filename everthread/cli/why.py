"""Explains in words, or with figures, what was recalled for a reply."""

from __future__ import annotations

from datetime import datetime

from everthread.chat.chat import Chat
from everthread.chat.offline_reply import is_question
from everthread.cli.repl_text import format_line, shorten
from everthread.text.relative_time import format_relative_time
from everthread.text.shared_words import find_shared_words
from everthread.types import Context, FoundUnit, Hit, Line, now

NOTHING_RECALLED = "Nothing has been recalled yet, or nothing since a line was forgotten."
FIGURES = "figures"  # the argument that asks for them
FIGURES_HINT = "(/why figures shows how relevant each line is, and by which signals)"
LEGEND = """\
(The percentage is the probability that the line is relevant to the message; for units, and with recipes other than
default, it is a similarity by the recipe's own measure. The measured signals follow, except those at 0:
cosine is similarity of meaning; bm25 and share, words in common; near, window and session, the neighbouring lines; the
others, the speaker, the time and the form.)"""
RELATED_COSINE, CLOSE_COSINE = 0.2, 0.45  # about the mean of unrelated texts; usually the same subject


def explain_reply(chat: Chat, argument: str = "") -> str:
    """List what was recalled for the last reply: with reasons in words, or with relevance and signals."""
    reply = chat.last_reply
    if reply is None:
        return NOTHING_RECALLED
    context = reply.context
    rows = _list_figures(context) if argument == FIGURES else _list_reasons(chat, context)
    passages = {line.seq for hit in context.hits for line in hit.passage}
    if buffered := [format_line(line) for line in context.lines if line.seq not in passages]:
        rows += ["still in view from earlier turns:", *buffered]
    if context.hits:
        rows.append(LEGEND if argument == FIGURES else FIGURES_HINT)
    return "\n".join(rows)


def _list_reasons(chat: Chat, context: Context) -> list[str]:
    question = next((line.text for line in reversed(chat.lines) if line.role == "user"), "")
    rows = [row for hit in context.hits for row in _reason_rows(hit, question)]
    for other in context.others:
        rows += [f"from the bank {other.bank}:", *(row for hit in other.hits for row in _reason_rows(hit, question))]
    if rows:
        return rows
    nearby = _find_in_conversation(chat.lines, question)
    if nearby is None:
        return ["Nothing was recalled: nothing that was said earlier is relevant."]
    return ["Nothing had to be recalled: it's still in this conversation.", format_line(nearby)]


def _reason_rows(hit: Hit, question: str) -> list[str]:
    text = f"{hit.source.speaker}: {shorten(hit.source.text)}"
    return [f"{hit.seq:>6}  {text}", f"        {' · '.join(list_reasons(hit, question, now().astimezone()))}"]


def list_reasons(hit: Hit, question: str, at: datetime) -> list[str]:
    """Return the reasons for a hit as phrases: who said it, what it has in common with the question, how long ago."""
    source, signals = hit.source, hit.signals
    cosine = signals.get("cosine", RELATED_COSINE)
    shared = " and ".join(f"“{word}”" for word in find_shared_words(question, source.text))
    reasons = [
        "close in meaning" if cosine >= CLOSE_COSINE else "related in meaning" if cosine > RELATED_COSINE else "",
        f"both mention {shared}" if shared else "",
        "said on the day you asked about" if signals.get("day", 0) > 0 else "",
    ]
    origin = f"from a {source.speaker}" if isinstance(source, FoundUnit) else f"{source.speaker} said it"
    age = "" if source.is_undated else format_relative_time(source.said_at, at)
    return [reason for reason in (origin, *(reasons if any(reasons) else ["loosely related"]), age) if reason]


def _find_in_conversation(lines: list[Line], question: str) -> Line | None:
    """Return the line of the conversation, before the question, that has the most words in common with it."""
    asked = max((place for place, line in enumerate(lines) if line.text == question), default=0)
    shared = {line.seq: len(find_shared_words(question, line.text, 9)) for line in lines[:asked]}
    candidates = [line for line in lines[:asked] if shared[line.seq] and not is_question(line.text)]
    return max(candidates, key=lambda line: shared[line.seq], default=None)


def _list_figures(context: Context) -> list[str]:
    rows = [f"query relevance {context.relevance:.0%}{'' if context.hits else '; nothing is relevant'}"]
    for hit in context.hits:
        signals = "  ".join(f"{name} {value:.2f}" for name, value in hit.signals.items() if value)
        text = f"{hit.source.speaker}: {shorten(hit.source.text)}"
        rows.append(f"{hit.relevance:4.0%}  #{hit.seq} {text}\n      {signals}")
    for other in context.others:
        other_rows = (f"{hit.seq:>6}  {hit.source.speaker}: {shorten(hit.source.text)}" for hit in other.hits)
        rows += [f"from the bank {other.bank}:", *other_rows]
    return rows

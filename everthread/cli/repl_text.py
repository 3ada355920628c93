"""Parses the typed lines of a chat in a terminal, and renders the texts that it shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from everthread.chat import offline_reply
from everthread.chat.chat import Chat
from everthread.chat.offline_answer import read_answers
from everthread.chat.reply import Reply
from everthread.cli.common import bank_argument
from everthread.cli.excerpts import shorten
from everthread.cli.wrapping import wrap
from everthread.errors import (
    BadQuery,
    EverthreadError,
    LLMDenied,
    LLMRejected,
    LLMUnavailable,
    ModelNotFound,
    StoreUnavailable,
)
from everthread.languages.wording import Wording
from everthread.llms.base import LLM
from everthread.types import EndResult, Line

DEFAULT_LINES = 10  # that /lines shows
QUIT_WORDS = ("/quit", "quit", "exit")
MAX_RESUMED_CHARS = 300  # of a line that is shown when its conversation is resumed
RESUMED_LINES = 4
HELP_INDENT = 21  # columns of a command and its arguments in the help
COMMANDS = (  # with their arguments; /help says what each does, by the text of the same name
    "/why [figures]",
    "/notes",
    "/lines [N|all]",
    "/again",
    "/edit [N] TEXT",
    "/correct N TEXT",
    "/undo",
    "/branch N",
    "/forget N",
    "/set [FIELD TEXT]",
    "/incognito",
    "/end [yes|no]",
    "/stats",
    "/help",
    "/quit",
)

_SEQ = re.compile(r"#?(-?\d{1,19})", re.ASCII)


# -------------------------------------------------------------------- typed lines


def is_command(text: str) -> bool:
    """Return whether a typed text is a slash command."""
    return text.startswith("/") and not text.startswith("//")


def unescape(text: str) -> str:
    """Remove the first of two leading slashes, which mark a text that is not a command."""
    return text[1:] if text.startswith("//") else text


def is_seq(text: str) -> bool:
    """Return whether a text is the number of a line."""
    return _SEQ.fullmatch(text) is not None


def parse_seq(text: str, words: Wording) -> int:
    """Parse the number of a line. Raises BadQuery."""
    if (match := _SEQ.fullmatch(text)) is None:
        raise problem("invalid_number", words, text=shorten(text))
    return int(match[1])


def problem(name: str, words: Wording, /, **values: object) -> Problem:
    """Build the error that says why a command can't be done, in the words of the conversation."""
    return Problem(words(f"problem.{name}", **values))


class Problem(BadQuery):
    """A command can't be done. Its text is in the language of the conversation."""


def parse_edit(argument: str, lines: Sequence[Line], words: Wording) -> tuple[int, str]:
    """Return the number of the line that "/edit 12 TEXT" replaces, for "/edit TEXT" the user's last one, and the text.

    Raises:
        Problem: the text is missing, or the user has said nothing.
    """
    first, _, rest = argument.partition(" ")
    if is_seq(first):
        seq, text = parse_seq(first, words), rest.strip()
        if not text:
            raise problem("edit_line", words, seq=seq)
        return seq, text
    if not argument:
        raise problem("edit_what", words)
    position = last_user_position(lines)
    if position == len(lines):
        raise problem("nothing_to_edit", words)
    return lines[position].seq, argument


def parse_correction(argument: str, incognito: bool, words: Wording) -> tuple[int, str]:
    """Return the number of the line and its new text in "/correct 12 TEXT".

    Raises:
        Problem: one of them is missing or invalid, or the conversation is in incognito.
    """
    first, _, text = argument.partition(" ")
    if not text.strip():
        raise problem("correct_what", words)
    if incognito:
        raise problem("correct_incognito", words)
    return parse_seq(first, words), text.strip()


def last_user_position(lines: Sequence[Line]) -> int:
    """Return the position of the user's last line; the number of lines if the user said nothing."""
    return max((position for position, line in enumerate(lines) if line.role == "user"), default=len(lines))


# --------------------------------------------------------------------------- texts


def greeting_text(chat: Chat) -> str:
    """Return the text shown at the start: the bank, the character, the model, and a pending question or reminder."""
    words, name = chat.words, chat.character.name
    rows = [_contents_text(chat)]
    rows.append(words("terminal.talking", name=name, model=chat.llm.name) if chat.llm else words("terminal.no_model"))
    if chat.incognito:
        rows.append(words("terminal.incognito"))
    rows.append(words("terminal.invitation"))
    if resumed := resumed_text(chat):
        rows.append(f"\n{resumed}")
    if chat.is_unanswered and chat.llm:
        rows.append(words("terminal.unanswered"))
    if chat.question:
        rows.append(f"\n{chat.question}")
    elif chat.greeting and chat.llm:
        rows.append(f"\n{name}: {chat.greeting}")
    elif chat.reminder:
        rows.append(f"\n{chat.reminder}")
    return "\n".join(rows)


def _contents_text(chat: Chat) -> str:
    """Return what the bank holds: how many lines, and since when."""
    stats, bank = chat.memory.stats(), chat.memory.bank
    if not stats.lines:
        return chat.words("terminal.bank_is_empty", bank=bank)
    if stats.first_said_at is None:
        return chat.words("terminal.bank_holds_undated", bank=bank, number=stats.lines)
    since = chat.words.date(stats.first_said_at)
    return chat.words("terminal.bank_holds", bank=bank, number=stats.lines, date=since)


def resumed_text(chat: Chat) -> str:
    """Return the beginning and the last lines of a conversation that is resumed; empty for a new one."""
    if not chat.lines:
        return ""
    began = chat.words.moment(chat.lines[0].said_at.astimezone())
    rows = [chat.words("terminal.resuming", moment=began, number=len(chat.lines))]
    shown, names = chat.lines[-RESUMED_LINES:], chat.person_names
    answers = read_answers(chat.memory, shown)
    for line, following in zip_longest(shown, shown[1:]):
        rows.append(f"  {line.speaker}: {shorten(line.text, MAX_RESUMED_CHARS)}")
        if line.seq in answers and (following is None or following.role == "user"):
            reply = offline_reply.render(answers[line.seq], names, chat.words, line.said_at.date())
            rows.append(f"  {chat.character.name}: {shorten(reply, MAX_RESUMED_CHARS)}")
    return "\n".join(rows)


def help_text(words: Wording, width: int) -> str:
    """List the commands, in rows of at most `width` columns."""
    rows = [words("help.intro")]
    for command in COMMANDS:
        effect = words(f"help.{command[1:].partition(' ')[0]}")
        rows.append(f"  {command:<{HELP_INDENT - 2}}{effect}")
    return "\n".join([wrap(rows[0], width), *(wrap(row, width, HELP_INDENT) for row in rows[1:])])


def goodbye_text(words: Wording, incognito: bool, store_failed: bool) -> str:
    """Return the text shown when the user quits. It doesn't say that all is saved if the store has failed."""
    if incognito:
        return words("terminal.farewell_incognito")
    return words("terminal.farewell_short" if store_failed else "terminal.farewell")


def ending_message(ending: EndResult, words: Wording) -> str:
    """Return a text that reports how a conversation ended."""
    return words("terminal.remembered" if ending.remembered else "terminal.forgotten")


def format_last_lines(lines: Sequence[Line], argument: str, words: Wording) -> list[str]:
    """Return the last lines as rows, as many as "/lines N" asks for, after a row with the number of earlier ones.

    Raises:
        Problem: the argument is not a positive number.
    """
    count = parse_seq(argument, words) if argument else DEFAULT_LINES
    if count < 1:
        raise problem("invalid_count", words, text=argument)
    earlier = [words("terminal.earlier_lines", number=len(lines) - count)] if len(lines) > count else []
    return [*earlier, *format_lines(lines[-count:], words)]


def format_branch(lines: Sequence[Line], discarded: Sequence[Line], words: Wording) -> list[str]:
    """Return rows with the line from which a conversation continues, which is its last, and those that it discarded."""
    rows = [words("terminal.continuing"), *format_lines(lines[-1:], words)]
    return [*rows, words("terminal.discarded_lines"), *format_lines(discarded, words)] if discarded else rows


def reply_notice(reply: Reply, words: Wording) -> str:
    """Return a notice about a reply that was refused or cut short; else empty."""
    if reply.refused:
        return words("terminal.refused")
    return words("terminal.cut_short") if reply.partial else ""


def describe(error: EverthreadError, words: Wording) -> str:
    """Return what an error says to the user: in their language if it is known to it, else as it is."""
    name = next((name for kind, name in _ERROR_TEXTS.items() if isinstance(error, kind)), None)
    return words(f"problem.{name}", error=error) if name else str(error)


_ERROR_TEXTS: dict[type[EverthreadError], str] = {
    LLMUnavailable: "llm_unavailable",
    LLMDenied: "llm_denied",
    LLMRejected: "llm_rejected",
    ModelNotFound: "model_not_found",
    StoreUnavailable: "store_unavailable",
}


def format_stats(chat: Chat) -> str:
    """List the statistics of the bank, and the tokens and cost of the model."""
    words, stats = chat.words, chat.memory.stats()
    rows = [words("terminal.no_contents")]
    if stats.speakers:
        lines, sessions = words("terminal.lines", number=stats.lines), words("terminal.sessions", number=stats.sessions)
        megabytes = words.number(stats.bytes / 1e6, 1)
        speakers = ", ".join(stats.speakers)
        rows = [words("terminal.contents", lines=lines, sessions=sessions, speakers=speakers, megabytes=megabytes)]
    if stats.queued:
        rows.append(words("terminal.jobs", number=stats.queued))
    if chat.llm is not None:
        rows.append(_usage_text(chat.llm, words))
    return "\n".join(rows)


def _usage_text(llm: LLM, words: Wording) -> str:
    """Return the tokens that a model has read and written, and what they cost."""
    usage = llm.usage
    key = "terminal.usage_estimated" if usage.estimated else "terminal.usage"
    text = words(key, model=llm.name, read=words.number(usage.prompt), written=words.number(usage.completion))
    return text if usage.cost is None else words("terminal.usage_cost", usage=text, cost=words.number(usage.cost, 4))


def format_notes(chat: Chat) -> str:
    """Return the current notes, and how many jobs for the scribe are queued."""
    words = chat.words
    if not chat.memory.recipe.notes:
        return words("terminal.recipe_without_notes", recipe=chat.memory.recipe.name)
    no_notes = words("terminal.no_notes", bank=bank_argument(chat.memory.bank))
    rows, jobs = [chat.notes or no_notes], chat.memory.jobs()
    if failure := next((job.error for job in jobs if job.error), ""):
        rows.append(words("terminal.jobs_failed", number=len(jobs), error=failure))
    elif jobs:
        rows.append(words("terminal.jobs_pending", number=len(jobs)))
    return "\n".join(rows)


def format_line(line: Line, words: Wording) -> str:
    """Return a line as one row of a list."""
    discarded = f"{words('terminal.discarded_mark')} " if line.retracted_at else ""
    return f"{line.seq:>6}  {discarded}{line.speaker}: {shorten(line.text)}"


def format_lines(lines: Iterable[Line], words: Wording) -> list[str]:
    """Return lines as rows of a list."""
    return [format_line(line, words) for line in lines]

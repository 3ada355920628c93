"""Parses the typed lines of a chat in a terminal, and renders the texts that it shows."""

from __future__ import annotations

import re
import textwrap

from everthread.chat.chat import Chat
from everthread.chat.reply import Reply
from everthread.cli.common import pluralize
from everthread.errors import BadQuery
from everthread.types import EndResult, Line

QUIT_WORDS = ("/quit", "quit", "exit")
UNANSWERED = "(your last message got no reply; /again asks for one)"
SHORT_GOODBYE = "Until next time."  # once the ending has been reported
MAX_ROW_CHARS = 70  # of a line in a list
MAX_RESUMED_CHARS = 300  # of a line that is shown when its conversation is resumed
RESUMED_LINES = 4
COMMANDS = {  # with their arguments: what they do
    "/why [figures]": "what was recalled for the last reply, and why; figures: how relevant each line is, and by which "
    "signals",
    "/notes": "the character's notes",
    "/lines [N|all]": "the last N lines, with their numbers; all: every line, discarded ones included",
    "/again": "replace the last reply with another",
    "/edit [N] TEXT": "replace your last message, or line N, with TEXT, and continue from there; asks first if that "
    "discards later messages of yours",
    "/correct N TEXT": "replace line N, of any conversation, with TEXT, and change nothing else",
    "/undo": "take back your last message",
    "/branch N": "continue from line N; the lines after it are discarded",
    "/forget N": "remove line N permanently (or: last, session); asks first, except with yes: /forget N yes",
    "/set [FIELD TEXT]": "change a field of the character: location, person, description …; or whether conversations "
    "are remembered: /set remember always, ask or never",
    "/incognito": "store nothing from now on, until you enter /incognito again",
    "/end [yes|no]": "end the conversation, and remember it or not; asks without yes or no, as a goodbye does if the "
    "recipe or /set remember ask requires it",
    "/stats": "what this memory holds, and what the model has used",
    "/help": "this text",
    "/quit": "quit; you can continue later (or: quit, exit, Ctrl-D). Ctrl-C stops a reply",
}

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


def parse_seq(text: str) -> int:
    """Parse the number of a line. Raises BadQuery."""
    if (match := _SEQ.fullmatch(text)) is None:
        raise BadQuery(f"invalid line number {shorten(text)!r}; /lines and /why show the numbers")
    return int(match[1])


# --------------------------------------------------------------------------- texts


def greeting_text(chat: Chat) -> str:
    """Return the text shown at the start: the bank, the character, the model, and a pending question or reminder."""
    stats = chat.memory.stats()
    first = stats.first_said_at
    since = f", since {first.day} {first:%B %Y}" if first else ""
    contents = f"{pluralize(stats.lines, 'line')}{since}" if stats.lines else "nothing yet"
    name = chat.character.name
    partner = (
        f"You are talking with {name} ({chat.llm.name})."
        if chat.llm
        else "No language model is configured: instead of a reply you are shown what is remembered.\n"
        "(A running Ollama is found automatically; another server: --model http://host/v1#name)"
    )
    notice = "\nIncognito: nothing you say is stored." if chat.incognito else ""
    rows = [
        f"Everthread. Bank {chat.memory.bank!r} remembers {contents}.",
        f"{partner}{notice}",
        "Talk, ask, come back later. /help for commands.",
    ]
    if resumed := resumed_text(chat):
        rows.append(f"\n{resumed}")
    if chat.is_unanswered and chat.llm:
        rows.append(UNANSWERED)
    if chat.question:
        rows.append(f"\n{chat.question}")
    elif chat.greeting and chat.llm:
        rows.append(f"\n{name}: {chat.greeting}")
    elif chat.reminder:
        rows.append(f"\n{chat.reminder}")
    return "\n".join(rows)


def resumed_text(chat: Chat) -> str:
    """Return the beginning and the last lines of a conversation that is resumed; empty for a new one."""
    if not chat.lines:
        return ""
    began = chat.lines[0].said_at.astimezone()
    count = pluralize(len(chat.lines), "line")
    rows = [f"Resuming the conversation of {began.day} {began:%B %Y, %H:%M} ({count}):"]
    for line in chat.lines[-RESUMED_LINES:]:
        rows.append(f"  {line.speaker}: {shorten(line.text, MAX_RESUMED_CHARS)}")
    return "\n".join(rows)


def help_text(width: int) -> str:
    """List the commands, in rows of at most `width` characters."""
    intro = "Type a message to send it; it is remembered. Type // to begin a message with a slash. Commands:"
    rows = textwrap.wrap(intro, width)
    for command, effect in COMMANDS.items():
        rows += textwrap.wrap(effect, width, initial_indent=f"  {command:<19}", subsequent_indent=" " * 21)
    return "\n".join(rows)


def goodbye_text(incognito: bool) -> str:
    """Return the text shown when the user quits."""
    return f"Until next time; {'nothing that was said in incognito is stored' if incognito else 'everything is saved'}."


def ending_message(ending: EndResult) -> str:
    """Return a text that reports how a conversation ended."""
    return "It is remembered." if ending.remembered else "It is forgotten."


def reply_notice(reply: Reply) -> str:
    """Return a notice about a reply that was refused or cut short; else empty."""
    if reply.refused:
        return "(the model refused to answer. The refusal is not remembered; /again asks for another reply)"
    if reply.partial:
        return "(the reply was cut short; the part received is saved)"
    return ""


def format_stats(chat: Chat) -> str:
    """List the statistics of the bank, and the tokens and cost of the model."""
    stats = chat.memory.stats()
    contents = f"{pluralize(stats.lines, 'line')} in {pluralize(stats.sessions, 'session')}"
    contents += f" by {', '.join(stats.speakers)}, {stats.bytes / 1e6:.1f} MB"
    rows = [contents if stats.speakers else "nothing yet"]
    if stats.queued:
        rows.append(f"{pluralize(stats.queued, 'job')} queued for the scribe")
    if chat.llm is not None:
        usage = chat.llm.usage
        cost = f", {usage.cost:.4f} at your prices" if usage.cost is not None else ""
        read = f"{'about ' if usage.estimated else ''}{usage.prompt:,} tokens read"
        rows.append(f"{chat.llm.name}: {read}, {usage.completion:,} written{cost}")
    return "\n".join(rows)


def format_notes(chat: Chat) -> str:
    """Return the current notes, and how many jobs for the scribe are queued."""
    if not chat.memory.recipe.notes:
        return f"The recipe {chat.memory.recipe.name} writes no notes."
    jobs = chat.memory.jobs()
    failure = next((f"; the last attempt failed: {job.error}" for job in jobs if job.error), "")
    pending = f"({pluralize(len(jobs), 'job')} queued{failure})" if jobs else ""
    return "\n".join(filter(None, [chat.notes or "There are no notes yet.", pending]))


def format_line(line: Line) -> str:
    """Return a line as one row of a list."""
    discarded = "(discarded) " if line.retracted_at else ""
    return f"{line.seq:>6}  {discarded}{line.speaker}: {shorten(line.text)}"


def shorten(text: str, length: int = MAX_ROW_CHARS) -> str:
    """Return the beginning of a text, in one row."""
    row = " ".join(text[: 10 * length].split())
    return row[:length] + ("…" if len(row) > length or len(text) > 10 * length else "")

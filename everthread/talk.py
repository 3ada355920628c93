"""A conversation in the terminal. Without a language model the bot shows what it remembers, and says so."""

from __future__ import annotations

import sys
from collections.abc import Callable

from everthread.errors import EverthreadError
from everthread.memory import Memory
from everthread.types import Context

BUDGET = 150  # tokens shown for a message: half a dozen lines, what a person reads at a glance
FLOOR = 0.02  # relevance of a hit below which it is not worth a person's time
LEGEND = """\
(percent: the chance that it bears on what was said. Behind it the signals that made the score, those at 0 left out:
cosine, near in meaning; bm25 and share, words in common; near, window and session, of the lines around it; the others,
who said it, when, and how.)"""
HELP = """\
Whatever you type is remembered. Commands:
  /why     how relevant each line of the last answer is, and by which signals
  /stats   what this memory holds
  /help    this text
  /quit    end (so do quit, exit, Ctrl-D and Ctrl-C)"""
ENDINGS = ("/quit", "quit", "exit")


def talk(
    memory: Memory, speaker: str, read: Callable[[str], str] = input, write: Callable[[str], None] = print
) -> None:
    """Talk until the person ends it. read and write are the terminal's."""
    if sys.stdin.isatty():
        import readline  # noqa: F401  (gives `input` line editing and history)
    write(greeting(memory))
    last: Context | None = None
    empty = memory.stats().lines == 0
    while True:
        try:
            said = read(f"{speaker}> ").strip()
        except (EOFError, KeyboardInterrupt):
            said = "/quit"
        if said.lower() in ENDINGS:
            write("\nUntil next time; it is all kept.")
            return
        if said.startswith("/"):
            write(command(memory, said, last))
        elif said:
            try:
                last = turn(memory, speaker, said)
                write(answer(last, empty))
                empty = False
            except EverthreadError as error:
                write(f"That could not be done: {error}")


def turn(memory: Memory, speaker: str, said: str) -> Context:
    """Recall what bears on what was said, and then keep it: before, it would find itself."""
    found = memory.context(said, BUDGET, floor=FLOOR)
    memory.observe(said, speaker=speaker)
    return found


def greeting(memory: Memory) -> str:
    """What this is, and what is known."""
    stats = memory.stats()
    since = f", since {stats.first_said_at:%d %B %Y}" if stats.first_said_at else ""
    known = f"{counted(stats.lines, 'line')}{since}" if stats.lines else "nothing yet"
    return (
        f"Everthread. Bank {memory.bank!r} remembers {known}.\n"
        "No language model is configured: instead of a reply you are shown what is remembered.\n"
        "Talk, ask, come back later. /help for commands."
    )


def answer(found: Context, first: bool) -> str:
    """The recalled lines, labelled as such; never kept, or the memory would fill with echoes of itself."""
    if first:
        return "(no language model configured) I remember nothing yet; this is the first thing you have told me."
    if not found.text:
        return "(no language model configured) I remember nothing that bears on this. I will remember that you said it."
    shown = "\n".join(f"  {line}" for line in found.text.splitlines())
    return f"(no language model configured) This is what I remember that bears on it:\n{shown}"


def command(memory: Memory, said: str, last: Context | None) -> str:
    """The answer to a slash command."""
    if said == "/why":
        return why(last)
    if said == "/stats":
        stats = memory.stats()
        who = ", ".join(stats.speakers)
        held = f"{counted(stats.lines, 'line')} in {counted(stats.sessions, 'session')}"
        return f"{held} by {who}, {stats.bytes / 1e6:.1f} MB" if who else "nothing yet"
    if said == "/help":
        return HELP
    return f"{said.split()[0]} is no command. {HELP}"


def why(last: Context | None) -> str:
    """What was behind the last answer."""
    if last is None:
        return "Nothing has been recalled in this conversation yet."
    rows = [f"relevance of the whole {last.relevance:.0%}"]
    for hit in last.hits:
        signals = "  ".join(f"{name} {value:.2f}" for name, value in hit.signals.items() if value)
        rows.append(f"{hit.relevance:4.0%}  #{hit.line.seq} {hit.line.speaker}: {hit.line.text[:70]}\n      {signals}")
    return "\n".join([*rows, LEGEND] if last.hits else rows)


def counted(number: int, noun: str) -> str:
    """That many of them, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""`everthread demo`: asks the sample life three questions, forgets an answer, and asks again. It needs no model."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import click

from everthread import factory
from everthread.cli.answers import confirm
from everthread.cli.sanitize import escape_control_chars
from everthread.cli.wrapping import wrap_to_terminal
from everthread.config import LANGUAGES
from everthread.demo.bank import BANK, fill_bank, find_answer
from everthread.demo.sample import LANGUAGES as SAMPLE_LANGUAGES
from everthread.demo.sample import Sample
from everthread.languages.terminal_language import find_language
from everthread.languages.wording import DEFAULT_LANGUAGE, Wording, load_wording
from everthread.memory import Memory
from everthread.types import Hit

RUST = 173  # of the 256 colours: legible on light and on dark


@click.command()
@click.option("--language", type=click.Choice(LANGUAGES), help="Language of the demo. Default: that of the terminal.")
@click.option("--keep", is_flag=True, help="Keep the bank afterwards, without asking.")
@click.pass_context
def demo(ctx: click.Context, /, language: str | None, keep: bool) -> None:
    """See what it remembers: a sample life of two years, three questions, and one answer forgotten for good.

    The sample is stored in a bank of its own, named demo, which is deleted at the end. No language model is needed.
    Without a terminal it runs from beginning to end by itself. The sample life is in English, German or Chinese.
    """
    words = load_wording(language or find_language())
    with closing(factory.open_store(ctx.obj["store"])) as store:
        options: dict[str, Any] = {**ctx.obj, "store": store, "recipe": "default", "options": {}}
        with Memory.open(BANK, **options) as memory:
            click.secho(words("demo.preparing"), dim=_has_color())
            sample = fill_bank(memory, words.language if words.language in SAMPLE_LANGUAGES else DEFAULT_LANGUAGE)
            is_kept = _show(_Show(memory, sample, words), keep)
        if is_kept:
            click.echo(words("demo.kept", person=sample.person))
        else:
            store.forget(BANK, "bank", None, datetime.now(UTC))
            click.echo(words("demo.deleted"))


def _show(show: _Show, keep: bool) -> bool:
    """Show the demonstration; return whether its bank is kept. The end of the input ends it, and keeps nothing."""
    try:
        show.run()
        return keep or (_is_interactive() and not confirm(show.words("demo.delete"), show.words))
    except click.Abort:
        click.echo()  # ends the question's line
        return keep


class _Show:
    """The demonstration in the terminal."""

    def __init__(self, memory: Memory, sample: Sample, words: Wording) -> None:
        self.memory, self.sample, self.words = memory, sample, words

    def run(self) -> None:
        """Ask the questions, forget the last answer, and ask for it again."""
        lines = [line.said_at for line in self.memory.lines()]
        span = {"first": self.words.date(lines[0]), "last": self.words.date(lines[-1])}
        intro = self.words("demo.intro", person=self.sample.person, number=len(lines), **span)
        click.echo(f"\n{intro}\n")
        answer = None
        for question in self.sample.questions:
            _pause(self.words("demo.next"))
            answer = self.ask("ask", question.text)
        if answer is not None:
            _pause(self.words("demo.forget"))
            receipt = self.memory.forget(seq=answer.line.seq)
            at = receipt.forgotten_at.astimezone(UTC)
            dates = {"said": self.words.date(answer.line.said_at), "date": self.words.date(at)}
            click.echo(_wrap(self.words("demo.forgotten", time=f"{at:%H:%M:%S}", **dates)) + "\n")
            self.ask("again", self.sample.questions[-1].text)

    def ask(self, name: str, question: str) -> Hit | None:
        """Print a question, by the text of this name, and its answer; return the answer."""
        started = perf_counter()
        answer = find_answer(self.memory, question)
        milliseconds = f"{(perf_counter() - started) * 1000:.0f}"
        _echo(self.words(f"demo.{name}", person=self.sample.person, question=question), bold=True)
        if answer is None:
            _echo(f"  {self.words('demo.nothing')}\n")
            return None
        date = self.words.date(answer.line.said_at)
        _echo(f"  {self.words('demo.answer', date=date, milliseconds=milliseconds)}")
        for line in answer.passage:
            found = line.seq == answer.line.seq
            style: dict[str, Any] = {"fg": RUST, "bold": True} if found else {"dim": True}
            _echo(_wrap(f"{'  > ' if found else '    '}{line.speaker}: {line.text}"), **style)
        click.echo()
        return answer


def _echo(text: str, **style: Any) -> None:
    text = escape_control_chars(text)
    click.echo(click.style(text, **style) if _has_color() else text)


def _wrap(text: str) -> str:
    return wrap_to_terminal(text, 4 if text.startswith(" ") else 0)


def _has_color() -> bool:
    return not os.environ.get("NO_COLOR") and sys.stdout.isatty()


def _is_interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))  # None: it is closed


def _pause(prompt: str) -> None:
    """Wait for Enter, if there is a terminal."""
    if _is_interactive():
        click.prompt(prompt, default="", show_default=False, prompt_suffix=" ")

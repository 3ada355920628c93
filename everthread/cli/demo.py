"""`everthread demo`: asks the sample life three questions, forgets an answer, and asks again. It needs no model."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from contextlib import closing
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import click

from everthread import factory
from everthread.cli.sanitize import escape_control_chars
from everthread.demo.bank import BANK, fill_bank, find_answer
from everthread.demo.sample import LANGUAGES, Sample
from everthread.memory import Memory
from everthread.types import Hit

RUST = 173  # of the 256 colours: legible on light and on dark
MAX_COLUMNS = 100


@click.command()
@click.option("--language", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of the demo.")
@click.option("--keep", is_flag=True, help="Keep the bank afterwards, without asking.")
@click.pass_context
def demo(ctx: click.Context, /, language: str, keep: bool) -> None:
    """See what it remembers: a sample life of two years, three questions, and one answer forgotten for good.

    The sample is stored in a bank of its own, named demo, which is deleted at the end. No language model is needed.
    Without a terminal it runs from beginning to end by itself.
    """
    words = Sample.load(language).words
    with closing(factory.open_store(ctx.obj["store"])) as store:
        options: dict[str, Any] = {**ctx.obj, "store": store, "recipe": "default", "options": {}}
        with Memory.open(BANK, **options) as memory:
            click.secho(words["preparing"], dim=_has_color())
            _Show(memory, fill_bank(memory, language)).run()
        if keep or (_is_interactive() and not click.confirm(words["delete"], default=True)):
            click.echo(words["kept"])
        else:
            store.forget(BANK, "bank", None, datetime.now(UTC))
            click.echo(words["deleted"])


class _Show:
    """The demonstration in the terminal."""

    def __init__(self, memory: Memory, sample: Sample) -> None:
        self.memory, self.sample, self.words = memory, sample, sample.words

    def run(self) -> None:
        """Ask the questions, forget the last answer, and ask for it again."""
        lines = [line.said_at for line in self.memory.lines()]
        first, last = (self.sample.format_date(day) for day in (lines[0], lines[-1]))
        click.echo(f"\n{self.words['intro'].format(lines=len(lines), first=first, last=last)}\n")
        answer = None
        for question in self.sample.questions:
            _pause(self.words["next"])
            answer = self.ask("ask", question.text)
        if answer is not None:
            _pause(self.words["forget"])
            receipt = self.memory.forget(seq=answer.line.seq)
            forgotten_at = receipt.forgotten_at.astimezone(UTC)
            facts = {"date": self.sample.format_date(forgotten_at), "time": f"{forgotten_at:%H:%M:%S}"}
            click.echo(_wrap(self.words["forgotten"].format(line=receipt.seqs[0][0], **facts)) + "\n")
            self.ask("again", self.sample.questions[-1].text)

    def ask(self, words: str, question: str) -> Hit | None:
        """Print a question and its answer, and return the answer."""
        started = perf_counter()
        answer = find_answer(self.memory, question)
        milliseconds = (perf_counter() - started) * 1000
        _echo(self.words[words].format(question=question), bold=True)
        if answer is None:
            _echo(f"  {self.words['nothing']}\n")
            return None
        date = self.sample.format_date(answer.line.said_at)
        _echo(f"  {self.words['answer'].format(date=date, ms=f'{milliseconds:.0f}')}")
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
    """Break the rows of a text at the words that would pass the terminal's edge."""
    if not sys.stdout.isatty():
        return text
    width = min(shutil.get_terminal_size().columns, MAX_COLUMNS)
    return textwrap.fill(text, width, subsequent_indent="    " if text.startswith(" ") else "", break_long_words=False)


def _has_color() -> bool:
    return "NO_COLOR" not in os.environ and sys.stdout.isatty()


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _pause(prompt: str) -> None:
    """Wait for Enter, if there is a terminal."""
    if _is_interactive():
        click.prompt(prompt, default="", show_default=False, prompt_suffix=" ")

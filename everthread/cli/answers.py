"""Asks yes-or-no questions in the language of the terminal, and reads the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import dropwhile

import click

from everthread.chat.consent import parse_yes_no
from everthread.cli.excerpts import shorten
from everthread.cli.repl_text import QUIT_WORDS, format_lines, is_command, problem
from everthread.cli.screen import Screen
from everthread.languages.wording import Wording
from everthread.types import Line


def read_answer(answer: str, words: Wording, parse: Callable[[str], bool | None] = parse_yes_no) -> bool | None:
    """Read a yes or a no: a letter of the language, or what `parse` knows; None if it is unclear."""
    letters = {words("terminal.yes_letter"): True, words("terminal.no_letter"): False}
    letter = answer.strip().casefold()
    return letters[letter] if letter in letters else parse(answer)


def confirm(question: str, words: Wording) -> bool:
    """Ask a question until the answer is a yes or a no, and say after any other that one is expected; Enter is a yes.

    Raises:
        click.Abort: there is no answer.
    """
    letters = f"[{words('terminal.yes_letter').upper()}/{words('terminal.no_letter')}]"
    while True:
        typed = click.prompt(f"{question} {letters}", default="", show_default=False)
        answer = read_answer(typed, words) if typed.strip() else True
        if answer is not None:
            return answer
        click.echo(words("terminal.yes_or_no_expected"))


class QuitRequested(Exception):
    """The user quits instead of answering a question. Nothing is changed."""


class YesNoQuestions:
    """Asks the questions of a conversation in the terminal."""

    def __init__(self, screen: Screen, words: Wording) -> None:
        self.screen, self.words = screen, words

    @property
    def yes_and_no(self) -> dict[str, str]:
        """The words for yes and no, by the placeholders for them."""
        return {name: self.words(f"terminal.{name}") for name in ("yes", "no")}

    def parse(self, answer: str, parse: Callable[[str], bool | None] = parse_yes_no) -> bool | None:
        """Read a yes or a no, also as one letter of the language; None if it is unclear."""
        return read_answer(answer, self.words, parse)

    def ask(self, question: str, parse: Callable[[str], bool | None] = parse_yes_no) -> bool:
        """Ask a question until the answer is a yes or a no.

        Raises:
            BadQuery: there is no answer.
            QuitRequested: the user quits instead.
        """
        answer = None
        while answer is None:
            try:
                typed = self.screen.ask(
                    self.words("terminal.yes_or_no", question=question, **self.yes_and_no), "question"
                )
            except (EOFError, KeyboardInterrupt):
                raise problem("no_answer", self.words) from None
            if typed.strip().lower() in QUIT_WORDS:
                raise QuitRequested
            if is_command(typed.strip()):
                raise problem("command_as_answer", self.words)
            answer = self.parse(typed, parse)
        return answer

    def confirm(self, question: str, answer: str) -> bool:
        """Return whether the answer given with a command is a yes; without one, ask."""
        return bool(self.parse(answer)) if answer else self.ask(question)

    def confirm_discarding(self, seq: int, lines: Sequence[Line]) -> bool:
        """Return whether to discard the lines after a line; ask if lines of the user are among them."""
        later = list(dropwhile(lambda line: line.seq != seq, lines))[1:]
        if not any(line.role == "user" for line in later):
            return True
        return self.ask(self.words("terminal.would_discard", number=len(later), seq=seq))

    def parse_forget(self, argument: str) -> tuple[str, str]:
        """Return the scope and the answer in "/forget 12 yes". Raises BadQuery if one of them is missing or invalid."""
        scope, _, answer = argument.partition(" ")
        if answer and self.parse(answer) is None:
            raise problem("forget_answer", self.words, answer=shorten(answer), scope=scope, **self.yes_and_no)
        if not scope:
            raise problem("forget_what", self.words)
        return scope, answer

    def confirm_forgetting(self, lines: Sequence[Line], answer: str) -> bool:
        """Return whether to forget these lines, by the answer given with the command; without one, ask."""
        question = self.words("terminal.forget_line" if len(lines) == 1 else "terminal.forget_lines")
        return self.confirm("\n".join([*format_lines(lines, self.words), question]), answer)

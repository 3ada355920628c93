"""Asks for a yes or a no in the language of the terminal, and reads the answer."""

from __future__ import annotations

from collections.abc import Callable

import click

from everthread.chat.consent import parse_yes_no
from everthread.languages.wording import Wording


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

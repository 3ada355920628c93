"""Questions in the language of the terminal."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from everthread.cli.answers import confirm
from everthread.config import LANGUAGES
from everthread.languages.wording import load_wording


@pytest.mark.parametrize("language", LANGUAGES)
def test_after_any_other_answer_it_says_in_the_language_which_letters_are_expected(language: str) -> None:
    words = load_wording(language)
    yes, no = words("terminal.yes_letter"), words("terminal.no_letter")
    with CliRunner().isolation(input=f"Where does Mia live?\n{no}\n") as (shown, *_):
        assert confirm("?", words) is False
        first, expected, second = shown.getvalue().decode().splitlines()
    assert expected == words("terminal.yes_or_no_expected")
    assert f" {yes} " in f" {expected} "
    assert no in expected.split(yes, 1)[1]
    assert first.startswith(f"? [{yes.upper()}/{no}]")
    assert second.startswith(f"? [{yes.upper()}/{no}]")

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from everthread.cli.main import main
from everthread.cli.sanitize import escape_control_chars

EVIL = "\x1b]0;title\x07 \x9b2J \r\x00\x08\x7f"


def test_control_characters_are_shown_as_pictures_of_themselves() -> None:
    assert escape_control_chars(EVIL) == "␛]0;title␇ \ufffd2J ␍␀␈␡"
    assert escape_control_chars("two\r\nrows\tand 猫 é 😀\n") == "two\nrows\tand 猫 é 😀\n"


@given(st.text())
def test_nothing_is_left_that_could_drive_a_terminal(text: str) -> None:
    shown = escape_control_chars(text)
    assert not any((char < " " and char not in "\t\n") or "\x7f" <= char < "\xa0" for char in shown)
    assert escape_control_chars(shown) == shown


@pytest.mark.parametrize("command", [["lines"], ["recall", "Mia"], ["recall", "Mia", "--why"]])
def test_what_is_remembered_drives_no_terminal_and_is_verbatim_in_json(tmp_path: Path, command: list[str]) -> None:
    def run(*arguments: str, stdin: str = "") -> str:
        given = ["--store", str(tmp_path), "--embedder", "hash", *arguments]
        return CliRunner().invoke(main, given, input=stdin, catch_exceptions=False).stdout

    run("observe", "-", "--speaker", "Al\x1b[1m", stdin=f"Mia {EVIL.replace(chr(0), '')}!")
    shown = run(*command)
    assert "Al␛[1m: Mia ␛]0;title␇ \ufffd2J" in shown
    assert escape_control_chars(shown) == shown
    output = json.loads(run("lines", "--json"))[0]
    assert output["text"] == f"Mia {EVIL.replace(chr(0), '')}!"

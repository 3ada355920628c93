from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from everthread.cli.excerpts import MAX_SHOWN_CHARS, shorten_to_match
from everthread.cli.main import main

LONG = (
    f"It began well. {'We talked on and on about this and that. ' * 3000}The harbour froze over. {'And so on. ' * 3000}"
)
NOTE = f"({len(LONG.strip()):,} characters; --json shows all of them)"


def test_a_text_of_a_screen_is_shown_whole() -> None:
    assert shorten_to_match("a" * MAX_SHOWN_CHARS, "harbour") == "a" * MAX_SHOWN_CHARS


@pytest.mark.parametrize(
    ("query", "words"),
    [("the harbour", "The harbour froze over."), ("HARB", "The harbour froze over."), ("", "It began well.")],
)
def test_of_a_long_text_the_part_is_shown_that_was_searched_for(query: str, words: str) -> None:
    excerpt, note = shorten_to_match(LONG.strip(), query).splitlines()
    assert words in excerpt
    assert len(excerpt) < MAX_SHOWN_CHARS + 10
    assert note == NOTE


def test_a_long_text_without_words_is_cut() -> None:
    assert len(shorten_to_match("\0" * 100_000)) < MAX_SHOWN_CHARS + 100


def test_commands_that_find_or_store_a_long_line_shorten_it_and_those_that_list_it_do_not(tmp_path: Path) -> None:
    def run(*arguments: str, text: str | None = None) -> str:
        done = CliRunner().invoke(main, ["--embedder", "hash", "--store", str(tmp_path), *arguments], input=text)
        assert done.exit_code == 0, done.output
        return done.stdout

    assert NOTE in run("observe", "-", text=LONG.strip())
    run("observe", "It thawed.")
    for command, shown_lines in (("recall", 2), ("search", 1)):  # once as the neighbour of another hit
        shown = run(command, "harbour")
        assert shown.count(NOTE) == shown.count("The harbour froze over.") == shown_lines
        assert len(shown) < 5000
        assert LONG.strip() in run(command, "harbour", "--json")
    assert LONG.strip() in run("lines")

"""Tests of the docstrings of commands that are not imported."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from everthread.cli.common import LAZY_COMMANDS
from everthread.cli.docstrings import read_docstring
from everthread.cli.main import main

MODULE = '''
"""A module that can't be imported."""

import no_such_package


@no_such_package.command()
def run() -> None:
    """Run it.

    As often as needed.
    """


def bare() -> None: ...
'''


def test_a_docstring_is_read_without_importing_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert read_docstring("needy", "run") == "Run it.\n\nAs often as needed."
    assert read_docstring("needy", "bare") is None
    assert read_docstring("needy", "missing") is None
    assert read_docstring("no_such_module", "run") is None


@pytest.mark.parametrize("name", LAZY_COMMANDS)
def test_the_list_of_commands_has_the_help_of_each(name: str) -> None:
    ctx = click.Context(main)
    command = main.get_command(ctx, name)
    assert command is not None
    beginning = command.get_short_help_str(40).removesuffix("...")
    assert f"{name} {beginning}" in " ".join(main.get_help(ctx).split())

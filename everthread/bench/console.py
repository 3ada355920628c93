"""Prints what benchmarks measure, and their progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


def show(figures: object, text: str, as_json: bool, ensure_ascii: bool = True) -> None:
    """Print figures as JSON, or the text in their place."""
    click.echo(json.dumps(figures, indent=2, ensure_ascii=ensure_ascii) if as_json else text)


def show_step(text: str) -> None:
    """Print a message of progress on standard error."""
    click.echo(text, err=True)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error; yield the function that sets how many of how many steps are done."""
    with click.progressbar(length=1, label=label, file=sys.stderr, show_pos=False) as bar:

        def show_progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield show_progress

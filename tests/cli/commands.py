"""Runs commands of `everthread` in this process, for tests."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from everthread.cli.main import main


def run(store: Path, *arguments: object) -> Result:
    """Run a command with a store and the embedder `hash`."""
    return CliRunner().invoke(main, ["--store", str(store), "--embedder", "hash", *map(str, arguments)])

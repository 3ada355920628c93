"""Runs `everthread bench` in tests."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from everthread.cli.main import main


def run_bench(*arguments: str | Path) -> Result:
    """Run a benchmark with the hash embedder. Unexpected errors are raised."""
    result = CliRunner().invoke(main, ["--embedder", "hash", "bench", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result

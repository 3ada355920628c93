"""The Makefile: what it says while it installs, and what it starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("target", "size", "command"),
    [("demo", "260 MB", "everthread demo"), ("chat", "260 MB", "everthread chat"), ("serve", "270 MB", "serve --open")],
)
def test_it_says_how_long_it_installs_without_the_rows_of_pip_and_starts(target: str, size: str, command: str) -> None:
    make = ["make", "--dry-run", "--always-make", "-C", str(ROOT), target]
    steps = subprocess.run(make, capture_output=True, text=True, check=True).stdout
    assert f"Installing Everthread into .venv: about a minute, {size} …" in steps
    installs = [row for row in steps.splitlines() if "pip install" in row]
    assert installs
    assert all("--quiet" in row for row in installs)
    assert any(row.endswith(command) for row in steps.splitlines())

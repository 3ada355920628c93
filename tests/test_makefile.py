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
def test_it_says_how_long_it_installs_shows_progress_and_starts(target: str, size: str, command: str) -> None:
    make = ["make", "--dry-run", "--always-make", "-C", str(ROOT), target]
    steps = subprocess.run(make, capture_output=True, text=True, check=True).stdout
    assert f"Installing Everthread into .venv: about a minute, {size} …" in steps
    assert "--progress-bar on" in steps
    assert "--quiet" not in steps
    assert any(row.endswith(command) for row in steps.splitlines())

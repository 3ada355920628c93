"""A stand-in for Telegram, and a bot that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hardship.telegram import Telegram, telegram

from server.telegram.bots import RunningBot, run_bot


@pytest.fixture(autouse=True)
def _own_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture
def server() -> Iterator[Telegram]:
    with telegram() as server:
        yield server


@pytest.fixture
def nemo(server: Telegram, tmp_path: Path) -> Iterator[RunningBot]:
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        nemo.invite()
        yield nemo

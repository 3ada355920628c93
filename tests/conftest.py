"""Banks for tests: in a temporary folder, embedded by spelling alone; the user's own banks are out of reach."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hardship import postgres

from everthread import Memory
from everthread.models.fakes import HashEmbedder


@pytest.fixture(autouse=True)
def _nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in [name for name in os.environ if name.startswith("EVERTHREAD_")]:
        monkeypatch.delenv(name)
    home = str(tmp_path_factory.getbasetemp() / "home")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, home)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512)) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running Postgres server with pgvector."""
    with postgres.running() as url:
        yield url


@pytest.fixture(scope="module")
def database(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database."""
    with postgres.database(postgres_server) as url:
        yield url

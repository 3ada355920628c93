"""Banks for tests: in a temporary folder, embedded by spelling alone; the user's own banks are out of reach."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hardship import llm, postgres
from hypothesis import HealthCheck, settings

from everthread import Memory
from everthread.testing import HashEmbedder

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")  # how fast the machine is decides no test


@pytest.fixture(scope="session")
def no_ollama() -> Iterator[str]:
    """An address at which nobody answers, and nobody will."""
    with llm.closed_port() as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def _nothing_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, no_ollama: str
) -> None:
    for name in [name for name in os.environ if name.startswith("EVERTHREAD_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", no_ollama)  # no model of the user's is asked, either
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

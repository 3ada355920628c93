"""Ollama downloads a model."""

import asyncio

import pytest
from hardship import PATIENCE, llm

from everthread.server.models import ollama


def test_ollama_stops_a_download_that_is_no_longer_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pull_and_stop() -> dict[str, object]:
        progress = ollama.pull("m")
        first = await anext(progress)
        await progress.aclose()  # type: ignore[attr-defined]
        return first

    with llm.llm_server() as server:
        server.download = [{"status": "pulling a", "digest": "a", "total": 10, "completed": 3}, None]
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert asyncio.run(pull_and_stop()) == {"status": "pulling a", "completed": 3, "total": 10}
        assert server.hung_up.wait(PATIENCE)

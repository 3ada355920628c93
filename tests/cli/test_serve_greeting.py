"""The greeting of `everthread serve`."""

from contextlib import closing
from pathlib import Path

import pytest

from everthread.cli.serve import _describe_upstream
from everthread.factory import open_recipe, open_store
from everthread.llms import discovery
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.testing import HashEmbedder


def test_the_proxy_names_its_upstream_only_if_that_is_configured_or_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with closing(open_store(tmp_path)) as store:
        services = Services(store, HashEmbedder(), None, open_recipe("membot"))
        monkeypatch.setattr(discovery, "OLLAMA_PORT", 1)  # nothing answers there
        needed = "once a model is connected, or EVERTHREAD_PROXY_URL names its server"
        assert _describe_upstream(Settings(), services) == needed
        configured = Settings(proxy_url="http://127.0.0.1:9/v1")
        assert _describe_upstream(configured, services) == "passed on to http://127.0.0.1:9/v1"
        hint = "passed on to http://127.0.0.1:9 (if it answers 404, its address lacks a path, usually /v1)"
        assert _describe_upstream(Settings(proxy_url="http://127.0.0.1:9"), services) == hint
        monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:8")
        assert _describe_upstream(Settings(), services) == "passed on to http://127.0.0.1:8/v1"

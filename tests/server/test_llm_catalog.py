"""The models that a request can choose."""

from __future__ import annotations

import pytest
from hardship import llm

from everthread.errors import ConfigError
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.server.llm_catalog import LLMCatalog
from everthread.testing import ScriptedLLM


def test_only_models_of_the_configured_server_are_opened_each_once() -> None:
    with llm.llm_server(models=("m", "large")) as server:
        models = LLMCatalog(OpenAICompatible(server.url, "m", "secret"))
        assert models.list_names() == ["m", "large"]
        large = models.get("large")
        assert large is models.get("large")
        assert large is not None
        assert large.complete([]) == "Hello there."
        assert server.asked[-1].headers["authorization"] == "Bearer secret"
        assert models.get(None) is models.get("m") is models.llm
        with pytest.raises(ConfigError, match=r"unknown model .http:.*; the configured server has m, large"):
            models.get("http://elsewhere/v1#m")


def test_without_a_configured_model_no_model_can_be_chosen() -> None:
    assert LLMCatalog(None).list_names() == []
    with pytest.raises(ConfigError, match="leave the model out"):
        LLMCatalog(None).get("m")
    with pytest.raises(ConfigError, match="unknown model 'm'; the configured server has scripted"):
        LLMCatalog(ScriptedLLM([])).get("m")

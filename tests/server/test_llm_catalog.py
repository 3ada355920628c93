"""Which models may be asked."""

from __future__ import annotations

import pytest
from hardship import llm

from everthread.errors import ConfigError
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.server.llm_catalog import Models
from everthread.testing import ScriptedLLM


def test_only_models_of_the_configured_server_are_asked_each_opened_once() -> None:
    with llm.llm_server(models=("m", "large")) as server:
        models = Models(OpenAICompatible(server.url, "m", "secret"))
        assert models.names() == ["m", "large"]
        large = models.named("large")
        assert large is models.named("large")
        assert large is not None
        assert large.complete([]) == "Hello there."
        assert server.asked[-1].headers["authorization"] == "Bearer secret"
        assert models.named(None) is models.named("m") is models.llm
        with pytest.raises(ConfigError, match="no language model 'http://elsewhere/v1#m'"):
            models.named("http://elsewhere/v1#m")


def test_without_a_server_there_is_nothing_to_choose() -> None:
    assert Models(None).names() == []
    with pytest.raises(ConfigError, match="leave the model out"):
        Models(None).named("m")
    with pytest.raises(ConfigError, match="it has scripted"):
        Models(ScriptedLLM([])).named("m")

import sys
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hardship.llm import llm_server

from everthread.errors import ConfigError, ModelError
from everthread.llms.names import open_llm
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.scribes.names import make_scribe, open_scribe
from everthread.testing import ScriptedLLM
from everthread.types import Line


def test_the_scribe_uses_the_replying_model_by_default() -> None:
    model = ScriptedLLM([])
    assert open_scribe(model).name == LLMScribe(model).name
    assert isinstance(open_scribe(None), ExtractiveScribe)
    scribe = ExtractiveScribe()
    assert open_scribe(model, scribe) is scribe


def test_a_configured_or_named_model_writes_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=("large", "small")) as server:
        monkeypatch.setenv("EVERTHREAD_LLM_URL", server.url)
        monkeypatch.setenv("EVERTHREAD_SCRIBE_MODEL", "small")
        assert "small" in open_scribe(open_llm("large")).name
        assert "large" in open_scribe(None, "large").name
        assert isinstance(open_scribe(open_llm("large"), "none"), ExtractiveScribe)
    monkeypatch.setenv("EVERTHREAD_SCRIBE_MODEL", "none")
    assert isinstance(open_scribe(ScriptedLLM([])), ExtractiveScribe)


def test_a_key_is_never_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=("large",)) as ours, llm_server(models=("small",)) as theirs:
        monkeypatch.setenv("EVERTHREAD_LLM_URL", ours.url)
        monkeypatch.setenv("EVERTHREAD_LLM_KEY", "ours")
        open_scribe(None, theirs.url)
        assert [request.headers.get("authorization") for request in theirs.requests] == [None]
        monkeypatch.setenv("EVERTHREAD_SCRIBE_KEY", "theirs")
        open_scribe(None, theirs.url)
        assert theirs.requests[-1].headers["authorization"] == "Bearer theirs"
        with suppress(ModelError):  # its answer is not a summary
            open_scribe(None, "large").summarize([Line(1, "s", "user", "Ann", "I sail.", datetime.now(UTC))], "Ann")
        assert ours.requests[-1].headers["authorization"] == "Bearer ours"


def test_missing_packages_are_an_error_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json_repair", None)
    with pytest.raises(ConfigError, match="language models need an extra: "):
        make_scribe(ScriptedLLM([]))

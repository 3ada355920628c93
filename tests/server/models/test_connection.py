"""Which setting names the model of a server."""

from pathlib import Path

import pytest

from everthread.server.models.connection import find_setting


def test_the_setting_that_names_the_model_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_setting(None) == ""
    assert find_setting("m") == find_setting("none") == "--model"
    file = tmp_path / "other.toml"
    file.write_text('llm_url = "http://127.0.0.1:1/v1"')
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(file))
    assert find_setting(None) == "llm_url in other.toml"
    monkeypatch.setenv("EVERTHREAD_LLM_MODEL", "m")
    assert find_setting(None) == "EVERTHREAD_LLM_MODEL"

"""The model of a server at its start: named by a setting, stored, or found."""

from pathlib import Path

import pytest

from everthread.server.models.connection import find_setting
from everthread.server.runner import AppFactory
from everthread.server.services import Services
from everthread.server.settings import Settings


def test_the_setting_that_names_the_model_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_setting(None) == ""
    assert find_setting("m") == find_setting("none") == "--model"
    file = tmp_path / "other.toml"
    file.write_text('llm_url = "http://127.0.0.1:1/v1"')
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(file))
    assert find_setting(None) == "llm_url in other.toml"
    monkeypatch.setenv("EVERTHREAD_LLM_MODEL", "m")
    assert find_setting(None) == "EVERTHREAD_LLM_MODEL"


def test_a_model_of_the_command_line_is_fixed_and_a_stored_one_is_opened_at_the_next_start(tmp_path: Path) -> None:
    def start(model: str | None) -> Services:
        services = AppFactory(str(tmp_path), "hash", None, model, Settings()).build_services()
        services.store.close()
        return services

    start(None).connection.connect("http://127.0.0.1:1/v1", "m", "secret")
    fixed, free = start("none"), start(None)
    assert (fixed.llm, fixed.connection.set_by) == (None, "--model")
    assert (free.llms.list_names()[0], free.connection.set_by) == ("m", "")
    assert (free.get_scribe().name, fixed.get_scribe().name) == ("llm:m", "extractive")
    assert free.writes_titles

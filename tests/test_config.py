import re
from pathlib import Path

import pytest

from everthread.config import Config, find_source, load, parse_prices
from everthread.errors import ConfigError


def write_config(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_settings_the_defaults_apply() -> None:
    assert load(environ={}) == Config()
    assert Config().embedder == "minilm"


def test_the_file_in_the_users_folder_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "everthread").mkdir()
    write_config(tmp_path / "everthread", "threads = 3")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load(environ={}).threads == 3


def test_a_file_overrides_only_the_settings_that_it_contains(tmp_path: Path) -> None:
    config = load(write_config(tmp_path, 'store = "/srv/banks"\nthreads = 2'), {})
    assert (config.store, config.threads, config.recipe) == ("/srv/banks", 2, "default")


@pytest.mark.parametrize("table", ["recipe", "recipes"])
def test_options_of_a_recipe_are_a_table_of_its_name(tmp_path: Path, table: str) -> None:
    config = load(write_config(tmp_path, f"threads = 2\n[{table}.packabby]\nthreshold = 0.3"), {})
    assert (config.recipe, config.threads, config.recipes) == ("default", 2, {"packabby": {"threshold": 0.3}})


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    path = write_config(tmp_path, 'embedder = "hash"')
    assert load(environ={"EVERTHREAD_CONFIG": str(path)}).embedder == "hash"


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    path = write_config(tmp_path, 'store = "/from/file"\nthreads = 2')
    config = load(path, {"EVERTHREAD_STORE": "/from/environment", "EVERTHREAD_THREADS": "5"})
    assert (config.store, config.threads) == ("/from/environment", 5)


def test_an_empty_variable_counts_as_unset() -> None:
    assert load(environ={"EVERTHREAD_STORE": "", "EVERTHREAD_CONFIG": "", "EVERTHREAD_THREADS": ""}) == Config()


def test_a_misspelt_setting_is_rejected_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown setting 'embeder'; did you mean embedder\?$"):
        load(write_config(tmp_path, 'embeder = "hash"'))


def test_an_unknown_setting_is_rejected_by_name(tmp_path: Path) -> None:
    path = write_config(tmp_path, 'colour = "red"')
    with pytest.raises(ConfigError, match=r"config\.toml: unknown setting 'colour'; expected one of store, embedder"):
        load(path, {})


def test_an_unknown_variable_is_ignored_with_one_warning_that_names_the_nearest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kubernetes = {"EVERTHREAD_SERVICE_HOST": "10.0.0.7", "EVERTHREAD_PORT_7391_TCP": "tcp://10.0.0.7:7391"}
    environ = {"EVERTHREAD_EMBEDER": "hash", "EVERTHREAD_THREADS": "3", **kubernetes}
    assert load(environ=environ) == load(environ=environ) == Config(threads=3)
    (warning,) = caplog.messages
    assert "EVERTHREAD_EMBEDER (did you mean EVERTHREAD_EMBEDDER?)" in warning
    assert "EVERTHREAD_PORT_7391_TCP, EVERTHREAD_SERVICE_HOST" in warning


def test_empty_unknown_variables_and_those_of_other_programs_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert load(environ={"EVERTHREAD_EMBEDDR": "", "EVERTHREADED": "1"}) == Config()
    assert not caplog.messages


def test_variables_of_the_tests_are_ignored() -> None:
    assert load(environ={"EVERTHREAD_TEST_POSTGRES": "postgresql://localhost/test"}) == Config()


RANGE = "it must be a whole number from 1, or 0 for as many as there are"


@pytest.mark.parametrize("value", ["'many'", "[1]", "1.5", "True", "-4"])
def test_an_invalid_or_too_small_number_is_rejected(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"config\.toml sets threads to {re.escape(value)}; {RANGE}"):
        load(write_config(tmp_path, f"threads = {value.lower()}"), {})


@pytest.mark.parametrize("text", ["store = 5", 'store = ["a", "b"]', "[store]\npath = 1"])
def test_a_value_that_is_not_text_is_rejected_for_a_text_setting(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"sets store to .*; it must be a text in quotes"):
        load(write_config(tmp_path, text), {})


@pytest.mark.parametrize("value", ["many", "-4", "1.5", "0x2", " "])
def test_an_invalid_number_in_the_environment_is_rejected_with_its_variable(value: str) -> None:
    with pytest.raises(ConfigError, match=f"^EVERTHREAD_THREADS is '{value}'; {RANGE}"):
        load(environ={"EVERTHREAD_THREADS": value})


def test_zero_threads_in_the_environment_override_the_file(tmp_path: Path) -> None:
    assert load(write_config(tmp_path, "threads = 2"), {"EVERTHREAD_THREADS": "0"}).threads == 0


def test_a_configuration_file_that_is_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"no configuration file .*nowhere\.toml; create it, or unset EVERTHREAD_CONFIG"
    ):
        load(environ={"EVERTHREAD_CONFIG": str(tmp_path / "nowhere.toml")})


@pytest.mark.parametrize("data", [b"store = ", b"\xff\xfe", b"threads = 1\nthreads = 2"])
def test_a_file_that_is_not_toml_is_rejected(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=r"config\.toml can't be read as TOML"):
        load(path, {})


def test_a_table_of_options_that_clashes_with_the_recipe_names_the_right_table(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('recipe = "membot"\n[recipe.packabby]\nthreshold = 0.3\n', encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"can't be read as TOML: .*; write \[recipes\.packabby\] instead of \[recipe"
    ):
        load(path, {})
    path.write_text("[recipe.packabby]\nthreshold = 0.3\n", encoding="utf-8")
    assert load(path, {}).recipes == {"packabby": {"threshold": 0.3}}


def test_a_path_below_a_file_is_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_config(tmp_path, "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config.toml"))
    with pytest.raises(ConfigError, match=r"can't be read: Not a directory; make it a readable file"):
        load(environ={})


def test_a_folder_in_place_of_the_configuration_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read: Is a directory; make it a readable file"):
        load(tmp_path, {})


@pytest.mark.parametrize("name", ["EVERTHREAD_EMBEDDER_KEY", "EVERTHREAD_LLM_KEY"])
def test_keys_are_never_printed(name: str) -> None:
    assert "sk-secret" not in repr(load(environ={name: "sk-secret"}))


@pytest.mark.parametrize(
    ("name", "value", "must"),
    [
        ("context", "2047", "a whole number of tokens, from 2048"),
        ("context", "8k", "a whole number of tokens, from 2048"),
        ("timeout", "0", "a whole number of seconds, from 1"),
        ("prices", "0.15", "two prices, of a million tokens read and written: 0.15/0.60"),
        ("prices", "-1/2", "two prices"),
        ("prices", "nan/inf", "two prices"),
    ],
)
def test_an_invalid_setting_of_the_language_model_is_rejected(name: str, value: str, must: str) -> None:
    with pytest.raises(ConfigError, match=f"^EVERTHREAD_LLM_{name.upper()} is '{value}'; it must be {must}"):
        load(environ={f"EVERTHREAD_LLM_{name.upper()}": value})


def test_settings_of_the_language_model_are_read(tmp_path: Path) -> None:
    file = write_config(tmp_path, 'llm_model = "llama3.2"\nllm_context = 4096\nllm_prices = "0.15/0.60"')
    config = load(file, {"EVERTHREAD_LLM_TIMEOUT": "90"})
    assert (config.llm_model, config.llm_context, config.llm_timeout) == ("llama3.2", 4096, 90)
    assert parse_prices(config.llm_prices) == (0.15, 0.60)
    assert parse_prices("") is None


def test_settings_of_version_0_1_0_are_read_by_their_old_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = write_config(tmp_path, "server_body = 5000\nserver_rate = 7\nserver_streams = 3")
    config = load(file, {"EVERTHREAD_SERVER_RATE": "10"})
    found = config.server_max_body_bytes, config.server_requests_per_minute, config.server_max_replies
    assert found == (5000, 10, 3)
    assert not caplog.records


def test_the_place_of_a_setting_is_its_variable_or_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = write_config(tmp_path, "server_body = 5000\nthreads = 2")
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(file))
    monkeypatch.setenv("EVERTHREAD_THREADS", "3")
    monkeypatch.setenv("EVERTHREAD_SERVER_RATE", "7")
    assert find_source("threads") == "EVERTHREAD_THREADS"
    assert find_source("server_max_body_bytes") == f"server_body in {file}"
    assert find_source("server_requests_per_minute") == "EVERTHREAD_SERVER_RATE"
    assert find_source("recipe") == ""

"""The settings of a server, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from everthread.errors import ConfigError
from everthread.server.configuration import build_settings, find_faults
from everthread.server.settings import Settings

TOKEN = "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"


def set_all(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"EVERTHREAD_{name.upper()}", value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"server_hosts": "a/b"}, "got 'a/b', expected names"),
        ({"server_proxies": "proxy.local"}, "got 'proxy.local', expected addresses or networks"),
        ({"account_header": "Remote User"}, "got 'Remote User', expected the name of a header"),
        ({"openid_issuer": "login.example.org"}, "got 'login.example.org', expected a URL"),
        ({"openid_issuer": "https://login.example.org"}, "needs openid_client"),
        ({"openid_accounts": "all"}, "got 'all', expected create or linked"),
        ({"llm_url": "elephant"}, "got 'elephant', expected a URL"),
        ({"proxy_url": "http://["}, "got 'http://[', expected a URL"),
        ({"proxy_bank": " "}, "a bank id must be text that is not blank"),
        ({"proxy_role": "robot"}, "got 'robot', expected one of system"),
        ({"proxy_history": "all"}, "got 'all', expected store or skip"),
        ({"proxy_origins": "chat.example.org"}, "got 'chat.example.org', expected origins"),
        ({"sms_token": "secret"}, "invalid sms_url: got ''"),
        ({"telegram_token": "secret"}, "expected digits, a colon"),
        ({"telegram_url": "telegram.org", "telegram_token": TOKEN}, "got 'telegram.org', expected a URL"),
    ],
)
def test_a_setting_that_a_server_refuses_is_one_fault_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], said: str
) -> None:
    set_all(monkeypatch, **settings)
    (fault,) = find_faults()
    assert str(fault).startswith(f"EVERTHREAD_{next(iter(settings)).upper()}")
    assert said in str(fault)
    assert "secret" not in str(fault)
    with pytest.raises(ConfigError, match="EVERTHREAD_"):
        build_settings("127.0.0.1", False)


def test_a_setting_of_the_file_is_named_with_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('proxy_role = "robot"', encoding="utf-8")
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(file))
    (fault,) = find_faults()
    assert str(fault).startswith(f"proxy_role in {file}: invalid proxy_role: got 'robot'")


def test_two_ways_of_signing_in_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, openid_issuer="https://login.example.org", openid_client="a", account_header="Remote-User")
    (fault,) = find_faults()
    assert str(fault).startswith("EVERTHREAD_OPENID_ISSUER, EVERTHREAD_OPENID_CLIENT, EVERTHREAD_ACCOUNT_HEADER: ")


def test_the_defaults_are_valid_and_those_of_an_app() -> None:
    assert not list(find_faults())
    assert build_settings("127.0.0.1", False) == Settings()


def test_every_setting_of_the_server_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(
        monkeypatch,
        sms_token="secret",
        sms_url="https://bot.example.com/sms",
        telegram_token=f" {TOKEN} ",
        server_hosts="Memory.example.org",
        proxy_patience="200",
        proxy_history="skip",
    )
    settings = build_settings("127.0.0.1", True)
    assert settings.allowed_hosts == ("memory.example.org", "bot.example.com")
    assert (settings.telegram_token, settings.proxy_patience_s, settings.proxy_stores_history) == (TOKEN, 0.2, False)
    assert settings.key_required

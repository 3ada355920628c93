"""`everthread telegram`: its errors, and invitations. `tests/server/telegram` runs the bot itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hardship.telegram import TOKEN, Telegram, telegram

from everthread.cli.main import main
from everthread.server.telegram.chat_store import ChatStore


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telegram]:
    """Serve a Bot API, and configure its bot."""
    with telegram() as server:
        monkeypatch.setenv("EVERTHREAD_TELEGRAM_URL", server.url)
        monkeypatch.setenv("EVERTHREAD_TELEGRAM_TOKEN", TOKEN)
        yield server


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        pytest.param("", "there is no Telegram bot yet; create one with @BotFather", id="none"),
        pytest.param("nonsense", "invalid telegram_token: expected digits, a colon", id="malformed"),
        pytest.param(f"1:{'x' * 35}", "Telegram knows no bot with this telegram_token", id="unknown"),
    ],
)
def test_a_wrong_token_is_an_error_that_says_where_to_get_it(
    server: Telegram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, problem: str
) -> None:
    monkeypatch.setenv("EVERTHREAD_TELEGRAM_TOKEN", token)
    arguments = ["--store", str(tmp_path), "--embedder", "hash", "telegram", "--model", "none"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not token or token not in result.stderr


def test_an_invitation_is_a_link_whose_code_is_valid_once(server: Telegram, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--store", str(tmp_path), "telegram", "invite"])
    address, code = result.stdout.strip().split("?start=")
    assert address == "https://t.me/ever_bot"
    assert f"In a group, send there: /start@ever_bot {code}" in result.stderr
    chats = ChatStore(tmp_path / "server.sqlite")
    assert [chats.claim(7, code), chats.claim(8, code)] == [True, False]
    assert [chats.is_claimed(7), chats.is_claimed(8)] == [True, False]
    chats.close()


def test_without_a_connection_an_invitation_is_a_command_for_the_bot(server: Telegram, tmp_path: Path) -> None:
    server.faults = {"getMe": ["cut"]}
    result = CliRunner().invoke(main, ["--store", str(tmp_path), "telegram", "invite"])
    assert result.stdout.startswith("/start ")

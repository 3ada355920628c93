"""`everthread serve` with a token, from an invitation to the reply of the bot."""

from __future__ import annotations

from pathlib import Path

import pytest
from hardship import llm
from hardship.served import start_command
from hardship.telegram import TOKEN, telegram

from everthread.languages.wording import load_wording
from everthread.server.telegram.chat_store import ChatStore


def test_the_server_runs_the_bot_in_one_of_two_workers_and_stops_on_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with telegram() as server, llm.llm_server("Lisbon suits her.") as model:
        monkeypatch.setenv("EVERTHREAD_TELEGRAM_URL", server.url)
        monkeypatch.setenv("EVERTHREAD_TELEGRAM_TOKEN", TOKEN)
        command = ("-m", "everthread", "--embedder", "hash", "--store", str(tmp_path), "serve", "--port", "0")
        with start_command(*command, "--workers", "2", "--model", f"{model.url}#m") as running:
            chats = ChatStore(tmp_path / "server.sqlite")
            server.write(f"/start {chats.invite()}")
            chats.close()
            server.wait_for(load_wording()("telegram.welcome", name="Ever").splitlines()[0])
            server.write("Mia moved to Lisbon.")
            server.wait_for_reply("Lisbon suits her.")
            assert running.stop() == 0
        assert len(server.sent("getMe")) == 1, "only one worker runs the bot"
        assert not list(tmp_path.glob("*-wal")), "the files were closed"

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from everthread.memory import Memory
from everthread.transfer.importing import check_file, import_lines
from everthread.types import NewLine
from transfer.services.messenger_exports import JSON, discord_export, discord_message, read_files, text, to_json


def read_messages(folder: Path, *messages: JSON, **channel: str) -> tuple[list[NewLine], dict[str, int]]:
    return read_files(folder, {"Bob.json": to_json(discord_export(messages, **channel))})


def test_entries_that_are_not_said_are_counted(tmp_path: Path) -> None:
    notices = [discord_message(number, type=type) for number, type in enumerate(("GuildMemberJoin", "Call"), 2)]
    pinned = discord_message(4, type="ChannelPinnedMessage", content="Pinned a message.")
    picture = discord_message(5, content="", attachments=[{"fileName": "fern.jpg"}])
    lines, skipped = read_messages(tmp_path, discord_message(1), *notices, pinned, picture)
    assert [line.text for line in lines] == [text(1)]
    assert skipped == {"notices": 3, "messages without words": 1}


def test_speakers_have_their_nicknames_or_else_their_names_and_bots_are_assistants(tmp_path: Path) -> None:
    bot = discord_message(2, author={"id": "9", "name": "Luna", "nickname": None, "isBot": True}, type="20")
    lines, _ = read_messages(tmp_path, discord_message(1), bot, discord_message(3, type="Reply"))
    assert [(line.speaker, line.role) for line in lines] == [("Ann", "user"), ("Luna", "assistant"), ("Ann", "user")]
    assert [line.metadata["author_id"] for line in lines] == ["1", "9", "1"]


def test_times_keep_the_offset_of_the_export(tmp_path: Path) -> None:
    (line,), _ = read_messages(tmp_path, discord_message(1, timestamp="2024-05-01T14:00:00.1234567+02:00"))
    assert line.said_at == datetime.fromisoformat("2024-05-01T14:00:00.123456+02:00")
    assert str(line.said_at).endswith("+02:00")


def test_files_answers_and_edits_are_noted(tmp_path: Path) -> None:
    answer = discord_message(
        2,
        type="Reply",
        reference={"messageId": "1001"},
        attachments=[{"fileName": "fern.jpg"}, {"fileName": "pot.jpg"}],
        timestampEdited="2024-05-01T13:00:00+00:00",
    )
    (line,), _ = read_messages(tmp_path, answer)
    assert line.metadata == {
        "author_id": "0",
        "attachments": ["fern.jpg", "pot.jpg"],
        "edited_at": "2024-05-01T13:00:00+00:00",
        "reply_to": "1001",
    }


def test_a_forwarded_message_has_the_words_that_were_forwarded(tmp_path: Path) -> None:
    forwarded = {"content": "The shop closes at six.", "attachments": [{"fileName": "door.jpg"}]}
    reference = {"messageId": "77", "type": "Forward"}
    (line,), _ = read_messages(
        tmp_path, discord_message(2, content="", forwardedMessage=forwarded, reference=reference)
    )
    assert line.text == "The shop closes at six."
    assert line.metadata == {"author_id": "0", "attachments": ["door.jpg"], "forwarded": True}


def test_the_parts_of_a_channel_are_one_conversation_and_two_channels_are_two(tmp_path: Path) -> None:
    first = discord_export([discord_message(1), discord_message(2)], name="garden", category="Home")
    second = discord_export([discord_message(2), discord_message(3)], name="garden", category="Home")
    other = discord_export([discord_message(1)], id="8", name="boat")
    files = {"garden [part 2].json": second, "garden.json": first, "boat.json": other}
    lines, _ = read_files(tmp_path, {name: to_json(export) for name, export in files.items()})
    assert [(line.session, line.text) for line in lines if line.session == "discord:7"] == [
        ("discord:7", text(number)) for number in (1, 2, 3)
    ]
    assert [line.session for line in lines if line.session != "discord:7"] == ["discord:8"]


def test_half_an_emoji_in_any_name_loses_nothing(tmp_path: Path, memory: Memory) -> None:
    half = "Bob \ud83d"  # as services cut names
    author = {"id": half, "name": half, "isBot": False}
    export = discord_export([discord_message(1, id=half, author=author)], id=half, name=half)
    path = tmp_path / "Bob.json"
    path.write_text(json.dumps({**export, "guild": {"name": half}}))
    assert [import_lines(memory, check_file(path))["added"] for _ in range(2)] == [1, 0]
    (session,) = memory.sessions()
    assert (session.title, session.metadata["guild"]) == ("Bob \ufffd", "Bob \ufffd")

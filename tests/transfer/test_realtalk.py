from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.transfer.realtalk import read

CHAT: dict[str, Any] = {
    "name": {"speaker_1": "Ida", "speaker_2": "Tom"},
    "session_1": [
        {"clean_text": "Hi Tom", "speaker": "Ida", "date_time": "29.12.2023, 10:04:11", "dia_id": "D1:1"},
        {"clean_text": "", "speaker": "Tom", "date_time": "29.12.2023, 10:05:00", "dia_id": "D1:2", "img_url": "u",
         "blip_caption": "a cat"},
        {"clean_text": "", "speaker": "Tom", "date_time": "29.12.2023, 10:05:09", "dia_id": "D1:3"},
    ],
    "session_1_date_time": "29.12.2023, 10:04:11",
    "session_2": [{"text": "Later", "speaker": "Tom"}],
    "session_2_date_time": "1:56 pm on 8 May, 2024",
    "qa": [],
}  # fmt: skip


def write_chat(folder: Path, value: object = CHAT, name: str = "Chat_1_Ida_Tom") -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_messages_have_their_own_times_and_ids(tmp_path: Path) -> None:
    lines = list(read(write_chat(tmp_path)))
    assert [(line.text, line.speaker, line.session, line.key) for line in lines] == [
        ("Hi Tom", "Ida", "session_1", "realtalk:Chat_1_Ida_Tom:D1:1"),
        ("[image: a cat]", "Tom", "session_1", "realtalk:Chat_1_Ida_Tom:D1:2"),
        ("Later", "Tom", "session_2", "realtalk:Chat_1_Ida_Tom:D2:1"),
    ]
    assert lines[0].said_at == datetime(2023, 12, 29, 10, 4, 11, tzinfo=UTC)
    assert lines[2].said_at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)


def test_the_chats_of_a_folder_have_separate_sessions(tmp_path: Path) -> None:
    write_chat(tmp_path)
    write_chat(tmp_path, name="Chat_2")
    assert {line.session for line in read(tmp_path)} == {
        "Chat_1_Ida_Tom/session_1", "Chat_1_Ida_Tom/session_2", "Chat_2/session_1", "Chat_2/session_2",
    }  # fmt: skip
    assert {line.session for line in read(tmp_path, only=["Chat_2"])} == {"session_1", "session_2"}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], r"the chat: \[\] is not an object"),
        (
            {"session_1": [{"text": "a", "speaker": "Ida", "date_time": "today"}]},
            r'session_1\[1\]: "date_time" is \'today\'',
        ),
        ({"session_1": [{"text": "a", "speaker": "Ida"}]}, '"session_1_date_time" is None'),
        ({"session_1": [{"text": 3, "speaker": "Ida"}]}, '"text" is 3'),
    ],
)
def test_each_invalid_chat_is_rejected_with_the_place(tmp_path: Path, value: object, complaint: str) -> None:
    with pytest.raises(BadFile, match=rf"Chat_1_Ida_Tom\.json, .*{complaint}"):
        list(read(write_chat(tmp_path, value)))


def test_an_empty_folder_and_an_unknown_chat_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"no \.json file in this folder"):
        list(read(tmp_path))
    write_chat(tmp_path)
    with pytest.raises(BadFile, match="there is no chat 'x'; choose from Chat_1_Ida_Tom"):
        list(read(tmp_path, only=["x"]))


def test_a_session_that_exceeds_the_year_9999_is_reported(tmp_path: Path) -> None:
    turns = [{"text": "Later", "speaker": "Tom"}, {"text": "Still", "speaker": "Tom"}]
    chat = {**CHAT, "session_2": turns, "session_2_date_time": "9999-12-31T23:59:59"}
    with pytest.raises(BadFile, match="the session begins too close to the year 10000"):
        list(read(write_chat(tmp_path, chat)))

from __future__ import annotations

from pathlib import Path

import pytest

from everthread.transfer.importing import check_file
from everthread.types import NewLine
from transfer.services.messenger_exports import JSON, read_files, save_files, slack_export, slack_message, text, to_json


def read_day(folder: Path, *messages: JSON, **files: object) -> tuple[list[NewLine], dict[str, int]]:
    return read_files(folder, slack_export(messages, **files))


def test_a_time_is_an_id_to_its_last_digit(tmp_path: Path) -> None:
    messages = [slack_message(1, ts=f"1714564860.{micros}") for micros in ("000100", "000101", "123456")]
    lines, _ = read_day(tmp_path, *messages)
    assert [line.key for line in lines] == [f"slack:C1:{message['ts']}" for message in messages]
    assert [line.said_at.microsecond for line in lines if line.said_at] == [100, 101, 123456]


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        ("Hi <@U1>, <@U9|cem>, <@U8>!", "Hi @Ann, @cem, @U8!"),
        ("in <#C1|garden> and <#C2>", "in #garden and #C2"),
        ("<https://example.org/a?b&amp;c|our page>", "our page (https://example.org/a?b&c)"),
        ("<https://example.org> <https://example.org|example.org>", "https://example.org https://example.org"),
        ("<mailto:a@example.org|a@example.org>", "a@example.org"),
        ("<!here> <!subteam^S1|@team> 1 &lt; 2 &amp;&amp; 3 &gt; 2", "@here @team 1 < 2 && 3 > 2"),
        ("&lt;@U1&gt;", "<@U1>"),
    ],
)
def test_marks_are_shown_as_text(tmp_path: Path, marked: str, shown: str) -> None:
    (line,), _ = read_day(tmp_path, slack_message(1, text=marked))
    assert line.text == shown


def test_speakers_have_the_names_that_they_show(tmp_path: Path) -> None:
    guest = slack_message(3, user="U7", user_profile={"display_name": "Cem", "real_name": "Cem Ay"})
    webhook = {**slack_message(4, subtype="bot_message", username="Deploys", bot_id="B1"), "user": None}
    messages = [
        slack_message(1),
        slack_message(2),
        guest,
        webhook,
        slack_message(5, user="U2"),
        slack_message(6, user="U6"),
    ]
    lines, _ = read_day(tmp_path, *messages)
    assert [(line.speaker, line.role) for line in lines] == [
        ("Ann", "user"),
        ("Bob", "user"),
        ("Cem", "user"),
        ("Deploys", "assistant"),
        ("Helper", "assistant"),
        ("U6", "user"),
    ]


def test_what_is_not_said_is_counted(tmp_path: Path) -> None:
    notices = [slack_message(number, subtype=f"channel_{kind}") for number, kind in enumerate(("join", "topic"), 2)]
    deleted = slack_message(5, subtype="tombstone")
    lines, skipped = read_day(tmp_path, slack_message(1), *notices, deleted, slack_message(6, text=""))
    assert [line.text for line in lines] == [text(1)]
    assert skipped == {"notices": 2, "deleted messages": 1, "messages without words": 1}


def test_threads_files_and_edits_are_noted(tmp_path: Path) -> None:
    thread = slack_message(1)["ts"]
    answer = slack_message(
        2,
        thread_ts=thread,
        subtype="thread_broadcast",
        files=[{"name": "fern.jpg"}],
        edited={"ts": "1714568400.000000"},
    )
    first, second = read_day(tmp_path, slack_message(1, thread_ts=thread), answer)[0]
    assert first.metadata == {"user_id": "U1"}
    assert second.metadata == {
        "user_id": "U0",
        "attachments": ["fern.jpg"],
        "reply_to": thread,
        "edited_at": "2024-05-01T13:00:00+00:00",
    }


def test_days_are_one_conversation_and_a_direct_chat_is_named_by_its_members(tmp_path: Path) -> None:
    files = {
        **slack_export([slack_message(1)]),
        "garden/2024-05-02.json": to_json([slack_message(2000)]),
        "D1/2024-05-01.json": to_json([slack_message(3)]),
        "dms.json": to_json([{"id": "D1", "members": ["U0", "U1"]}]),
    }
    source = check_file(save_files(tmp_path / "export.zip", files))
    assert [(line.session, line.text) for line in source.read()] == [
        ("slack:D1", text(3)),
        ("slack:C1", text(1)),
        ("slack:C1", text(2000)),
    ]
    assert {id: label.title for id, label in source.sessions.items()} == {"slack:D1": "Bob, Ann", "slack:C1": "garden"}


def test_a_day_alone_is_named_by_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "garden" / "2024-05-01.json"
    path.parent.mkdir()
    path.write_bytes(to_json([slack_message(1)]))
    assert [(line.session, line.speaker) for line in check_file(path).read()] == [("slack:garden", "U1")]

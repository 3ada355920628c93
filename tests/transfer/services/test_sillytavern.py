from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.conversation import BrokenConversation, Conversation, ReadOptions
from everthread.transfer.services.sillytavern import build_chat, parse_date
from transfer.services.companion_examples import SILLYTAVERN, rows
from transfer.services.reading import hidden, read_entries, shown, times


def build(*values: object, name: str = "chat.jsonl") -> Conversation:
    return build_chat(name, values)


def say(name: str, text: object, date: object = "June 2, 2024 8:11pm", **fields: object) -> dict[str, object]:
    return {"name": name, "is_user": name == "Nora", "send_date": date, "mes": text, **fields}


def test_a_chat_becomes_what_was_said_with_its_names() -> None:
    chat = build(*SILLYTAVERN, name="Aria - 1.jsonl")
    assert shown(chat) == [
        ("Aria", "Hello Nora, I am Aria."),
        ("Nora", "Is <think> a tag?"),
        ("Aria", "It is."),
        ("Nora", "A hidden word."),
    ]
    assert (chat.id, chat.title, chat.owner) == ("Aria - 1", "Aria", "Nora")
    assert chat.skipped == {"thoughts": 2, "notices": 1}
    assert chat.messages[-1].metadata == {"attachments": ["offer.txt"], "hidden": True}


def test_swipes_are_siblings_of_the_shown_reply() -> None:
    chat = build(*SILLYTAVERN)
    assert hidden(chat) == {"No.": "Is <think> a tag?", "Perhaps.": "Is <think> a tag?"}
    swipe = next(message for message in chat.messages if message.text == "No.")
    assert swipe.said_at == datetime(2024, 6, 5, 14, 56, 20, 1000)


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("June 2, 2024 8:11pm", datetime(2024, 6, 2, 20, 11)),
        ("2024-6-5 @14h 56m 50s 682ms", datetime(2024, 6, 5, 14, 56, 50, 682000)),
        ("2024-7-12@01h31m37s", datetime(2024, 7, 12, 1, 31, 37)),
        ("2024-7-12@01h31m", datetime(2024, 7, 12, 1, 31)),
        ("2025-11-03T19:40:12.345Z", datetime(2025, 11, 3, 19, 40, 12, 345000, UTC)),
        (1717359060000, datetime(2024, 6, 2, 20, 11, tzinfo=UTC)),
        ("1717359060000", datetime(2024, 6, 2, 20, 11, tzinfo=UTC)),
        ("2024-13-12@01h31m37s", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_each_form_of_a_date_is_read_and_local_times_have_no_zone(value: object, date: datetime | None) -> None:
    assert parse_date(value) == date


def test_three_forms_of_dates_may_be_in_one_file() -> None:
    assert times(build(*SILLYTAVERN)) == [
        "2024-06-02T20:11:00",
        "2024-06-02T20:12:00",
        "2024-06-05T14:56:50.682000",
        "2025-11-03T19:40:12.345000+00:00",
    ]


def test_a_group_has_the_name_of_each_character() -> None:
    avatar = {"original_avatar": "x.png"}
    chat = build(
        {"user_name": "unused", "character_name": "unused", "chat_metadata": {}},
        say("Aria", "I am {{char}}.", **avatar),
        say("Ben", "And I {{char}}, <USER>.", **avatar),
        say("Nora", "Good."),
        name="group chats/1717359060.jsonl",
    )
    assert shown(chat) == [("Aria", "I am Aria."), ("Ben", "And I Ben, Nora."), ("Nora", "Good.")]
    assert (chat.id, chat.title) == ("1717359060", "1717359060")
    assert chat.messages[0].metadata == {"avatar": "x.png"}


def test_a_branch_shares_the_lines_of_its_beginning() -> None:
    header, *said = SILLYTAVERN
    branch = {**header, "chat_metadata": {"main_chat": "Aria - 1"}}
    main = build(*SILLYTAVERN, name="Aria - 1.jsonl")
    other = build(branch, *said[:3], say("Nora", "Otherwise."), name="Aria - 1 - Branch #2.jsonl")
    ids = {message.id for message in main.messages}
    assert main.namespace == other.namespace
    assert [message.text for message in other.messages if message.id not in ids] == ["Otherwise."]


def test_branches_are_read_after_their_chats(tmp_path: Path) -> None:
    branch = {**SILLYTAVERN[0], "chat_metadata": {"main_chat": "Aria - 1"}}
    files = {"a branch.jsonl": rows(branch, SILLYTAVERN[1]), "Aria - 1.jsonl": rows(*SILLYTAVERN)}
    assert [chat.id for chat in read_entries("sillytavern", tmp_path, files) if isinstance(chat, Conversation)] == [
        "Aria - 1",
        "Aria - a branch",
    ]


def test_lines_without_dates_are_known_by_the_lines_before_them() -> None:
    first = build(say("Nora", "Yes.", None), say("Aria", "Yes?", None), say("Nora", "Yes.", None))
    assert len({message.id for message in first.messages}) == 3
    grown = build(*[say("Nora", "Yes.", None), say("Aria", "Yes?", None)] * 2)
    assert [message.id for message in grown.messages][:3] == [message.id for message in first.messages]


def test_messages_of_chub_have_their_text_in_an_object() -> None:
    chat = build(say("Aria", {"message": "Hello."}, swipes=[{"message": "Hello."}, {"message": "Hi."}], swipe_id=0))
    assert (shown(chat), list(hidden(chat))) == ([("Aria", "Hello.")], ["Hi."])


def test_notices_and_calls_of_tools_are_no_lines_but_narration_is() -> None:
    chat = build(
        say("System", "", is_system=True, extra={"tool_invocations": [{}]}),
        say("Note", "Aside.", is_system=True, extra={"type": "comment"}),
        say("SillyTavern System", "Welcome", is_system=True),
        say("Narrator", "Night falls.", extra={"type": "narrator"}),
        say("Aria", "", extra={"image": "user/images/a.png"}),
    )
    assert shown(chat) == [("Narrator", "Night falls.")]
    assert chat.skipped == {"calls of tools": 1, "notices": 2, "messages without text": 1}


def test_an_edited_reply_counts_in_place_of_its_swipe() -> None:
    chat = build(say("Aria", "Edited.", swipes=["Written.", "Other."], swipe_id=0))
    assert (shown(chat), list(hidden(chat))) == ([("Aria", "Edited.")], ["Other."])


def test_a_broken_row_is_counted_or_with_strict_an_error(tmp_path: Path) -> None:
    content = rows(*SILLYTAVERN[:3]) + b'{"name": "Aria", "mes'
    (chat,) = read_entries("sillytavern", tmp_path, {"a.jsonl": content})
    assert isinstance(chat, Conversation)
    assert (len(chat.messages), chat.skipped) == (2, {"broken lines": 1})
    (broken,) = read_entries("sillytavern", tmp_path, {"a.jsonl": content}, ReadOptions(strict=True))
    assert isinstance(broken, BrokenConversation)
    assert "line 4" in broken.reason


def test_backups_are_chats_and_other_files_are_not(tmp_path: Path) -> None:
    files = {"chat.jsonl.bak": rows(*SILLYTAVERN), "settings.json": b'{"user_name": 1}', "a.png": b"\x89PNG"}
    (chat,) = read_entries("sillytavern", tmp_path, files)
    assert isinstance(chat, Conversation)
    assert chat.id == "Aria - chat"


def test_backups_are_left_out_beside_chats(tmp_path: Path) -> None:
    old = {"backups/chat_aria_1.jsonl": rows(*SILLYTAVERN[:3])}
    (backup,) = read_entries("sillytavern", tmp_path, old)
    (chat,) = read_entries("sillytavern", tmp_path, {"chats/Aria/now.jsonl": rows(*SILLYTAVERN)})
    assert isinstance(backup, Conversation)
    assert isinstance(chat, Conversation)
    assert (backup.id, chat.id) == ("Aria - chat_aria_1", "Aria - now")


def test_a_file_without_messages_is_broken() -> None:
    with pytest.raises(BadFile, match="no row is a message"):
        build(1, [])

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.transfer.importing import CheckedFile, check_compatible, check_file, import_lines
from everthread.transfer.many_banks import name_banks
from everthread.types import NewLine
from transfer.services.messages_database import (
    CHATS,
    GUID,
    HANDLES,
    MEMBERS,
    NANOSECONDS,
    Row,
    add_messages,
    date,
    fill,
    save_database,
    typedstream,
)
from transfer.services.messenger_exports import imessage_guid, imessage_row, said_at, text

GROUP = {"ROWID": 2, "guid": "iMessage;+;chat77", "chat_identifier": "chat77", "style": 43}
PEOPLE = (*HANDLES, {"ROWID": 2, "id": "+491701234567", "service": "SMS"})
IN_GROUP = (*MEMBERS, (2, 1), (2, 2))


def check(folder: Path, *messages: Row, **options: Any) -> CheckedFile:
    """Check a database of these messages; options that are tables are its other rows."""
    tables = {name: options.pop(name) for name in ("chats", "handles", "members") if name in options}
    (folder / "chat.db").unlink(missing_ok=True)
    return check_file(save_database(folder / "chat.db", messages, **tables), **options)


def read_chats(folder: Path, *messages: Row, **options: Any) -> tuple[list[NewLine], dict[str, int]]:
    source = check(folder, *messages, **options)
    return list(source.read()), dict(source.skipped)


def add(memory: Memory, source: CheckedFile) -> int:
    check_compatible(memory, source)
    return int(import_lines(memory, source)["added"])


def test_a_chat_is_a_session_of_the_owner_and_another_person(tmp_path: Path) -> None:
    source = check(tmp_path, imessage_row(1), imessage_row(2), me="Nora")
    assert [(line.speaker, line.text, line.said_at, line.role) for line in source.read()] == [
        ("Nora", text(1), said_at(1), "user"),
        ("Bob", text(2), said_at(2), "user"),
    ]
    assert [(id, label.title) for id, label in source.sessions.items()] == [(f"imessage:{GUID}", "Bob")]
    assert (source.contents.services, source.contents.me) == (("iMessage",), "Nora")


def test_the_text_is_the_columns_or_the_attributed_strings(tmp_path: Path) -> None:
    plain, both = imessage_row(1, text="Hi", attributedBody=None), imessage_row(2, text="Hello")
    blank = imessage_row(3, text=" ", attributedBody=typedstream("Süß 🌱", is_mutable=True))
    long = imessage_row(4, attributedBody=typedstream("word " * 9000 + "end"))
    lines, _ = read_chats(tmp_path, plain, both, blank, long)
    assert [line.text for line in lines] == ["Hi", "Hello", "Süß 🌱", "word " * 9000 + "end"]


def test_a_subject_is_the_first_line(tmp_path: Path) -> None:
    lines, _ = read_chats(tmp_path, imessage_row(1, subject="Ferns"), imessage_row(2, subject="Boats", text="\ufffc"))
    assert [line.text for line in lines] == [f"Ferns\n{text(1)}", "Boats"]


def test_dates_are_nanoseconds_and_before_macos_10_13_seconds(tmp_path: Path) -> None:
    new = imessage_row(1, date=date(said_at(1)) + 123_456_789)
    old = imessage_row(2, date=date(datetime(2014, 3, 1, tzinfo=UTC)) // NANOSECONDS)
    lines, _ = read_chats(tmp_path, new, old, imessage_row(3, date=0), imessage_row(4, date=2**62))
    assert [line.said_at for line in lines] == [
        datetime(2014, 3, 1, tzinfo=UTC),
        datetime(2014, 3, 1, 0, 0, 0, 1, tzinfo=UTC),
        said_at(1).replace(microsecond=123456),
        datetime(2001, 1, 1, tzinfo=UTC) + timedelta(seconds=4_611_686_018, microseconds=427_387),
    ]


def test_messages_are_ordered_by_time(tmp_path: Path) -> None:
    lines, _ = read_chats(tmp_path, imessage_row(1, date=date(said_at(9))), imessage_row(2), imessage_row(3))
    assert [line.text for line in lines] == [text(2), text(3), text(1)]


def test_a_group_has_its_name_or_its_people_as_title(tmp_path: Path) -> None:
    named = {**GROUP, "ROWID": 3, "guid": "iMessage;+;chat78", "chat_identifier": "chat78", "display_name": "Boat"}
    people = (*IN_GROUP, (3, 2))
    messages = [imessage_row(number, chats=[number], is_from_me=0, handle_id=2) for number in (2, 3)]
    source = check(tmp_path, *messages, chats=(*CHATS, GROUP, named), handles=PEOPLE, members=people)
    assert [label.title for label in source.sessions.values()] == ["Bob, +491701234567", "Boat"]
    assert {line.speaker for line in source.read()} == {"+491701234567"}
    only = check_file(tmp_path / "chat.db", only=["boat"])
    assert [line.text for line in only.read()] == [text(3)]
    assert list(name_banks("nora/{title}", source).values()) == ["nora/Bob, +491701234567", "nora/Boat"]


def test_a_message_without_a_sender_is_that_of_the_only_other_person(tmp_path: Path) -> None:
    messages = imessage_row(2, handle_id=0), imessage_row(4, handle_id=99, chats=[2])
    lines, _ = read_chats(tmp_path, *messages, chats=(*CHATS, GROUP), handles=PEOPLE, members=IN_GROUP)
    assert [line.speaker for line in lines] == ["Bob", "Unknown"]


def test_text_messages_and_imessages_with_one_person_are_one_chat(tmp_path: Path) -> None:
    sms = {**CHATS[0], "ROWID": 2, "guid": "SMS;-;Bob"}
    messages = imessage_row(1), imessage_row(2, chats=[2]), imessage_row(3)
    source = check(tmp_path, *messages, chats=(*CHATS, sms))
    assert [(line.session, line.text) for line in source.read()] == [(f"imessage:{GUID}", text(n)) for n in (1, 2, 3)]


def test_a_message_in_two_chats_is_stored_once(tmp_path: Path, memory: Memory) -> None:
    tables = {"chats": (*CHATS, GROUP), "handles": PEOPLE, "members": IN_GROUP}
    source = check(tmp_path, imessage_row(1, chats=[1, 2]), imessage_row(2, chats=[2]), **tables)
    assert [len([line for line in source.read() if line.text == text(1)]), add(memory, source)] == [2, 2]
    assert [line.text for line in memory.lines()] == [text(1), text(2)]


def test_a_grown_database_of_another_version_of_macos_adds_its_new_messages(tmp_path: Path, memory: Memory) -> None:
    assert add(memory, check(tmp_path, imessage_row(1), imessage_row(2))) == 2
    renamed = [{**CHATS[0], "guid": "any;-;Bob"}]
    assert add(memory, check(tmp_path, *map(imessage_row, (1, 2, 3)), chats=renamed)) == 1


def test_an_edited_text_is_corrected_by_a_later_import(tmp_path: Path, memory: Memory) -> None:
    add(memory, check(tmp_path, imessage_row(1)))
    edited = imessage_row(1, attributedBody=typedstream("The boat is sold."), date_edited=date(said_at(3)))
    assert add(memory, check(tmp_path, edited)) == 1
    (line,) = memory.lines()
    assert (line.text, line.metadata["edited_at"]) == ("The boat is sold.", said_at(3).isoformat())


def test_what_is_not_said_is_counted(tmp_path: Path) -> None:
    reactions = [
        imessage_row(number, associated_message_type=kind) for number, kind in ((2, 2000), (3, 3006), (4, 1000))
    ]
    notices = [imessage_row(5, item_type=2, group_title="Boat"), imessage_row(6, is_system_message=1)]
    empty = {"attributedBody": None}
    unsent = [imessage_row(7, date_retracted=date(said_at(8))), imessage_row(8, date_edited=date(said_at(9)), **empty)]
    wordless = [
        imessage_row(9, **empty),
        imessage_row(10, attributedBody=typedstream("\ufffc \ufffc")),
        imessage_row(11, text="\ufffd"),
        imessage_row(12, text="\ufffc", date_edited=date(said_at(13))),
    ]
    lines, skipped = read_chats(tmp_path, imessage_row(1), *reactions, *notices, *unsent, *wordless)
    assert [line.text for line in lines] == [text(1)]
    assert skipped == {"reactions": 3, "notices": 2, "deleted messages": 2, "messages without words": 4}


def test_files_and_answers_are_noted(tmp_path: Path) -> None:
    files = [
        {"transfer_name": "fern.heic", "filename": "~/Library/Messages/Attachments/ab/11/fern.heic"},
        {"filename": "~/Library/Messages/Attachments/ab/11/boat.pdf"},
        {"transfer_name": "0A.pluginPayloadAttachment"},
        {"transfer_name": None},
    ]
    first = imessage_row(1, attributedBody=typedstream("\ufffcThe fern,\ufffcand the boat. "), files=files)
    lines, _ = read_chats(tmp_path, first, imessage_row(2, thread_originator_guid=imessage_guid(1)))
    assert (lines[0].text, lines[0].metadata) == (
        "The fern,\nand the boat.",
        {"attachments": ["fern.heic", "boat.pdf"]},
    )
    assert lines[1].metadata == {"reply_to": imessage_guid(1)}


def test_columns_and_tables_that_a_version_of_macos_lacks_are_not_needed(tmp_path: Path) -> None:
    with closing(sqlite3.connect(path := tmp_path / "chat.db")) as db:
        fill(db, [imessage_row(1, text="Hi"), imessage_row(2, text="Hello")])
        for column in (
            "attributedBody",
            "subject",
            "thread_originator_guid",
            "date_edited",
            "date_retracted",
            "item_type",
        ):
            db.execute(f"ALTER TABLE message DROP COLUMN {column}")
        for table in ("chat_handle_join", "attachment", "message_attachment_join"):
            db.execute(f"DROP TABLE {table}")
        db.execute("ALTER TABLE chat DROP COLUMN display_name")
    source = check_file(path)
    assert [(line.speaker, line.text) for line in source.read()] == [("Me", "Hi"), ("Bob", "Hello")]
    assert [label.title for label in source.sessions.values()] == ["Bob"]


def test_a_message_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    broken = imessage_row(2, attributedBody=typedstream(text(2))[:90])
    source = check(tmp_path, imessage_row(1), broken, imessage_row(3))
    assert [line.text for line in source.read()] == [text(1), text(3)]
    assert list(source.contents.broken) == ["Bob, message 2"]
    assert source.contents.broken["Bob, message 2"].startswith("its text can't be read: the typedstream ends after ")
    with pytest.raises(BadFile, match="conversation 'Bob, message 2': its text can't be read"):
        check_file(tmp_path / "chat.db", strict=True)


def test_damage_in_a_chat_leaves_the_messages_before_it_and_the_other_chats(tmp_path: Path) -> None:
    long = [imessage_row(number, text="x" * 3000 + f" {number}") for number in range(1, 41)]
    other = imessage_row(50, chats=[2], is_from_me=0, handle_id=2, text="Not damaged.")
    tables = {"chats": (*CHATS, GROUP), "handles": PEOPLE, "members": IN_GROUP}
    path = save_database(tmp_path / "chat.db", [*long, other], **tables)
    content = path.read_bytes()
    page = content.index(b"x 30") // 4096 * 4096
    path.write_bytes(content[:page] + b"\xff" * 4096 + content[page + 4096 :])
    source = check_file(path)
    texts = [line.text for line in source.read()]
    assert texts[-1] == "Not damaged."
    assert texts[:-1] == [message["text"] for message in long[: len(texts) - 1]]
    assert 20 <= len(texts) - 1 < 30
    assert [reason.partition(" (")[0] for reason in source.contents.broken.values()] == [
        "the database is damaged from here on"
    ]


def test_messages_that_the_app_has_not_saved_in_the_database_itself_are_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(path := tmp_path / "chat.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        fill(db, [imessage_row(1)])
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        add_messages(db, [imessage_row(2)])
        assert [line.text for line in check_file(path).read()] == [text(1), text(2)]
        assert [line.text for line in check_file(tmp_path).read()] == [text(1), text(2)]


def test_a_database_of_which_all_is_beside_it_is_recognised(tmp_path: Path) -> None:
    with closing(sqlite3.connect(path := tmp_path / "chat.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        fill(db, [imessage_row(1)])
        assert [line.text for line in check_file(path).read()] == [text(1)]


def test_another_database_is_refused(tmp_path: Path) -> None:
    with Memory.open("nora", store=tmp_path / "banks", embedder=HashEmbedder()) as memory:
        memory.observe("Hi", speaker="Ann")
    (bank,) = (path for path in (tmp_path / "banks").rglob("*") if path.read_bytes().startswith(b"SQLite"))
    with pytest.raises(BadFile, match="this is a database, not a chat; give an export of ChatGPT"):
        check_file(bank)


def test_a_damaged_database_of_the_app_is_not_taken_for_another_one(tmp_path: Path) -> None:
    path = save_database(tmp_path / "chat.db", map(imessage_row, range(1, 9)))
    path.write_bytes(path.read_bytes()[: -2 * 4096])
    with pytest.raises(BadFile, match=r"chat\.db: the database is damaged or not complete \(.*\); copy it again"):
        check_file(path)

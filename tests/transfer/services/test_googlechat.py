from __future__ import annotations

from pathlib import Path

from everthread.transfer.importing import check_file
from transfer.services.chat_exports import GOOGLE_CHAT
from transfer.services.messenger_exports import save_files


def test_the_chats_of_an_export_are_read_under_the_names_of_their_people(tmp_path: Path) -> None:
    source = check_file(save_files(tmp_path / "takeout.zip", GOOGLE_CHAT))
    assert [(line.speaker, line.role, line.text, str(line.said_at)[:19]) for line in source.read()] == [
        ("Ann", "user", "Which door is red?", "2024-05-06 18:05:22"),
        ("Nora", "user", "The right one.", "2024-05-06 18:06:00"),
        ("Clock", "assistant", "It is six.", "2024-05-06 18:06:00"),  # a time that is not in English
    ]
    assert [line.metadata for line in source.read()][1] == {"email": "nora@example.org", "attachments": ["door.png"]}
    assert source.skipped == {"messages without words": 1}
    assert (source.contents.services, source.contents.me) == (("Google Chat",), "Nora")
    assert [(each.id, each.title) for each in source.contents.conversations] == [("googlechat:DM k6oxHQ", "Ann")]


def test_a_chat_alone_is_named_by_its_folder(tmp_path: Path) -> None:
    (folder := tmp_path / "DM k6oxHQ").mkdir()
    path = folder / "messages.json"
    path.write_bytes(GOOGLE_CHAT["Google Chat/Groups/DM k6oxHQ/messages.json"])
    whole, alone = check_file(save_files(tmp_path / "takeout.zip", GOOGLE_CHAT)), check_file(path)
    assert [line.key for line in alone.read()] == [line.key for line in whole.read()]
    assert [each.title for each in alone.contents.conversations] == [None]

from __future__ import annotations

from pathlib import Path

from everthread.transfer.importing import check_file
from transfer.services.chat_exports import DISCORD_PACKAGE, DISCORD_PACKAGE_CSV
from transfer.services.messenger_exports import save_files


def test_the_own_messages_of_a_package_are_read_in_their_channels(tmp_path: Path) -> None:
    source = check_file(save_files(tmp_path / "package.zip", DISCORD_PACKAGE))
    assert [(line.session, line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("discordpackage:11", "Nora", "Hi!", "2024-05-06 18:05:22+00:00"),
        ("discordpackage:11", "Nora", "The right one.", "2024-05-06 18:06:00+00:00"),
        ("discordpackage:12", "Nora", "Look.", "2024-05-06 18:08:00+00:00"),
    ]
    assert [line.metadata for line in source.read()][2] == {"attachments": ["a.png", "b.png"]}
    assert source.skipped == {"messages without words": 1}
    assert [each.title for each in source.contents.conversations] == ["doors", "ann"]
    assert source.contents.services == ("Discord's package of your own messages",)
    assert source.contents.me == "Nora"


def test_an_older_package_in_csv_is_read(tmp_path: Path) -> None:
    source = check_file(save_files(tmp_path / "package.zip", DISCORD_PACKAGE_CSV))
    assert [(line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("user", "Two\nlines.", "2020-05-06 18:08:00.123000+00:00")
    ]
    assert [(each.id, each.title) for each in source.contents.conversations] == [("discordpackage:13", None)]

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from everthread.chat import card
from everthread.chat.character import Character
from everthread.errors import BadFile
from everthread.transfer.formats import open_reader

REMEDY = "give an export of ChatGPT, Claude, "
MAIL = b"From: Ann <a@b.c>\r\nTo: b@b.c\r\nSubject: Hi\r\nDate: 4 May 2026\r\nMessage-ID: <1@b.c>\r\n\r\nHello\r\n"
PAGE = b"\n<!DOCTYPE html>\n<html><head>%s</head></html>"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jpg", b"\xff\xd8\xff\xe0\0", f"this is a picture, not a chat; {REMEDY}"),
        ("a.png", b"\x89PNG\r\n\x1a\n", f"this is a picture, not a chat; {REMEDY}"),
        ("a.heic", b"\0\0\0\x24ftypheic", f"this is a picture, not a chat; {REMEDY}"),
        ("a.mp4", b"\0\0\0\x24ftypisom", f"this is a recording, not a chat; {REMEDY}"),
        ("a.pdf", b"%PDF-1.7\n", f"this is a PDF, not a chat; {REMEDY}"),
        ("a.db", b"SQLite format 3\0", f"this is a database, not a chat; {REMEDY}"),
        ("a.db-wal", b"7\x7f\x06\x82\0\x2d", f"this is a part of a database, not a chat; {REMEDY}"),
        ("a.mbox", b"From a@b.c Mon May  4 10:00:00 2026\nSubject: Hi\n", f"this is a mailbox, not a chat; {REMEDY}"),
        ("a.eml", MAIL, f"this is an e-mail, not a chat; {REMEDY}"),
        ("a.txt", MAIL, f"this is an e-mail, not a chat; {REMEDY}"),
        ("a.csv", b"name,text\nAnn,Hi", f"this is a table, not a chat; {REMEDY}"),
        ("a.html", PAGE % b"<title>ChatGPT Data Export</title>", "this is a web page, which can't be imported; import"),
        ("a.html", PAGE % b"<title>Exported Data</title>", "export the chat from Telegram again in the format JSON"),
        ("a.html", PAGE % b"<style>.chatlog__x {}</style>", "export the channel with DiscordChatExporter again"),
        ("a.html", PAGE % b'<meta name="generator" content="Everthread">', "export the bank again as JSON Lines"),
        ("a.txt", PAGE % b"", "export the chat again as JSON or text, if the service offers that"),
    ],
)
def test_a_file_that_is_no_chat_is_named_with_a_remedy(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (path := tmp_path / name).write_bytes(content)
    with pytest.raises(BadFile) as raised:
        open_reader(path)
    assert str(raised.value).startswith(f"{path}: this is a")
    assert words in str(raised.value)


@pytest.mark.parametrize("version", [2, 3])
def test_a_picture_with_a_character_card_is_no_chat(tmp_path: Path, version: int) -> None:
    card.write(Character("Rei", person="Ben"), path := tmp_path / "Rei.png", version=version)
    with pytest.raises(BadFile, match=r"Rei\.png: this is a character card, not a chat; import it as a character"):
        open_reader(path)


def test_an_office_document_is_named_although_it_is_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(path := tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(BadFile, match=r"a\.xlsx: this is an office document, not a chat; give an export"):
        open_reader(path)


def test_the_web_pages_of_a_service_in_a_folder_are_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "about.html").write_bytes(PAGE % b"")
    with pytest.raises(BadFile, match=r"no export is recognised in these files: about\.html; .* or WhatsApp, or a "):
        open_reader(tmp_path)
    (tmp_path / "messages.html").write_bytes(PAGE % b"<title>Exported Data</title>")
    with pytest.raises(BadFile, match=r"messages\.html: this is a web page, which can't be imported; export the chat "):
        open_reader(tmp_path)


@pytest.mark.parametrize("folder", ["your_facebook_activity", "your_instagram_activity"])
def test_an_export_of_meta_in_web_pages_is_to_be_requested_in_json(tmp_path: Path, folder: str) -> None:
    with zipfile.ZipFile(path := tmp_path / "meta.zip", "w") as archive:
        archive.writestr("start_here.html", PAGE % b"")
        archive.writestr(f"{folder}/messages/inbox/tom_1/message_1.html", PAGE % b"<title>Tom</title>")
    what = r"message_1\.html: this is a web page, which can't be imported; request the export from Meta again in the "
    with pytest.raises(BadFile, match=f"{what}format JSON"):
        open_reader(path)

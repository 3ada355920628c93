from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from transfer.services.chatgpt_export import save_zip
from transfer.services.messenger_exports import discord_export, discord_message, to_json
from transfer.test_formats import COPIED_PAGE, TRANSCRIPT, WHATSAPP_CHAT

TEXT = "beside exports, a transcript is not read"
ROWS = '{"text": "One.", "said_at": "2024-01-01T00:00:00Z"}\n{"text": "Two.", "said_at": "2024-01-01T00:00:00Z"}\n'
CHATS = {
    "ann/chat.md": (TRANSCRIPT, TEXT),
    "page.txt": (COPIED_PAGE, TEXT),
    "dated.txt": ("[2024-05-01 18:05] Ann: I have moved.\n", TEXT),
    "odd.txt": (
        WHATSAPP_CHAT,
        "beside other exports, a chat of WhatsApp is only read under the name that WhatsApp gave it",
    ),
    "bank.jsonl": (ROWS, "format jsonl is not read in an archive or a folder"),
    "api.json": (
        json.dumps([{"role": "user", "content": "Hi"}]),
        "format messages is not read in an archive or a folder",
    ),
}
OTHERS = {
    "README.md": "Ann: the author\nBob: the editor\nAnn: also the owner\n",
    "about.txt": "Name: Fern\nVersion: 2\nLicence: free\n",
    "notes.txt": "Buy a fern.\n",
    "build.log.txt": "ERROR: no fern\nINFO: a cactus\nERROR: no pot\n",
    "settings.json": json.dumps({"theme": "dark", "role": "admin"}),
    "file-1-chat.txt": TRANSCRIPT,
    "photo.jpg": "\xff\xd8\xff",
}


def save_all(folder: Path, is_folder: bool, **more: str) -> Path:
    channel = to_json(discord_export([discord_message(1), discord_message(2)])).decode()
    texts = {"channel.json": channel, **{name: text for name, (text, _) in CHATS.items()}, **OTHERS, **more}
    if not is_folder:
        return save_zip(folder / "all.zip", {name: text.encode() for name, text in texts.items()})
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("is_folder", [False, True])
def test_chats_in_an_archive_or_a_folder_that_are_not_read_are_named_and_other_texts_are_not(
    tmp_path: Path, is_folder: bool
) -> None:
    source = check_file(path := save_all(tmp_path, is_folder))
    assert source.line_count == 2
    assert source.contents.broken == {
        name: f"{reason}; import it by itself" + (f": {path / name}" if is_folder else "")
        for name, (_, reason) in CHATS.items()
    }
    with pytest.raises(BadFile, match=r"is not read.*; import it by itself"):
        check_file(path, strict=True)


def test_a_transcript_beside_chats_of_whatsapp_is_named(tmp_path: Path) -> None:
    archive = save_zip(tmp_path / "a.zip", {"odd.txt": WHATSAPP_CHAT.encode(), "chat.md": TRANSCRIPT.encode()})
    assert check_file(archive).contents.broken == {"chat.md": f"{TEXT}; import it by itself"}
    with pytest.raises(BadFile, match=r"a\.zip, chat\.md: beside exports, a transcript is not read"):
        check_file(archive, strict=True)


def test_a_folder_in_which_no_chat_is_read_is_refused_with_the_file_to_import(tmp_path: Path) -> None:
    (file := tmp_path / "bank.jsonl").write_text(ROWS)
    with pytest.raises(BadFile, match=rf"bank\.jsonl: format jsonl is not read in .*; import it by itself: {file}"):
        check_file(tmp_path)


def test_a_text_that_a_service_wrote_beside_the_same_chat_is_not_named(tmp_path: Path) -> None:
    discord = to_json(discord_export([discord_message(1)]))
    archive = save_zip(tmp_path / "a.zip", {"Ann/data.json": discord, "Ann/chat.md": TRANSCRIPT.encode()})
    assert check_file(archive).contents.broken == {}

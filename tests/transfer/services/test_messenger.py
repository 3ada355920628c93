from __future__ import annotations

from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.transfer.importing import check_file, import_lines
from everthread.transfer.services.messenger import repair
from everthread.types import NewLine
from transfer.services.messenger_exports import (
    JSON,
    encrypted_export,
    encrypted_message,
    millis,
    read_files,
    said_at,
    save_files,
    text,
    thread_export,
    thread_message,
    to_json,
)


def garble(words: str) -> str:
    """Write each byte of a text as a character, as Meta does."""
    return words.encode().decode("latin-1")


def read_thread(folder: Path, *messages: JSON, **fields: str) -> tuple[list[NewLine], dict[str, int]]:
    return read_files(folder, {"inbox/bob_1/message_1.json": to_json(thread_export(messages, **fields))})


@pytest.mark.parametrize("words", ["Zoë ♥ Łódź", "日本", "😀", "plain"])
def test_text_whose_bytes_became_characters_is_repaired(words: str) -> None:
    assert repair(garble(words)) == words


@pytest.mark.parametrize("words", ["Zoë", "♥", "crème brûlée", ""])
def test_correct_text_is_not_repaired(words: str) -> None:
    assert repair(words) == words


def test_names_titles_and_words_are_repaired_each_by_itself(tmp_path: Path) -> None:
    garbled = thread_message(1, sender_name=garble("Zoë"), content=garble("Grüße 😀"))
    sound = thread_message(2, sender_name=garble("Zoë"), content="Grüße")
    source = check_file(
        save_files(
            tmp_path / "export.zip",
            {"inbox/z/message_1.json": to_json(thread_export([sound, garbled], title=garble("Zoë")))},
        )
    )
    assert [(line.speaker, line.text) for line in source.read()] == [("Zoë", "Grüße 😀"), ("Zoë", "Grüße")]
    assert [label.title for label in source.sessions.values()] == ["Zoë"]


def test_the_files_of_a_chat_are_read_from_the_last_to_the_first(tmp_path: Path) -> None:
    files = {
        "message_1.json": [thread_message(5), thread_message(4)],
        "message_2.json": [thread_message(3), thread_message(2)],
        "message_10.json": [thread_message(1), thread_message(0)],
    }
    lines, _ = read_files(tmp_path, {f"inbox/b/{name}": to_json(thread_export(each)) for name, each in files.items()})
    assert [line.text for line in lines] == [text(number) for number in range(6)]
    assert {line.session for line in lines} == {"messenger:inbox/bob_1"}


def test_files_of_the_same_name_from_other_folders_are_other_chats(tmp_path: Path) -> None:
    paths = []
    for name, numbers in (("ann", (1,)), ("bob", (3, 2))):
        for number in numbers:
            path = tmp_path / name / f"message_{4 - number if name == 'bob' else 1}.json"
            path.parent.mkdir(exist_ok=True)
            export = thread_export([thread_message(number)], thread_path=f"inbox/{name}")
            path.write_bytes(to_json(export))
            paths.append(path)
    lines = [(line.session, line.text) for line in check_file(paths).read()]
    assert lines == [
        ("messenger:inbox/ann", text(1)),
        ("messenger:inbox/bob", text(2)),
        ("messenger:inbox/bob", text(3)),
    ]


def test_two_exports_of_several_files_are_one_import(tmp_path: Path, memory: Memory) -> None:
    new = {
        "message_1.json": [thread_message(4), thread_message(3)],
        "message_2.json": [thread_message(2), thread_message(1)],
    }
    paths = [
        save_files(
            tmp_path / f"{number}.zip",
            {f"inbox/b/{name}": to_json(thread_export(each)) for name, each in files.items()},
        )
        for number, files in enumerate(({"message_1.json": new["message_2.json"]}, new))
    ]
    assert import_lines(memory, check_file(paths))["added"] == 4


def test_messages_of_the_same_moment_stay_in_their_order(tmp_path: Path) -> None:
    messages = [thread_message(number, timestamp_ms=millis(1)) for number in (3, 2, 1)]
    lines, _ = read_thread(tmp_path, *messages)
    assert [line.text for line in lines] == [text(1), text(2), text(3)]
    again = [encrypted_message(number, timestamp=millis(1)) for number in (3, 2, 1)]
    lines, _ = read_files(tmp_path, {"Bob_7.json": to_json(encrypted_export(again))})
    assert [line.text for line in lines] == [text(1), text(2), text(3)]


def test_what_is_not_said_is_counted(tmp_path: Path) -> None:
    others = [
        thread_message(2, is_unsent=True),
        thread_message(3, content="Ann unsent a message"),
        thread_message(4, content="Bob called you.", call_duration=60),
        thread_message(5, type="Subscribe"),
        thread_message(6, content=garble("Reacted ❤️ to your message ")),
        {**thread_message(7, photos=[{"uri": "a.jpg"}]), "content": None},
        thread_message(8, content="Bob sent an attachment.", share={"link": "https://example.org"}),
    ]
    lines, skipped = read_thread(tmp_path, *others, thread_message(1))
    assert [line.text for line in lines] == [text(1)]
    expected = {"deleted messages": 2, "calls": 1, "notices": 1, "reactions": 1, "messages without words": 2}
    assert skipped == expected


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Zoë named the group Ferns.", "notices"),
        ("Zoë changed the theme to Love.", "notices"),
        ("Zoë set the nickname for Ann to Annie.", "notices"),
        ("Zoë started a video chat.", "notices"),
        ("Zoë missed your call.", "notices"),
        ("Video chat ended", "calls"),
        ("Reacted ❤️ to your message ", "reactions"),
        ("Hat mit ❤️ auf deine Nachricht reagiert ", "reactions"),
        ("Reaccionó con 😂 a tu mensaje ", "reactions"),
        ("Reagiu com 👍 à sua mensagem ", "reactions"),
    ],
)
def test_notices_in_the_name_of_a_person_are_not_said(tmp_path: Path, words: str, kind: str) -> None:
    notice = thread_message(2, sender_name=garble("Zoë"), content=garble(words))
    said = thread_message(1, sender_name=garble("Zoë"), content="The video chat ended badly")
    lines, skipped = read_thread(tmp_path, notice, said)
    assert ([line.text for line in lines], skipped) == (["The video chat ended badly"], {kind: 1})


def test_files_and_links_are_noted_by_name(tmp_path: Path) -> None:
    files = {"photos": [{"uri": garble("messages/inbox/bob_1/photos/fünf.jpg")}], "share": {"link": "https://x.org"}}
    (line,), _ = read_thread(tmp_path, thread_message(1, **files))
    assert line.metadata == {"attachments": ["fünf.jpg"], "link": "https://x.org"}


@pytest.mark.parametrize("numbers", [(1, 2, 3), (3, 2, 1)])
def test_an_encrypted_chat_is_read_as_it_is(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    odd = garble("ü")  # a person wrote these two characters
    messages = [encrypted_message(number, senderName="Zoë", text=f"{odd}{number}") for number in numbers]
    unsent = encrypted_message(9, isUnsent=True, text="")
    picture = encrypted_message(10, text="", media=[{"uri": "./media/a.jpg"}])
    export = encrypted_export([*messages, *([unsent, picture] if numbers[0] == 1 else [])], threadName="Zoë_12")
    source = check_file(save_files(tmp_path / "export.zip", {"Zoë_12.json": to_json(export)}))
    assert [(line.speaker, line.text) for line in source.read()] == [("Zoë", f"{odd}{number}") for number in (1, 2, 3)]
    assert [(id, label.title) for id, label in source.sessions.items()] == [("messenger:Zoë_12", "Zoë")]
    assert [line.said_at for line in source.read()] == [said_at(number) for number in (1, 2, 3)]


def test_a_single_file_is_recognised_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "message_1.json"
    path.write_bytes(to_json(thread_export([thread_message(1)])))
    assert [line.text for line in check_file(path).read()] == [text(1)]

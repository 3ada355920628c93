import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import make_archive
from tempfile import TemporaryDirectory

import pytest

from everthread.errors import BadFile, ConfigError
from everthread.transfer.formats import open_reader
from transfer.services.chatgpt_export import save_zip

UNPRIVILEGED_UID = 65_534  # without rights


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("bank.jsonl", '{"text": "One line.", "said_at": "2024-01-01T00:00:00Z"}\n', "jsonl"),
        ("chat.txt", "[2024-01-01 10:00] Ann: One line.\n", "transcript"),
        ("chat.txt", "01/01/2024, 10:00 - Ann: One line.\n", "whatsapp"),
        ("chat.json", '[{"role": "user", "content": "One line."}]', "messages"),
    ],
)
def test_the_format_is_recognised_by_name_and_contents(tmp_path: Path, name: str, text: str, form: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    texts = [line.text for line in open_reader(path)()]
    assert texts == [line.text for line in open_reader(path, form)()] == ["One line."]


def test_a_reader_can_be_called_repeatedly(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_text('{"text": "One line."}\n', encoding="utf-8")
    read = open_reader(path)
    assert list(read()) == list(read())


def test_json_of_an_unknown_kind_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "what.json"
    for value, description in (
        ({"recipes": []}, "an object with 'recipes'"),
        ({f"field {n}": n for n in range(1005)}, "'field 3', 'field 4' and 1,000 more"),
        ([{"a": 1}], "a list that begins with an object with 'a'"),
        ([[]], "a list that begins with an empty list"),
        ({}, "an empty object"),
        ("x" * 1000, "'xxx"),
        (None, "None"),
    ):
        path.write_text(json.dumps(value), encoding="utf-8")
        with pytest.raises(ConfigError) as raised:
            open_reader(path)
        assert f"{path}: unrecognised JSON: " in str(raised.value)
        assert description in str(raised.value)
        assert "give its format with format= (jsonl, " in str(raised.value)
        assert len(str(raised.value)) - len(str(path)) < 500


@pytest.mark.parametrize("card", [{"spec": "chara_card_v2", "data": {}}, {"name": "Ann", "first_mes": "Hi"}])
def test_a_character_card_is_no_chat(tmp_path: Path, card: dict[str, object]) -> None:
    path = tmp_path / "ann.json"
    path.write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(BadFile, match=r"this is a character card, not a chat; import it as a character"):
        open_reader(path)


@pytest.mark.parametrize("text", ['{"text": "One."}\n', '\n [{"role": "user"}]', "[\n  {}\n]"])
def test_json_without_a_json_suffix_needs_an_explicit_format(tmp_path: Path, text: str) -> None:
    path = tmp_path / "what.txt"
    path.write_text(text)
    with pytest.raises(
        ConfigError, match=r"what\.txt: this looks like JSON; give its format with format= \(jsonl, mess"
    ):
        open_reader(path)


@pytest.mark.parametrize("name", ["chat.txt", "chat.json", "chat.csv", "chat.zip", "chat"])
def test_an_empty_file_is_rejected_as_such(tmp_path: Path, name: str) -> None:
    (path := tmp_path / name).touch()
    with pytest.raises(BadFile, match="the file is empty; export or download it again"):
        open_reader(path)


def test_an_option_that_a_format_does_not_have_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"x\.jsonl: format jsonl has no option 'only' \(only whatsapp, locomo, realtalk, exports of services "
        r"have it\); leave out only=",
    ):
        open_reader(tmp_path / "x.jsonl", only=["conv-1"])
    with pytest.raises(ConfigError, match=r"no option 'disappearing' \(only signal has it\)"):
        open_reader(tmp_path / "x.jsonl", disappearing=True)


def test_an_unknown_format_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="unknown format 'yaml'; expected one of jsonl, messages, transcript, whatsapp"
    ):
        open_reader(tmp_path / "x.yaml", "yaml")


def test_several_files_in_a_format_of_one_file_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format jsonl is read from one file, got 2; import them one after the other"):
        open_reader([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], "jsonl")


TABLE = "sender,text,time\nAnn,Hello there,2024-05-01 10:00\nBob,Hi Ann,2024-05-01 10:01\n"
WHATSAPP_CHAT = "05/06/2024, 18:05 - Ann: Did you water the fern?\n05/06/2024, 18:06 - Bob: I did.\n"
TRANSCRIPT = "Ann: I have a cat called Tom.\nBob: Lovely!\n"
COPIED_PAGE = "You said:\nWhere is Rome?\nChatGPT said:\nIn Italy.\n"


def write_files(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / name.replace("_", ".") for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.mark.parametrize("strict", [False, True])
def test_several_files_are_read_in_their_own_formats_with_the_keys_that_each_has_by_itself(
    tmp_path: Path, strict: bool
) -> None:
    paths = write_files(tmp_path, a_md=TRANSCRIPT, b_txt=COPIED_PAGE, c_csv=TABLE, d_txt=WHATSAPP_CHAT)
    alone = {line.key: line.text for path in paths for line in open_reader(path)()}
    assert len(alone) == 8
    for some in (paths, paths[::-1], paths[:2]):
        together = {line.key: line.text for line in open_reader(some, strict=strict)()}
        assert together == (alone if len(some) == 4 else dict(list(alone.items())[:4]))


@pytest.mark.parametrize("is_folder", [False, True])
def test_transcripts_in_an_archive_or_a_folder_are_read_with_the_keys_that_each_has_by_itself(
    tmp_path: Path, is_folder: bool
) -> None:
    (folder := tmp_path / "chats").mkdir()
    paths = write_files(folder, a_md=TRANSCRIPT, b_txt=COPIED_PAGE)
    write_files(folder, readme_md=TRANSCRIPT, list_txt="Buy a fern.\n")
    source = folder if is_folder else Path(make_archive(str(tmp_path / "all"), "zip", folder))
    alone = {line.key: line for path in paths for line in open_reader(path)()}
    assert {line.key: line for line in open_reader(source, assistant=["ChatGPT"])()} == alone
    more = write_files(tmp_path, c_csv=TABLE, d_txt="Cem: Hello.\n")
    assert len(list(open_reader([source, *more])())) == len(alone) + 3


def test_transcripts_and_tables_in_a_folder_are_read_together(tmp_path: Path) -> None:
    write_files(tmp_path, a_md=TRANSCRIPT, b_txt=COPIED_PAGE, c_csv=TABLE)
    assert sorted(line.text for line in open_reader(tmp_path)()) == [
        *("Hello there", "Hi Ann", "I have a cat called Tom.", "In Italy.", "Lovely!", "Where is Rome?")
    ]


def test_an_error_in_a_transcript_in_an_archive_names_the_file_and_the_line(tmp_path: Path) -> None:
    archive = save_zip(tmp_path / "all.zip", {"a.md": TRANSCRIPT.encode() * 3000 + b"Ann:\n"})
    with pytest.raises(BadFile, match=r"all\.zip, a\.md, line 6001: Ann says nothing"):
        list(open_reader(archive)())


def test_transcripts_are_not_among_the_conversations_that_are_chosen_by_title(tmp_path: Path) -> None:
    paths = write_files(tmp_path, a_md=TRANSCRIPT, d_txt=WHATSAPP_CHAT)
    assert [line.text for line in open_reader(paths, only=["d"])()] == ["Did you water the fern?", "I did."]


def test_files_in_a_format_of_one_file_are_rejected_beside_each_other_and_beside_other_files(tmp_path: Path) -> None:
    rows = '{"text": "One line.", "said_at": "2024-01-01T00:00:00Z"}\n'
    banks = write_files(tmp_path, a_jsonl=rows, b_jsonl=rows)
    with pytest.raises(
        ConfigError, match=r"a\.jsonl: format jsonl is read from one file, got 2; import them one after"
    ):
        open_reader(banks)
    with pytest.raises(BadFile, match=r"format jsonl is not read together with other files; import it by itself"):
        open_reader([banks[0], *write_files(tmp_path, c_csv=TABLE)])


@contextmanager
def another_user() -> Iterator[None]:
    """Run as a user without privileges, if the tests run as root, to which all files are readable."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(UNPRIVILEGED_UID)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize("name", ["", "chat.db"])
def test_a_folder_that_may_not_be_read_is_an_error_which_names_the_permission_of_macos(name: str) -> None:
    complaint = (
        r"can't be read \(Permission denied\); check the path and its permissions; on a Mac, also Full Disk Access"
    )
    with TemporaryDirectory() as outside:
        Path(outside).chmod(0o755)
        (folder := Path(outside, "Messages")).mkdir()
        (folder / "chat.db").write_bytes(b"SQLite format 3\0")
        folder.chmod(0)
        with another_user(), pytest.raises(BadFile, match=complaint):
            open_reader(folder / name)
        folder.chmod(0o700)

from __future__ import annotations

import re
from pathlib import Path

import pytest

from everthread.errors import BadFile, ConfigError
from everthread.transfer.encodings import propose, recode
from everthread.transfer.importing import check_file
from transfer.services.chatgpt_export import save_zip

TEXTS = {
    "gb18030": ("小明: 你好吗？今天去哪里", "张三: 我的狗叫旺财", "姓名,内容\n李雷,我们明天见吧"),
    "big5": ("小明: 你好嗎？今天去哪裡", "王: 我的狗叫旺財, 他們說很好"),
    "cp932": ("太郎: こんにちは、元気ですか", "山田: 明日行きます"),
    "cp949": ("철수: 안녕하세요 오늘 뭐해요", "영희: 나는 학교에 가요"),
    "cp1251": ("Аня: Привет, как дела?", "Иван: я живу в Москве", "Да: ок"),
    "koi8_r": ("Аня: Привет, как дела?", "Иван: я живу в Москве"),
    "cp1252": ("Jörg: Schöne Grüße", "José: ¿Qué tal? Mañana vuelvo", "René: C’est l’été", "Ann: café"),
    "cp1250": ("Łukasz: Cześć, jak się masz?", "Jiří: Dobrý den, čau příště"),
}


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_the_encoding_of_a_text_is_proposed_first_with_its_words(encoding: str, text: str) -> None:
    name, words = next(iter(propose(text.encode(encoding)).items()))
    assert (name, words in text and bool(words)) == (encoding, True)


def test_no_encoding_is_proposed_for_a_file_that_is_no_text() -> None:
    assert propose(bytes(range(256)) * 20) == {}


def test_a_text_that_ends_within_a_character_has_proposals() -> None:
    assert "gb18030" in propose("小明: 你好吗".encode("gb18030")[:-1])


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_text_is_rewritten_in_utf8(tmp_path: Path, encoding: str) -> None:
    (path := tmp_path / "chat.txt").write_bytes("\r\n".join(TEXTS[encoding]).encode(encoding))
    recode(path, encoding)
    assert path.read_bytes() == "\r\n".join(TEXTS[encoding]).encode()


@pytest.mark.parametrize(
    ("content", "encoding", "complaint"),
    [
        ("Аня: Да".encode(), "cp1251", "it is in UTF-8; leave out encoding="),
        ("\ufeffAnn: yes".encode(), "cp1252", "it is in UTF-8; leave out encoding="),
        ("Аня: Да".encode("utf-16"), "cp1251", "it is in UTF-16; leave out encoding="),
        ("Аня: Привет".encode("cp1251"), "gb18030", "it is not in gb18030 ('gb18030' codec can't decode byte"),
        ("Ann: “yes”".encode("cp1252"), "latin-1", "it is not in latin-1 (it would have the control character U+0093)"),
        (b"PK\x03\x04", "cp1252", "this is a zip archive, which has no encoding; unpack it"),
    ],
)
def test_a_text_that_would_become_another_is_refused_and_left(
    tmp_path: Path, content: bytes, encoding: str, complaint: str
) -> None:
    (path := tmp_path / "chat.txt").write_bytes(content)
    with pytest.raises(BadFile, match=re.escape(complaint)):
        recode(path, encoding)
    assert path.read_bytes() == content


def test_ascii_is_a_text_in_any_encoding(tmp_path: Path) -> None:
    (path := tmp_path / "chat.txt").write_text("Ann: yes")
    recode(path, "cp1251")
    assert path.read_text() == "Ann: yes"


@pytest.mark.parametrize("encoding", ["none", "base64", "rot13", "undefined", "idna", "punycode", "a\0b"])
def test_an_unknown_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"unknown encoding {encoding!r}; expected one such as gb18030, ")):
        recode(tmp_path / "chat.txt", encoding)


def test_a_folder_has_no_encoding(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="a folder has no encoding; give the files in it"):
        recode(tmp_path, "cp1252")


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("chat.txt", "Ann: yes\nRené: C’est l’été\n", "line 2, byte 12"),
        ("chat.txt", "Ann: yes\n" * 10_000 + "René: C’est l’été\n", "line 10001, byte 90003"),
        ("chat.csv", "sender,text,time\nAnn,yes,2024-05-01\nAnn,René: C’est l’été,2024-05-01\n", "row 3"),
        ("chat.csv", "expéditeur,René: C’est\nAnn,yes\n", "line 1, byte 3"),
        ("LINE.txt", "[LINE] Chat history with Ann\n\n2024/05/06(Mon)\n18:05\tRené: C’est l’été\n", "line 4, byte 55"),
    ],
)
def test_a_file_that_is_not_utf8_is_refused_with_its_words_in_other_encodings(
    tmp_path: Path, name: str, text: str, place: str
) -> None:
    (path := tmp_path / name).write_bytes(text.encode("cp1252"))
    with pytest.raises(
        BadFile, match=rf"{name}, {place}: the byte 0xe9 is not UTF-8, but may be cp1252 \(.*é"
    ) as raised:
        check_file(path)
    assert "give the one in which the words are right, as in encoding= cp1252, or save the file as" in str(raised.value)


def test_a_transcript_in_an_archive_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    text = "Ann: yes\nBob: no\n" * 5000 + "René: C’est l’été\n"
    archive = save_zip(tmp_path / "all.zip", {"chat.txt": text.encode("cp1252")})
    with pytest.raises(BadFile, match=r"all\.zip, chat\.txt, line 10001, byte 85003: .* may be cp1252 \(René: C’est"):
        check_file(archive)

"""Texts in other encodings than UTF-8 and UTF-16: which one it may be, and the text in UTF-8.

No encoding is guessed, because most bytes are some text in all of them: an error shows words of the text in those that
it may have, and the caller names the one in which they are right.
"""

from __future__ import annotations

import codecs
import re
from functools import partial
from itertools import chain
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO

from everthread.errors import BadFile, ConfigError
from everthread.transfer.files import COPIED_BYTES, detect_archive, file_error, raise_unreadable

MAX_PROPOSED = 3
MAX_WORDS_CHARS = 16  # of a text, by which its encoding is recognised
SAMPLE_BYTES = 2**12
_CYRILLIC = "оеаинтсрвлкмдпу"
_FREQUENT = {  # characters in the texts of an encoding, apart from ASCII
    "gb18030": "的一是了我不在有你他她们这来说好吗吧么去到就要会没那都很个人上天里，。？！：",
    "big5": "的一是了我不在有你他她們這來說好嗎吧麼去到就要會沒那都很個人上天裡，。？！：",
    "cp932": "".join(map(chr, range(0x3041, 0x30FD))) + "、。？！",
    "cp949": "이다는가을를에하고지어니은한나도아요기사리오해서로그",
    "cp1251": _CYRILLIC,
    "koi8_r": _CYRILLIC,
    "cp1252": "äöüßéèêàçñáíóúåøæãõ’“”–…¿¡",
    "cp1250": "ąćęłńśżáčěířšůúýžőű”’–…",
}
_COMMON = {  # the first bytes of common characters, in the standard on which an encoding is based
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "cp932": ("shift_jis", 0x82, 0x97),
    "cp949": ("euc_kr", 0xB0, 0xC8),
}
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_BEFORE_LATIN = re.compile(r"[^\x00-\x7f][a-z]")
_WORD = re.compile(r"[^\W\d_]+")


def find_error(sample: bytes) -> UnicodeDecodeError | None:
    """Return why the beginning of a text is not UTF-8; None if it is."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError as error:
        return error
    return None


def build_error(path: Path, where: str, error: UnicodeDecodeError) -> BadFile:
    """Build the error of a text that is not UTF-8, which proposes encodings for the option `encoding`.

    Args:
        path: the file.
        where: the place in it.
        error: the bytes that could not be decoded, with the text around them, whose words are shown.
    """
    begin = error.object.rfind(b"\n", 0, error.start) + 1
    words = propose(error.object[begin : begin + SAMPLE_BYTES])
    what = f"the byte 0x{error.object[error.start]:02x} is not UTF-8"
    if not words:
        return file_error(path, where, what, "save the file as UTF-8", reason="unreadable-text")
    proposals = " or ".join(f"{name} ({shown})" for name, shown in words.items())
    remedy = (
        f"give the one in which the words are right, as in {{option}} {next(iter(words))}, or save the file as UTF-8"
    )
    what = f"{what}, but may be {proposals}"
    return BadFile(what, path=path, where=where, remedy=remedy, option="encoding", reason="unreadable-text")


def propose(sample: bytes) -> dict[str, str]:
    """Return the encodings that a text may have, the likeliest first, each with words of the text in it."""
    texts = {name: text for name in _FREQUENT if (text := _decode(sample, name)) is not None}
    scores = {name: _score(text, name) for name, text in texts.items()}
    least = max(scores.values(), default=0) / 2
    likely = [name for name in sorted(scores, key=scores.__getitem__, reverse=True) if scores[name] > least]
    return {name: _find_words(texts[name]) for name in likely[:MAX_PROPOSED]}


def recode(path: Path, encoding: str) -> None:
    """Rewrite a text in UTF-8.

    Args:
        path: the text.
        encoding: its encoding.

    Raises:
        BadFile: the text can't be read, or is not in this encoding but, for example, in UTF-8.
        ConfigError: there is no such encoding.
    """
    decoder = _open_decoder(encoding)
    if path.is_dir():
        raise _build_refusal(path, "a folder has no encoding", "give the files in it")
    try:
        with path.open("rb+") as file, SpooledTemporaryFile(COPIED_BYTES) as copy:
            _check_recodable(path, file)
            for part in iter(partial(file.read, COPIED_BYTES), b""):
                copy.write(_check_text(decoder.decode(part)).encode())
            copy.write(_check_text(decoder.decode(b"", final=True)).encode())
            copy.seek(0)
            file.seek(0)
            file.truncate()
            copyfileobj(copy, file)
    except UnicodeError as error:
        what = f"it is not in {encoding} ({error})"
        raise _build_refusal(path, what, "give its encoding with {option}, or leave that out") from None
    except OSError as error:
        raise_unreadable(path, error)


def _open_decoder(encoding: str) -> codecs.IncrementalDecoder:
    """Return a decoder for an encoding. Raises ConfigError if there is no such encoding of texts."""
    try:
        b" ".decode(encoding, errors="replace")
        if codecs.lookup(encoding).name != "punycode":  # of host names, whose time is quadratic
            return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):  # such as NUL in the name, or another encoding of host names
        pass
    what = f"unknown encoding {encoding!r}; expected one such as {', '.join(_FREQUENT)}"
    raise ConfigError(what, remedy="correct {option}", option="encoding")


def _check_recodable(path: Path, file: IO[bytes]) -> None:
    """Check that a file is neither an archive nor in an encoding that is recognised; leave it at its beginning.

    Raises:
        BadFile: it is.
    """
    head = file.read(SAMPLE_BYTES)
    if kind := detect_archive(head):
        raise _build_refusal(path, f"this is {kind}, which has no encoding", "unpack it, and give the files in it")
    utf8, is_ascii = codecs.getincrementaldecoder("utf-8")(), True
    is_marked = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        for part in chain([head], iter(partial(file.read, COPIED_BYTES), b"")):
            is_ascii = is_ascii and part.isascii()
            utf8.decode(part)
        utf8.decode(b"", final=True)
    except UnicodeDecodeError:
        is_ascii = not is_marked
    if not is_ascii:
        raise _build_refusal(path, f"it is in {'UTF-16' if is_marked else 'UTF-8'}", "leave out {option}")
    file.seek(0)


def _check_text(text: str) -> str:
    """Return a text. Raises UnicodeError if it has control characters, as in a wrong encoding."""
    if found := _CONTROL.search(text):
        raise UnicodeError(f"it would have the control character U+{ord(found[0]):04X}")
    return text


def _build_refusal(path: Path, what: str, remedy: str) -> BadFile:
    return BadFile(what, path=path, remedy=remedy, option="encoding")


def _decode(sample: bytes, encoding: str) -> str | None:
    """Return the text that a sample, which may end within a character, is in an encoding; None for other bytes."""
    try:
        return _check_text(codecs.getincrementaldecoder(encoding)().decode(sample))
    except UnicodeError:
        return None


def _score(text: str, encoding: str) -> float:
    """Return how likely a text is in an encoding, from 0 to 2, by its words and its frequent characters."""
    foreign = [character for character in text.lower() if not character.isascii()]
    frequent = sum(character in _FREQUENT[encoding] for character in foreign)
    plain = sum(character.isalpha() or character in _FREQUENT[encoding] for character in foreign)
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    likely = sum(_is_common(word, encoding) if encoding in _COMMON else _is_spelt(word, encoding) for word in words)
    score = frequent / max(len(foreign), 1) + likely / max(len(words), 1)
    return score * plain / max(len(foreign), 1)  # no text has many other signs, such as lines of a box


def _is_common(word: str, encoding: str) -> bool:
    """Return whether all characters of a word in an East Asian script are common, and no small letter follows one."""
    if _BEFORE_LATIN.search(word):
        return False
    standard, first, last = _COMMON[encoding]
    try:
        leads = [character.encode(standard)[0] for character in word if not character.isascii()]
    except UnicodeEncodeError:
        return False
    return all(first <= lead <= last for lead in leads)


def _is_spelt(word: str, encoding: str) -> bool:
    """Return whether a word of an alphabet is in one script, with capitals at its beginning only, or only capitals.

    A single letter is rather Latin, such as the French à.
    """
    ascii_count = sum(map(str.isascii, word))
    if len(word) == 1:
        return _FREQUENT[encoding] != _CYRILLIC
    is_one_script = ascii_count == 0 if _FREQUENT[encoding] == _CYRILLIC else 2 * ascii_count >= len(word)
    return is_one_script and (word[1:].islower() or word.isupper())


def _find_words(text: str) -> str:
    """Return the first words of a text that are not only ASCII."""
    line = next((line for line in text.splitlines() if not line.isascii()), "")
    first = next((word for word in line.split() if not word.isascii()), "")
    return line[line.index(first) :][:MAX_WORDS_CHARS].strip()

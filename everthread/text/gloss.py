"""Glosses Chinese texts word by word in English, so that an embedder that reads only English gets their meaning.

A gloss is no translation: the words keep their order, and each has one meaning. "我的狗叫什么名字？" becomes "I dog
called what name?". An English embedder finds by it what a question and a line have in common beyond their characters.

The words are those of two files in `glosses`: `zh.toml` has the commonest ones, `zh.txt.xz` the others, made from the
Chinese Open WordNet by `gloss_table`. Traditional characters are not in them. The files are read at the first text.
"""

from __future__ import annotations

import lzma
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from everthread.common.once import once
from everthread.text.analyzer import detect_language

FOLDER = Path(__file__).parent / "glosses"
MAX_WORD_CHARS = 8  # of the words in the table; only names of institutions are longer
# Of the Chinese characters of a text that must belong to known words. In simplified Chinese 95% do; of a text in
# traditional characters a few words would remain that say nothing.
MIN_KNOWN_SHARE = 0.6

_RUN = re.compile("[\u4e00-\u9fff]+|[^\u4e00-\u9fff]+")
# A name in Latin letters before a message of a dialogue. It would make every line with a name nearer.
_SPEAKER = re.compile(r"^[A-Za-z][\w ]{0,19}[:：]", re.MULTILINE)
_PUNCTUATION = {ord(chinese): english for chinese, english in zip("，。？！：；、“”《》", ',.?!:;,  ""', strict=True)}


def is_glossed(text: str) -> bool:
    """Return whether a text is in a language that is glossed: Chinese."""
    return not text.isascii() and detect_language(text) == "zh"


def is_glossed_word(word: str) -> bool:
    """Return whether a Chinese word is one of those that are glossed."""
    return word in _load_words()


def gloss(text: str) -> str:
    """Replace each Chinese word of a text by an English one, and leave out the words without one.

    The names before the messages of a dialogue are left out as well.

    Returns:
        The gloss; "" without Chinese words, and if too few are known (`MIN_KNOWN_SHARE`).
    """
    words, found = _load_words(), []
    known = chinese = 0  # characters
    if len(_SPEAKER.findall(text)) > 1:
        text = _SPEAKER.sub("", text)
    for run in _RUN.findall(text.translate(_PUNCTUATION)):
        if not "\u4e00" <= run[0] <= "\u9fff":
            found.append(run)
            continue
        chinese += len(run)
        for word in _split(run, words):
            known += len(word) if word in words else 0
            found.append(f" {words.get(word, '')}")
        found.append(" ")
    return " ".join("".join(found).split()) if known and known >= MIN_KNOWN_SHARE * chinese else ""


def _split(run: str, words: Mapping[str, str]) -> Iterator[str]:
    """Yield the longest known word with which a run of characters begins, else its first character, and so on."""
    start = 0
    while start < len(run):
        longest = min(MAX_WORD_CHARS, len(run) - start)
        size = next((size for size in range(longest, 1, -1) if run[start : start + size] in words), 1)
        yield run[start : start + size]
        start += size


@once
def _load_words() -> Mapping[str, str]:
    return read_words(FOLDER)


def read_words(folder: Path) -> Mapping[str, str]:
    """Read the English words by the Chinese ones from a folder."""
    table = lzma.decompress((folder / "zh.txt.xz").read_bytes()).decode()
    words = dict(row.split("\t") for row in table.splitlines())
    common: dict[str, list[str]] = tomllib.loads((folder / "zh.toml").read_text(encoding="utf-8"))["words"]
    return words | {chinese: english for english, same in common.items() for chinese in same}

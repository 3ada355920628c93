"""Makes the table of Chinese words that `gloss` reads, from two WordNets. A tool for developers.

    python -m everthread.text.gloss_table COW OEWN TALK [OUT]

COW has rows of an interlingual id and a Chinese word (Chinese Open WordNet), OEWN rows of a synset, the same id, its
English words, its hypernyms and its definition (Open English WordNet), both separated by tabs. TALK is a folder of CSV
files of English talk, by which the commonest English word is chosen (Synthetic-Persona-Chat).
"""

from __future__ import annotations

import lzma
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from everthread.text.gloss import FOLDER, MAX_WORD_CHARS

# The whole table is in the window; that of the highest preset would take 64 MiB to read it.
FILTER = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 21}

_CHINESE = re.compile(f"[\u4e00-\u9fff]{{1,{MAX_WORD_CHARS}}}")
_REMARK = re.compile(r"[（(][^（()）]*[)）]")
_ENGLISH = re.compile("[a-z]+")


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the English words of texts."""
    return Counter(word for text in texts for word in _ENGLISH.findall(text.lower()))


def build_table(cow: Iterable[str], oewn: Iterable[str], counts: Mapping[str, int]) -> dict[str, str]:
    """Choose an English word for each Chinese word.

    It is the one that most senses of the Chinese word have, weighted by the log of its frequency.

    Args:
        cow: rows of the Chinese WordNet.
        oewn: rows of the English one.
        counts: how often English words occur in talk.

    Returns:
        The English words by the Chinese ones.
    """
    rows = (row.rstrip("\n").split("\t") for row in oewn)
    members = {id: names.split("|") for _, id, names, *_ in rows}
    senses: dict[str, Counter[str]] = defaultdict(Counter)
    for id, word in _read_chinese(cow):
        senses[word].update(members.get(id, ()))

    def weigh(names: Counter[str], name: str) -> tuple[float, int]:
        parts = _ENGLISH.findall(name.lower())
        rarest = min((counts.get(part, 0) for part in parts), default=0)
        return names[name] * math.log(2 + rarest), -len(parts)

    return {
        word: max(names, key=lambda name: weigh(names, name)).replace("_", " ")
        for word, names in sorted(senses.items())
        if names
    }


def _read_chinese(cow: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the ids and words of the Chinese WordNet, without remarks and the endings of adjectives and adverbs."""
    for row in cow:
        id, written = row.rstrip("\n").split("\t")
        word = _REMARK.sub("", written.replace("+", "")).strip()
        if len(word) > 2:
            word = word.removesuffix("的").removesuffix("地")
        if _CHINESE.fullmatch(word):
            yield id, word


def main(cow: str, oewn: str, talk: str, out: str = str(FOLDER / "zh.txt.xz")) -> None:
    """Write the table."""
    counts = count_words(path.read_text("utf-8") for path in sorted(Path(talk).glob("*.csv")))
    with Path(cow).open(encoding="utf-8") as chinese, Path(oewn).open(encoding="utf-8") as english:
        table = build_table(chinese, english, counts)
    rows = "".join(f"{word}\t{english_word}\n" for word, english_word in table.items())
    Path(out).write_bytes(lzma.compress(rows.encode(), filters=[FILTER]))


if __name__ == "__main__":
    main(*sys.argv[1:])

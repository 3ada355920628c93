"""The one text analyser of every store, so that a word means the same wherever a bank is kept.

Scripts with spaces: NFKC, case folded, accents dropped, split at everything but letters and digits, common words
dropped, irregular forms made regular, Snowball's English stemmer. Scripts without spaces (Chinese, Japanese, Korean,
Thai …) are not segmented into words: each character but the commonest and each pair of neighbours is a term. On Chinese
dialogues they found 65% at 10, a dictionary's words 61% (docs/log.md). It knows nothing of banks or scores.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import Stemmer

from everthread.common.keys import META_ECHO
from everthread.types import Metadata

ANALYSER = 2  # raised whenever the same text would give other terms; a bank's file records it
HEAD = 220  # characters of a neighbouring line that count towards a window; a long neighbour would drown the line
LONGEST = 40  # characters of a term; longer runs (keys, base64) are cut, they are never typed again whole

# Scripts written without spaces: CJK, Kana, Hangul, Thai, Lao, Burmese, Khmer.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff"  # vowel signs that belong to their word
_LETTER = rf"(?:[^\W_{UNSPACED}]|[{_MARKS}])"
_WORD = re.compile(rf"[{UNSPACED}]+|{_LETTER}+(?:'{_LETTER}+)*")
_UNSPACED = re.compile(rf"[{UNSPACED}]")
_PUNCTUATION = re.compile("[\u3000-\u3004\u3007-\u3030]+")  # CJK's own, inside the range above
_ACCENT = re.compile("[\u0300-\u036f]")
_CONTRACTED = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m))$")  # don't counts as do, she's as she
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")  # invisible in print

# Words that every conversation has. A short list: with one of 115 words, or with none, less was found.
STOP = frozenset(
    """
    a about am an and are as at be been being but by ca can could did do does for from had has have he her here
    him his how i if in into is it its just may me might my no not of on or our over sha she should so than that
    the their them then there these they this those to us was we were what when where which who whom whose why
    will with wo would you your
    """.split()
)

# The same for Chinese, both scripts: pronouns, particles, the copula, prepositions, conjunctions, the commonest adverbs
# and auxiliaries. Alone such a character says nothing; in a pair it may (小说, 太太, 会议), so pairs are kept.
STOP_ALONE = frozenset(
    "我你您他她它们們这這那哪谁誰什么麼怎的地得着著了过過吗嗎呢吧啊呀哦嗯嘛啦哈哇唉是在有和与與跟及或也都就还還又再才很太更"
    "最不没沒个個些把被给給让讓对對为為以于於从從向到会會能可要想说說"
)

# Irregular forms, and the family's many names, which no stemmer knows. Each follows the word that it counts as.
_IRREGULAR = """
    be=been,being become=became begin=began,begun break=broke,broken bring=brought build=built buy=bought
    catch=caught choose=chose,chosen come=came do=did,done draw=drew,drawn drink=drank,drunk drive=drove,driven
    eat=ate,eaten fall=fell,fallen feed=fed feel=felt fight=fought find=found fly=flew,flown
    forget=forgot,forgotten get=got,gotten give=gave,given go=went,gone grow=grew,grown hang=hung hear=heard
    hide=hid,hidden hold=held keep=kept know=knew,known lead=led leave=left lend=lent lose=lost make=made
    mean=meant meet=met pay=paid ride=rode,ridden run=ran say=said see=saw,seen sell=sold send=sent shoot=shot
    show=shown sing=sang,sung sit=sat sleep=slept speak=spoke,spoken spend=spent stand=stood steal=stole,stolen
    stick=stuck swim=swam,swum take=took,taken teach=taught tear=tore,torn tell=told think=thought
    throw=threw,thrown understand=understood wake=woke,woken wear=wore,worn win=won write=wrote,written
    person=people man=men woman=women life=lives wife=wives mom=mum,mother,mommy dad=father,daddy
    kid=child,children,kids foot=feet tooth=teeth mouse=mice
    """
_SAME = {
    form: word for entry in _IRREGULAR.split() for word, _, forms in [entry.partition("=")] for form in forms.split(",")
}


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The terms of a line: how often each occurs in the line and in its head, and the lengths of both in terms."""

    terms: Mapping[str, tuple[int, int]]
    length: int
    head_length: int


class _Stemmers(threading.local):
    """A stemmer a thread: Snowball's object keeps state while it works."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")


_stemmers = _Stemmers()


def normalize(text: str) -> str:
    """Text as it is compared: compatibility forms unified, case folded, invisible characters gone."""
    if text.isascii():
        return text.lower()
    return _PUNCTUATION.sub(" ", _IGNORED.sub("", unicodedata.normalize("NFKC", text))).replace("’", "'").casefold()


def _without_accents(word: str) -> str:
    return word if word.isascii() else unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))


def is_unspaced_script(text: str) -> bool:
    """Return whether most of a text is in a script without spaces, which the shipped English model can't read.

    A character of such a script counts as much as a word of another, so that a name or an emoticon does not decide.
    """
    found = len(_UNSPACED.findall(text))
    return found > 0 and 2 * found > sum(len(word) if _UNSPACED.match(word) else 1 for word in _WORD.findall(text))


def tokens(text: str) -> list[str]:
    """Return the words of a text in order, folded, not stemmed; a CJK run yields its characters, then its bigrams."""
    found: list[str] = []
    for word in _WORD.findall(normalize(text)):
        if not word.isascii() and _UNSPACED.match(word):
            found += word
            found += [word[i : i + 2] for i in range(len(word) - 1)]
        else:
            short = _CONTRACTED.sub("", word).replace("'", "") if "'" in word else word
            found.append(_without_accents(short)[:LONGEST])
    return [word for word in found if word]


def terms(text: str) -> list[str]:
    """Return the terms of a text in order: its words without stop words, irregular forms made regular, stemmed."""
    words = [_SAME.get(word, word) for word in tokens(text) if word not in STOP and word not in STOP_ALONE]
    return [str(stem) for stem in _stemmers.english.stemWords(words)]


def count_terms(text: str) -> TermCounts:
    """Count the terms of a line, and those of its head."""
    counts = Counter(terms(text))
    if len(text) <= HEAD:
        return TermCounts({term: (n, n) for term, n in counts.items()}, counts.total(), counts.total())
    head = Counter(terms(text[:HEAD]))
    return TermCounts({term: (n, head[term]) for term, n in counts.items()}, counts.total(), head.total())


def without_quotes(text: str, metadata: Metadata) -> str:
    """Return a line's text without its quotes of recalled lines, so that these are not found in it a second time.

    Invalid spans, and those that are out of range or out of order, are ignored.
    """
    spans = metadata.get(META_ECHO)
    if not isinstance(spans, list | tuple):
        return text
    cuts = [0]
    for span in spans:
        if _is_span(span) and cuts[-1] <= span[0] < span[1] <= len(text):
            cuts += span
    cuts.append(len(text))
    return " ".join(text[start:end] for start, end in list(pairwise(cuts))[::2])


def _is_span(span: object) -> bool:
    return isinstance(span, list | tuple) and len(span) == 2 and all(type(at) is int for at in span)


def without_quotes_json(text: str, metadata: str) -> str:
    """Do the same for metadata as it is stored, in JSON."""
    return without_quotes(text, json.loads(metadata)) if META_ECHO in metadata else text

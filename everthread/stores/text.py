"""The one text analyser of every store, so that a word means the same wherever a bank is kept.

Latin and kin: NFKC, case folded, accents kept, split at everything but letters and digits, common words dropped,
Snowball's English stemmer. Chinese, Japanese and Korean are not segmented into words: each character and each pair of
neighbours is a term (characters and bigrams found 57.5% at 10 on Chinese dialogues, a dictionary's words 51.5%).
It knows nothing of banks or scores.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter

import Stemmer

from everthread.stores.base import Words

ANALYSER = 1  # raised whenever the same text would give other terms; a bank's file records it
HEAD = 220  # characters of a neighbouring line that count towards a window; a long neighbour would drown the line
LONGEST = 40  # characters of a term; longer runs (keys, base64) are cut, they are never typed again whole

CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:'[^\W_{CJK}]+)*")
_CJK = re.compile(rf"[{CJK}]")
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")  # invisible in print

STOP = frozenset(
    """
    a about above after again against all am an and any are as at be because been before being below between both
    but by can could did do does doing don down during each few for from further had has have having he her here
    hers herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off
    on once only or other our ours ourselves out over own same she should so some such than that the their theirs
    them themselves then there these they this those through to too under until up very was we were what when where
    which while who whom why will with would you your yours yourself yourselves im ive id ill youre youve youll hes
    shes theyre theyve weve isnt arent wasnt werent dont doesnt didnt cant couldnt wont wouldnt shouldnt hasnt
    havent hadnt lets thats whats oh yeah hey hi hello ok okay um uh wow also really got get
    """.split()
)


class _Stemmers(threading.local):
    """A stemmer a thread: Snowball's object keeps state while it works."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")


_stemmers = _Stemmers()


def fold(text: str) -> str:
    """Text as it is compared: compatibility forms unified, case folded, invisible characters gone."""
    return _IGNORED.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'").casefold()


def has_cjk(text: str) -> bool:
    """Whether any character is Chinese, Japanese or Korean."""
    return _CJK.search(text) is not None


def tokens(text: str) -> list[str]:
    """The words of a text in order, folded, not stemmed; a CJK run gives its characters, then its bigrams."""
    found: list[str] = []
    for word in _WORD.findall(fold(text)):
        if _CJK.match(word):
            found += word
            found += [word[i : i + 2] for i in range(len(word) - 1)]
        else:
            found.append(word.removesuffix("'s").replace("'", "")[:LONGEST])
    return found


def terms(text: str) -> list[str]:
    """The terms of a text in order: its words without the commonest, stemmed."""
    words = [word for word in tokens(text) if word not in STOP]
    return [str(stem) for stem in _stemmers.english.stemWords(words)]


def words(text: str) -> Words:
    """A line's terms with how often each stands in it and in its head."""
    counts = Counter(terms(text))
    if len(text) <= HEAD:
        return Words({term: (n, n) for term, n in counts.items()}, counts.total(), counts.total())
    head = Counter(terms(text[:HEAD]))
    return Words({term: (n, head[term]) for term, n in counts.items()}, counts.total(), head.total())

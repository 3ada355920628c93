"""The text analyser that all stores share, so that a term means the same in every bank.

Scripts with spaces: NFKC, case folded, split at everything but letters and digits, function words dropped, irregular
forms made regular, Snowball's stemmer of the text's language (`lexicon`), accents dropped. Chinese, Thai and the like
are not segmented into words: each character except the commonest and each pair of neighbours is a term. In Japanese,
kana are terms in pairs only, and titles such as "san" are left out; Korean words lose their particle and become pairs
of syllables. On Chinese dialogues,
recall at 10 was 65%; with the words of a dictionary it was 61% (docs/log.md).
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import Stemmer

from everthread.common.keys import META_ECHO
from everthread.text.lexicon import ENGLISH, LEXICONS, Lexicon, find_language
from everthread.text.word_lists import alternation
from everthread.types import Metadata

# Raised whenever the same text would give other terms, or another text to embed; a bank's file records it.
ANALYZER_VERSION = 6
HEAD_CHARS = 220  # characters of a neighbouring line that count; more of a long one would outweigh the line itself
MAX_TERM_CHARS = 40  # characters of a term; longer runs (keys, base64) are cut: no query repeats them in full

# Scripts written without spaces: CJK, Kana, Hangul, Thai, Lao, Burmese, Khmer.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
# They belong to the word in which they occur.
_VOWEL_SIGNS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff"
_LETTER = rf"(?:[^\W_{UNSPACED}]|[{_VOWEL_SIGNS}])"
_WORD = re.compile(rf"[{UNSPACED}]+|{_LETTER}+(?:'{_LETTER}+)*")
_UNSPACED = re.compile(rf"[{UNSPACED}]")
UNSPACED_LANGUAGES = ("zh", "ja")  # without spaces between words
_PUNCTUATION = re.compile("[\u3000-\u3004\u3007-\u3030]+")  # of CJK, inside the range above
_ACCENT = re.compile("[\u0300-\u036f]")
_HANGUL, _KANA, _CYRILLIC = (re.compile(f"[{LEXICONS[language].script}]") for language in ("ko", "ja", "ru"))
_OTHER_SCRIPT = re.compile(f"{_HANGUL.pattern}|{_KANA.pattern}|{_CYRILLIC.pattern}")
_SPELLINGS = str.maketrans({"’": "'", "œ": "oe", "Œ": "oe"})  # "sœur" is mostly typed as "soeur"
_STRETCHED = re.compile(r"([^\W\d_])\1\1+")  # "nooooo"; in English, "oo" and "o" are both frequent
_ROMAN_NUMERAL = re.compile("[ivxlcdm]+")
_JAMO = re.compile("[\u1100-\u11ff\u3130-\u318f]+")  # letters of Hangul outside syllables: "ㅋㅋ", "ㅇㅇ"
_FIRST_SYLLABLE, _FINALS, _PAST_FINAL = 0xAC00, 28, 20  # of Hangul: the block's start, finals in it, and that of 갔
_JAPANESE_TITLES = re.compile(alternation(LEXICONS["ja"].titles))
_JAPANESE_FORMS = re.compile(alternation(sorted(LEXICONS["ja"].regular_forms, key=len, reverse=True)))
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")  # invisible in print

_EN = LEXICONS[ENGLISH]
STOP_WORDS: frozenset[str] = _EN.stop
STOP_CHARACTERS: frozenset[str] = LEXICONS["zh"].stop
_CONTRACTION = re.compile(f"{alternation(_EN.contractions)}$")


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The terms of a line: how often each occurs in the line and in its head, and the lengths of both in terms."""

    terms: Mapping[str, tuple[int, int]]
    length: int
    head_length: int


class _Stemmers(threading.local):
    """The stemmers of each thread: Snowball's stemmers are not thread-safe."""

    def __init__(self) -> None:
        self.by_name: dict[str, Stemmer.Stemmer] = {}

    def stem(self, name: str, words: Sequence[str]) -> list[str]:
        """Stem words with the stemmer of this name."""
        stemmer = self.by_name.get(name)
        if stemmer is None:
            stemmer = self.by_name[name] = Stemmer.Stemmer(name)
        return list(stemmer.stemWords(words))


_stemmers = _Stemmers()


def normalize(text: str) -> str:
    """Fold a text for comparison: unify compatibility forms and case, drop invisible characters."""
    if text.isascii():
        return text.lower()
    return _PUNCTUATION.sub(" ", _IGNORED.sub("", unicodedata.normalize("NFKC", text))).translate(_SPELLINGS).casefold()


def _strip_accents(word: str) -> str:
    return word if word.isascii() else unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))


def fold(text: str) -> str:
    """Fold a text for a search of its characters: as `normalize`, and without accents."""
    return _strip_accents(normalize(text))


def is_unspaced_script(text: str) -> bool:
    """Return whether most of a text is in a script without spaces, which the shipped English model can't read.

    A character of such a script counts as much as a word of another, so that a name or an emoticon does not decide.
    """
    characters = len(_UNSPACED.findall(text))
    return characters > 0 and 2 * characters > sum(
        len(word) if _UNSPACED.match(word) else 1 for word in _WORD.findall(text)
    )


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, folded, not stemmed; a CJK run yields its characters, then its bigrams."""
    return _bare_words(_WORD.findall(normalize(text)))


def _bare_words(runs: Iterable[str]) -> list[str]:
    words: list[str] = []
    for word in runs:
        if not word.isascii() and _UNSPACED.match(word):
            words += word
            words += [word[i : i + 2] for i in range(len(word) - 1)]
        else:
            bare = _CONTRACTION.sub("", word).replace("'", "") if "'" in word else word
            words.append(_strip_accents(bare)[:MAX_TERM_CHARS])
    return [word for word in words if word]


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, as English: words without stop words, irregular forms made regular, stemmed.

    Two texts share such terms whatever their languages. The terms of a line are those of its own (`count_terms`).
    """
    return _english_terms(_WORD.findall(normalize(text)))


def _english_terms(runs: Iterable[str]) -> list[str]:
    words = [
        _EN.regular_forms.get(word, word)
        for word in _bare_words(runs)
        if word not in STOP_WORDS and word not in STOP_CHARACTERS
    ]
    return _stemmers.stem(_EN.stemmer, words)


def analyze(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the terms of a text in order, and for those of another language the English ones that differ.

    The English term of a word is the one by which a question in any other language finds it, if it has the same word,
    such as a name.
    """
    folded = normalize(text)
    runs = _WORD.findall(folded)
    return _terms_of(folded, runs, find_language(folded, runs))


def detect_language(text: str) -> str:
    """Return the language of a text: by the script of most of it, else by its function words."""
    folded = normalize(text)
    runs = _WORD.findall(folded)
    if not folded.isascii():
        if is_unspaced_script(folded):
            return next((name for name, script in (("ko", _HANGUL), ("ja", _KANA)) if script.search(folded)), "zh")
        if 2 * sum(_CYRILLIC.match(run) is not None for run in runs) > len(runs):
            return "ru"
    return find_language(folded, runs)


def _terms_of(folded: str, runs: Sequence[str], language: str) -> tuple[list[str], dict[str, str]]:
    """Return the terms of words, and the English ones that differ; words in Latin letters are of this language."""
    if language == ENGLISH and (folded.isascii() or not _OTHER_SCRIPT.search(folded)):
        return _english_terms(runs), {}
    latin: list[str] = []
    cyrillic: list[str] = []
    found: list[str] = []
    for run in runs:
        if _JAMO.fullmatch(run):
            continue
        if run.isascii() or not _UNSPACED.match(run):
            (cyrillic if _CYRILLIC.match(run) else latin).append(run)
        elif _HANGUL.search(run):
            found += _korean_terms(run)
        elif _KANA.search(run):
            found += _japanese_terms(run)
        else:
            found += _english_terms([run])
    own, english = (_english_terms(latin), {}) if language == ENGLISH else _latin_terms(latin, LEXICONS[language])
    return own + _stem(_content_words(cyrillic, LEXICONS["ru"]), LEXICONS["ru"]) + found, english


def _content_words(runs: Iterable[str], lexicon: Lexicon) -> list[str]:
    """Return the parts of words between apostrophes that are not function words; compounds by their regular form."""
    words: list[str] = []
    for part in (_shorten(part) for run in runs for part in (run.split("'") if "'" in run else (run,)) if part):
        if words and (compound := f"{words[-1]}-{part}") in lexicon.compounds:
            words[-1] = lexicon.regular_forms[compound]
        else:
            words.append(part)
    return [word for word in words if word not in lexicon.stop and word not in lexicon.elisions]


def _shorten(word: str) -> str:
    """Return a word without the letters by which it was stretched: "nooooo" as "no"."""
    return _STRETCHED.sub(r"\1", word) if _STRETCHED.search(word) and not _ROMAN_NUMERAL.fullmatch(word) else word


def _stem(words: Iterable[str], lexicon: Lexicon) -> list[str]:
    stems = _stemmers.stem(lexicon.stemmer, [lexicon.regular_forms.get(word, word) for word in words])
    return [_strip_accents(stem)[:MAX_TERM_CHARS] for stem in stems]


def _latin_terms(runs: Iterable[str], lexicon: Lexicon) -> tuple[list[str], dict[str, str]]:
    """Return the terms of words in a language other than English, and their English terms where these differ."""
    words = _content_words(runs, lexicon)
    own, bare = _stem(words, lexicon), [_strip_accents(word)[:MAX_TERM_CHARS] for word in words]
    english = _stem(bare, _EN)
    pairs = {
        term: other
        for term, other, word in zip(own, english, bare, strict=True)
        if other != term and word not in STOP_WORDS
    }
    return own, pairs


def _korean_terms(run: str) -> list[str]:
    """Return the pairs of syllables of a word without its particle or ending, or its only syllable."""
    lexicon = LEXICONS["ko"]
    if run in lexicon.stop:
        return []
    stem = _cut_ending(_cut_ending(run, lexicon.endings), lexicon.tenses)
    stem = stem[:-1] + _cut_past(stem[-1])
    stem = lexicon.regular_forms.get(run) or lexicon.regular_forms.get(stem, stem)
    if stem in lexicon.stop:
        return []
    return [stem] if len(stem) == 1 else [stem[i : i + 2] for i in range(len(stem) - 1)]


def _cut_ending(word: str, endings: Iterable[str]) -> str:
    """Return a word without the first of the endings that it has, unless nothing would be left."""
    return next((word[: -len(end)] for end in endings if word.endswith(end) and len(word) > len(end)), word)


def _cut_past(syllable: str) -> str:
    """Return a syllable without the final letter of the past: 가 for 갔."""
    final = (ord(syllable) - _FIRST_SYLLABLE) % _FINALS
    return chr(ord(syllable) - final) if _HANGUL.match(syllable) and final == _PAST_FINAL else syllable


def _japanese_terms(run: str) -> list[str]:
    """Return the Chinese characters of a text with kana, and the pairs that are not grammar; titles are left out."""
    forms = LEXICONS["ja"].regular_forms
    regular = _JAPANESE_FORMS.sub(lambda match: forms[match[0]], run)
    return [term for part in _JAPANESE_TITLES.split(regular) for term in _japanese_part(part)]


def _japanese_part(run: str) -> list[str]:
    lexicon = LEXICONS["ja"]
    singles = [
        char for char in run if not _KANA.match(char) and char not in lexicon.stop and char not in STOP_CHARACTERS
    ]
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return singles + [pair for pair in pairs if pair not in lexicon.stop_pairs]


def count_terms(text: str) -> TermCounts:
    """Count the terms of a line, and those of its head."""
    folded = normalize(text)
    runs = _WORD.findall(folded)
    language = find_language(folded, runs)
    found, english = _terms_of(folded, runs, language)
    counts = Counter(found)
    head = counts
    if len(text) <= HEAD_CHARS:
        records = {term: (n, n) for term, n in counts.items()}
    else:
        folded = normalize(text[:HEAD_CHARS])
        head = Counter(_terms_of(folded, _WORD.findall(folded), language)[0])
        records = {term: (n, head[term]) for term, n in counts.items()}
    for own, other in english.items():
        records.setdefault(other, records[own])
    return TermCounts(records, counts.total(), head.total())


def remove_quotes(text: str, metadata: Metadata) -> str:
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


def remove_quotes_json(text: str, metadata: str) -> str:
    """Remove the quotes as `remove_quotes` does, given the metadata as stored JSON."""
    return remove_quotes(text, json.loads(metadata)) if META_ECHO in metadata else text

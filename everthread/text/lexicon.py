"""Loads the words of each language, and finds the language of a text. Pure.

`lexicons` has a file for each language; `docs/languages.md` describes their lists. Words in a script of its own belong
to its language. Words in Latin letters are of the language that has most function words in the text, and of English if
no other has more: names and quotes in an English line don't change how it is analysed.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from everthread.text.word_lists import alternation

FOLDER = Path(__file__).parent / "lexicons"
ENGLISH = "en"
MIN_FUNCTION_WORDS = 1 / 6  # share in a text of a language; with fewer, the text is of a language without a file
MIN_BORROWED_WORDS = 3  # from which on they are not names in an English text


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of one language, folded as `analyzer.normalize` returns them.

    Attributes:
        language: the language's code.
        stop: words that are no terms, and by which the language is recognised.
        stemmer: the name of Snowball's stemmer; empty for a language without one.
        script: the ranges of its letters; empty for Latin letters.
        markers: further words by which the language is recognised.
        borrowed: words of other languages by which alone they are not recognised; in English only.
        letters: characters that count like a marker.
        elisions: words that are cut off before an apostrophe, with which they count like a marker.
        contractions: endings after an apostrophe that are cut off.
        regular_forms: for irregular forms, and other words for the same, the word as which they count.
        compounds: those of them that are two words with a hyphen, or a space, between them.
        stop_pairs: pairs of characters that are no terms.
        endings: particles and endings that are cut off, the longest first.
        tenses: marks of tense that are cut off where an ending was.
        titles: what follows a name in a script without spaces, and is left out.
        time_questions: phrases that ask for a time.
        small_talk: words of greetings, thanks and the like.
        overview: words of a question that only asks what was talked about.
        times: words of times, by kind.
        ago: how to say how long ago something was: `phrases` with {count} and {unit}, `counts`, and each unit.
    """

    language: str
    stop: frozenset[str]
    stemmer: str = ""
    script: str = ""
    markers: frozenset[str] = frozenset()
    borrowed: frozenset[str] = frozenset()
    letters: str = ""
    elisions: frozenset[str] = frozenset()
    contractions: Sequence[str] = ()
    regular_forms: Mapping[str, str] = field(default_factory=dict)
    compounds: frozenset[str] = frozenset()
    stop_pairs: frozenset[str] = frozenset()
    endings: Sequence[str] = ()
    tenses: Sequence[str] = ()
    titles: Sequence[str] = ()
    time_questions: Sequence[str] = ()
    small_talk: frozenset[str] = frozenset()
    overview: frozenset[str] = frozenset()
    times: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ago: Mapping[str, Any] = field(default_factory=dict)


_SETS = ("stop", "markers", "borrowed", "elisions", "stop_pairs", "small_talk", "overview")


def _load(path: Path) -> Lexicon:
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    table |= {name: frozenset(table[name]) for name in _SETS if name in table}
    irregular: dict[str, list[str]] = table.pop("irregular", {})
    regular_forms = {form: word for word, forms in irregular.items() for form in forms}
    compounds = frozenset(form for form in regular_forms if "-" in form)
    return Lexicon(path.stem, regular_forms=regular_forms, compounds=compounds, **table)


LEXICONS: Mapping[str, Lexicon] = {lexicon.language: lexicon for lexicon in map(_load, sorted(FOLDER.glob("*.toml")))}
_LATIN = [lexicon for lexicon in LEXICONS.values() if not lexicon.script]
_LETTERS = {letter: lexicon.language for lexicon in _LATIN for letter in lexicon.letters}
_ANY_LETTER = re.compile(f"[{''.join(_LETTERS)}]")


def _index_votes() -> dict[str, tuple[str, ...]]:
    """Return for each word the languages for which it votes."""
    votes: dict[str, list[str]] = defaultdict(list)
    for lexicon in _LATIN:
        for word in lexicon.stop | lexicon.markers | {f"{elision}'" for elision in lexicon.elisions}:
            votes[word].append(lexicon.language)
    return {word: tuple(languages) for word, languages in votes.items()}


_VOTES = _index_votes()
_BORROWED = LEXICONS[ENGLISH].borrowed
_FOREIGN = frozenset(_VOTES) - LEXICONS[ENGLISH].stop - LEXICONS[ENGLISH].markers - _BORROWED
_CONTRACTION = re.compile(f"{alternation(LEXICONS[ENGLISH].contractions)}$")


def _split_word(word: str) -> list[str]:
    """Return the parts of a word that vote: "dov'è" as "dov'" and "è", "what's" as "what"."""
    if "'" not in word or word in _VOTES:
        return [word]
    *elided, last = _CONTRACTION.sub("", word).split("'")
    return [*(f"{part}'" for part in elided), last]


def find_language(folded: str, words: Sequence[str]) -> str:
    """Return the language of the Latin letters in a text.

    Args:
        folded: the text, as `analyzer.normalize` returns it.
        words: its words.
    """
    letters = [] if folded.isascii() else _ANY_LETTER.findall(folded)
    if "'" in folded:
        words = [part for word in words for part in _split_word(word)]
    if not letters and _FOREIGN.isdisjoint(words) and len(_BORROWED.intersection(words)) < MIN_BORROWED_WORDS:
        return ENGLISH
    votes = Counter(language for word in words for language in _VOTES.get(word, ()))
    votes.update(_LETTERS[letter] for letter in letters)
    language, most = votes.most_common(1)[0] if votes else (ENGLISH, 0)
    return language if most > votes[ENGLISH] and most >= MIN_FUNCTION_WORDS * len(words) else ENGLISH

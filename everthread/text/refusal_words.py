"""Loads the dictionary of refusing phrases: data files by language, and the user's own file.

A file is TOML with three tables. `[phrases]` gives each phrase its intensity, 0 to 2; 0 switches a phrase of an earlier
file off. `[excuses]` does the same for phrases that reduce the penalty of a refusal. `[classes]` names lists of words.

A phrase is text, with five signs: `{name}` is any word of that class, `_` is one word or none, `...` is six words (of
Chinese, twelve characters) or fewer, `^` in front is the beginning of a reply, and `.` at the end is the end of a
clause.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path

from everthread import config
from everthread.common.once import once
from everthread.errors import ConfigError
from everthread.text.analyzer import UNSPACED, normalize

log = logging.getLogger("everthread")

LANGUAGES = ("en", "zh")
MAX_INTENSITY = 2.0
MAX_PHRASE_CHARS = 100
SIGN = re.compile(r"\{(?P<name>\w*)\}|(?P<gap>\.\.\.)|(?P<word>_)|(?P<head>^\^)|(?P<end>\.$)")
REPLY_START = r"\A[^\w*]*+(?:\*[^*\n]{0,40}\*[^\w*]*+)?+"  # a reply may begin with a gesture: *sighs*
CLAUSE_END_UNSPACED = r"(?=\W|$)"  # folding leaves a space for Chinese punctuation
CLAUSE_END = r"(?=\s*(?:$|[.!?,;:—-]|as\b|because\b|but\b|right now\b|at this time\b))"
WORD_START, WORD_END = rf"(?<![^\W{UNSPACED}])", rf"(?![^\W{UNSPACED}])"  # \b, for which Chinese would be one word
GAP, GAP_UNSPACED = r"(?:[^\w']+[\w']+){0,6}?[^\w']+", r"[^ .!?]{0,12}?"

_UNSPACED = re.compile(f"[{UNSPACED}]")

Tables = dict[str, dict[str, object]]


@dataclass(frozen=True)
class Phrase:
    """A phrase of the dictionary."""

    text: str
    intensity: float
    source: str  # of its pattern
    keys: tuple[str, ...]  # the pattern is tried only on texts that contain one of these words

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern. Most phrases never need one, and compiling all that are shipped takes a second."""
        return re.compile(self.source)

    def search(self, folded: str) -> re.Match[str] | None:
        """Return the phrase's first match in a folded text."""
        return self.pattern.search(folded) if any(key in folded for key in self.keys) else None


@dataclass(frozen=True)
class RefusalWords:
    """A dictionary of refusing phrases, excuses and classes of words."""

    phrases: tuple[Phrase, ...] = ()
    excuses: tuple[Phrase, ...] = ()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def find_phrases(self, folded: str) -> Iterator[tuple[Phrase, re.Match[str]]]:
        """Yield the refusing phrases of a folded text in the dictionary's order, each with its first match."""
        for index in sorted(
            {index for key, indices in self._indices_by_key.items() if key in folded for index in indices}
        ):
            if match := self.phrases[index].pattern.search(folded):
                yield self.phrases[index], match

    @cached_property
    def _indices_by_key(self) -> dict[str, list[int]]:
        """The indices of the phrases by key: phrases share keys, and a text is searched once for each key."""
        indices: dict[str, list[int]] = {}
        for index, phrase in enumerate(self.phrases):
            for key in phrase.keys:
                indices.setdefault(key, []).append(index)
        return indices


def configured_path() -> Path:
    """Return the path of the user's file, which the setting `refusals` names and which may not exist."""
    return Path(config.load().refusals)


def load(path: Path | None = None) -> RefusalWords:
    """Load the shipped words with those of the user's file, which is read again only when it has changed.

    An invalid file is logged and ignored, so that no reply is lost because of it; `everthread recipes refusals` shows
    what is wrong.

    Args:
        path: the file, which may not exist. Default: the configured one.
    """
    path = path or configured_path()
    try:
        modified_ns = path.stat().st_mtime_ns
    except OSError:
        return shipped_words()
    return _load_tolerantly(path, modified_ns)


@lru_cache(maxsize=8)
def _load_tolerantly(path: Path, modified_ns: int) -> RefusalWords:
    try:
        return extend_shipped(path)
    except ConfigError as error:
        log.warning("your own refusal words are ignored: %s", error)
        return shipped_words()


@once
def shipped_words() -> RefusalWords:
    """Return the words that come with Everthread."""
    folder = files("everthread.text") / "refusals"
    words = RefusalWords()
    for language in LANGUAGES:
        words = _add_tables(words, tomllib.loads((folder / f"{language}.toml").read_text(encoding="utf-8")), language)
    return words


def extend_shipped(path: Path) -> RefusalWords:
    """Return the shipped words with those of a file.

    Raises:
        ConfigError: the file can't be read, or an entry is invalid.
    """
    return _add_tables(shipped_words(), read_tables(path), str(path))


def read_tables(path: Path) -> Tables:
    """Read a file's tables without checking them.

    Raises:
        ConfigError: the file can't be read as TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} can't be read as TOML: {error}") from error


def add_phrases(words: RefusalWords, phrases: Mapping[str, float]) -> RefusalWords:
    """Return the words with further phrases.

    Raises:
        ConfigError: a phrase or an intensity is invalid.
    """
    return _add_tables(words, {"phrases": dict(phrases)}, "the phrases")


def _add_tables(words: RefusalWords, tables: Mapping[str, object], source: str) -> RefusalWords:
    if unknown := tables.keys() - {"classes", "phrases", "excuses"}:
        raise ConfigError(f"{source}: unknown table {sorted(unknown)[0]!r}; expected one of classes, phrases, excuses")
    classes = {**words.classes, **_parse_classes(tables.get("classes", {}), source)}
    return RefusalWords(
        _compile_phrases(words.phrases, tables.get("phrases", {}), classes, source),
        _compile_phrases(words.excuses, tables.get("excuses", {}), classes, source),
        classes,
    )


def _parse_classes(table: object, source: str) -> dict[str, tuple[str, ...]]:
    classes = {}
    for name, words in _check_table(table, "classes", source).items():
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise ConfigError(f"{source}: invalid class {name!r}: {words!r}; expected a list of texts")
        classes[name] = tuple(normalize(word) for word in words)
    return classes


def _compile_phrases(
    known: tuple[Phrase, ...], table: object, classes: Mapping[str, tuple[str, ...]], source: str
) -> tuple[Phrase, ...]:
    phrases = {phrase.text: phrase for phrase in known}
    for text, intensity in _check_table(table, "phrases", source).items():
        if isinstance(intensity, bool) or not isinstance(intensity, int | float) or not 0 <= intensity <= MAX_INTENSITY:
            raise ConfigError(
                f"{source}: invalid intensity of {text!r}: {intensity!r}; expected a number from 0 to {MAX_INTENSITY:g}"
            )
        folded = normalize(text)
        phrases.pop(folded, None)
        if intensity:
            phrases[folded] = _compile_phrase(folded, float(intensity), classes, source)
    return tuple(phrases.values())


def _check_table(table: object, name: str, source: str) -> Mapping[str, object]:
    if not isinstance(table, dict):
        raise ConfigError(f"{source}: invalid {name}: {table!r}; expected a table")
    return table


def _compile_phrase(text: str, intensity: float, classes: Mapping[str, tuple[str, ...]], source: str) -> Phrase:
    if not re.search(r"\w", SIGN.sub(lambda found: found["name"] or "", text)) or len(text) > MAX_PHRASE_CHARS:
        raise ConfigError(
            f"{source}: invalid phrase {text!r}: expected 1 to {MAX_PHRASE_CHARS} characters with a word in them"
        )
    unspaced = bool(_UNSPACED.search(text))
    parts: list[tuple[str, ...]] = []
    pattern, end = "", 0
    for sign in SIGN.finditer(text):
        pattern += _literal_pattern(text[end : sign.start()], parts)
        pattern += _sign_pattern(sign, unspaced, classes, parts, source)
        end = sign.end()
    pattern += _literal_pattern(text[end:], parts)
    return Phrase(text, intensity, _add_word_borders(pattern, parts), _longest_part(parts))


def _literal_pattern(text: str, parts: list[tuple[str, ...]]) -> str:
    if text.strip():
        parts.append((text,))
    return re.escape(text)


def _sign_pattern(
    sign: re.Match[str],
    unspaced: bool,
    classes: Mapping[str, tuple[str, ...]],
    parts: list[tuple[str, ...]],
    source: str,
) -> str:
    """Return the pattern of a sign. The words of a class are added to `parts`."""
    match sign.lastgroup:
        case "gap":
            return GAP_UNSPACED if unspaced else GAP
        case "word":
            return r"(?: \w+)?"
        case "head":
            return REPLY_START
        case "end":
            return CLAUSE_END_UNSPACED if unspaced else CLAUSE_END
    name = sign["name"]
    if name not in classes:
        raise ConfigError(
            f"{source}: unknown class {{{name}}} in {sign.string!r}; expected one of {', '.join(classes)}"
        )
    words = sorted(classes[name], key=len, reverse=True)
    parts.append(tuple(words))
    return f"(?:{'|'.join(map(re.escape, words))})"


def _add_word_borders(pattern: str, parts: list[tuple[str, ...]]) -> str:
    """Add word boundaries at both ends of a pattern, except in scripts without spaces."""
    before = (
        WORD_START
        if any(map(_is_spaced_letter, (word[:1] for word in parts[0]))) and not pattern.startswith(REPLY_START)
        else ""
    )
    open_end = pattern.endswith((CLAUSE_END, CLAUSE_END_UNSPACED))
    after = WORD_END if any(map(_is_spaced_letter, (word[-1:] for word in parts[-1]))) and not open_end else ""
    return f"{before}{pattern}{after}"


def _is_spaced_letter(letter: str) -> bool:
    return bool(re.match(r"\w", letter)) and not _UNSPACED.match(letter)


def _longest_part(parts: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the words of the most selective part of a phrase: the part whose shortest word is longest."""
    return max(parts, key=lambda words: min(len(word) for word in words))

"""Tokenizers that return the offsets at which tokens begin: word pieces, words, or a tokenizer of Hugging Face."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everthread.common.installation import package_command
from everthread.common.once import once
from everthread.embedders.onnx import MINILM_FOLDER, MODEL_REMEDY
from everthread.errors import ConfigError, ModelNotFound
from everthread.llms.token_counters import load_tokenizer

if TYPE_CHECKING:
    import tokenizers

Tokenizer = Callable[[str], Sequence[int]]  # from a text to the ascending positions at which its tokens begin

MAX_CACHED_TEXTS = 10_000
_cache: dict[int, Sequence[int]] = {}  # positions of tokens by the hash of a text
_BREAKS = re.compile(r"\n+")
_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[int]:
    """Return the starts of words and punctuation marks."""
    return [match.start() for match in _WORD.finditer(text)]


def word_pieces(text: str) -> Sequence[int]:
    """Return the starts of the shipped model's word pieces in a text of any length, without lone surrogates.

    Line breaks are tokens, too: the model ignores them, but goodai-ltm's tokenizer counts them, and chunks should have
    the same length as its chunks. Positions are cached, since lines are tokenised repeatedly; the cache contains no
    words.
    """
    key = hash(text)
    if (known := _cache.get(key)) is None:
        pieces = {start for start, _ in _pieces().encode(text, add_special_tokens=False).offsets}
        known = array("I", sorted(pieces.union(match.start() for match in _BREAKS.finditer(text))))  # 4 bytes each
        if len(_cache) >= MAX_CACHED_TEXTS:
            _cache.clear()
        _cache[key] = known
    return known


class HuggingFace:
    """A tokenizer of the `tokenizers` library, as a copy that neither truncates nor pads.

    Special tokens such as [CLS] are left out.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        described = tokenizer.to_str()
        self.name = f"hugging-face-{hashlib.sha256(described.encode()).hexdigest()[:12]}"
        self._tokenizer = type(tokenizer).from_str(described)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def __call__(self, text: str) -> Sequence[int]:
        starts = {start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets}
        return sorted(start for start in starts if start < len(text))  # several tokens of one character start together


def open_tokenizer(given: Any) -> Tokenizer:
    """Open a tokenizer.

    Args:
        given: a function as `Tokenizer`; a tokenizer of the `transformers` library, such as AutoTokenizer loads; a
            `tokenizers.Tokenizer`; the path of a tokenizer.json or of its folder; or a model's name, such as `gpt2`,
            which transformers loads.

    Raises:
        ConfigError: the value is invalid, or transformers is needed and isn't installed.
    """
    if isinstance(given, str | Path):
        return _read(given)
    if hasattr(given, "encode") and hasattr(given, "to_str"):
        return HuggingFace(given)
    if hasattr(given, "convert_ids_to_tokens"):  # of transformers
        if (backend := getattr(given, "backend_tokenizer", None)) is None:
            raise ConfigError(
                f"invalid tokenizer {type(given).__name__}: it doesn't return token offsets; expected a fast "
                "one, such as AutoTokenizer.from_pretrained(NAME, use_fast=True) loads"
            )
        return HuggingFace(backend)
    if not callable(given):
        raise ConfigError(
            f"invalid tokenizer {given!r}: expected a function that returns the offsets of a text's tokens"
        )
    return given  # type: ignore[no-any-return]  # assumed to have the signature


def _read(given: str | Path) -> Tokenizer:
    path = Path(given).expanduser()
    path = path / "tokenizer.json" if path.is_dir() else path
    if path.is_file():
        return HuggingFace(load_tokenizer(path))
    if path.suffix == ".json":
        raise ConfigError(f"invalid tokenizer {str(given)!r}: file not found; expected a tokenizer.json")
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise ConfigError(
            f"tokenizer {str(given)!r} needs the transformers library ({package_command('transformers')}), "
            f"or give the path of its tokenizer.json ({error})"
        ) from error
    try:
        return open_tokenizer(AutoTokenizer.from_pretrained(str(given)))
    except (OSError, ValueError) as error:
        raise ConfigError(f"tokenizer {str(given)!r} can't be loaded; check the name ({error})") from error


def piece_names(text: str) -> list[str]:
    """Return the names of the word pieces: in lower case, with ## before one that continues a word."""
    names: list[str] = _pieces().encode(text, add_special_tokens=False).tokens
    return names


@once
def _pieces() -> tokenizers.Tokenizer:
    path = MINILM_FOLDER / "tokenizer.json"
    if not path.is_file():
        raise ModelNotFound(f"{path} is missing; {MODEL_REMEDY}")
    return load_tokenizer(path)

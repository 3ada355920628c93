"""Counters of tokens by name: the estimate, a model's own tokenizer.json, or an encoding of tiktoken."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from everthread.common.installation import package_command
from everthread.errors import ConfigError
from everthread.text.encoding import make_encodable
from everthread.text.tokens import TokenCounter, estimate_tokens

if TYPE_CHECKING:
    import tokenizers

ESTIMATE = "estimate"
TIKTOKEN = "tiktoken:"
EXPECTED = f"{ESTIMATE}, the path of a tokenizer.json or of the folder that holds one, or {TIKTOKEN}cl100k_base"


@cache  # loading a tokenizer is slow, and all banks share it
def open_counter(name: str) -> TokenCounter:
    """Open a counter of tokens.

    Args:
        name: `estimate`; the path of a Hugging Face tokenizer.json, or of its folder; or `tiktoken:` and the name of
            an encoding or of an OpenAI model.

    Returns:
        A function that counts the tokens of a text.

    Raises:
        ConfigError: the name is unknown, or the tokenizer can't be loaded.
    """
    if name == ESTIMATE:
        return estimate_tokens
    if name.startswith(TIKTOKEN):
        return _load_tiktoken(name.removeprefix(TIKTOKEN))
    path = Path(name).expanduser()
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"invalid tokens {name!r}: file {file} not found; expected {EXPECTED}")
    return _load_hugging_face(file)


def load_tokenizer(file: Path) -> tokenizers.Tokenizer:
    """Load a Hugging Face tokenizer.json without its padding and truncation.

    Raises:
        ConfigError: the file is not a valid tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # noqa: BLE001  # tokenizers raises Exception itself, not a subclass
        raise ConfigError(f"invalid tokenizer '{file}': {error}; expected a tokenizer.json") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _load_hugging_face(file: Path) -> TokenCounter:
    tokenizer = load_tokenizer(file)
    return lambda text: len(tokenizer.encode(make_encodable(text), add_special_tokens=False).ids)


def _load_tiktoken(name: str) -> TokenCounter:
    try:
        import tiktoken
    except ImportError:
        raise ConfigError(
            f"tokens {TIKTOKEN}{name} needs tiktoken; install it: {package_command('tiktoken')}"
        ) from None
    try:
        known = name in tiktoken.list_encoding_names()
        encoding = tiktoken.get_encoding(name) if known else tiktoken.encoding_for_model(name)
    except (KeyError, ValueError):
        raise ConfigError(
            f"invalid tokens {TIKTOKEN}{name}: tiktoken has no such encoding or model; expected "
            f"{', '.join(tiktoken.list_encoding_names())}, or an OpenAI model"
        ) from None
    except OSError as error:  # includes the exceptions of requests
        raise ConfigError(
            f"tokens {TIKTOKEN}{name} can't be loaded: tiktoken could not download the encoding "
            f"({type(error).__name__}); put it into the folder of TIKTOKEN_CACHE_DIR, or use another counter"
        ) from None
    return lambda text: len(encoding.encode(make_encodable(text), disallowed_special=()))

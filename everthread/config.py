"""Config: what can be set, from where, and what it is when nothing is said.

The order: the file `config.toml` in the user's configuration folder (or the one EVERTHREAD_CONFIG names), then the
environment (EVERTHREAD_STORE, EVERTHREAD_EMBEDDER, EVERTHREAD_RECIPE, …: the field's name in capitals; empty counts as
unset), then arguments. Variables that begin with EVERTHREAD_TEST_ are the tests' own.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from everthread.errors import ConfigError

log = logging.getLogger("everthread")

PREFIX = "EVERTHREAD_"
TESTS = "EVERTHREAD_TEST_"
TABLES = "recipes"  # the setting that is tables, [recipes.packabby]; `recipe` is a name
NEAR = 0.75  # similarity (Ratcliff and Obershelp) from which an unknown name is taken for a misspelling of a known one


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set."""

    store: str = field(default_factory=lambda: platformdirs.user_data_dir("everthread"))  # the folder of the banks
    embedder: str = "minilm"  # minilm | hash | a folder with model.onnx | https://…/v1#model | st:NAME | openai:NAME
    embedder_key: str = field(default="", repr=False)  # the API key of a remote embedder; sent nowhere else
    device: str = ""  # where torch runs sentence-transformers models: cuda, cuda:1, mps, cpu; "" leaves it to torch
    recipe: str = "default"  # of banks that keep none of their own
    recipes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # options by recipe; in the file alone
    threads: int = 0  # processor threads for embedding many lines; 0 means as many as there are
    llm_url: str = ""  # of an OpenAI-compatible server, such as http://localhost:11434/v1
    llm_model: str = ""  # its name there; none means that no model shall write
    llm_key: str = field(default="", repr=False)  # sent to that server and nowhere else
    llm_context: int = 8192  # tokens of prompt and reply together
    llm_timeout: int = 60  # seconds that the server may be silent between two pieces of a reply
    llm_prices: str = ""  # of a million tokens read and written: 0.15/0.60; without them nothing is said of cost
    refusals: str = field(  # a TOML file of refusing words, in addition to those that come with Everthread
        default_factory=lambda: str(Path(platformdirs.user_config_dir("everthread")) / "refusals.toml")
    )
    scribe_model: str = ""  # for notes and summaries: a name, URL#model, or none; "": the one that replies
    scribe_key: str = field(default="", repr=False)  # for its URL, where that is another server's than llm_url
    tokens: str = "estimate"  # how tokens are counted: estimate, a tokenizer.json or its folder, tiktoken:ENCODING
    server_hosts: str = ""  # names under which the server is reached besides those of this machine, with commas
    server_threads: int = 64  # requests that the server works on at a time
    server_max_replies: int = 256  # replies that a server writes at once, each in a thread of its own
    server_max_body_bytes: int = 4_000_000  # bytes that a request may have, but for files
    server_requests_per_minute: int = (
        0  # requests a minute of one key, or of one address without a key; 0 means any number
    )
    sms_token: str = field(default="", repr=False)  # the auth token of a Twilio account; none means no text messages
    sms_account: str = ""  # its account SID, AC…: with it, late replies are sent behind
    sms_number: str = ""  # from which they are sent; none means the one that was written to
    sms_url: str = ""  # the public address that Twilio calls, as it was told there: https://bot.example.com/sms


def load(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """Load the configuration from file and environment.

    Raises ConfigError for an unknown setting of the file and for a wrong value; unknown variables are logged.
    """
    place = path or file(environ)
    config = Config()
    if (values := _read(place)) is not None:
        config = _set(config, _with_tables(values), str(place))
    elif path or environ.get(f"{PREFIX}CONFIG"):
        raise ConfigError(f"there is no configuration file {place}; make it, or unset {PREFIX}CONFIG")
    return _set(config, _from_env(environ))


def file(environ: Mapping[str, str] = os.environ) -> Path:
    """Name the configuration file, whether it is there or not."""
    named = environ.get(f"{PREFIX}CONFIG")
    return Path(named) if named else Path(platformdirs.user_config_dir("everthread")) / "config.toml"


def _from_env(environ: Mapping[str, str]) -> dict[str, object]:
    """The settings that the environment says."""
    names = {PREFIX + each.name.upper(): each.name for each in fields(Config) if each.name != TABLES}
    ours = [name for name in environ if name.startswith(PREFIX) and not name.startswith(TESTS)]
    said = {name: environ[name] for name in ours if environ[name]}
    said.pop(f"{PREFIX}CONFIG", None)
    if unknown := sorted(said.keys() - names):
        _warn(tuple(unknown), (*names, f"{PREFIX}CONFIG"))
    return {names[name]: value for name, value in said.items() if name in names}


@cache
def _warn(unknown: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Log, once a process, the variables that set nothing. An orchestrator sets some of its own under our prefix:
    Kubernetes gives every service's address to every pod, as EVERTHREAD_SERVICE_HOST."""
    log.warning("ignored unknown variables of the environment: %s", ", ".join(_hinted(name, known) for name in unknown))


def _hinted(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known], 1, NEAR)
    return f"{name} (did you mean {PREFIX}{near[0]}?)" if near else name


def _read(file: Path) -> dict[str, object] | None:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} can't be read as TOML: {error}") from error


def _set(config: Config, values: Mapping[str, object], file: str | None = None) -> Config:
    """The configuration with these values, of a file or else of the environment."""
    known = {each.name: type(getattr(config, each.name)) for each in fields(Config)}
    for name, value in values.items():
        if name not in known:
            raise ConfigError(f"{file} sets {name!r}, which is unknown; known are {', '.join(known)}")
        try:
            said: Any
            if name == TABLES:
                said = _tables(value)
            else:
                said = _text(value) if known[name] is str else _number(value, *NUMBERS[name])
            if name == "llm_prices":
                prices(said)
            config = replace(config, **{name: said})
        except ValueError as error:
            called = f"{file} sets {name} to" if file else f"{PREFIX}{name.upper()} is"
            raise ConfigError(f"{called} {value!r}; it must be {error}") from None
    return config


NUMBERS = {  # the least that each may be, and what it is called
    "threads": (0, "a whole number from 1, or 0 for as many as there are"),
    "llm_context": (2048, "a whole number of tokens, from 2048"),
    "llm_timeout": (1, "a whole number of seconds, from 1"),
    "server_threads": (1, "a whole number of requests, from 1"),
    "server_max_body_bytes": (1000, "a whole number of bytes, from 1000"),
    "server_requests_per_minute": (0, "a whole number of requests a minute, or 0 for any number"),
    "server_max_replies": (1, "a whole number of replies, from 1"),
}


def _tables(value: object) -> dict[str, dict[str, object]]:
    """Options by recipe. Which ones a recipe has, `everthread.factory` knows."""
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise ValueError("tables, one a recipe: [recipes.packabby]")
    return value


def _with_tables(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values of a file with [recipe.packabby] as [recipes.packabby]. TOML takes it where the file gives no
    recipe = "…" as well, and people write it."""
    recipe, recipes = values.get("recipe"), values.get(TABLES, {})
    if not isinstance(recipe, dict) or not isinstance(recipes, dict):
        return values
    return {name: value for name, value in values.items() if name != "recipe"} | {TABLES: {**recipe, **recipes}}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text in quotes")
    return value


def _number(value: object, least: int, called: str) -> int:
    """A number as a file or the environment writes it."""
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if type(number) is not int or number < least:
        raise ValueError(called)
    return number


PRICES = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*", re.ASCII)


def prices(said: str) -> tuple[float, float] | None:
    """What a million tokens cost, read and written. ValueError for what can't be understood."""
    if not said.strip():
        return None
    if not (found := PRICES.fullmatch(said)):
        raise ValueError("two prices, of a million tokens read and written: 0.15/0.60")
    return float(found[1]), float(found[2])

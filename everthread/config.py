"""Loads the settings from their defaults, a file and the environment.

Later sources override earlier ones: the file `config.toml` in the user's configuration folder (or the file named by
EVERTHREAD_CONFIG), the environment (EVERTHREAD_STORE, EVERTHREAD_EMBEDDER, EVERTHREAD_RECIPE, …: the field's name in
capitals; an empty value counts as unset), arguments. Variables that begin with EVERTHREAD_TEST_ belong to the tests.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from everthread.errors import ConfigError

log = logging.getLogger("everthread")

ENV_PREFIX = "EVERTHREAD_"
TEST_ENV_PREFIX = "EVERTHREAD_TEST_"
TABLE_SETTING = "recipes"  # the one setting that consists of tables, such as [recipes.packabby]
MISNAMED_TABLE = re.compile(r"^[ \t]*\[recipe\.(\w+)\]", re.MULTILINE)  # no TOML in a file that also sets `recipe`
MIN_NAME_SIMILARITY = 0.75  # ratio of Ratcliff and Obershelp from which an unknown name counts as a misspelling


LANGUAGES = ("en", "de", "fr", "es", "zh", "ja")  # of the terminal and of messages; zh is simplified Chinese


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. See `docs/configuration.md`."""

    store: str = field(default_factory=lambda: platformdirs.user_data_dir("everthread"))  # the folder of the banks
    embedder: str = "minilm"  # minilm | hash | a folder with model.onnx | https://…/v1#model | st:NAME | openai:NAME
    embedder_key: str = field(default="", repr=False)  # the API key of a remote embedder; sent nowhere else
    device: str = ""  # where torch runs sentence-transformers models: cuda, cuda:1, mps, cpu; "" leaves it to torch
    language: str = ""  # of `everthread chat` and `everthread demo`: en, de, fr, es, zh, ja; "": the system's locale
    recipe: str = "default"  # of banks without a saved recipe
    recipes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # options by recipe; only in the file
    threads: int = 0  # processor threads for embedding many lines; 0 means as many as there are
    llm_url: str = ""  # an OpenAI-compatible server, such as http://localhost:11434/v1
    llm_model: str = ""  # the name of a model of that server; "none" disables replies by a model
    llm_key: str = field(default="", repr=False)  # sent to that server and nowhere else
    llm_context: int = 8192  # tokens of prompt and reply together
    llm_timeout: int = 60  # seconds that the server may be silent between two pieces of a reply
    llm_prices: str = ""  # per million tokens read and written: 0.15/0.60; if empty, no cost is shown
    refusals: str = field(  # a TOML file of refusal phrases, in addition to those that come with Everthread
        default_factory=lambda: str(Path(platformdirs.user_config_dir("everthread")) / "refusals.toml")
    )
    scribe_model: str = ""  # for notes and summaries: a name, URL#model, or "none"; "" for the model that replies
    scribe_key: str = field(default="", repr=False)  # for its URL, if that is another server than llm_url
    tokens: str = "estimate"  # how tokens are counted: estimate, a tokenizer.json or its folder, tiktoken:ENCODING
    server_hosts: str = ""  # further host names of the server, separated by commas
    server_proxies: str = "127.0.0.1, ::1"  # addresses and networks of reverse proxies, which may name their clients
    account_header: str = ""  # the header in which these proxies name the person who has signed in; "" for none
    openid_issuer: str = ""  # the OpenID Connect provider where people sign in: https://login.example.org/realms/home
    openid_client: str = ""  # the id of this server at the provider
    openid_secret: str = field(default="", repr=False)  # sent to the provider and nowhere else; "" for a public client
    openid_name: str = ""  # of the provider, on the button; "" means its host
    openid_accounts: str = "create"  # for people who sign in for the first time: create, or linked for only known ones
    server_threads: int = 64  # requests that a process handles at a time
    server_max_replies: int = 256  # replies that a process writes at a time
    server_max_body_bytes: int = 4_000_000  # largest body of a request, except files
    server_requests_per_minute: int = 0  # per key or account, or per address without either; 0: no limit
    proxy_url: str = ""  # the server that the memory proxy passes requests on to; "" means llm_url
    proxy_key: str = field(default="", repr=False)  # sent to that server instead of the client's key
    proxy_bank: str = "default"  # the bank of requests that name none
    proxy_role: str = "system"  # as what memories are sent: system, developer, or user-prefix
    proxy_patience: int = 300  # milliseconds for recall, before a request is passed on without memories
    proxy_timeout: int = 600  # seconds that the server of the models may be silent
    proxy_history: str = "store"  # whether histories from before the proxy are stored: store or skip
    proxy_origins: str = ""  # pages that may use the proxy from a browser: https://chat.example.org, or *
    proxy_max_body_bytes: int = 64_000_000  # largest body of a request to the proxy
    sms_token: str = field(default="", repr=False)  # the auth token of a Twilio account; "" disables text messages
    sms_account: str = ""  # its account SID, AC…; with it, slow replies are sent as separate messages
    sms_number: str = ""  # the sender of these messages; "" means the number that the user wrote to
    sms_language: str = "en"  # of the bot's own text messages, until the person chooses another
    sms_url: str = ""  # the webhook's public address, exactly as configured at Twilio: https://bot.example.com/sms
    telegram_token: str = field(default="", repr=False)  # of a bot, from BotFather; "" disables the Telegram bot
    telegram_language: str = "en"  # of the bot's own texts, for people whose app has another language than ours
    telegram_url: str = "https://api.telegram.org"  # of the Bot API; another one for a Bot API server of your own


RENAMED_SETTINGS = {  # by their names in version 0.1.0
    "server_body": "server_max_body_bytes",
    "server_rate": "server_requests_per_minute",
    "server_streams": "server_max_replies",
}


def load(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """Load the configuration from file and environment. Unknown variables are logged.

    Args:
        path: the file; None for the default one, which may be missing.
        environ: the environment.

    Raises:
        ConfigError: the file is missing or unreadable, or a setting is unknown or invalid.
    """
    file = path or config_path(environ)
    config = Config()
    if (values := _read(file)) is not None:
        config = _set(config, _with_tables(values), str(file))
    elif path or environ.get(f"{ENV_PREFIX}CONFIG"):
        raise ConfigError(f"there is no configuration file {file}; create it, or unset {ENV_PREFIX}CONFIG")
    return _set(config, _from_env(environ))


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the configuration file, which may not exist."""
    path = environ.get(f"{ENV_PREFIX}CONFIG")
    return Path(path) if path else Path(platformdirs.user_config_dir("everthread")) / "config.toml"


def find_source(setting: str) -> str:
    """Return where a setting has its value from: its variable, or its name and the file; empty for a default.

    Raises ConfigError for a file that can't be read.
    """
    names = [setting, *(old for old, new in RENAMED_SETTINGS.items() if new == setting)]
    variables = [ENV_PREFIX + name.upper() for name in names]
    if variable := next(filter(os.environ.get, variables), None):
        return variable
    file = config_path()
    values = _read(file) or {}
    return next((f"{name} in {file}" for name in names if name in values), "")


@contextmanager
def name_source(*settings: str) -> Iterator[None]:
    """Add to a ConfigError where these settings have their values from, so that its message names what to correct."""
    try:
        yield
    except ConfigError as error:
        error.where = error.where or ", ".join(filter(None, map(find_source, settings)))
        raise


def _from_env(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the settings in the environment; log unknown variables with our prefix."""
    settings = [setting.name for setting in fields(Config) if setting.name != TABLE_SETTING]
    names = {ENV_PREFIX + name.upper(): name for name in settings}
    names |= {ENV_PREFIX + old.upper(): new for old, new in RENAMED_SETTINGS.items()}
    given = [name for name in environ if name.startswith(ENV_PREFIX) and not name.startswith(TEST_ENV_PREFIX)]
    values = {name: environ[name] for name in given if environ[name]}
    values.pop(f"{ENV_PREFIX}CONFIG", None)
    if unknown := sorted(values.keys() - names):
        _warn_of_unknown(tuple(unknown), (*names, f"{ENV_PREFIX}CONFIG"))
    return {names[name]: value for name, value in values.items() if name in names}


@cache
def _warn_of_unknown(unknown: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Log unknown variables, once per process.

    They are not an error, because orchestrators set variables with this prefix: Kubernetes passes the address of a
    service named everthread to every pod, as EVERTHREAD_SERVICE_HOST.
    """
    log.warning(
        "ignored unknown environment variables: %s", ", ".join(_with_suggestion(name, known) for name in unknown)
    )


def _with_suggestion(name: str, known: tuple[str, ...]) -> str:
    """Return the name of an unknown variable, with the most similar known one."""
    candidates = [variable.removeprefix(ENV_PREFIX) for variable in known]
    similar = get_close_matches(name.removeprefix(ENV_PREFIX), candidates, 1, MIN_NAME_SIMILARITY)
    return f"{name} (did you mean {ENV_PREFIX}{similar[0]}?)" if similar else name


def _read(file: Path) -> dict[str, object] | None:
    text = ""
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{file} can't be read: {error.strerror}; make it a readable file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        table = MISNAMED_TABLE.search(text)
        hint = f"; write [recipes.{table[1]}] instead of [recipe.{table[1]}]" if table else ""
        raise ConfigError(f"{file} can't be read as TOML: {error}{hint}") from error


def _set(config: Config, values: Mapping[str, object], file: str | None = None) -> Config:
    """Return the configuration with values of a file, or of the environment if `file` is None."""
    known = {setting.name: type(getattr(config, setting.name)) for setting in fields(Config)}
    for given, value in values.items():
        name = RENAMED_SETTINGS.get(given, given)
        if name not in known:
            similar = get_close_matches(name, known, 1, MIN_NAME_SIMILARITY)
            remedy = f"did you mean {similar[0]}?" if similar else f"expected one of {', '.join(known)}"
            raise ConfigError(f"{file}: unknown setting {name!r}; {remedy}")
        try:
            parsed: Any
            if name == TABLE_SETTING:
                parsed = _check_tables(value)
            else:
                parsed = _check_text(value) if known[name] is str else _check_number(value, *NUMBER_LIMITS[name])
            if name == "llm_prices":
                parse_prices(parsed)
            if name in LANGUAGE_SETTINGS:
                _check_language(parsed)
            config = replace(config, **{name: parsed})
        except ValueError as error:
            subject = f"{file} sets {name} to" if file else f"{ENV_PREFIX}{name.upper()} is"
            raise ConfigError(f"{subject} {value!r}; it must be {error}") from None
    return config


NUMBER_LIMITS = {  # the minimum, and a description for errors
    "threads": (0, "a whole number from 1, or 0 for as many as there are"),
    "llm_context": (2048, "a whole number of tokens, from 2048"),
    "llm_timeout": (1, "a whole number of seconds, from 1"),
    "server_threads": (1, "a whole number of requests, from 1"),
    "server_max_body_bytes": (1000, "a whole number of bytes, from 1000"),
    "server_requests_per_minute": (0, "a whole number of requests a minute, or 0 for any number"),
    "server_max_replies": (1, "a whole number of replies, from 1"),
    "proxy_patience": (1, "a whole number of milliseconds, from 1"),
    "proxy_timeout": (1, "a whole number of seconds, from 1"),
    "proxy_max_body_bytes": (1000, "a whole number of bytes, from 1000"),
}


def _check_tables(value: object) -> dict[str, dict[str, object]]:
    """Check that recipes are tables. `everthread.factory` checks the names and values of their options."""
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise ValueError("a table for each recipe, such as [recipes.packabby]")
    return value


def _with_tables(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values of a file with [recipe.packabby] as [recipes.packabby], a frequent mistake.

    It is valid TOML if the file has no `recipe = "…"`.
    """
    recipe, recipes = values.get("recipe"), values.get(TABLE_SETTING, {})
    if not isinstance(recipe, dict) or not isinstance(recipes, dict):
        return values
    return {name: value for name, value in values.items() if name != "recipe"} | {TABLE_SETTING: {**recipe, **recipes}}


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text in quotes")
    return value


def _check_number(value: object, least: int, description: str) -> int:
    """Parse a number of a file or of the environment."""
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if type(number) is not int or number < least:
        raise ValueError(description)
    return number


LANGUAGE_SETTINGS = ("language", "sms_language", "telegram_language")


def _check_language(value: str) -> None:
    if value and value not in LANGUAGES:
        raise ValueError(f"one of {', '.join(LANGUAGES)}")


PRICE_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*", re.ASCII)


def parse_prices(text: str) -> tuple[float, float] | None:
    """Parse the prices of a million tokens read and of a million tokens written; None for blank text.

    Raises:
        ValueError: the text is invalid.
    """
    if not text.strip():
        return None
    if not (match := PRICE_PATTERN.fullmatch(text)):
        raise ValueError("two prices, of a million tokens read and written: 0.15/0.60")
    return float(match[1]), float(match[2])

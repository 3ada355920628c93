"""Names and URLs become objects here, and nowhere else."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from pathlib import Path

from everthread import config
from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.common.installation import install_extra
from everthread.common.keys import SETTING_CHARACTER
from everthread.config import Config
from everthread.embedders.names import embedder as embedder
from everthread.errors import BadInput, ConfigError, NotFound
from everthread.llms import discovery, token_counters
from everthread.llms.base import LLM
from everthread.llms.discovery import OPENAI
from everthread.llms.errors import redact_url
from everthread.llms.openai_compatible import OpenAICompatible, installed
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default
from everthread.recipes.emi import Emi
from everthread.recipes.goodai.matching import matcher as matcher
from everthread.recipes.goodai.recipe import GoodAI
from everthread.recipes.membot import Membot
from everthread.recipes.options import changed
from everthread.recipes.packabby import Packabby
from everthread.recipes.saved_recipe import SavedRecipe
from everthread.recipes.snapshots import Snapshots
from everthread.scribes.base import Scribe
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.base import Store
from everthread.stores.postgres import dsn
from everthread.stores.sqlite.store import SQLiteStore
from everthread.text.tokens import Counter as TokenCounter
from everthread.transfer import foreign, jsonl, locomo, messages, realtalk, transcript, whatsapp
from everthread.transfer.files import describe, like_json, load
from everthread.types import JSONValue, NewLine

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (Default(), Membot(), Packabby(), Emi(), GoodAI(), Snapshots())
}


def store(spec: Store | str | Path | None = None, create: bool = True) -> Store:
    """A store as it is, the folder of one, or the URL of a Postgres database; without any, the configured one.

    A folder that isn't there is made, or is NotFound.
    """
    if spec is None:
        spec = config.load().store
    if isinstance(spec, str | Path):
        if str(spec).startswith(dsn.SCHEMES):
            return _postgres(str(spec))
        if "://" in str(spec):
            raise ConfigError(
                f"store {dsn.shown(str(spec))!r} is a URL of an unknown kind; give the path of a folder, "
                f"or {dsn.EXAMPLE}"
            )
        if not create and not Path(spec).expanduser().exists():
            raise NotFound(f"there are no banks yet: there is no folder {spec}; begin with: everthread chat")
        return SQLiteStore(spec)
    return spec


def _postgres(spec: str) -> Store:
    try:
        from everthread.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise ConfigError(f"Postgres needs an extra: {install_extra('postgres')} ({error})") from error
    return PostgresStore(spec)


OPENAI_MODEL = re.compile(r"(gpt-(?!oss)|chatgpt-|o\d|ft:)")  # models that OpenAI alone has; gpt-oss runs anywhere
HOSTED = re.compile(r"(?:claude|gemini|grok)-")  # models that no Ollama has


def llm(spec: LLM | str | None = None) -> LLM | None:
    """A language model as it is, or by name (`llama3.2`, `gpt-4o-mini`), or `https://host/v1#model`; `none` is None.

    Without a URL, also in the configuration, an Ollama that runs is taken (with its first model where none is named),
    else OpenAI, if OPENAI_API_KEY is set and the name is that of a model of theirs. Without a name, a server's only
    model is taken. None where nothing is said and nothing found. ConfigError for a model that isn't found.
    """
    if not isinstance(spec, str | None):
        return spec
    settings = config.load()
    return _model(settings, spec or settings.llm_model)


def _model(settings: Config, name: str) -> LLM | None:
    """The language model of that name, as `llm`."""
    if name == "none":
        return None
    if name.startswith(("http://", "https://")):
        address, _, name = name.partition("#")
        return _llm_at(replace(settings, llm_url=address), name)
    if settings.llm_url:
        return _llm_at(settings, name)
    if not name and not installed():
        return None  # whoever asked for nothing gets no error for an Ollama that happens to run
    host, found = discovery.ollama(name)
    if found:
        return _llm_at(replace(settings, llm_url=f"{host}/v1"), found)
    if not name:
        return None
    if os.environ.get("OPENAI_API_KEY") and OPENAI_MODEL.match(name):
        return _llm_at(replace(settings, llm_url=OPENAI), name)
    if "/" in name and ":" in name and "://" not in name:
        raise ConfigError(f"language model {name!r} looks like a URL without its beginning; write http://{name}")
    raise ConfigError(
        f"there is no language model {name!r}: no Ollama with it answers at {redact_url(host)}; {_llm_remedy(name)}"
    )


def _llm_remedy(name: str) -> str:
    """Return what makes a model of that name available: only open models can be pulled."""
    if OPENAI_MODEL.match(name):
        return "it is a model of OpenAI: set OPENAI_API_KEY, or EVERTHREAD_LLM_URL to another server that has it"
    if HOSTED.match(name):
        return "it runs at its maker's alone: set EVERTHREAD_LLM_URL and EVERTHREAD_LLM_KEY to a server that has it"
    return f"start Ollama and run `ollama pull {name}`, or set EVERTHREAD_LLM_URL to the server that has it"


def _llm_at(settings: Config, name: str) -> LLM:
    """The model of that name on the configured server, or its only one."""
    address, key = settings.llm_url, settings.llm_key
    key = key or discovery.openai_key(address)
    return OpenAICompatible(
        address,
        name or _only_model(address, key),
        key or None,
        context=settings.llm_context,
        timeout=settings.llm_timeout,
        prices=config.prices(settings.llm_prices),
    )


def _only_model(address: str, key: str) -> str:
    remedy = "name one with EVERTHREAD_LLM_MODEL, or behind the URL: #model"
    if (names := discovery.models(address, key)) is None:
        raise ConfigError(f"no model of {redact_url(address)} is named, and it doesn't tell which it has; {remedy}")
    if len(names) != 1:
        some = ", ".join(names[:20]) + (" …" if len(names) > 20 else "") if names else "none"
        raise ConfigError(f"no model of {redact_url(address)} is named, and it has {some}; {remedy}")
    return names[0]


def scribe(llm: LLM | None, spec: Scribe | str | None = None) -> Scribe:
    """Open the scribe, which writes notes and summaries.

    Args:
        llm: the language model that replies, which is also the scribe's where no other is named.
        given: a scribe as it is, or its model by name as for `llm`; `none` is the extractive scribe, which needs no
            model. Without it, the configuration's `scribe_model`.

    Returns:
        The scribe.

    Raises:
        ConfigError: for a model that isn't found.
    """
    if not isinstance(spec, str | None):
        return spec
    settings = config.load()
    name = spec or settings.scribe_model
    if not name:
        return scribe_by(llm)
    key = settings.llm_key
    if name.startswith(("http://", "https://")):
        same = name.partition("#")[0].rstrip("/") == settings.llm_url.rstrip("/")
        key = settings.scribe_key or (key if same else "")  # no key goes to another server than its own
    return scribe_by(_model(replace(settings, llm_key=key, llm_prices=""), name))


def scribe_by(llm: LLM | None) -> Scribe:
    """Make a scribe that writes with a language model; None: without one."""
    if llm is None:
        return ExtractiveScribe()
    from everthread.scribes.llm import LLMScribe  # with it comes what only those need who have a model

    return LLMScribe(llm)


def counter(spec: TokenCounter | str | None = None) -> TokenCounter:
    """Open a token counter: an object, a name that `llms.token_counters` knows, or the configured one.

    Raises:
        ConfigError: for an unknown name.
    """
    name = config.load().tokens if spec is None else spec
    return token_counters.counter(name) if isinstance(name, str) else name


def recipe(
    spec: Recipe | str | None = None, kept: SavedRecipe | None = None, options: Mapping[str, object] | None = None
) -> Recipe:
    """Open a recipe by name, with its options as far as they are set.

    Args:
        given: a recipe as it is, or a name; without either it is the bank's, else the configured one.
        kept: what the bank keeps. Its options hold for a recipe of its name.
        options: values by the options' names, as they are or as text, which go before those of bank and configuration.

    Returns:
        The recipe.

    Raises:
        ConfigError: for an unknown recipe, and for options in the configuration file that can't be.
        BadInput: for options that can't be.
    """
    if isinstance(spec, Recipe):
        return changed(spec, options or {})
    if spec is None and kept is not None and kept.name not in RECIPES:
        raise ConfigError(
            f"the bank keeps the recipe {kept.name!r}, which isn't part of Everthread; give the recipe as an object "
            f"(recipe=…), or name one of {', '.join(RECIPES)}"
        )
    name = spec or (kept.name if kept else config.load().recipe)
    if name not in RECIPES:
        raise ConfigError(f"recipe {name!r} is unknown; known are {', '.join(RECIPES)}")
    usual = configured()[name]
    return changed(kept.apply(usual) if kept and kept.name == name else usual, options or {})


def configured() -> dict[str, Recipe]:
    """Read all recipes with the options that the configuration file sets. ConfigError names file, recipe and option."""
    found = dict(RECIPES)
    for name, table in config.load().recipes.items():
        if name not in RECIPES:
            raise ConfigError(
                f"{config.file()} sets [recipes.{name}], which is unknown; known are {', '.join(RECIPES)}"
            )
        try:
            found[name] = changed(RECIPES[name], table)
        except BadInput as error:
            raise ConfigError(f"{config.file()} sets [recipes.{name}]: {error}") from None
    return found


def character(spec: Character | str | None, settings: Mapping[str, JSONValue]) -> Character:
    """A character as it is, one of `everthread characters`, or a card's file; without any, the bank's own, of whose
    settings these are. The bank's is also meant by its name: it may have changed since. So is ours, where there is no
    other of its name. NotFound, and BadFile."""
    kept = settings.get(SETTING_CHARACTER)
    own = Character.from_json(kept) if isinstance(kept, Mapping) else None
    if spec is None:
        return own or DEFAULT_CHARACTER
    if not isinstance(spec, str):
        return spec
    if own is not None and own.name.casefold() == spec.casefold():
        return own
    from everthread.chat import character_library  # with it come click and all that the command line needs

    if spec == DEFAULT_CHARACTER.name and spec not in character_library.listed():
        return DEFAULT_CHARACTER
    return character_library.load(spec)


Reader = Callable[[], Iterator[NewLine]]

FORMATS: dict[str, tuple[Callable[..., Iterator[NewLine]], tuple[str, ...]]] = {  # how to read it, and what it takes
    "jsonl": (jsonl.read, ("tz", "skipped", "places")),
    "messages": (messages.read, ("tz", "skipped", "places")),
    "transcript": (transcript.read, ("assistant", "tz")),
    "whatsapp": (whatsapp.read, ("assistant", "tz", "skipped")),
    "locomo": (locomo.read, ("only",)),
    "realtalk": (realtalk.read, ("only",)),
}


def reader(
    path: Path,
    format: str | None = None,
    *,
    only: Collection[str] = (),
    assistant: Collection[str] = (),
    tz: tzinfo | None = None,
    skipped: Counter[str] | None = None,
    positions: dict[str, str] | None = None,
) -> Reader:
    """What reads a file of this format, or of the one its name and beginning tell; each call reads it anew.

    ConfigError for an unknown format, and for an option that means nothing to it. skipped counts what holds no line;
    places takes up where each key of a line's own stands.
    """
    format = format or _form(path)
    if format not in FORMATS:
        raise ConfigError(f"format {format!r} is unknown; known are {', '.join(FORMATS)}")
    read, takes = FORMATS[format]
    given = {name: value for name, value in (("only", only), ("assistant", assistant), ("tz", tz)) if value}
    for name in given.keys() - set(takes):
        those = ", ".join(each for each, (_, takes) in FORMATS.items() if name in takes)
        raise ConfigError(
            f"{path} is read as {format}, for which --{name} means nothing (it is for {those}); leave it out"
        )
    told = {name: value for name, value in (("skipped", skipped), ("places", positions)) if name in takes}
    return partial(read, path, **given, **told)


def _form(path: Path) -> str:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return "jsonl"
    if path.suffix.lower() != ".json":
        if like_json(path):
            raise ConfigError(f"{path} looks like JSON; name its format with --format {' or '.join(FORMATS)}")
        return "whatsapp" if whatsapp.recognised(path) else "transcript"
    value = load(path)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        if "conversation" in first:
            return "locomo"
        if "session_1" in first:
            return "realtalk"
    if messages.recognised(value) or foreign.service(value) is not None:
        return "messages"  # which refuses another service's export by its name
    raise ConfigError(
        f"{path} is JSON of an unknown kind: {describe(value)}. Taken are messages as chat APIs have them "
        '([{"role": "user", "content": "…"}], or an object with "messages"), an export of Everthread (.jsonl), and the '
        f"files of LoCoMo and REALTALK; if it is one of these, name it with --format {' or '.join(FORMATS)}"
    )

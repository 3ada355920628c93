"""Opens the scribe, which writes notes and summaries, by the name of its language model."""

from __future__ import annotations

from dataclasses import replace

from everthread import config
from everthread.common.installation import extra_command, has_llm_extra
from everthread.config import Config
from everthread.errors import ConfigError
from everthread.llms.base import LLM
from everthread.llms.names import find_model
from everthread.scribes.base import Scribe
from everthread.scribes.extractive import ExtractiveScribe


def open_scribe(llm: LLM | None, spec: Scribe | str | None = None) -> Scribe:
    """Open the scribe.

    Args:
        llm: the language model that replies; the scribe uses it if no other is named.
        spec: a scribe, or the name of its model as for `open_llm`; `none` is the extractive scribe, which needs no
            model. Default: the configured `scribe_model`.

    Raises:
        ConfigError: if the model isn't found.
    """
    if not isinstance(spec, str | None):
        return spec
    settings = config.load()
    if spec:
        return _open_named(settings, spec)
    if not settings.scribe_model:
        return make_scribe(llm)
    with config.name_source("scribe_model"):
        return _open_named(settings, settings.scribe_model)


def _open_named(settings: Config, name: str) -> Scribe:
    key = settings.llm_key
    if name.startswith(("http://", "https://")):
        is_same_server = name.partition("#")[0].rstrip("/") == settings.llm_url.rstrip("/")
        key = settings.scribe_key or (key if is_same_server else "")  # a key is never sent to another server
    return make_scribe(find_model(replace(settings, llm_key=key, llm_prices=""), name))


def make_scribe(llm: LLM | None) -> Scribe:
    """Make a scribe that uses a language model; the extractive scribe for None.

    Raises:
        ConfigError: the packages that a language model needs are not installed.
    """
    if llm is None:
        return ExtractiveScribe()
    if not has_llm_extra():
        raise ConfigError(f"language models need an extra: {extra_command('llm')}")
    from everthread.scribes.llm import LLMScribe  # loads packages that only a language model needs

    return LLMScribe(llm)

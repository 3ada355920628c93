"""Opens language models by name or URL: one of a running Ollama, of OpenAI, or of any server that speaks its API."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from everthread import config
from everthread.common.installation import extra_command, has_llm_extra
from everthread.config import Config
from everthread.errors import ConfigError
from everthread.llms import discovery
from everthread.llms.base import LLM
from everthread.llms.discovery import OPENAI_URL
from everthread.llms.errors import redact_url
from everthread.llms.openai_compatible import OpenAICompatible

OPENAI_MODEL = re.compile(r"(gpt-(?!oss)|chatgpt-|o\d|ft:)")  # models that only OpenAI hosts; gpt-oss runs anywhere
HOSTED = re.compile(r"(?:claude|gemini|grok)-")  # models that Ollama does not have


def open_llm(spec: LLM | str | None = None) -> LLM | None:
    """Open a language model.

    Args:
        spec: an open model, a name (`llama3.2`, `gpt-4o-mini`), or `https://host/v1#model`; `none` for no model; None
            for the configured one. A name without a URL is searched first in a running Ollama (without a name: its
            first model), then at OpenAI, if OPENAI_API_KEY is set and the name is that of an OpenAI model. A server
            with only one model needs no name.

    Returns:
        The model; None for `none`, or if no model is configured and none is found.

    Raises:
        ConfigError: the model is not found.
    """
    if not isinstance(spec, str | None):
        return spec
    settings = config.load()
    if spec:
        return find_model(settings, spec)
    with config.name_source("llm_url", "llm_model"):
        return find_model(settings, settings.llm_model)


def find_model(settings: Config, name: str) -> LLM | None:
    """Open the language model of that name, as `open_llm` does.

    Raises:
        ConfigError: no server with this model is found.
    """
    if name == "none":
        return None
    if name.startswith(("http://", "https://")):
        address, _, name = name.partition("#")
        return _open_at(replace(settings, llm_url=address), name)
    if settings.llm_url:
        return _open_at(settings, name)
    if not name and not has_llm_extra():
        return None  # nothing is configured, so a running Ollama that can't be used is not an error
    host, model = discovery.find_ollama(name)
    if model:
        return _open_at(replace(settings, llm_url=f"{host}/v1"), model)
    if not name:
        return None
    if os.environ.get("OPENAI_API_KEY") and OPENAI_MODEL.match(name):
        return _open_at(replace(settings, llm_url=OPENAI_URL), name)
    if "/" in name and ":" in name and "://" not in name:
        raise ConfigError(f"language model {name!r} looks like a URL without a scheme; write http://{name}")
    raise ConfigError(
        f"language model {name!r} not found: no Ollama with this model at {redact_url(host)}; {_llm_remedy(name)}"
    )


def _llm_remedy(name: str) -> str:
    """Return how to make a model of that name available. Only open models can be pulled."""
    if OPENAI_MODEL.match(name):
        return "it is an OpenAI model: set OPENAI_API_KEY, or EVERTHREAD_LLM_URL to another server that has it"
    if HOSTED.match(name):
        return "it runs only at its provider: set EVERTHREAD_LLM_URL and EVERTHREAD_LLM_KEY to a server that has it"
    return f"start Ollama and run `ollama pull {name}`, or set EVERTHREAD_LLM_URL to the server that has it"


def _open_at(settings: Config, name: str) -> LLM:
    """Open the model of that name on the configured server, or its only one."""
    if not has_llm_extra():
        raise ConfigError(f"language models need an extra: {extra_command('llm')}")
    address, key = settings.llm_url, settings.llm_key
    key = key or discovery.get_openai_key(address)
    return OpenAICompatible(
        address,
        name or _find_only_model(address, key),
        key or None,
        context=settings.llm_context,
        timeout=settings.llm_timeout,
        prices=config.parse_prices(settings.llm_prices),
    )


def _find_only_model(address: str, key: str) -> str:
    remedy = "set EVERTHREAD_LLM_MODEL, or append the name to the URL: #model"
    if (names := discovery.list_models(address, key)) is None:
        problem = f"no model name given for {redact_url(address)}, and it doesn't list its models"
        raise ConfigError(f"{problem}; check that it runs, and {remedy}")
    if len(names) != 1:
        listed = ", ".join(names[:20]) + (" …" if len(names) > 20 else "") if names else "none"
        raise ConfigError(f"no model name given for {redact_url(address)}; it has {listed}; {remedy}")
    return names[0]

"""Opens embedding models by name. The prefixes `st:` and `openai:` have the same meaning as in goodai-ltm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from reprlib import repr as shortly

from everthread import config
from everthread.config import Config
from everthread.embedders.base import Embedder
from everthread.embedders.onnx import OnnxEmbedder
from everthread.embedders.remote import RemoteEmbedder
from everthread.embedders.sentence_transformers import SentenceTransformerEmbedder
from everthread.errors import BadInput, ConfigError
from everthread.llms.discovery import OPENAI_URL, get_openai_key
from everthread.testing import HashEmbedder

ST_PREFIXES = ("st:", "sentence-transformers:")
OPENAI_PREFIX = "openai:"
GOODAI_MODELS = {  # by name of a goodai-ltm model: the public model from which it was trained
    "em-minilm": "st:sentence-transformers/multi-qa-MiniLM-L6-cos-v1",
    "em-distilroberta": "st:sentence-transformers/all-distilroberta-v1",
}


def open_embedder(spec: Embedder | str | None = None, *, device: object = None) -> Embedder:
    """Open an embedder by name, or return an open one. None opens the configured one.

    Args:
        spec: an embedder, or `minilm` (ships with the package), `st:NAME` or `sentence-transformers:NAME`,
            `openai:NAME`, `http://…/v1#MODEL`, the folder of a model made by `everthread.embedders.export`, or `hash`
            (no meaning, for tests).
        device: where torch runs a sentence-transformers model: `cuda`, `cuda:1`, `mps`, `cpu` or a torch.device.
            None selects the configured device, else torch's own choice.

    Raises:
        ConfigError: the name is unknown, a key is missing, or a device is given for a model that doesn't run on torch.
        BadInput: the object lacks a part of `Embedder`.
    """
    settings = config.load()
    if device is not None:
        settings = replace(settings, device=str(device))
    if spec is None:
        with config.name_source("embedder"):
            embedder = _open_named(settings.embedder, settings)
    else:
        embedder = _open_named(spec, settings) if isinstance(spec, str) else _check_own(spec)
    if device is not None and not isinstance(embedder, SentenceTransformerEmbedder):
        raise ConfigError(
            f"invalid device {device!s}: {embedder.name} doesn't run on torch; only an embedder st:NAME takes a "
            "device (ONNX models run on the CPU, see `threads`; servers choose their own device)"
        )
    return embedder


def _check_own(embedder: Embedder) -> Embedder:
    """Return an embedder of the caller's own. Raises BadInput, before anything is stored, if it lacks a part."""
    if isinstance(embedder, type):
        name = embedder.__name__
        raise BadInput(f"invalid embedder: got the class {name}; expected an object, such as {name}()")
    kind = type(embedder).__name__
    if missing := [part for part in ("name", "multilingual", "embed", "embed_query") if not hasattr(embedder, part)]:
        raise BadInput(
            f"invalid embedder {kind}: it has no {' and no '.join(missing)}; expected the attributes name and "
            "multilingual and the methods embed(texts) and embed_query(text)"
        )
    if not isinstance(embedder.name, str) or not embedder.name.strip():
        raise BadInput(
            f"invalid name of the embedder {kind}: {shortly(embedder.name)}; expected a text that is another for each "
            "model, since vectors of one name are compared"
        )
    return embedder


def is_on_torch(spec: object) -> bool:
    """Return whether this name selects a model on torch, which takes a device. None is the configured model."""
    name = config.load().embedder if spec is None else spec
    return isinstance(name, str) and strip_prefix(ST_PREFIXES, name) is not None


def strip_prefix(prefixes: tuple[str, ...], name: str) -> str | None:
    """Return the rest of a name after the first matching prefix; None if no prefix matches."""
    return next((name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)), None)


def _open_named(name: str, settings: Config) -> Embedder:
    if not name.strip():  # otherwise the folder in which the program was started
        raise ConfigError("the name of the embedder is empty; give one, such as minilm, or None for the configured one")
    if name == "minilm":
        return OnnxEmbedder(threads=settings.threads)
    if name == "hash":
        return HashEmbedder()
    if (model := strip_prefix(ST_PREFIXES, name)) is not None:
        return SentenceTransformerEmbedder(_check_model_name(model, name), device=settings.device or None)
    if name.startswith(OPENAI_PREFIX):
        return _open_openai(name, settings)
    if name.startswith(("http://", "https://")):
        address, _, model = name.partition("#")
        if not model:
            raise ConfigError(f"embedder {name!r} has no model name; append it after a #: {address}#nomic-embed-text")
        return RemoteEmbedder(address, model, api_key=settings.embedder_key or get_openai_key(address) or None)
    if Path(name).expanduser().is_dir():
        return OnnxEmbedder(Path(name).expanduser(), threads=settings.threads)
    if name.startswith("em-"):
        raise ConfigError(_goodai_model_error(name))
    raise ConfigError(
        f"unknown embedder {name!r}; expected minilm, hash, a folder with model.onnx, st:NAME (sentence-transformers), "
        "openai:NAME, or https://host/v1#model"
    )


def _check_model_name(model: str, name: str) -> str:
    if not model:
        raise ConfigError(f"invalid model name {name!r}: nothing follows the prefix; expected {name}NAME")
    return model


def _open_openai(name: str, settings: Config) -> Embedder:
    model = _check_model_name(name.removeprefix(OPENAI_PREFIX), name)
    if not (key := settings.embedder_key or get_openai_key(OPENAI_URL)):
        raise ConfigError(f"embedder {name!r} needs a key: set OPENAI_API_KEY or EVERTHREAD_EMBEDDER_KEY")
    return RemoteEmbedder(OPENAI_URL, model, api_key=key)


def _goodai_model_error(name: str) -> str:
    base = next((base for model, base in GOODAI_MODELS.items() if name.lower().startswith(model)), None)
    alternative = f", or {base}, from which it was trained" if base else ""
    return (
        f"embedder {name!r} is one of goodai-ltm's own models, whose weights are not shipped with Everthread; the "
        f"closest alternatives are minilm (shipped, nothing to install){alternative}"
    )

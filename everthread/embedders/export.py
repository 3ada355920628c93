"""Converts a sentence-transformers folder to one that OnnxEmbedder reads: model.onnx, tokenizer.json, embedder.json.

    python -m everthread.embedders.export FOLDER OUT [--quantise int8|none] [--name NAME] [--multilingual]
        [--texts FILE]

The model in minilm/ was exported by this module. The module needs the `train` extra (torch, transformers, onnx,
onnxscript); the exported model doesn't. The module supports BERT and similar models with mean or CLS pooling. It
neither measures a model's quality nor downloads models.

With texts a model has token vectors, for late interaction: the projection of its last layer is fitted on their words.

The quantisation was chosen by measurement (docs/benchmarks.md). Weights are quantised to eight bits with a scale for
each output channel, embedding tables to eight bits with a scale for each row, and activations dynamically. Quantisation
in blocks (MatMulNBits) gives vectors closer to fp32 (cosine 0.999 instead of 0.991), but neither better recall nor more
speed.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from everthread.common.installation import extra_command
from everthread.embedders import token_vectors
from everthread.embedders.onnx import EmbedderConfig, OnnxEmbedder
from everthread.errors import ConfigError, EverthreadError

if TYPE_CHECKING:
    import onnx
    import torch

Quantise = Literal["int8", "none"]
MIN_TABLE_ROWS = 256  # a table of fewer rows (token types) is not worth quantising
MAX_TEXTS = 2_000  # on which a projection of token vectors is fitted; more find no better components
MIN_TOKENS = 2 * token_vectors.DIMENSIONS  # of their content words; with 300 lines are found as well as with 30,000


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """The settings of a sentence-transformers model for turning tokens into one vector."""

    pooling: Literal["mean", "cls"]
    normalise: bool
    max_tokens: int
    query_prompt: str
    text_prompt: str


def export(
    folder: Path,
    out: Path,
    quantise: Quantise = "int8",
    name: str | None = None,
    multilingual: bool = False,
    texts: Sequence[str] = (),
) -> EmbedderConfig:
    """Convert a sentence-transformers model.

    Args:
        folder: the folder of the model.
        out: the folder to write.
        quantise: the format of the weights.
        name: the embedder's name; None: the folder's, with the format.
        multilingual, texts: as for `export_encoder`.

    Returns:
        The description of the embedder that was written.

    Raises:
        ConfigError: the format is unknown, a package is missing, or the model can't be read.
    """
    if quantise not in get_args(Quantise):
        raise ConfigError(f"unknown quantisation {quantise!r}; choose one of {', '.join(get_args(Quantise))}")
    source = read_source_config(folder)
    _check_exporter()
    encoder = load_encoder(folder)
    from everthread.embedders.pooling import BasePooling  # imports torch, which was checked to exist

    pooling = BasePooling(source.pooling, source.normalise)
    name = name or f"{folder.resolve().name}-{quantise}"
    return export_encoder(
        encoder, pooling, source, folder, out, quantise, name=name, multilingual=multilingual, texts=texts
    )


def export_encoder(
    encoder: torch.nn.Module,
    pooling: torch.nn.Module,
    source: SourceConfig,
    folder: Path,
    out: Path,
    quantise: Quantise = "int8",
    *,
    name: str,
    vectors: int = 1,
    multilingual: bool = False,
    texts: Sequence[str] = (),
) -> EmbedderConfig:
    """Convert an encoder in memory, and return the description of the embedder that was written.

    Args:
        encoder: turns token ids into the states of tokens.
        pooling: turns states and mask into the vectors of a text (`everthread.embedders.pooling`).
        source: the prompts and the limit of the model.
        folder: has its tokenizer.
        out: the folder to write.
        quantise: the format of the weights.
        name: the embedder's name.
        vectors: of each text; several have the pooling `AttentionPooling`.
        multilingual: whether the model understands more than English.
        texts: on whose words the projection of token vectors is fitted. With too few of them, with prompts (whose words
            would count), and with a tokenizer other than WordPiece, the model has no token vectors.

    Raises:
        ConfigError: a package is missing, or the tokenizer can't be read.
    """
    _check_exporter()
    tokenizer = _tokenizer_text(folder)
    out.mkdir(parents=True, exist_ok=True)
    _write_model(encoder.eval(), pooling.eval(), out / "model.onnx", quantise)
    (out / "tokenizer.json").write_text(tokenizer, encoding="utf-8", newline="\n")
    config = EmbedderConfig(
        name=name,
        dim=int(encoder.config.hidden_size),
        max_tokens=source.max_tokens,
        pooling="attention" if vectors > 1 else source.pooling,
        quantisation=quantise,
        query_prompt=source.query_prompt,
        text_prompt=source.text_prompt,
        multilingual=multilingual,
        model_bytes=(out / "model.onnx").stat().st_size,
        tokenizer_sha256=hashlib.sha256(tokenizer.encode()).hexdigest(),
        vectors=vectors,
    )
    _write_config(config, out)
    has_prompts = bool(source.query_prompt or source.text_prompt)
    if texts and not has_prompts and json.loads(tokenizer)["model"]["type"] == "WordPiece":
        config = replace(config, token_scheme=_write_projection(out, texts))
        _write_config(config, out)
    return config


def _write_config(config: EmbedderConfig, out: Path) -> None:
    (out / "embedder.json").write_text(json.dumps(asdict(config), indent=2) + "\n", encoding="utf-8", newline="\n")


def _write_projection(out: Path, texts: Sequence[str]) -> str:
    """Fit a projection of the token vectors of an exported model; return the scheme of its codes, "" if it has none."""
    import numpy as np

    embedder = OnnxEmbedder(out)
    chosen = texts[:: 1 + len(texts) // MAX_TEXTS]
    states = np.concatenate([embedder.read_token_states(text) for text in chosen])  # (T, D)
    if len(states) < MIN_TOKENS or embedder.dim < token_vectors.DIMENSIONS:
        return ""
    projection = token_vectors.fit_projection(states).astype(np.float16)  # half the space, the same codes
    np.save(out / "token_projection.npy", projection)
    return f"signs-{token_vectors.DIMENSIONS}-{hashlib.blake2b(projection.tobytes(), digest_size=4).hexdigest()}"


def load_encoder(folder: Path) -> Any:
    """Load the encoder of a sentence-transformers folder on torch.

    Raises:
        ConfigError: transformers is missing, or can't load the folder.
    """
    try:
        from transformers import AutoModel
    except ImportError as error:
        raise _missing_extra(error) from error
    try:
        return AutoModel.from_pretrained(folder, local_files_only=True, attn_implementation="eager").eval()
    except (OSError, ValueError) as error:
        raise ConfigError(f"transformers can't load {folder} ({error})") from error


def _check_exporter() -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401  torch's exporter needs it, and its own error is less clear
        import torch  # noqa: F401
    except ImportError as error:
        raise _missing_extra(error) from error


def _missing_extra(error: ImportError) -> ConfigError:
    return ConfigError(f"exporting needs the extra: {extra_command('train')} ({error})")


def read_source_config(folder: Path) -> SourceConfig:
    """Read modules.json and the files that it names. Raises ConfigError for an unsupported module or setting."""
    modules = _read_json(folder / "modules.json", "expected a sentence-transformers folder")
    kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]):
        raise ConfigError(f"{folder} has the modules {kinds}; only Transformer, Pooling and Normalize can be exported")
    prompts = _json_or_empty(folder / "config_sentence_transformers.json").get("prompts") or {}
    return SourceConfig(
        pooling=_read_pooling(
            _read_json(folder / modules[1]["path"] / "config.json", "it defines the pooling"), folder
        ),
        normalise="Normalize" in kinds,
        max_tokens=_max_tokens(folder, folder / modules[0]["path"]),
        query_prompt=str(prompts.get("query") or ""),
        text_prompt=str(prompts.get("document") or prompts.get("passage") or ""),
    )


def _read_pooling(config: Mapping[str, Any], folder: Path) -> Literal["mean", "cls"]:
    """Read the pooling: old folders have one flag per method, newer ones a name."""
    names_by_flag = {"mean_tokens": "mean", "cls_token": "cls"}
    prefix = "pooling_mode_"
    flags = [key.removeprefix(prefix) for key, is_set in config.items() if key.startswith(prefix) and is_set]
    methods = [names_by_flag.get(flag, flag) for flag in flags] or [config.get("pooling_mode", "nothing")]
    if methods == ["mean"]:
        return "mean"
    if methods == ["cls"]:
        return "cls"
    raise ConfigError(f"{folder} uses the pooling {methods}; only mean and cls can be exported")


def _max_tokens(folder: Path, transformer: Path) -> int:
    limit = _json_or_empty(folder / "sentence_bert_config.json").get("max_seq_length")
    if limit is None:
        limit = _read_json(transformer / "config.json", "it describes the transformer").get(
            "max_position_embeddings", 512
        )
    return int(limit)


def _tokenizer_text(folder: Path) -> str:
    """Return tokenizer.json without padding and truncation, which the embedder sets itself."""
    tokenizer = _read_json(folder / "tokenizer.json", "load the tokenizer with transformers and save it as a fast one")
    tokenizer["padding"] = tokenizer["truncation"] = None
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n"


def _read_json(path: Path, hint: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; {hint}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not valid JSON ({error})") from error


def _json_or_empty(path: Path) -> Any:
    return _read_json(path, "") if path.exists() else {}


def _write_model(encoder: torch.nn.Module, pooling: torch.nn.Module, path: Path, quantise: Quantise) -> None:
    """Trace, optimise and quantise the model."""
    import onnx

    with tempfile.TemporaryDirectory() as scratch:
        traced = Path(scratch, "traced.onnx")
        _trace(encoder, pooling, traced)
        model = _optimize(traced)
        if quantise == "int8":
            # Not optimised again, because that writes attributes that an older onnxruntime rejects.
            model = _quantise(model, Path(scratch))
    onnx.save(_strip_metadata(model), path)


def _trace(encoder: torch.nn.Module, pooling: torch.nn.Module, path: Path) -> None:
    """Write a graph from token ids and mask to the vectors of each text, and to those of its tokens."""
    import torch

    from everthread.embedders.pooling import MASK_SCORE

    takes_types = "token_type_ids" in inspect.signature(encoder.forward).parameters

    class Sentence(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.pooling = encoder, pooling

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            mask = attention_mask.to(torch.float32)  # (N, T)
            # An additive mask bypasses transformers' own mask code, which would be traced into a hundred nodes.
            bias = (1.0 - mask[:, None, None, :]) * MASK_SCORE  # (N, 1, 1, T)
            types = {"token_type_ids": torch.zeros_like(input_ids)} if takes_types else {}
            states = self.encoder(input_ids=input_ids, attention_mask=bias, **types).last_hidden_state  # (N, T, D)
            return self.pooling(states, mask), states

    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 7, 0]])
    shape = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens")}
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):  # torch's exporter warns about itself
        torch.onnx.export(
            Sentence().eval(),
            (ids, (ids > 0).long()),
            path,
            input_names=["input_ids", "attention_mask"],
            output_names=["sentence_vector", "token_vectors"],
            dynamic_shapes={"input_ids": shape, "attention_mask": shape},
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def _optimize(path: Path) -> onnx.ModelProto:
    """Apply onnxruntime's optimisations up to EXTENDED; the next level writes a layout for this CPU only."""
    import onnx
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path.with_suffix(".fused.onnx"))
    ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return onnx.load(options.optimized_model_filepath)


def _quantise(model: onnx.ModelProto, scratch: Path) -> onnx.ModelProto:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    _quantise_tables(model)
    plain, quantised = scratch / "plain.onnx", scratch / "quantised.onnx"
    onnx.save(model, plain)
    quantize_dynamic(
        plain,
        quantised,
        op_types_to_quantize=["MatMul"],
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,  # seven bits, because sums of eight-bit products overflow on processors without VNNI
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )
    return onnx.load(quantised)


def _quantise_tables(model: onnx.ModelProto) -> None:
    """Replace every embedding table with eight-bit rows, each with its own scale."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    tables = {t.name: t for t in graph.initializer if len(t.dims) == 2 and t.dims[0] >= MIN_TABLE_ROWS}
    nodes = []
    for node in graph.node:
        if node.op_type != "Gather" or node.input[0] not in tables:
            nodes.append(node)
            continue
        name, ids, out = node.input[0], node.input[1], node.output[0]
        rows = numpy_helper.to_array(tables[name])  # (V, D)
        scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12) / 127  # (V, 1)
        codes = np.rint(rows / scale).astype(np.int8)
        graph.initializer.remove(tables[name])
        graph.initializer.extend(
            [numpy_helper.from_array(codes, f"{name}.codes"), numpy_helper.from_array(scale, f"{name}.scale")]
        )
        nodes += [
            helper.make_node("Gather", [f"{name}.codes", ids], [f"{out}.codes"]),
            helper.make_node("Gather", [f"{name}.scale", ids], [f"{out}.scale"]),
            helper.make_node("Cast", [f"{out}.codes"], [f"{out}.float"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{out}.float", f"{out}.scale"], [out]),
        ]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)


def _strip_metadata(model: onnx.ModelProto) -> onnx.ModelProto:
    """Remove the exporter's metadata, which contains source lines and paths of this machine."""
    graph = model.graph
    del graph.value_info[:]
    for part in (model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        part.doc_string = ""
        del part.metadata_props[:]
    return model


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Only the message of an error is printed."""
    parser = argparse.ArgumentParser(
        prog="python -m everthread.embedders.export", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="a sentence-transformers folder")
    parser.add_argument("out", type=Path, help="the folder to write model.onnx, tokenizer.json and embedder.json to")
    parser.add_argument("--quantise", choices=get_args(Quantise), default="int8", help="default: int8")
    parser.add_argument("--name", help="the embedder's name; vectors of different names are never compared")
    parser.add_argument("--multilingual", action="store_true", help="the model understands more than English")
    parser.add_argument("--texts", type=Path, help="fit token vectors, for late interaction, on this file's rows")
    options = parser.parse_args(arguments)
    try:
        texts = options.texts.read_text(encoding="utf-8").splitlines() if options.texts else []
        config = export(options.folder, options.out, options.quantise, options.name, options.multilingual, texts)
    except (EverthreadError, OSError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    size = f"{config.model_bytes / 1e6:.1f} MB"
    print(
        f"{options.out}: {config.name}, {config.dim} dimensions, {size}, token vectors: {config.token_scheme or 'none'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

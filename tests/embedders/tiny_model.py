"""Writes a tiny ONNX model with several vectors a text, byte by byte: the package `onnx` is no part of the tests.

The numbers of fields are those of onnx.proto.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

FLOAT, INT64 = 1, 7
WORDS = ["[UNK]", "red", "boat", "green", "hat"]


def write_model(folder: Path, vectors: int = 3, dim: int = 8) -> Path:
    """Write a model whose vectors are the means of its words' rows: one for a question, `vectors` for a text."""
    folder.mkdir()
    table = np.random.default_rng(5).normal(size=(len(WORDS), 1 + vectors, dim)).astype(np.float32)
    graph = b"".join(
        (
            _field(1, _node("Gather", ["table", "input_ids"], "rows")),
            _field(1, _node("ReduceMean", ["rows"], "sentence_vector", axes=1, keepdims=0)),
            _field(2, b"tiny"),
            _field(
                5,
                b"".join(_number(1, n) for n in table.shape)
                + _number(2, FLOAT)
                + _field(8, b"table")
                + _field(9, table.tobytes()),
            ),
            *(_field(11, _value(name, INT64, ["n", "t"])) for name in ("input_ids", "attention_mask")),
            _field(12, _value("sentence_vector", FLOAT, ["n", 1 + vectors, dim])),
        )
    )
    model = _number(1, 8) + _field(7, graph) + _field(8, _number(2, 13))
    (folder / "model.onnx").write_bytes(model)
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "name": f"tiny-{vectors}",
        "dim": dim,
        "max_tokens": 16,
        "pooling": "attention",
        "quantisation": "none",
        "query_prompt": "",
        "text_prompt": "",
        "multilingual": False,
        "model_bytes": len(model),
        "tokenizer_sha256": hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest(),
        "vectors": vectors,
    }
    (folder / "embedder.json").write_text(json.dumps(config))
    return folder


def _varint(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _node(operator: str, inputs: list[str], output: str, axes: int | None = None, keepdims: int | None = None) -> bytes:
    content = b"".join(_field(1, name.encode()) for name in inputs) + _field(2, output.encode())
    content += _field(4, operator.encode())
    if axes is not None:
        content += _field(5, _field(1, b"axes") + _number(8, axes) + _number(20, 7))
    if keepdims is not None:
        content += _field(5, _field(1, b"keepdims") + _number(3, keepdims) + _number(20, 2))
    return content


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    dims = b"".join(_field(1, _field(2, n.encode()) if isinstance(n, str) else _number(1, n)) for n in shape)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, dims)))

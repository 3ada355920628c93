"""OnnxEmbedder, the default: a local model on onnxruntime. The folder minilm/ contains the shipped model.

Heavy imports are deferred to their first use, so that importing Everthread stays fast.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from everthread.common.fork_safety import Lock
from everthread.embedders import token_vectors
from everthread.embedders.token_vectors import QuestionTokens
from everthread.errors import ModelNotFound
from everthread.text.encoding import make_encodable
from everthread.types import TokenCodes, Vector, Vectors

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MINILM_FOLDER = Path(__file__).with_name("minilm")
QUESTION_CACHE_SIZE = 256  # vectors of questions, which are often stored as lines a moment later
CHARS_PER_TOKEN = 32  # far above ordinary text; longer texts are cut before tokenising, to bound the cost


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """The content of embedder.json, which describes a model; `everthread.embedders.export` writes it.

    A model with a `token_scheme` has the file token_projection.npy, and token vectors as its second output.
    The graph of a model with several vectors a text returns one for a question, and then those of a text.
    """

    name: str
    dim: int
    max_tokens: int
    pooling: str  # done inside the graph; for information
    quantisation: str
    query_prompt: str
    text_prompt: str
    multilingual: bool
    model_bytes: int
    tokenizer_sha256: str
    token_scheme: str = ""
    vectors: int = 1  # of each text; models of version 0.1.0 have one


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model.

    Attributes:
        tokenizer: its tokenizer.
        session: runs it.
        projection: (D + 1, B) projects token vectors; None if it has none.
    """

    tokenizer: tokenizers.Tokenizer
    session: onnxruntime.InferenceSession
    projection: npt.NDArray[np.float32] | None


_shipped: dict[str, _Model] = {}  # all share it; kept, since it takes 30 MB, and loading it as long as ten requests
_shipped_lock = Lock()


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one run of the model on a text.

    Attributes:
        vector: (D,) of the text; (1 + E, D) if a text has several: first the one of a question, then those of a text.
        tokens: (T, B) of its content tokens.
        spans: of T, first character and end of the word that the token is a part of.
    """

    vector: Vector
    tokens: npt.NDArray[np.float32]
    spans: Sequence[tuple[int, int]]


class OnnxEmbedder:
    """Runs a local model on onnxruntime: the shipped MiniLM, or a folder that `everthread.embedders.export` wrote.

    The description is read at once, the model when the first text is embedded. Thread-safe. `embed` uses `threads`
    threads (0: one per CPU), each of which runs the model on one text at a time. Nothing is padded, so a text's vector
    does not depend on the other texts; batches would be no faster. An interrupt ends `embed` as soon as the texts in
    progress are done.
    """

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        self._folder = MINILM_FOLDER if folder is None else Path(folder)
        self._threads = max(threads, 0) or os.cpu_count() or 1
        self._config = _read_config(self._folder)
        _check_size(self._folder / "model.onnx", self._config.model_bytes)
        self._lock = Lock()
        self._loaded: _Model | None = None
        self._latest = threading.local()  # a line is often stored right after its query, by the same thread
        self._questions = OrderedDict[bytes, Result]()  # by digest; for a later line, or another thread

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def dim(self) -> int:
        return self._config.dim

    @property
    def multilingual(self) -> bool:
        return self._config.multilingual

    @property
    def token_scheme(self) -> str:
        return self._config.token_scheme

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._stack_vectors(self._run_all(texts))

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenCodes]]:
        results = self._run_all(texts)
        return self._stack_vectors(results), [token_vectors.encode_signs(result.tokens) for result in results]

    def embed_query(self, text: str) -> Vector:
        return self._question_vector(self._run_question(self._config.query_prompt + text))

    def embed_query_with_tokens(self, text: str) -> tuple[Vector, QuestionTokens]:
        text = self._config.query_prompt + text
        result = self._run_question(text)
        encodable = make_encodable(text)
        words = [encodable[first:end] for first, end in result.spans]
        return self._question_vector(result), QuestionTokens(self.token_scheme, words, result.tokens)

    def read_token_states(self, text: str) -> npt.NDArray[np.float32]:
        """Return the last layer's (T, D) states of a text's content tokens, on which a projection is fitted."""
        encoding = self._tokenise(text)
        (states,) = self._load().session.run(["token_vectors"], _build_inputs(encoding))  # (1, T, D)
        chosen = token_vectors.find_content_tokens(encoding.tokens)
        return np.asarray(states[0][chosen], np.float32)

    def _stack_vectors(self, results: Sequence[Result]) -> Vectors:
        shape = (self._config.vectors, self.dim) if self._config.vectors > 1 else (self.dim,)
        vectors = np.empty((len(results), *shape), np.float32)  # (N, D) or (N, E, D)
        for row, result in enumerate(results):
            vectors[row] = result.vector[1:] if self._config.vectors > 1 else result.vector
        return vectors

    def _question_vector(self, result: Result) -> Vector:
        return result.vector[0] if self._config.vectors > 1 else result.vector

    def _run_all(self, texts: Sequence[str]) -> list[Result]:
        """Run the model on texts to be stored, with several threads."""
        results: dict[int, Result] = {}
        remaining = enumerate(list(texts))  # shared: each thread takes the next text

        def work() -> None:
            for row, text in remaining:
                results[row] = self._run_text(self._config.text_prompt + text)

        with ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(work) for _ in range(min(self._threads, len(texts)) - 1)]
            try:
                work()
            finally:  # after an interrupt or an error the remaining texts are skipped
                deque(remaining, maxlen=0)
        for future in futures:
            future.result()
        return [results[row] for row in range(len(texts))]

    def _run_question(self, text: str) -> Result:
        result = self._run_once(text)
        with self._lock:
            self._questions[_digest(text)] = result
            if len(self._questions) > QUESTION_CACHE_SIZE:
                self._questions.popitem(last=False)
        return result

    def _run_text(self, text: str) -> Result:
        """Run the model on a text to be stored; reuse the result of a recent question with the same text."""
        with self._lock:
            cached = self._questions.pop(_digest(text), None)
        return self._run_once(text) if cached is None else cached

    def _run_once(self, text: str) -> Result:
        last: tuple[str, Result] | None = getattr(self._latest, "result", None)
        if last is not None and last[0] == text:
            return last[1]
        result = self._run(text)
        result.vector.flags.writeable = False
        self._latest.result = text, result
        return result

    def _run(self, text: str) -> Result:
        model = self._load()
        encoding = self._tokenise(text)
        outputs = None if model.projection is None else ["sentence_vector", "token_vectors"]
        vector, *hidden = (
            output[0] for output in model.session.run(outputs, _build_inputs(encoding))
        )  # (D,) or (1 + E, D), (T, D)
        vector = np.asarray(vector / np.maximum(np.linalg.norm(vector, axis=-1, keepdims=True), 1e-12), np.float32)
        if model.projection is None:
            return Result(vector, NO_TOKENS, ())
        chosen = token_vectors.find_content_tokens(encoding.tokens)
        tokens = token_vectors.project(hidden[0][chosen], model.projection)
        return Result(vector, tokens, _word_spans(encoding, chosen))

    def _tokenise(self, text: str) -> tokenizers.Encoding:
        return self._load().tokenizer.encode(make_encodable(text[: self._config.max_tokens * CHARS_PER_TOKEN]))

    def _load(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load_shipped() if self._folder == MINILM_FOLDER else self._read_model()
            return self._loaded

    def _load_shipped(self) -> _Model:
        with _shipped_lock:
            if (model := _shipped.get(self._config.name)) is None:
                model = _shipped[self._config.name] = self._read_model()
        return model

    def _read_model(self) -> _Model:
        tokenizer = _open_tokenizer(self._folder, self._config)
        projection = _read_projection(self._folder) if self._config.token_scheme else None
        return _Model(tokenizer, self._open_session(), projection)

    def _open_session(self) -> onnxruntime.InferenceSession:
        import onnxruntime as ort
        from onnxruntime.capi import onnxruntime_pybind11_state as errors

        path = self._folder / "model.onnx"
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # whole texts run in parallel instead
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads sleep
        options.enable_cpu_mem_arena = False  # the arena never frees the memory of the longest text, and is no faster
        options.log_severity_level = 3  # errors only: warnings would be printed in a command's output
        try:
            return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except (
            errors.Fail,
            errors.InvalidArgument,
            errors.InvalidGraph,
            errors.InvalidProtobuf,
            errors.NotImplemented,
            errors.RuntimeException,
        ) as error:
            raise ModelNotFound(f"{path} can't be loaded ({error}); {MODEL_REMEDY}, or upgrade onnxruntime") from error


NO_TOKENS = np.empty((0, token_vectors.DIMENSIONS), np.float32)
MODEL_REMEDY = "reinstall everthread, or export the model again with `python -m everthread.embedders.export`"


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelNotFound(f"{path} can't be read ({error.strerror}); {MODEL_REMEDY}") from error


def _read_config(folder: Path) -> EmbedderConfig:
    path = folder / "embedder.json"
    try:
        return EmbedderConfig(**json.loads(_read_bytes(path)))
    except (ValueError, TypeError) as error:
        raise ModelNotFound(f"{path} is damaged or from another version ({error}); {MODEL_REMEDY}") from error


def _open_tokenizer(folder: Path, config: EmbedderConfig) -> tokenizers.Tokenizer:
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    content = _read_bytes(path)
    # The whole file is hashed, because a slightly wrong tokenizer makes vectors useless without an error.
    if hashlib.sha256(content).hexdigest() != config.tokenizer_sha256:
        raise ModelNotFound(f"{path} is not the file that was exported; {MODEL_REMEDY}")
    tokenizer = Tokenizer.from_str(content.decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(config.max_tokens)
    return tokenizer


def _read_projection(folder: Path) -> npt.NDArray[np.float32]:
    path = folder / "token_projection.npy"
    try:
        return np.asarray(np.load(BytesIO(_read_bytes(path)), allow_pickle=False), np.float32)
    except ValueError as error:
        raise ModelNotFound(f"{path} is damaged ({error}); {MODEL_REMEDY}") from error


def _build_inputs(encoding: tokenizers.Encoding) -> dict[str, npt.NDArray[np.int64]]:
    ids = np.array([encoding.ids], np.int64)  # (1, T)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


def _word_spans(encoding: tokenizers.Encoding, chosen: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first character and the end of the word that each of these tokens is a part of."""
    word_ids = encoding.word_ids
    spans = (encoding.word_to_chars(word) for index in chosen if (word := word_ids[index]) is not None)
    return [span for span in spans if span is not None]


def _check_size(path: Path, expected: int) -> None:
    """Raise ModelNotFound for a truncated download or a Git LFS pointer.

    Only the size is compared, because hashing 24 MB would take a tenth of a short command's time.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ModelNotFound(f"{path} can't be read ({error.strerror}); {MODEL_REMEDY}") from error
    if size != expected:
        raise ModelNotFound(f"{path} has {size} bytes instead of {expected}; {MODEL_REMEDY}")

"""Embedders: text in, vectors of unit length out, so that a dot product is a cosine.

Three are here: OnnxEmbedder (the default, with a model shipped in minilm/), RemoteEmbedder (any OpenAI-compatible
/embeddings) and SentenceTransformerEmbedder (an extra). They know nothing of banks, lines or dates.
Every heavy import waits for its first use, so that importing Everthread stays quick.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from everthread.common.fork_safety import Lock, register
from everthread.common.installation import install_extra
from everthread.errors import ConfigError, EmbedderUnavailable, ModelNotFound
from everthread.types import Vector, Vectors

if TYPE_CHECKING:
    import httpx
    import onnxruntime
    import sentence_transformers
    import tokenizers

MINILM = Path(__file__).with_name("minilm")
QUESTION_CACHE_SIZE = (
    256  # questions whose vectors are in mind until they are kept as lines, of as many who talk at once
)
CHARS_PER_TOKEN = 32  # far above ordinary text's; what lies beyond is cut before tokenising, to bound its cost


class Embedder(Protocol):
    """Turns texts into vectors. Vectors of two names are never compared."""

    @property
    def name(self) -> str: ...

    @property
    def multilingual(self) -> bool:
        """Whether other languages than English mean anything to it; where not, such text is searched by its words."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row of unit length for each text, in order: (N, D); or several for each, (N, E, D)."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question, which some models embed in another way: (D,); or several, (Q, D)."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """What embedder.json says of the model beside it; `everthread.embedders.export` writes it."""

    name: str
    dim: int
    max_tokens: int
    pooling: str  # done inside the graph; here for whoever reads the file
    quantisation: str
    query_prompt: str
    text_prompt: str
    multilingual: bool
    model_bytes: int
    tokenizer_sha256: str


class OnnxEmbedder:
    """Runs a local model on onnxruntime: the shipped MiniLM, or a folder that `everthread.embedders.export` wrote.

    The description is read at once, the model at the first text. Threads may share one embedder.
    Texts go through the model one at a time, on as many threads as are given (0: as many as there are processors).
    So nothing is padded, and a text's vector is the same whatever stands beside it; batches would be no faster.
    An interrupt ends `embed` as soon as the texts that are being read are done.
    """

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        self._folder = MINILM if folder is None else Path(folder)
        self._threads = max(threads, 0) or os.cpu_count() or 1
        self._config = _read_config(self._folder)
        _check_size(self._folder / "model.onnx", self._config.model_bytes)
        self._lock = Lock()
        self._loaded: tuple[tokenizers.Tokenizer, onnxruntime.InferenceSession] | None = None
        self._latest = threading.local()  # a line that is kept is asked about in the next moment, by the same thread
        self._asked: OrderedDict[bytes, Vector] = (
            OrderedDict()
        )  # or kept a little after, by any; texts by their digests

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def dim(self) -> int:
        return self._config.dim

    @property
    def multilingual(self) -> bool:
        return self._config.multilingual

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dim), np.float32)  # (N, D)
        waiting = enumerate(list(texts))  # whoever is free takes the next

        def work() -> None:
            for place, text in waiting:
                vectors[place] = self._kept(self._config.text_prompt + text)

        with ThreadPoolExecutor(self._threads) as pool:
            helping = [pool.submit(work) for _ in range(min(self._threads, len(texts)) - 1)]
            try:
                work()
            finally:  # after an interrupt or a fault nothing more is begun
                deque(waiting, maxlen=0)
        for each in helping:
            each.result()
        return vectors

    def embed_query(self, text: str) -> Vector:
        text = self._config.query_prompt + text
        vector = self._vector(text)
        with self._lock:
            self._asked[_digest(text)] = vector
            if len(self._asked) > QUESTION_CACHE_SIZE:
                self._asked.popitem(last=False)
        return vector

    def _kept(self, text: str) -> Vector:
        """The vector of a text that is kept. One that was asked about is not read again."""
        with self._lock:
            asked = self._asked.pop(_digest(text), None)
        return self._vector(text) if asked is None else asked

    def _vector(self, text: str) -> Vector:
        last: tuple[str, Vector] | None = getattr(self._latest, "read", None)
        if last is not None and last[0] == text:
            return last[1]
        vector = self._read(text)
        vector.flags.writeable = False
        self._latest.read = text, vector
        return vector

    def _read(self, text: str) -> Vector:
        tokenizer, session = self._model()
        ids = tokenizer.encode(clean(text[: self._config.max_tokens * CHARS_PER_TOKEN])).ids
        tokens = np.array([ids], np.int64)  # (1, T)
        vector = session.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})[0][0]  # (D,)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)

    def _model(self) -> tuple[tokenizers.Tokenizer, onnxruntime.InferenceSession]:
        with self._lock:
            if self._loaded is None:
                self._loaded = (_open_tokenizer(self._folder, self._config), self._open_session())
            return self._loaded

    def _open_session(self) -> onnxruntime.InferenceSession:
        import onnxruntime as ort
        from onnxruntime.capi import onnxruntime_pybind11_state as faults

        path = self._folder / "model.onnx"
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # whole texts run side by side instead
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads sleep
        options.enable_cpu_mem_arena = False  # the arena keeps the largest batch's memory for ever, and gains no speed
        options.log_severity_level = 3  # errors only: warnings would land in a command's output
        try:
            return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except (
            faults.Fail,
            faults.InvalidArgument,
            faults.InvalidGraph,
            faults.InvalidProtobuf,
            faults.NotImplemented,
            faults.RuntimeException,
        ) as error:
            raise ModelNotFound(f"{path} can't be loaded ({error}); {REMEDY}, or upgrade onnxruntime") from error


REMEDY = "reinstall everthread, or export the model again with `python -m everthread.embedders.export`"


def clean(text: str) -> str:
    """Text that can be written as UTF-8: surrogate pairs joined, lone ones and NUL replaced, the rest untouched."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelNotFound(f"{path} can't be read ({error.strerror}); {REMEDY}") from error


def _read_config(folder: Path) -> EmbedderConfig:
    path = folder / "embedder.json"
    try:
        return EmbedderConfig(**json.loads(_read_bytes(path)))
    except (ValueError, TypeError) as error:
        raise ModelNotFound(f"{path} is damaged or of another version ({error}); {REMEDY}") from error


def _open_tokenizer(folder: Path, config: EmbedderConfig) -> tokenizers.Tokenizer:
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    content = _read_bytes(path)
    # The whole file is compared, because a tokenizer that is slightly wrong says nothing and finds nothing.
    if hashlib.sha256(content).hexdigest() != config.tokenizer_sha256:
        raise ModelNotFound(f"{path} is not the file that was exported; {REMEDY}")
    tokenizer = Tokenizer.from_str(content.decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(config.max_tokens)
    return tokenizer


def _check_size(path: Path, expected: int) -> None:
    """A download cut short, or a Git LFS pointer. Hashing 24 MB would cost a tenth of a short command's time."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ModelNotFound(f"{path} can't be read ({error.strerror}); {REMEDY}") from error
    if size != expected:
        raise ModelNotFound(f"{path} has {size} bytes instead of {expected}; {REMEDY}")


class RemoteEmbedder:
    """A model behind an OpenAI-compatible `/embeddings`: OpenAI, Ollama, vLLM, llama.cpp, LM Studio and others.

    Texts are sent to base_url and nowhere else. patience is how many seconds the vector of one text may take, all tries
    together: someone waits for it. Each further text of a request has PER_TEXT more. Whatever goes wrong in the end is
    EmbedderUnavailable, whose message never holds the key. Connections are kept as long as the embedder.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout: float = 5.0,
        batch_size: int = 64,
        retries: int = 3,
        multilingual: bool = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = f"remote/{model}"
        self.multilingual = multilingual
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._key = api_key
        self._patience = timeout
        self._batch_size = batch_size
        self._retries = retries
        self._sleep = sleep
        self._dim: int | None = None
        self._lock = Lock()
        self._client: httpx.Client | None = None
        self._inherited: list[httpx.Client] = []
        register(self)

    def renew(self) -> None:
        """Have connections of its own in a forked child; the parent's are neither used nor closed there."""
        if self._client is not None:
            self._inherited.append(self._client)
            self._client = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        starts = range(0, len(texts), self._batch_size)
        batches = [self._batch(texts[start : start + self._batch_size]) for start in starts]
        return np.concatenate(batches) if batches else np.empty((0, self._dim or 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector

    def _batch(self, texts: Sequence[str]) -> Vectors:
        # Some servers refuse an empty text, and with it the whole batch.
        reply = self._post([clean(text) if text.strip() else "." for text in texts])
        try:
            vectors = _vectors_of(json.loads(reply), len(texts))
        except (ValueError, RecursionError) as error:
            raise self._unavailable(f"sent a bad reply: {error}", "check that this is an embedding model") from error
        with self._lock:
            self._dim = self._dim or vectors.shape[1]
        if vectors.shape[1] != self._dim:
            changed = f"sent {vectors.shape[1]} dimensions after {self._dim}"
            raise self._unavailable(changed, "was the model changed? restart, then reindex")
        return vectors

    def _post(self, texts: Sequence[str]) -> bytes:
        """Try, and try again where that may help and there is time: broken connections, 429 and 5xx."""
        import httpx

        end = time.monotonic() + self._patience + PER_TEXT * (len(texts) - 1)
        for attempt in range(self._retries + 1):
            wait = FIRST_WAIT * 2.0**attempt
            try:
                status, headers, body = self._try(texts, end)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                fault = f"can't be reached ({type(error).__name__}: {error})"
                # Nobody listens there, it is no address, or the time is up.
                if not isinstance(error, httpx.NetworkError | httpx.ProtocolError) or isinstance(
                    error, httpx.ConnectError
                ):
                    break
            else:
                if status == 200:
                    return body
                fault = f"answered {status} {self._hide(body[:200].decode(errors='replace'))}"
                if status != 429 and status < 500:
                    break
                wait = max(wait, parse_retry_after(headers.get("retry-after", "")))
            if attempt == self._retries or time.monotonic() + wait > end:
                break
            self._sleep(wait)
        raise self._unavailable(fault, "check that it runs, its URL, the model's name and the key")

    def _try(self, texts: Sequence[str], end: float) -> tuple[int, Mapping[str, str], bytes]:
        """One request's status, headers and body. A reply that comes in drops is cut off at the end, too."""
        import httpx

        left = max(end - time.monotonic(), 0.0)
        timeout = httpx.Timeout(left, connect=min(left, CONNECT))
        content = {"model": self._model, "input": texts}
        with self._http().stream("POST", self._url, json=content, timeout=timeout) as response:
            body = bytearray()
            for part in response.iter_bytes():
                body += part
                if time.monotonic() > end:
                    raise httpx.ReadTimeout("the reply takes too long")
            return response.status_code, response.headers, bytes(body)

    def _http(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._client = httpx.Client(headers=headers)
                weakref.finalize(self, self._client.close)
            return self._client

    def _hide(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _unavailable(self, fault: str, remedy: str) -> EmbedderUnavailable:
        shown = re.sub(r"//[^/@]*@", "//", self._url)  # a password may stand in the URL
        message = f"embedder {shown} (model {self._model!r}) {self._hide(fault)}; {remedy}"
        return EmbedderUnavailable(message, f"embedder (model {self._model!r}) can't be used; {remedy}")


CONNECT = 2.0  # seconds to reach the server: it is there, or it is not
PER_TEXT = 1.0  # seconds: what a slow processor takes for a long text
FIRST_WAIT = 0.5  # seconds before the second try, doubled for each further one


def parse_retry_after(header: str) -> float:
    """Seconds, or a date; nonsense counts as nothing."""
    try:
        return float(header) if header.strip().replace(".", "", 1).isdigit() else _seconds_until(header)
    except ValueError:
        return 0.0


def _seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment - datetime.now(moment.tzinfo)).total_seconds()


def _vectors_of(reply: object, count: int) -> Vectors:
    """The vectors of a reply in the order of the texts; ValueError says what is wrong with it."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("it has no list named 'data'")
    if len(data) != count:
        raise ValueError(f"{len(data)} vectors for {count} texts")
    places = [item.get("index", place) for place, item in enumerate(data)]
    if not all(isinstance(place, int) for place in places) or sorted(places) != list(range(count)):
        raise ValueError("the indexes of its vectors are not 0, 1, 2 …")
    try:
        rows = np.array([data[i].get("embedding") for i in np.argsort(places)], dtype=np.float64)  # (N, D)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("its vectors differ in length or hold something else than numbers") from None
    if rows.ndim != 2 or rows.shape[1] == 0 or not np.isfinite(rows).all():
        raise ValueError("its vectors are empty or hold numbers that are not finite")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)  # (N, 1)
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        raise ValueError("a vector has no length, or too much")
    return np.asarray(rows / lengths, dtype=np.float32)


class SentenceTransformerEmbedder:
    """Any sentence-transformers model, by name or folder, on torch. A name is downloaded by that library, once.

    device is where torch runs it (`cuda`, `cuda:1`, `mps`, `cpu`); None leaves it to that library.
    """

    def __init__(
        self, model: str | Path, batch_size: int = 32, multilingual: bool = True, device: str | None = None
    ) -> None:
        self.name = f"sentence-transformers/{model}"
        self.multilingual = multilingual
        self._model_name = str(model)
        self._batch_size = batch_size
        self._device = device
        self._lock = Lock()
        self._loaded: sentence_transformers.SentenceTransformer | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._encode([clean(text) for text in texts], "encode_document")

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._encode([clean(text)], "encode_query")[0]
        return vector

    def _encode(self, texts: list[str], how: str) -> Vectors:
        with self._lock:  # torch modules make no promise about threads
            encode = getattr(self._model(), how)
            vectors = encode(texts, batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32).reshape(len(texts), -1)

    def _model(self) -> sentence_transformers.SentenceTransformer:
        if self._loaded is None:
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                extra = install_extra("sentence-transformers")
                raise ConfigError(f"{self.name} needs an extra: {extra} ({error})") from error
            try:
                self._loaded = SentenceTransformer(self._model_name, device=self._device)
            except (OSError, ValueError, RuntimeError, AssertionError) as error:  # the last two: an unknown device
                where = f" on {self._device}" if self._device else ""
                raise ModelNotFound(
                    f"{self._model_name!r} can't be loaded{where}; check the name or folder, and the device ({error})"
                ) from error
        return self._loaded

"""RemoteEmbedder: a model on a server with an OpenAI-compatible `/embeddings`."""

from __future__ import annotations

import json
import re
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from everthread.common.fork_safety import Lock, register
from everthread.common.retry import Retries, doubling_delays, parse_retry_after
from everthread.common.urls import append_path
from everthread.errors import EmbedderUnavailable
from everthread.text.encoding import make_encodable
from everthread.types import Vector, Vectors

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_S = 2.0  # a server that is up accepts at once
MAX_SHOWN_BYTES = 200  # of an error's body
PER_TEXT_S = 1.0  # how long a slow CPU takes for a long text


class RemoteEmbedder:
    """Embeds texts on a server with an OpenAI-compatible `/embeddings`: OpenAI, Ollama, vLLM, llama.cpp and others.

    Texts are sent to `base_url` and nowhere else. Connections stay open as long as the embedder lives. Every failure is
    an EmbedderUnavailable, whose message never contains the key.
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
        """Store the settings; connect to nothing yet.

        Args:
            base_url: the server's address, such as `http://localhost:11434/v1`.
            model: the model's name on that server.
            api_key: sent as a bearer token.
            timeout: seconds for the vector of one text, all attempts together. Each further text of a request adds
                PER_TEXT_S.
            batch_size: texts per request.
            retries: attempts after the first.
            multilingual: whether the model understands languages other than English.
            sleep: waits between attempts; for tests.
        """
        self.name = f"remote/{model}"
        self.multilingual = multilingual
        self._url = append_path(base_url, "/embeddings")
        self._model = model
        self._key = api_key
        self._timeout = timeout
        self._batch_size = batch_size
        self._retries = retries
        self._sleep = sleep
        self._dim: int | None = None
        self._lock = Lock()
        self._client: httpx.Client | None = None
        self._inherited: list[httpx.Client] = []
        register(self)

    def renew(self) -> None:
        """Open new connections in a forked child; the parent's are neither used nor closed there."""
        if self._client is not None:
            self._inherited.append(self._client)
            self._client = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        starts = range(0, len(texts), self._batch_size)
        batches = [self._embed_batch(texts[start : start + self._batch_size]) for start in starts]
        return np.concatenate(batches) if batches else np.empty((0, self._dim or 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        # Some servers reject a batch that contains an empty text.
        reply = self._post([make_encodable(text) if text.strip() else "." for text in texts])
        try:
            vectors = _parse_vectors(json.loads(reply), len(texts))
        except (ValueError, RecursionError) as error:
            raise self._unavailable(
                f"sent an invalid reply: {error}", "check that this is an embedding model"
            ) from error
        with self._lock:
            self._dim = self._dim or vectors.shape[1]
        if vectors.shape[1] != self._dim:
            problem = f"sent {vectors.shape[1]} dimensions, {self._dim} before"
            raise self._unavailable(problem, "if the model was changed, restart, then reindex")
        return vectors

    def _post(self, texts: Sequence[str]) -> bytes:
        """Return the body of the reply; retry after broken connections, 429 and 5xx until the timeout."""
        import httpx

        deadline = time.monotonic() + self._timeout + PER_TEXT_S * (len(texts) - 1)
        retries = Retries(doubling_delays(self._retries), deadline=deadline, sleep=self._sleep)
        while True:
            requested_s = 0.0
            try:
                status, headers, body = self._send(texts, deadline)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                what = "didn't answer in time" if isinstance(error, httpx.ReadTimeout) else "can't be reached"
                problem = f"{what} ({type(error).__name__}: {error})"
                is_broken = isinstance(error, httpx.NetworkError | httpx.ProtocolError)
                is_retryable = is_broken and not isinstance(error, httpx.ConnectError)
            else:
                if status == 200:
                    return body
                problem = f"answered {status} {self._cut_excerpt(body)}".rstrip()
                is_retryable = status == 429 or status >= 500
                requested_s = parse_retry_after(headers.get("retry-after", ""))
            if not is_retryable or not retries.wait(requested_s):
                raise self._unavailable(
                    problem, "check that the server runs, and check its URL, the model's name and the key"
                )

    def _send(self, texts: Sequence[str], deadline: float) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request; return its status, headers and body. A slow reply is cut off at the deadline too."""
        import httpx

        remaining_s = max(deadline - time.monotonic(), 0.0)
        timeout = httpx.Timeout(remaining_s, connect=min(remaining_s, CONNECT_TIMEOUT_S))
        content = {"model": self._model, "input": texts}
        with self._get_client().stream("POST", self._url, json=content, timeout=timeout) as response:
            body = bytearray()
            for part in response.iter_bytes():
                body += part
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the reply takes too long")
            return response.status_code, response.headers, bytes(body)

    def _get_client(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._client = httpx.Client(headers=headers)
                weakref.finalize(self, self._client.close)
            return self._client

    def _cut_excerpt(self, body: bytes) -> str:
        """Return the beginning of an error's body for a message; "" of a page of HTML, such as a reverse proxy's."""
        text = body[:MAX_SHOWN_BYTES].decode(errors="replace").strip()
        return "" if text.startswith("<") else self._redact_key(text)

    def _redact_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _unavailable(self, problem: str, remedy: str) -> EmbedderUnavailable:
        url = re.sub(r"//[^/@]*@", "//", self._url)  # without the password, if there is one
        message = f"embedder {url} (model {self._model!r}) {self._redact_key(problem)}; {remedy}"
        return EmbedderUnavailable(message, f"embedder (model {self._model!r}) can't be used; {remedy}")


def _parse_vectors(reply: object, count: int) -> Vectors:
    """Return the unit vectors of a reply in the order of the texts. Raises ValueError with a message for users."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("it has no list named 'data'")
    if len(data) != count:
        raise ValueError(f"{len(data)} vectors for {count} texts")
    indexes = [item.get("index", position) for position, item in enumerate(data)]
    if not all(isinstance(index, int) for index in indexes) or sorted(indexes) != list(range(count)):
        raise ValueError("the indexes of its vectors are not 0, 1, 2 …")
    try:
        rows = np.array([data[i].get("embedding") for i in np.argsort(indexes)], dtype=np.float64)  # (N, D)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("its vectors differ in length or contain something other than numbers") from None
    if rows.ndim != 2 or rows.shape[1] == 0 or not np.isfinite(rows).all():
        raise ValueError("its vectors are empty, or contain NaN or infinity")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)  # (N, 1)
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        raise ValueError("a vector's norm is zero or infinite")
    return np.asarray(rows / lengths, dtype=np.float32)

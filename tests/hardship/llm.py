"""A server on this machine with the API of OpenAI's chat completions, which behaves as specified, well or badly.

Other APIs get exactly the bytes of a Raw.

    with llm_server(Status(429, retry_after=0.05), "Good morning.") as server:
        llm = OpenAICompatible(server.url, "m")

Each request for a completion takes the next behaviour; the last one repeats. A text is short for a Reply; a function of
the request returns a behaviour or a text. /models and Ollama's /api/tags list `models`; Ollama's /api/pull adds one,
after the events of `download`. Requests are recorded in `requests` (all) and `asked` (completions only).
"""

from __future__ import annotations

import http.server
import json
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

PATIENCE = 300.0  # seconds after which a stalled response ends, so that no test hangs
CHAT_PATHS = ("/chat/completions", "/api/chat", "/responses", "/messages", "/messages/count_tokens")
PIECE = re.compile(r"\s*\S+\s*?|\s+")


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `body` is None if it was not a JSON object; `data` are its bytes."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any] | None
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply: streamed in the given pieces (or word by word), or sent as JSON if the client doesn't stream.

    Attributes:
        text: the reply, or its pieces.
        first: seconds before anything is sent.
        delay: seconds between pieces.
        usage: tokens (read, written); None if the server doesn't count.
        finish: the finish reason; None to send none.
        done: whether [DONE] is sent.
        reasoning: reasoning, sent before the text.
        refusal: whether the text is sent as a refusal.
        always: whether usage is sent to clients that didn't ask for it.
    """

    text: str | Sequence[str]
    first: float = 0.0
    delay: float = 0.0
    usage: tuple[int, int] | None = (11, 7)
    finish: str | None = "stop"
    done: bool = True
    reasoning: str = ""
    refusal: bool = False
    always: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """A stream that breaks off after these pieces: within a chunk of the body, by a reset, or by ending normally."""

    text: str | Sequence[str] = ""
    how: Literal["chunk", "reset", "clean"] = "chunk"


@dataclass(frozen=True, slots=True)
class Stall:
    """A stream that is silent after these pieces, until the client disconnects."""

    text: str | Sequence[str] = ""


@dataclass(frozen=True, slots=True)
class Mute:
    """A server that accepts the request and never answers."""


@dataclass(frozen=True, slots=True)
class Status:
    """An error. `message` may contain {prompt}, which is replaced by the prompt, as some servers echo it. The body may
    break off (`broken`), or be declared as compressed although it is not (`packed`)."""

    status: int
    message: str = "no, because of {prompt}"
    kind: str | None = None
    code: str | None = None
    param: str | None = None
    retry_after: float | str | None = None
    broken: bool = False
    packed: bool = False


@dataclass(frozen=True, slots=True)
class Raw:
    """Exactly these bytes as the body, in two chunks if there is a place to cut them. If `unfinished`, silence follows
    until the client disconnects."""

    body: bytes
    kind: str = "text/event-stream"
    status: int = 200
    unfinished: bool = False
    cut_at: int = 0
    encoding: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Endless:
    """An endless body with this status. `rate` is in bytes per second, None for as fast as the client reads. `sent` has
    an entry for each part that was sent."""

    status: int = 500
    rate: int | None = None
    sent: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Picky:
    """A server that rejects this parameter, and answers requests without it."""

    parameter: str
    then: str | Reply = "All right."
    status: int = 400


Behaviour = Reply | Cut | Stall | Mute | Status | Raw | Endless | Picky
ServerBehaviour = str | Behaviour | Callable[[Request], "str | Behaviour"]

HTML = Raw(b"<!doctype html><html><body>Sign in to the network of Hotel Neptune</body></html>", "text/html")
MALFORMED = Raw(b'data: {"choices": [{"delta": {"content": "Hel\n\n')
LATIN = Raw('data: {"choices": [{"index": 0, "delta": {"content": "é"}}]}\n\n'.encode("latin-1"))


@dataclass
class Server:
    """A running server. `url` is the base URL of OpenAI's API, `host` that of Ollama's."""

    host: str
    models: Sequence[str]
    behaviours: list[ServerBehaviour]
    download: list[dict[str, Any] | None] = field(
        default_factory=list
    )  # of a model that is pulled; a None at its end stalls
    requests: list[Request] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)  # a client disconnected from a stalled response
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"{self.host}/v1"

    @property
    def asked(self) -> list[Request]:
        """The requests for completions."""
        return [each for each in self.requests if _is_chat(each.path)]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests for completions."""
        return [each.body or {} for each in self.asked]

    def take(self, request: Request) -> Behaviour:
        """Return the next behaviour; the last one repeats."""
        with self.lock:
            behaviour = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
        if not isinstance(behaviour, str | Behaviour):
            behaviour = behaviour(request)
        return Reply(behaviour) if isinstance(behaviour, str) else behaviour


@contextmanager
def llm_server(*behaviours: ServerBehaviour, models: Sequence[str] = ("m",)) -> Iterator[Server]:
    """Run a server with these behaviours until the block ends."""
    listening = Listening(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{listening.server_port}", models, list(behaviours or ["Hello there."]))
    listening.server = server
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listening.shutdown()
        thread.join()
        listening.server_close()
        listening.hang_up()


@contextmanager
def closed_port() -> Iterator[int]:
    """Yield a port that refuses connections, and that no other process can take until the block ends."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        yield int(each.getsockname()[1])


class Listening(http.server.ThreadingHTTPServer):
    """Tracks its open connections, so that it can close them all."""

    daemon_threads = True
    request_queue_size = 256  # of connections to accept; of a hundred at once, some are reset with the usual 5
    server: Server

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: a disconnected client is not one."""

    def hang_up(self) -> None:
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listening

    def log_message(self, format: str, *args: Any) -> None:
        """Discard the message."""

    def do_GET(self) -> None:
        server = self._record_request(None)
        names = server.models
        if self.path == "/api/tags":
            self._json({"models": [{"name": name, "model": name} for name in names]})
        elif self.path == "/v1/models":
            self._json({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        elif (name := self.path.removeprefix("/v1/models/")) in names:
            self._json({"id": name, "object": "model"})
        else:
            self._json({"error": {"message": "not found"}}, 404)

    def do_DELETE(self) -> None:
        self._record_request(None)
        self._whole(b"", "text/plain", 200)

    do_HEAD = do_OPTIONS = do_DELETE

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = self._record_request(_object(data), data)
        if self.path == "/api/pull":
            self._pull(server, str((server.requests[-1].body or {})["model"]))
            return
        if not _is_chat(self.path):
            self._json({"error": {"message": "not found"}}, 404)
            return
        request = server.requests[-1]
        self._behave(server.take(request), request)

    def _pull(self, server: Server, name: str) -> None:
        self._open_stream("application/x-ndjson")
        for event in server.download:
            if event is None:
                self._wait()
                return
            self._part(json.dumps(event).encode() + b"\n")
        if not any("error" in (event or {}) for event in server.download):
            server.models = [*server.models, name]
            self._part(b'{"status": "success"}\n')
        self._part(b"")

    def _record_request(self, body: dict[str, Any] | None, data: bytes = b"") -> Server:
        server = self.server.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.requests.append(Request(self.command, self.path, headers, body, data))
        return server

    def _behave(self, behaviour: Behaviour, request: Request) -> None:
        body = request.body or {}
        match behaviour:
            case Picky(parameter, then, status):
                if parameter in body:
                    self._json(_error(f"unknown parameter {parameter}", "invalid_request_error"), status)
                else:
                    self._behave(Reply(then) if isinstance(then, str) else then, request)
            case Status(status, message, kind, code, param, retry_after, broken, packed):
                filled = message.replace("{prompt}", str(body.get("messages")))
                extra = {} if retry_after is None else {"Retry-After": str(retry_after)}
                extra |= {"Content-Length": "9999"} if broken else {}
                extra |= {"Content-Encoding": "gzip"} if packed else {}
                self.close_connection = broken
                self._json(_error(filled, kind, code, param), status, extra)
            case Raw(data, kind, _, True):
                self._open_stream(kind)
                self._part(data)
                self._wait()
            case Raw(data, kind, status, _, at) if at:
                self._open_stream(kind, status)
                for part in (data[:at], data[at:], b""):
                    self._part(part)
            case Raw(data, kind, status, encoding=encoding, headers=headers):
                self._whole(
                    data, kind, status, {**({"Content-Encoding": encoding} if encoding else {}), **dict(headers)}
                )
            case Mute():
                self._wait()
            case Endless():
                self._pour(behaviour)
            case Reply():
                time.sleep(behaviour.first)
                if body.get("stream"):
                    self._stream(behaviour, body)
                else:
                    self._json(_completion(behaviour, body))
            case Stall(text):
                self._begin(text)
                self._wait()
            case Cut(text, how):
                self._begin(text)
                self._break(how)

    def _stream(self, reply: Reply, body: Mapping[str, Any]) -> None:
        self._open_stream()
        self._event(_chunk({"role": "assistant", "content": ""}))
        if reply.reasoning:
            self._event(_chunk({"reasoning_content": reply.reasoning}))
            self._event(_chunk({"reasoning": reply.reasoning}))
        for piece in pieces(reply.text):
            self._event(_chunk({"refusal" if reply.refusal else "content": piece}))
            time.sleep(reply.delay)
        if reply.finish:
            self._event(_chunk({}, reply.finish))
        asked = (body.get("stream_options") or {}).get("include_usage")
        if reply.usage and (asked or reply.always):
            self._event({**_chunk({}), "choices": [], "usage": _usage(reply.usage)})
        if reply.done:
            self._part(b"data: [DONE]\n\n")
        self._part(b"")

    def _begin(self, text: str | Sequence[str]) -> None:
        self._open_stream()
        for piece in pieces(text):
            self._event(_chunk({"content": piece}))

    def _break(self, how: str) -> None:
        if how == "clean":
            self._part(b"")
            return
        self.wfile.write(b'40\r\ndata: {"cho')
        if how == "reset":  # a reset discards data in flight, so the client first gets time to read it
            time.sleep(0.1)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        self.close_connection = True

    def _wait(self) -> None:
        """Wait until the client disconnects, or this server closes."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not self.server.server.closing.is_set():
            with suppress(OSError):
                if select.select([self.connection], [], [], 0.02)[0] and not self.connection.recv(1):
                    self.server.server.hung_up.set()
                    break
        self.close_connection = True

    def _pour(self, endless: Endless) -> None:
        self._open_stream("application/json", endless.status)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not self.server.server.closing.is_set():
            self._part(b"x" * (endless.rate // 10 if endless.rate else 65_536))
            endless.sent.append(0)
            time.sleep(0.1 if endless.rate else 0)

    def _open_stream(self, kind: str = "text/event-stream", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _event(self, value: Mapping[str, Any]) -> None:
        self._part(b"data: " + json.dumps(value).encode() + b"\n\n")

    def _part(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _json(self, value: object, status: int = 200, extra: Mapping[str, str] | None = None) -> None:
        self._whole(json.dumps(value).encode(), "application/json", status, extra)

    def _whole(self, data: bytes, kind: str, status: int, extra: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **(extra or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _is_chat(path: str) -> bool:
    return path.partition("?")[0].endswith(CHAT_PATHS)


def pieces(text: str | Sequence[str]) -> Sequence[str]:
    return PIECE.findall(text) if isinstance(text, str) else text


def _object(data: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):
        value = json.loads(data)
        return value if isinstance(value, dict) else None
    return None


def _chunk(delta: Mapping[str, str], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _completion(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    text = "".join(pieces(reply.text))
    message = {"role": "assistant", "content": None if reply.refusal else text}
    if reply.refusal:
        message["refusal"] = text
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    completion = {"id": "c", "object": "chat.completion", "created": 1, "model": body.get("model"), "choices": [choice]}
    return {**completion, "usage": _usage(reply.usage)} if reply.usage else completion


def _usage(counted: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": counted[0], "completion_tokens": counted[1], "total_tokens": sum(counted)}


def _error(message: str, kind: str | None = None, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}

"""A server on this machine that speaks OpenAI's chat completions, as well or as badly as it is told.

    with llm_server(Status(429, retry_after=0.05), "Good morning.") as server:
        llm = OpenAICompatible(server.url, "m")

Each request for a completion takes the next behaviour; the last one answers all that follow. A text is a Reply of it,
and a function of the request gives a behaviour or a text. /models and Ollama's /api/tags list what `models` names.
What was asked is kept in `requests` (everything) and `asked` (completions alone).
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

PATIENCE = 300.0  # seconds after which a stalled answer is given up, so that nothing hangs for good
PIECE = re.compile(r"\s*\S+\s*?|\s+")


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked. body is None where it was no JSON object."""

    method: str
    path: str
    headers: Mapping[str, str]  # their names in lower case
    body: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that arrives whole: streamed in the given pieces (or word by word), or as JSON to whoever doesn't stream.

    first is the seconds before anything is sent, delay those between pieces. usage is (read, written), None where the
    server doesn't count; it is sent to those who ask for it, or to all where always. finish None is never said, and
    without done there is no [DONE]. reasoning comes before the text, and a refusal is sent as such.
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
    """A stream that breaks off behind these pieces: within a chunk of the body, by a reset, or as if that were all."""

    text: str | Sequence[str] = ""
    how: Literal["chunk", "reset", "clean"] = "chunk"


@dataclass(frozen=True, slots=True)
class Stall:
    """A stream that falls silent behind these pieces, until the client hangs up."""

    text: str | Sequence[str] = ""


@dataclass(frozen=True, slots=True)
class Mute:
    """A server that takes the request and never answers."""


@dataclass(frozen=True, slots=True)
class Status:
    """An error. message may echo the prompt, as those of some servers do: {prompt} stands for it. The body may break
    off before its end, or be said to be packed, and not be."""

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
    """These very bytes as the body; unfinished, it is silent behind them until the client hangs up."""

    body: bytes
    kind: str = "text/event-stream"
    status: int = 200
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Endless:
    """A body of this status that does not end until the client hangs up, and how many bytes of it are sent a second;
    None for as many as the client takes. sent are those that were."""

    status: int = 500
    rate: int | None = None
    sent: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Picky:
    """A server that knows no such parameter and says so; it answers requests without it."""

    parameter: str
    then: str | Reply = "All right."
    status: int = 400


Behaviour = Reply | Cut | Stall | Mute | Status | Raw | Endless | Picky
Told = str | Behaviour | Callable[[Request], "str | Behaviour"]

HTML = Raw(b"<!doctype html><html><body>Sign in to the network of Hotel Neptune</body></html>", "text/html")
MALFORMED = Raw(b'data: {"choices": [{"delta": {"content": "Hel\n\n')
LATIN = Raw('data: {"choices": [{"index": 0, "delta": {"content": "é"}}]}\n\n'.encode("latin-1"))


@dataclass
class Server:
    """A running one. url is its base for OpenAI's clients, host that for Ollama's."""

    host: str
    models: Sequence[str]
    behaviours: list[Told]
    requests: list[Request] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)  # a client left a stalled answer
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"{self.host}/v1"

    @property
    def asked(self) -> list[Request]:
        """The requests for completions."""
        return [each for each in self.requests if each.path.endswith("/chat/completions")]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was asked for in those."""
        return [each.body or {} for each in self.asked]

    def take(self, request: Request) -> Behaviour:
        """The next behaviour; the last one stays."""
        with self.lock:
            told = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
        if not isinstance(told, str | Behaviour):
            told = told(request)
        return Reply(told) if isinstance(told, str) else told


@contextmanager
def llm_server(*behaviours: Told, models: Sequence[str] = ("m",)) -> Iterator[Server]:
    """A server that behaves so, for as long as the block lasts."""
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
    """The number of a port that refuses everyone, and that nobody else can take meanwhile."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        yield int(each.getsockname()[1])


class Listening(http.server.ThreadingHTTPServer):
    """Knows its open connections, so that it can cut them all off."""

    daemon_threads = True
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
        """A client that hangs up is none."""

    def hang_up(self) -> None:
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listening

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        told = self._told(None)
        names = told.models
        if self.path == "/api/tags":
            self._json({"models": [{"name": name, "model": name} for name in names]})
        elif self.path == "/v1/models":
            self._json({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        else:
            self._json({"error": {"message": "not found"}}, 404)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = self._told(_object(data))
        if not self.path.endswith("/chat/completions"):
            self._json({"error": {"message": "not found"}}, 404)
            return
        request = told.requests[-1]
        self._behave(told.take(request), request)

    def _told(self, body: dict[str, Any] | None) -> Server:
        told = self.server.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        told.requests.append(Request(self.command, self.path, headers, body))
        return told

    def _behave(self, behaviour: Behaviour, request: Request) -> None:
        body = request.body or {}
        match behaviour:
            case Picky(parameter, then, status):
                if parameter in body:
                    self._json(_error(f"unknown parameter {parameter}", "invalid_request_error"), status)
                else:
                    self._behave(Reply(then) if isinstance(then, str) else then, request)
            case Status(status, message, kind, code, param, retry_after, broken, packed):
                told = message.replace("{prompt}", str(body.get("messages")))
                extra = {} if retry_after is None else {"Retry-After": str(retry_after)}
                extra |= {"Content-Length": "9999"} if broken else {}
                extra |= {"Content-Encoding": "gzip"} if packed else {}
                self.close_connection = broken
                self._json(_error(told, kind, code, param), status, extra)
            case Raw(data, kind, _, True):
                self._open_stream(kind)
                self._part(data)
                self._wait()
            case Raw(data, kind, status):
                self._whole(data, kind, status)
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
        if how == "reset":  # what is in flight is lost; so the client first gets the time to read it
            time.sleep(0.1)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        self.close_connection = True

    def _wait(self) -> None:
        """Until the client hangs up, or this server closes."""
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
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": body.get("model"), "choices": [choice]}
    return {**whole, "usage": _usage(reply.usage)} if reply.usage else whole


def _usage(counted: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": counted[0], "completion_tokens": counted[1], "total_tokens": sum(counted)}


def _error(message: str, kind: str | None = None, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}

"""Language models that write the replies. Whatever speaks OpenAI's chat completions will do.

`OpenAICompatible` asks such a server; `fakes.ScriptedLLM` says what it is told. They know nothing of banks, characters
or prompts, and they keep nothing of what is said: no error of theirs holds a word of it, nor the key.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from everthread.errors import ConfigError, LLMDenied, LLMRejected, LLMUnavailable, ModelError, ModelNotFound
from everthread.models.embed import clean, retry_after
from everthread.prompt.tokens import estimate
from everthread.types import JSONValue, Message, Sampling, Usage

if TYPE_CHECKING:
    import httpx2
    import openai

Kind = TypeVar("Kind", bound=ModelError)


class Stream(Protocol):
    """A reply on its way: an iterator over pieces of text, none of them empty.

    While it is iterated it raises LLMUnavailable where it is cut. usage is known once it has ended, finish then says
    why it ended: "stop", "length", "content_filter", "refusal", or None where the server did not say.
    """

    @property
    def usage(self) -> Usage: ...

    @property
    def finish(self) -> str | None: ...

    def __iter__(self) -> Iterator[str]: ...

    def __next__(self) -> str: ...

    def close(self) -> None:
        """Stop it, from any thread; the server hears of it, and whoever waits for the next piece gets the end."""


class LLM(Protocol):
    """A language model. Safe from many threads."""

    name: str
    context: int  # tokens that prompt and reply may have together

    @property
    def usage(self) -> Usage:
        """All that was used since it was made."""

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Stream:
        """The reply to these messages. Returns once the server has taken the request.

        Raises LLMUnavailable, LLMDenied, LLMRejected, ModelNotFound.
        """

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, JSONValue] | None = None,
        sampling: Sampling | None = None,
    ) -> str:
        """The whole reply at once; with a JSON schema, as far as the server can, JSON of it. Raises as `stream`."""


CONNECT = 5.0  # seconds to reach the server: it is there, or it is not
WHOLE = 5  # times as long as between two pieces a server may be silent over a reply that it sends whole
FIRST_WAIT = 0.5  # seconds before the second try, doubled for each further one
PATIENCE = 20.0  # seconds of waiting between all tries together: someone sits before an empty line
AGAIN = {408, 409, 429}  # besides 5xx: what may go better the next time
LIMIT = 4_000_000  # bytes of a whole reply, and of one line of a stream: many times what any model writes
OVERHEAD = 4  # tokens that chat templates put around a message: about what the common ones do
FINISHES = {"stop", "length", "content_filter"}
SENT = {  # the headers that go out. The SDK would add what it finds in the environment, and tell of this machine
    *("host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type"),
    *("user-agent", "x-stainless-raw-response"),  # by the last it knows that the body is left to us
}


class OpenAICompatible:
    """A model behind OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, LM Studio, OpenRouter and others.

    What is said goes to base_url and nowhere else; redirects are not followed. timeout is how many seconds the server
    may be silent between two pieces. Broken connections, 408, 409, 429 and 5xx are tried again, before the first piece
    only, after a pause that doubles, or as long as the server asks for (Retry-After). The pauses take no more than
    PATIENCE seconds together: whoever is asked to wait longer hears so at once. A server that is silent is not asked
    again, for it may still be at work. A parameter that it doesn't know is left out from then on.
    prices are those of a million tokens read and written. ConfigError where the SDK is missing or an argument is none.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        context: int = 8192,
        timeout: float = 60.0,
        retries: int = 3,
        prices: tuple[float, float] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if find_spec("openai") is None:
            raise ConfigError("language models need an extra: pip install 'everthread[llm]'")
        self.name = model
        self.context = context
        self.url = shown(base_url)
        self._base_url = base_url
        self._key = _checked(api_key or "none")  # local servers need no key, and the SDK wants one
        self.timeout = timeout
        self._retries = retries
        self._prices = prices
        self._sleep = sleep
        self._lock = threading.Lock()
        self._usage = Usage()
        self._refused: frozenset[str] = frozenset()  # parameters that the server doesn't take
        self._opened: openai.OpenAI | None = None

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Stream:
        options: dict[str, JSONValue] = {"stream_options": {"include_usage": True}}
        response = self._ask(messages, sampling, options, stream=True)
        return _Stream(self, response, messages, counted="stream_options" not in self._refused)

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, JSONValue] | None = None,
        sampling: Sampling | None = None,
    ) -> str:
        response = self._ask(messages, sampling, _format(schema) if schema else {}, stream=False)
        try:
            with self.understood(WHOLE * self.timeout):
                reply = json.loads(_whole(response))
                self.check(reply)
                if not isinstance(message := _at(reply, "choices", 0, "message"), dict):
                    raise ValueError("no message")
        finally:
            response.close()
        text = clean(_text(message, "content") or _text(message, "refusal"))
        self.used(_counted(reply) or estimated(messages, text))
        return text

    def used(self, usage: Usage) -> Usage:
        """Adds to what was used; returns it with what it cost."""
        if self._prices is not None:
            read, written = self._prices
            usage = replace(usage, cost=(usage.prompt * read + usage.completion * written) / 1_000_000)
        with self._lock:
            self._usage += usage
        return usage

    def _ask(
        self, messages: Sequence[Message], sampling: Sampling | None, options: Mapping[str, JSONValue], *, stream: bool
    ) -> httpx2.Response:
        """The answer, of which the head has been read. What the server doesn't know is left out, one by one."""
        import openai

        given = {
            **{name: value for name, value in asdict(sampling or Sampling()).items() if value is not None},
            **options,
        }
        refused = self._refused
        while True:
            sent = _without(given, refused)
            try:
                response = self._try(messages, sent, stream=stream)
            except openai.APIStatusError as error:
                if (blamed := _blamed(error, sent)) is None:
                    raise self._status(error) from None  # its text may hold the prompt
                refused |= {blamed}
            except openai.APIConnectionError as error:
                raise self._unreached(error, self.timeout if stream else WHOLE * self.timeout) from error.__cause__
            else:
                with self._lock:
                    self._refused |= refused
                return response

    def _try(self, messages: Sequence[Message], sent: Mapping[str, JSONValue], *, stream: bool) -> httpx2.Response:
        """Try, and try again where that may help and there is time."""
        import openai

        waited = 0.0
        for attempt in itertools.count():
            try:
                return self._post(messages, sent, stream=stream)
            except openai.APIError as error:
                # By chance a little shorter, so that not all who wait come again at once.
                wait = _asked_wait(error) or FIRST_WAIT * 2.0**attempt * random.uniform(0.75, 1.0)
                if not _passing(error) or attempt >= self._retries or waited + wait > PATIENCE:
                    raise
            self._sleep(wait)
            waited += wait
        raise AssertionError("never reached")

    def _post(self, messages: Sequence[Message], sent: Mapping[str, JSONValue], *, stream: bool) -> httpx2.Response:
        import openai

        completions: Any = self._client().chat.completions.with_streaming_response  # so that the body is left to us
        answer = completions.create(
            model=self.name,
            messages=[{"role": each.role, "content": clean(each.content)} for each in messages],
            stream=stream,
            extra_body=sent,
            # A stream has its connection for itself, so that `close` may cut it at any moment.
            extra_headers={"Connection": "close"} if stream else {},
            timeout=openai.Timeout(self.timeout if stream else WHOLE * self.timeout, connect=CONNECT),
        )
        response: httpx2.Response = answer.__enter__().http_response
        return response

    def _client(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._opened is None:
                http = openai.DefaultHttpxClient(
                    follow_redirects=False,
                    headers={"Accept-Encoding": "identity"},  # packed, pieces would come in heaps
                    event_hooks={"request": [_bare]},
                )
                self._opened = openai.OpenAI(
                    base_url=self._base_url,
                    api_key=self._key,
                    default_headers={"Authorization": f"Bearer {self._key}"},  # not one of the environment
                    max_retries=0,  # the SDK would wait for two minutes, and ask silent servers again
                    http_client=http,
                )
                weakref.finalize(self, http.close)
            return self._opened

    # ------------------------------------------------------------------------------------------ what went wrong

    @contextmanager
    def understood(self, timeout: float) -> Iterator[None]:
        """What goes wrong while a body is read."""
        import httpx2

        try:
            yield
        except httpx2.TimeoutException:
            raise self._silent(timeout) from None
        except httpx2.HTTPError as error:
            raise self.broken(type(error).__name__) from None
        except (ValueError, RecursionError):  # whose text may be that of the reply
            remedy = "check that the URL is that of an OpenAI-compatible server; it mostly ends in /v1"
            raise self._fault(LLMUnavailable, "answers nonsense", remedy) from None

    def check(self, event: object) -> None:
        """Raises LLMUnavailable for an error that comes in the place of a reply."""
        if not isinstance(event, dict):
            raise ValueError("no object")
        if (error := event.get("error")) or event.get("object") == "error":
            told = error if isinstance(error, dict) else event
            failed = f"failed while it replied{_codes(told.get('code'), told.get('type'))}"
            raise self._fault(LLMUnavailable, failed, "try again, or look into the log of its server")

    def broken(self, why: str = "") -> LLMUnavailable:
        return self._fault(LLMUnavailable, f"broke off in the middle of its reply{_codes(why)}", "try again")

    def _silent(self, timeout: float) -> LLMUnavailable:
        remedy = "try again, or give it longer with EVERTHREAD_LLM_TIMEOUT"
        return self._fault(LLMUnavailable, f"said nothing for {timeout:g} seconds", remedy)

    def _unreached(self, error: openai.APIConnectionError, timeout: float) -> LLMUnavailable:
        import httpx2

        cause = error.__cause__
        if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return self._silent(timeout)
        why = f"no connection within {CONNECT:g} seconds"
        if not isinstance(cause, httpx2.ConnectTimeout):
            why = " ".join(str(cause).split()) or type(cause).__name__
        return self._fault(LLMUnavailable, f"can't be reached ({why})", "check that its server runs, and its URL")

    def _status(self, error: openai.APIStatusError) -> ModelError:
        """A status in our words: of the server's only type and code are told, since its text may echo the prompt."""
        status = error.status_code
        codes = _codes(status, error.type, error.code)
        if status in (401, 403):
            return self._fault(LLMDenied, f"wants a key, or another one{codes}", "set EVERTHREAD_LLM_KEY")
        if status == 404:
            remedy = "check the model's name, and the URL: it mostly ends in /v1"
            return self._fault(ModelNotFound, f"isn't there{codes}", remedy)
        if status in AGAIN or status >= 500:
            return self._overloaded(error, codes)
        if _too_long(error):
            remedy = f"lower EVERTHREAD_LLM_CONTEXT (it is {self.context}), or have its server take more"
            return self._fault(LLMRejected, f"finds the prompt too long{codes}", remedy)
        if status < 400:
            return self._fault(LLMRejected, f"has moved{codes}", "set the URL to where it is now")
        named = f", because of {error.param}" if error.param and NAME.fullmatch(str(error.param)) else ""
        return self._fault(LLMRejected, f"doesn't take the request{codes}{named}", "check the model and its settings")

    def _overloaded(self, error: openai.APIStatusError, codes: str) -> LLMUnavailable:
        wait = _asked_wait(error)
        again = f"try again in {wait:.0f} seconds" if wait >= 1 else "try again in a while"
        if error.status_code == 429:
            return self._fault(LLMUnavailable, f"has more to do than it can, or than it may for you{codes}", again)
        return self._fault(LLMUnavailable, f"failed{codes}", f"{again}, or look into the log of its server")

    def _fault(self, kind: type[Kind], what: str, remedy: str) -> Kind:
        return kind(f"language model {self.name!r} at {self.url} {what}; {remedy}")


class _Stream:
    """A reply of OpenAICompatible on its way."""

    def __init__(
        self, llm: OpenAICompatible, response: httpx2.Response, messages: Sequence[Message], *, counted: bool
    ) -> None:
        self._llm = llm
        self._response = response
        self._messages = tuple(messages)
        self._counted = counted  # whether the server was asked to count
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._refusal = False
        self._written: list[str] = []  # what the model wrote, also of what it only thought
        self._half = ""  # the first half of a surrogate pair, whose other half comes with the next piece
        self._closed = self._ended = False
        self._reading = threading.RLock()
        self._pieces = self._read()
        weakref.finalize(self, response.close)

    @property
    def usage(self) -> Usage:
        return self._usage or estimated(self._messages, "".join(self._written))

    @property
    def finish(self) -> str | None:
        return "refusal" if self._refusal else self._finish

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        with self._reading:
            return next(self._pieces)

    def close(self) -> None:
        self._closed = True
        if (stream := self._response.extensions.get("network_stream")) is not None:
            # Closing a socket wakes nobody who waits for it; shutting it down does. Not by its own method: that of TLS
            # takes away under the reader what it reads from.
            with suppress(OSError):
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)
        with self._reading, suppress(ValueError):  # where a handler of signals closes what its own thread is reading
            self._pieces.close()
            self._end()

    def _read(self) -> Generator[str]:
        try:
            with self._llm.understood(self._llm.timeout):
                yield from self._heard()
        except ModelError:
            if not self._closed:
                raise
        finally:
            self._end()

    def _heard(self) -> Iterator[str]:
        for event in _events(self._response):
            if event is None:
                break
            self._llm.check(event)
            if piece := self._taken(event):
                yield piece
            if self._finish and (self._usage or not self._counted):
                break  # some servers say no more, and don't hang up
        else:
            if self._finish is None:
                raise self._llm.broken()
        if self._half:
            yield "\ufffd"

    def _taken(self, event: Mapping[str, Any]) -> str:
        """The piece of text in an event, if any; what else it tells is noted."""
        self._usage = _counted(event) or self._usage
        delta = _at(event, "choices", 0, "delta")
        refusal, thought = _text(delta, "refusal"), _text(delta, "reasoning_content") or _text(delta, "reasoning")
        text = _text(delta, "content") + refusal
        self._refusal = self._refusal or bool(refusal)
        self._written += [thought, text]
        if isinstance(finish := _at(event, "choices", 0, "finish_reason"), str):
            if finish in ("error", "abort"):
                raise self._llm.broken(finish)
            self._finish = finish if finish in FINISHES else "stop"
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean(text[: len(text) - len(self._half)])

    def _end(self) -> None:
        self._response.close()
        if not self._ended:
            self._ended = True
            self._usage = self._llm.used(self.usage)


def estimated(messages: Sequence[Message], reply: str) -> Usage:
    """What was used for a reply, where the server didn't count."""
    read = sum(estimate(each.content) + OVERHEAD for each in messages)
    return Usage(read, estimate(reply), estimated=True)


def shown(url: str) -> str:
    """A server's address without what may be secret in it. ConfigError if it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        where = re.sub(r"//[^/@]*@", "//", url)
        raise ConfigError(f"{where!r} is no address of a language model; it looks like http://localhost:11434/v1")
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def _checked(key: str) -> str:
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise ConfigError("the key of the language model holds characters that no key has; copy it anew")
    return key


def _bare(request: httpx2.Request) -> None:
    for name in [name for name in request.headers if name not in SENT]:
        del request.headers[name]


def _without(given: Mapping[str, JSONValue], refused: frozenset[str]) -> dict[str, JSONValue]:
    """The parameters that the server takes. Newer models call max_tokens otherwise."""
    sent = {name: value for name, value in given.items() if name not in refused}
    if "max_tokens" in given and "max_tokens" in refused and "max_completion_tokens" not in refused:
        sent["max_completion_tokens"] = given["max_tokens"]
    return sent


def _blamed(error: openai.APIStatusError, sent: Mapping[str, JSONValue]) -> str | None:
    """The parameter to leave out: the one that the server names, or else one that not all servers know."""
    if error.status_code not in (400, 422) or _too_long(error):
        return None
    named = str(error.param).partition(".")[0]
    return next((name for name in (named, "response_format", "stream_options") if name in sent), None)


TOO_LONG = re.compile(
    r"context.?(length|size|window)|maximum context|too many tokens|prompt is too long", re.IGNORECASE
)


def _too_long(error: openai.APIStatusError) -> bool:
    """Whether the prompt is; servers say it in many ways."""
    return error.status_code == 413 or bool(TOO_LONG.search(f"{error.code} {error.type} {error.message}"))


def _passing(error: openai.APIError) -> bool:
    """Whether it may go better the next time. A server that was silent may still be at work."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code in AGAIN or error.status_code >= 500
    return not isinstance(error, openai.APITimeoutError)


def _asked_wait(error: openai.APIError) -> float:
    """The seconds that a server asks to wait, or 0."""
    import openai

    said = error.response.headers.get("retry-after", "") if isinstance(error, openai.APIStatusError) else ""
    return max(retry_after(said), 0.0)


NAME = re.compile(r"[\w.-]{1,60}", re.ASCII)


def _codes(*said: object) -> str:
    """Codes and types of errors in brackets, as far as they are such: a server may put any text there."""
    told = [str(each) for each in said if each is not None and NAME.fullmatch(str(each))]
    return f" ({' '.join(dict.fromkeys(told))})" if told else ""


def _format(schema: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    told: JSONValue = {"name": "reply", "schema": schema, "strict": _strict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": told}}


def _strict(schema: object) -> bool:
    """Whether OpenAI's strict mode takes the schema: every object closed, all of its fields required, no defaults.

    Source: OpenAI's guide to structured outputs, "Supported schemas".
    """
    if not isinstance(schema, dict):
        return True
    fields = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(fields)
    if "default" in schema or (schema.get("type") == "object" and not closed):
        return False
    below = [*fields.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ()), schema.get("items")]
    return all(_strict(each) for each in below)


def _whole(response: httpx2.Response) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > LIMIT:
            raise ValueError("too long")
    return bytes(body)


def _events(response: httpx2.Response) -> Iterator[dict[str, Any] | None]:
    """What a stream tells, and None where it says that this is all. ValueError for what is no such stream."""
    kind = response.headers.get("content-type", "")
    if kind.startswith(("text/html", "application/json")):
        raise ValueError("no stream")
    for line in _lines(response.iter_bytes()):
        name, _, value = line.partition(b":")
        if name == b"data" and (value := value.strip()):
            yield None if value == b"[DONE]" else json.loads(value)


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for part in parts:
        rest += part
        if b"\n" in part:
            *whole, rest = rest.split(b"\n")
            yield from map(bytes, whole)
        if len(rest) > LIMIT:
            raise ValueError("a line without end")
    yield bytes(rest)


def _at(value: Any, *path: str | int) -> Any:
    """What stands there in JSON, or None."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _text(value: Any, name: str) -> str:
    text = _at(value, name)
    return text if isinstance(text, str) else ""


def _counted(reply: object) -> Usage | None:
    """What the server says that was used; a server that says nothing was read doesn't count."""
    read, written = _at(reply, "usage", "prompt_tokens"), _at(reply, "usage", "completion_tokens")
    if type(read) is int and read > 0 and (written is None or type(written) is int):
        return Usage(read, written or 0)
    return None

"""A client for language models served through OpenAI's chat completions API.

It is independent of banks, characters and prompts, and stores no message. Errors contain neither message text nor the
key.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from everthread.common.fork_safety import Lock
from everthread.common.retry import Retries, doubling_delays
from everthread.common.tls import tls_context
from everthread.common.tracing import traced
from everthread.common.urls import append_path
from everthread.errors import ConfigError
from everthread.llms import discovery
from everthread.llms.base import Stream
from everthread.llms.errors import CONNECT_TIMEOUT_S, LLMErrors, StatusError, is_retryable, redact_url
from everthread.llms.event_loop import close_with_owner, run
from everthread.llms.streaming import (
    ReplyReader,
    estimate_usage,
    get_path,
    get_text,
    peek_error_body,
    read_body,
    read_usage,
)
from everthread.text.encoding import make_encodable
from everthread.types import JSONValue, Message, Sampling, Usage

if TYPE_CHECKING:
    import httpx

NO_KEY = "none"  # local servers need no key, but some require the header
NON_STREAMING_FACTOR = 5  # timeout of a whole reply, as a multiple of the timeout between two pieces
MAX_JITTER_SHARE = 0.25  # of a delay, by which it may be shortened at random
MAX_TOTAL_DELAY_S = 20.0  # of all delays together: a person is waiting


class OpenAICompatible:
    """A model served through OpenAI's chat completions API: OpenAI, Ollama, vLLM, llama.cpp, LM Studio, OpenRouter …

    Messages are sent to `base_url` and nowhere else; redirects are not followed. Before the first piece, broken
    connections and the statuses 408, 409, 429 and 5xx are retried after delays that double and are at least as long as
    the server asks for (Retry-After), within MAX_TOTAL_DELAY_S. A request that timed out is not retried, because the
    server may still be working on it. A parameter that the server rejects is omitted from then on.
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
        """Store the settings; connect to nothing yet.

        Args:
            base_url: the server's address, such as `http://localhost:11434/v1`.
            model: the model's name on that server.
            api_key: sent as a bearer token; local servers need none.
            context: maximum tokens of prompt and reply together.
            timeout: seconds that the server may be silent between two pieces.
            retries: attempts after the first.
            prices: the price of a million prompt tokens, and of a million completion tokens.
            sleep: waits between attempts; for tests.

        Raises:
            ConfigError: the address or the key is invalid.
        """
        self.name = model
        self.context = context
        self.url = redact_url(base_url)
        self._errors = LLMErrors(model, base_url, context)
        self._base_url = base_url
        self._key = _check_key(api_key or NO_KEY)
        self._timeout = timeout
        self._retries = retries
        self._prices = prices
        self._sleep = sleep
        self._lock = Lock()
        self._usage = Usage()
        self._rejected: frozenset[str] = frozenset()  # parameters that the server rejects
        self._clients: dict[int, httpx.AsyncClient] = {}  # by process ID: a forked child opens its own

    @property
    def base_url(self) -> str:
        """The server's address, as it was given."""
        return self._base_url

    @property
    def key(self) -> str:
        """The API key; empty if none was given."""
        return "" if self._key == NO_KEY else self._key

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    def models(self) -> list[str] | None:
        """Return the names of the server's models, or None if it doesn't list them."""
        return discovery.list_models(self._base_url, self._key)

    def warm_up(self) -> None:
        """Load the HTTP client, so that the first request doesn't wait for it. Nothing is sent."""
        self._client()

    def with_model(self, model: str) -> OpenAICompatible:
        """Return a client for another model on the same server. Prices depend on the model, so they are not copied."""
        return OpenAICompatible(
            self._base_url,
            model,
            self._key,
            context=self.context,
            timeout=self._timeout,
            retries=self._retries,
            sleep=self._sleep,
        )

    @traced("everthread.model.stream")
    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Stream:
        options: dict[str, JSONValue] = {"stream_options": {"include_usage": True}}
        response = self._request(messages, sampling, options, stream=True)
        usage_requested = "stream_options" not in self._rejected
        return ReplyReader(
            response, messages, self._errors, self._record_usage, timeout=self._timeout, usage_requested=usage_requested
        )

    @traced("everthread.model.complete")
    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, JSONValue] | None = None,
        sampling: Sampling | None = None,
    ) -> str:
        response = self._request(messages, sampling, _response_format(schema) if schema else {}, stream=False)
        try:
            with self._errors.translate(self._silence_limit_s(False)):
                reply = json.loads(run(read_body(response)))
                self._errors.check_event(reply)
                if not isinstance(message := get_path(reply, "choices", 0, "message"), dict):
                    raise ValueError("no message")
        finally:
            run(response.aclose())
        text = make_encodable(get_text(message, "content") or get_text(message, "refusal"))
        self._record_usage(read_usage(reply) or estimate_usage(messages, text))
        return text

    def _record_usage(self, usage: Usage) -> Usage:
        """Add to the total usage; return the usage with its cost."""
        if self._prices is not None:
            prompt_price, completion_price = self._prices
            cost = (usage.prompt * prompt_price + usage.completion * completion_price) / 1_000_000
            usage = replace(usage, cost=cost)
        with self._lock:
            self._usage += usage
        return usage

    def _request(
        self, messages: Sequence[Message], sampling: Sampling | None, options: Mapping[str, JSONValue], *, stream: bool
    ) -> httpx.Response:
        """Return the response once its headers have arrived. Rejected parameters are omitted one by one."""
        import httpx

        chosen = {name: value for name, value in asdict(sampling or Sampling()).items() if value is not None}
        params = {**chosen, **options}
        rejected = self._rejected
        while True:
            accepted = _accepted_params(params, rejected)
            try:
                response = self._post_with_retries(messages, accepted, stream=stream)
            except StatusError as error:
                if (unsupported := _unsupported_param(error, accepted)) is None:
                    raise self._errors.status_error(error) from None
                rejected |= {unsupported}
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._errors.connection_error(error, self._silence_limit_s(stream)) from error
            else:
                with self._lock:
                    self._rejected |= rejected
                return response

    def _post_with_retries(
        self, messages: Sequence[Message], params: Mapping[str, JSONValue], *, stream: bool
    ) -> httpx.Response:
        """Send the request; repeat it after errors that may be temporary, within the limits on delays."""
        import httpx

        delays_s = doubling_delays(self._retries, jitter=MAX_JITTER_SHARE)
        retries = Retries(delays_s, max_total_delay_s=MAX_TOTAL_DELAY_S, sleep=self._sleep)
        while True:
            try:
                return self._post(messages, params, stream=stream)
            except (StatusError, httpx.HTTPError, httpx.InvalidURL) as error:
                requested_s = error.retry_after if isinstance(error, StatusError) else 0.0
                if not is_retryable(error) or not retries.wait(requested_s):
                    raise

    def _post(self, messages: Sequence[Message], params: Mapping[str, JSONValue], *, stream: bool) -> httpx.Response:
        """Send one request; return the response, whose body is not read yet."""
        import httpx

        prompt = [{"role": message.role, "content": make_encodable(message.content)} for message in messages]
        http = self._client()
        request = http.build_request(
            "POST",
            append_path(self._base_url, "/chat/completions"),
            json={**params, "model": self.name, "messages": prompt, "stream": stream},
            # A stream doesn't share its connection, so that `close` can cut it at any moment.
            headers={"Connection": "close"} if stream else {},
            timeout=httpx.Timeout(self._silence_limit_s(stream), connect=CONNECT_TIMEOUT_S),
        )
        return run(_send(http, request))

    def _silence_limit_s(self, stream: bool) -> float:
        """Return how many seconds the server may be silent."""
        return self._timeout if stream else NON_STREAMING_FACTOR * self._timeout

    def _client(self) -> httpx.AsyncClient:
        import httpx

        with self._lock:
            if (client := self._clients.get(os.getpid())) is None:
                client = self._clients[os.getpid()] = httpx.AsyncClient(
                    follow_redirects=False,
                    headers={
                        "Accept": "application/json",
                        "Accept-Encoding": "identity",  # compression would delay pieces
                        "Authorization": f"Bearer {self._key}",
                    },
                    limits=httpx.Limits(max_connections=1000, max_keepalive_connections=100),
                    verify=tls_context(),
                )
                close_with_owner(self, client.aclose)
            return client


def _check_key(key: str) -> str:
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise ConfigError(
            "invalid API key for the language model: it contains characters that keys don't have; copy it again"
        )
    return key


async def _send(http: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    response = await http.send(request, stream=True)
    if response.is_success:
        return response
    raise StatusError(response.status_code, await peek_error_body(response), response.headers.get("retry-after", ""))


def _accepted_params(params: Mapping[str, JSONValue], rejected: frozenset[str]) -> dict[str, JSONValue]:
    """Return the parameters that the server accepts. Newer models have another name for max_tokens."""
    accepted = {name: value for name, value in params.items() if name not in rejected}
    if "max_tokens" in params and "max_tokens" in rejected and "max_completion_tokens" not in rejected:
        accepted["max_completion_tokens"] = params["max_tokens"]
    return accepted


def _unsupported_param(error: StatusError, params: Mapping[str, JSONValue]) -> str | None:
    """Return the parameter to omit: the one that the server names, else one that some servers don't support."""
    if error.status not in (400, 422) or error.too_long:
        return None
    named = error.param.partition(".")[0]
    return next((name for name in (named, "response_format", "stream_options") if name in params), None)


def _response_format(schema: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    json_schema: JSONValue = {"name": "reply", "schema": schema, "strict": _allows_strict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


def _allows_strict(schema: object) -> bool:
    """Return whether OpenAI's strict mode accepts the schema: closed objects, all fields required, no defaults.

    Source: OpenAI's guide to structured outputs, "Supported schemas".
    """
    if not isinstance(schema, dict):
        return True
    fields = schema.get("properties", {})
    is_closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(fields)
    if "default" in schema or (schema.get("type") == "object" and not is_closed):
        return False
    definitions = schema.get("$defs", {}).values()
    return all(map(_allows_strict, [*fields.values(), *definitions, *schema.get("anyOf", ()), schema.get("items")]))

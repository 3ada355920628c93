"""The errors of a language model's server.

Errors contain neither words of the conversation nor the key. Only codes and types of the server's response are shown,
because some servers echo the prompt.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from everthread.common.retry import parse_retry_after
from everthread.errors import ConfigError, LLMDenied, LLMRejected, LLMUnavailable, ModelError, ModelNotFound

Kind = TypeVar("Kind", bound=ModelError)

CONNECT_TIMEOUT_S = 5.0  # a server that is up accepts at once
RETRYABLE_STATUSES = {408, 409, 429}  # in addition to 5xx
SAFE_NAME = re.compile(r"[\w.-]{1,60}", re.ASCII)
TOO_LONG_MESSAGE = re.compile(
    r"context.?(length|size|window)|maximum context|too many tokens|prompt is too long", re.IGNORECASE
)


class StatusError(Exception):
    """An unsuccessful reply: its status and the fields of its body, without its text, which may echo the prompt.

    Source: OpenAI's API reference, "Error codes"; other servers omit fields, or send plain text.
    """

    def __init__(self, status: int, body: bytes, retry_after: str = "") -> None:
        super().__init__()
        fields, text = _error_object(body)
        self.status = status
        self.code = fields.get("code")
        self.type = fields.get("type")
        self.param = str(fields.get("param") or "")
        self.retry_after = max(parse_retry_after(retry_after), 0.0)  # seconds that the server asks to wait, or 0
        message = fields.get("message") or text
        self.too_long = status == 413 or bool(TOO_LONG_MESSAGE.search(f"{self.code} {self.type} {message}"))


class LLMErrors:
    """Builds the errors of one model of one server."""

    def __init__(self, model: str, url: str, context: int) -> None:
        self._model = model
        self._url = redact_url(url)
        self._context = context

    @contextmanager
    def translate(self, timeout: float) -> Iterator[None]:
        """Translate the errors of reading a body."""
        import httpx

        try:
            yield
        except httpx.TimeoutException:
            raise self.silence_error(timeout) from None
        except httpx.HTTPError as error:
            raise self.cut_error(type(error).__name__) from None
        except (ValueError, RecursionError):  # their text may quote the reply
            remedy = "check that the URL is that of an OpenAI-compatible server; it usually ends in /v1"
            raise self._build(LLMUnavailable, "returned an invalid response", remedy) from None

    def check_event(self, event: object) -> None:
        """Raise LLMUnavailable for an error that is sent in place of a reply, ValueError if it isn't an object."""
        if not isinstance(event, dict):
            raise ValueError("not an object")
        if (error := event.get("error")) or event.get("object") == "error":
            fields = error if isinstance(error, dict) else event
            problem = f"failed during its reply{_format_codes(fields.get('code'), fields.get('type'))}"
            raise self._build(LLMUnavailable, problem, "try again, or check its server's log", reason="llm-failed")

    def cut_error(self, cause: str = "") -> LLMUnavailable:
        """Return the error for a connection that broke during the reply."""
        message = f"disconnected in the middle of its reply{_format_codes(cause)}"
        return self._build(LLMUnavailable, message, "try again", reason="reply-cut")

    def silence_error(self, timeout: float) -> LLMUnavailable:
        """Return the error for a server that sent nothing for `timeout` seconds."""
        remedy = "try again, or increase EVERTHREAD_LLM_TIMEOUT"
        return self._build(LLMUnavailable, f"sent nothing for {timeout:g} seconds", remedy)

    def connection_error(self, error: Exception, timeout: float) -> LLMUnavailable:
        """Return the error for a request without a response."""
        import httpx

        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return self.silence_error(timeout)
        problem, remedy = "can't be reached", "start its server, or check its URL"
        cause = f"no connection within {CONNECT_TIMEOUT_S:g} seconds"
        if not isinstance(error, httpx.ConnectTimeout):
            cause = _describe_cause(error)
        return self._build(LLMUnavailable, f"{problem} ({cause})", remedy, problem)  # the cause may name the host

    def status_error(self, error: StatusError) -> ModelError:
        """Return the error for an unsuccessful status. It shows type and code of the body, but no text."""
        status = error.status
        codes = _format_codes(status, error.type, error.code)
        if status in (401, 403):
            return self._build(LLMDenied, f"requires a valid API key{codes}", "set EVERTHREAD_LLM_KEY")
        if status == 404:
            remedy = "check the model's name, and the URL: it usually ends in /v1"
            return self._build(ModelNotFound, f"was not found{codes}", remedy)
        if status in RETRYABLE_STATUSES or status >= 500:
            return self._overload_error(error, codes)
        if error.too_long:
            remedy = f"lower EVERTHREAD_LLM_CONTEXT (it is {self._context}), or raise the limit of its server"
            return self._build(LLMRejected, f"rejected the prompt as too long{codes}", remedy)
        if status < 400:
            return self._build(LLMRejected, f"has moved{codes}", "set the URL to its new address")
        parameter = f", because of {error.param}" if SAFE_NAME.fullmatch(error.param) else ""
        return self._build(LLMRejected, f"rejected the request{codes}{parameter}", "check the model and its settings")

    def _overload_error(self, error: StatusError, codes: str) -> LLMUnavailable:
        delay_s = error.retry_after
        retry_hint = f"try again in {delay_s:.0f} seconds" if delay_s >= 1 else "try again later"
        if error.status == 429:
            problem = f"is overloaded, or your quota is used up{codes}"
            return self._build(LLMUnavailable, problem, retry_hint, reason="llm-overloaded")
        remedy = f"{retry_hint}, or check its server's log"
        return self._build(LLMUnavailable, f"failed{codes}", remedy, reason="llm-failed")

    def _build(self, kind: type[Kind], problem: str, remedy: str, public: str = "", reason: str = "") -> Kind:
        """Build an error. Its message names the server's address; its public text, `public` if given, doesn't."""
        model = f"language model {self._model!r}"
        message, public = f"{model} at {self._url} {problem}; {remedy}", f"{model} {public or problem}; {remedy}"
        return kind(message, public, reason=reason)


def redact_url(url: str) -> str:
    """Return a server's address without user, password and query.

    Raises:
        ConfigError: if it is not an HTTP address.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        url_without_password = re.sub(r"//[^/@]*@", "//", url)
        raise ConfigError(
            f"{url_without_password!r} is not the address of a language model; expected one such as http://localhost:11434/v1"
        )
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def _error_object(body: bytes) -> tuple[dict[str, Any], str]:
    """Return the error object of a JSON body, or {} and the body's text if it is not a JSON object."""
    text = body.decode(errors="replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}, text
    fields = value.get("error", value) if isinstance(value, dict) else value
    return (fields, "") if isinstance(fields, dict) else ({}, text)


def _describe_cause(error: BaseException) -> str:
    """Return why there is no connection, in the operating system's words where it gave an error number."""
    root = error
    while (cause := root.__cause__ or root.__context__) is not None:
        root = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause
    if isinstance(root, OSError) and root.errno is not None and root.errno > 0:
        return os.strerror(root.errno)
    return " ".join(str(error).split()) or type(error).__name__


def is_retryable(error: Exception) -> bool:
    """Return whether another attempt may succeed. A silent server isn't asked again: it may still be working."""
    import httpx

    if isinstance(error, StatusError):
        return error.status in RETRYABLE_STATUSES or error.status >= 500
    return not isinstance(error, httpx.TimeoutException | httpx.InvalidURL | httpx.UnsupportedProtocol)


def _format_codes(*values: object) -> str:
    """Return codes and types in brackets. Only plain names are included, because a server may send any text."""
    names = [str(value) for value in values if value is not None and SAFE_NAME.fullmatch(str(value))]
    return f" ({' '.join(dict.fromkeys(names))})" if names else ""

"""The part of the server that speaks the API of language models: its paths, its errors, and requests of browsers.

Sources: OpenAI's API reference, "Error codes"; Anthropic's API reference, "Errors"; Ollama's API, "Errors"; Fetch
Standard, "CORS protocol"; W3C, Private Network Access.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Send

from everthread.server.problems import Problem

OLLAMA_PATH = re.compile(r"(?:/bank/[^/]+)?/api/(?!v1(?:/|$))(?:blobs/)?[^/]+")  # /api/v1 is not Ollama's
PATH = re.compile(rf"(?:/bank/[^/]+)?/v1(?:/.*)?|{OLLAMA_PATH.pattern}")
FILE_PATH = re.compile(  # of forms with files
    r"(?:/bank/[^/]+)?/v1/(?:audio|containers|content_provenance_checks|files|images|organizations?|realtime|skills"
    r"|uploads|videos)(?:/.*)?"
)
MESSAGES_PATH = re.compile(r"(?:/bank/[^/]+)?/v1/messages(?:/.*)?")  # of Anthropic's API
ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
ANTHROPIC_ERROR_TYPES = ERROR_TYPES | {404: "not_found_error", 413: "request_too_large", 504: "timeout_error"}
ANY_ORIGIN = "*"
PREFLIGHT_SECONDS = 600  # for which a browser need not ask again


def build_error(
    path: str, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Build an error of the API to which a path belongs.

    Args:
        path: of the request.
        status: the HTTP status.
        code: the kind of error.
        message: what is wrong, and what to do about it.
        headers: of the response.
    """
    if OLLAMA_PATH.fullmatch(path):
        return JSONResponse({"error": message}, status, headers)
    default = "invalid_request_error" if status < 500 else "api_error"
    if MESSAGES_PATH.fullmatch(path):
        error: dict[str, str | None] = {"type": ANTHROPIC_ERROR_TYPES.get(status, default), "message": message}
        return JSONResponse({"type": "error", "error": error}, status, headers)
    kind = ERROR_TYPES.get(status, default)
    error = {"message": message, "type": kind, "param": None, "code": code.replace("-", "_")}
    return JSONResponse({"error": error}, status, headers)


def render_problem(problem: Problem, path: str) -> JSONResponse:
    """Return a problem in the shape of the API to which the path belongs."""
    if not PATH.fullmatch(path):
        return problem.response()
    return build_error(path, problem.status, problem.name, problem.detail, problem.headers)


def find_allowed_origin(headers: Headers, path: str, origins: Collection[str]) -> str | None:
    """Return the origin of a page that may use this API from a browser, or None.

    Args:
        headers: of the request.
        path: of the request.
        origins: the allowed ones, in lower case; or ANY_ORIGIN.
    """
    origin = headers.get("origin")
    allowed = origin is not None and (ANY_ORIGIN in origins or origin.lower() in origins)
    return origin if allowed and PATH.fullmatch(path) else None


def with_origin_allowed(send: Send, origin: str) -> Send:
    """Return a `send` that lets a page of this origin read the response."""

    async def send_with_origin(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "*"
            headers.add_vary_header("Origin")
        await send(message)

    return send_with_origin


def answer_preflight(headers: Headers) -> Response:
    """Answer a browser that asks whether a page may send a request."""
    allowed = {
        "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
        "Access-Control-Allow-Headers": headers.get("access-control-request-headers", "*"),
        "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
    }
    if "access-control-request-private-network" in headers:
        allowed["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=204, headers=allowed)

"""Renders errors as problem documents (RFC 9457), each with the invalid value and a remedy."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from operator import itemgetter
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from everthread import errors
from everthread.server.logs import hash_bank_id, route_template
from everthread.stores.errors import CommitUnknown, ForgettingUnfinished
from everthread.stores.sqlite.file_errors import error_text

log = logging.getLogger("everthread.server")

MEDIA_TYPE = "application/problem+json"
UNKNOWN_ADDRESS = "unknown address; the API is below /api/v1, and /api/v1/openapi.json describes it"
CLIENT_CLOSED_STATUS = 499  # in logs and metrics: the client disconnected before the response
RETRY_AFTER_S = 2
LOG_INTERVAL_S = 60.0  # between two messages about the same reason

STATUS_BY_ERROR: dict[type[errors.EverthreadError], int] = {  # the first that matches
    errors.NotFound: 404,
    errors.BadInput: 422,
    errors.StoreUnavailable: 503,
    errors.ConfigError: 422,
    errors.StoreError: 500,
    errors.LLMRejected: 422,
    errors.ModelError: 502,
}
# For errors whose own messages contain paths; the first that matches.
PUBLIC_DETAILS: dict[type[errors.EverthreadError], str] = {
    CommitUnknown: "the connection to the database broke while this was stored, and it may be; read the bank before "
    "you try again, unless you repeat the request with its Idempotency-Key",
    errors.StoreUnavailable: "the store is temporarily unavailable; try again",
    errors.BankDamaged: "the bank is damaged",
    errors.BankTooNew: "the bank was written by a later version of Everthread",
    errors.StoreError: "the store failed",
    errors.ModelNotFound: "a model is missing",
}
PARAMETERS = {"force": "?replace=true"}  # options with another name in requests
FORGETTING_UNFINISHED = (
    "it is forgotten, but bytes of it may remain on the server's disk, for example because that is full; they are "
    "erased when the bank is next used"
)
DOCTOR_HINT = "; see `everthread doctor` where the server runs"


class StoreFailures:
    """Logs why the store can't be used, each reason at most once a minute: all requests may fail for the same."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._reason, self._logged_at = clock, "", 0.0

    def log(self, error: errors.StoreUnavailable) -> None:
        """Log the system's own words for an error, and the bank as its digest, because its id may be a name."""
        cause = error.__cause__
        while isinstance(cause, errors.EverthreadError):  # its message may name the bank
            cause = cause.__cause__
        text = error_text(cause) if isinstance(cause, Exception) else type(error).__name__
        reason = text.strip().partition("\n")[0]
        if reason != self._reason or self._clock() - self._logged_at > LOG_INTERVAL_S:
            self._reason, self._logged_at = reason, self._clock()
            what = "bytes of what was forgotten remain" if is_unfinished(error) else "the store is unavailable"
            where = f" (bank {hash_bank_id(error.bank)})" if error.bank else f" ({error.path})" if error.path else ""
            log.warning("%s: %s%s", what, reason, where)


class Problem(HTTPException):
    """An error of the server that the library has no class for, reported as a problem document.

    It is an HTTPException, because FastAPI passes only those on unchanged while it reads a body.
    """

    def __init__(self, status: int, name: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, headers)
        self.status, self.name = status, name

    def response(self) -> JSONResponse:
        """Return the problem as a response."""
        return build_response(self.status, self.name, self.detail, self.headers)


def build_document(status: int, name: str, detail: str, **more: object) -> dict[str, object]:
    """Build a problem document.

    Args:
        status: the HTTP status.
        name: the kind of problem, the same wherever it occurs.
        detail: what is wrong, and what to do about it.
        **more: further members of the document.
    """
    return {
        "type": f"urn:everthread:{name}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **more,
    }


def build_response(
    status: int, name: str, detail: str, headers: Mapping[str, str] | None = None, **more: object
) -> JSONResponse:
    """Build the response with a problem document. Takes the arguments of `build_document`, and headers."""
    return JSONResponse(build_document(status, name, detail, **more), status, headers, media_type=MEDIA_TYPE)


def build_error_document(error: errors.EverthreadError) -> dict[str, object]:
    """Build the problem document of an error of the library, without the location of files or model servers."""
    if is_unfinished(error):
        return build_document(get_status(error), "store-error", FORGETTING_UNFINISHED + DOCTOR_HINT)
    name = to_kebab_case(type(error).__name__)
    detail = next((message + DOCTOR_HINT for kind, message in PUBLIC_DETAILS.items() if isinstance(error, kind)), None)
    if detail is not None:
        return build_document(get_status(error), name, detail)
    reason: dict[str, object] = {"reason": error.reason, "values": error.values} if error.reason else {}
    if isinstance(error, errors.ModelError):
        return build_document(get_status(error), name, error.public, **reason)
    fields = {"path": None if error.path is None else to_file_name(error.path), "where": error.where}
    fields |= {"message": error.message, "remedy": error.remedy, "option": error.option}
    parts: dict[str, object] = dict(filter(itemgetter(1), fields.items())) if error.path or error.option else {}
    detail = error.render(render_parameter, to_file_name)
    return build_document(get_status(error), name, detail, **parts, **reason)


def render_parameter(option: str) -> str:
    """Write an option as a request's parameter: `?format=`."""
    return PARAMETERS.get(option, f"?{option}=")


def to_file_name(path: Path | str) -> str:
    """Return the name of a file, without the folders of the server's disk."""
    return path.name if isinstance(path, Path) else path


def get_status(error: errors.EverthreadError) -> int:
    """Return the HTTP status for an error of the library."""
    if is_unfinished(error):  # a client that tries again would learn that there is nothing to forget
        return 500
    return next((status for kind, status in STATUS_BY_ERROR.items() if isinstance(error, kind)), 500)


def is_unfinished(error: errors.EverthreadError) -> bool:
    """Return whether something is forgotten, of which bytes may remain on the disk."""
    return isinstance(error.__cause__, ForgettingUnfinished)


def to_kebab_case(name: str) -> str:
    """Return BadLine as bad-line, LLMDenied as llm-denied."""
    return re.sub("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def install(app: FastAPI) -> None:
    """Register handlers that return every expected error as a problem document (see also `render_unexpected`)."""
    reasons = StoreFailures()

    @app.exception_handler(Problem)
    async def render_problem(request: Request, error: Problem) -> JSONResponse:
        return error.response()

    @app.exception_handler(errors.EverthreadError)
    async def render_error(request: Request, error: errors.EverthreadError) -> JSONResponse:
        status = get_status(error)
        if status == 500:
            log.error("%s %s: %s", request.method, request.scope["route"].path, type(error).__name__)
        if isinstance(error, errors.StoreUnavailable):
            reasons.log(error)
        headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else None
        return JSONResponse(build_error_document(error), status, headers, media_type=MEDIA_TYPE)

    @app.exception_handler(RequestValidationError)
    async def render_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        faults = [{"where": list(fault["loc"]), "what": fault["msg"]} for fault in error.errors()]
        detail = _describe_fault(error.errors()[0]) if faults else "the request is invalid"
        return build_response(422, "invalid-request", detail, errors=faults)

    @app.exception_handler(ClientDisconnect)
    async def render_disconnect(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_CLOSED_STATUS)

    @app.exception_handler(HTTPException)
    async def render_http(request: Request, error: HTTPException) -> JSONResponse:
        unknown = error.status_code == 404 and error.detail == HTTPStatus.NOT_FOUND.phrase
        wrong_method = error.status_code == 405
        headers = await with_allowed_methods(request, error.headers) if wrong_method else error.headers
        return build_response(error.status_code, "http", UNKNOWN_ADDRESS if unknown else str(error.detail), headers)


def _describe_fault(fault: Mapping[str, Any]) -> str:
    """Describe a fault that FastAPI found in a request."""
    if fault["type"] == "json_invalid":
        return f"the body is not JSON: {fault['ctx']['error']}, at character {fault['loc'][-1]}"
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


async def with_allowed_methods(request: Request, headers: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """Return the headers of a 405 with all methods of its path; the router names those of one route only."""
    document = await run_in_threadpool(request.app.openapi)
    methods = document["paths"].get(route_template(request.scope))
    return {**(headers or {}), "Allow": ", ".join(sorted(map(str.upper, methods)))} if methods else headers


async def render_unexpected(request: Request, error: Exception) -> JSONResponse:
    """Return a problem document for an unexpected error, which reveals nothing about it."""
    return build_response(500, "internal", "internal error; see the server's log")


def incognito_lost() -> Problem:
    """Return the problem that a text would be written although the caller expects incognito."""
    return Problem(
        409,
        "not-incognito",
        "this conversation is no longer in incognito, so the text would be stored; nothing was stored. The server was "
        "restarted, or incognito was switched off elsewhere: switch it on again, or send the text without incognito",
    )


def out_of_date() -> Problem:
    """Return the problem that a conversation does not end with the line that the caller takes for its last one."""
    return Problem(
        409,
        "out-of-date",
        "the conversation does not end with the line named as `last`, so nothing was changed; GET the conversation to "
        "see what was said meanwhile",
    )


def one_process_required() -> Problem:
    """Return the problem that incognito needs a single process."""
    return Problem(
        409,
        "one-process",
        "incognito lines exist in one process only, and several processes serve this store; run a single worker",
    )

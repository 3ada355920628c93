"""The memory proxy: the API of a language model's server, for clients that have no memory of their own.

Every path below /v1 is passed on to the upstream, and some of Ollama's own API; a few are answered with memories. The
paths below /bank/{bank} are the same for one bank.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from everthread.errors import BadInput, EverthreadError
from everthread.server import model_api, problems
from everthread.server.authentication import find_authorization
from everthread.server.keys import ALL_BANKS, ApiKey
from everthread.server.name_headers import BANK_HEADER
from everthread.server.path_segments import decode_segment
from everthread.server.permissions import FORBIDDEN_DETAIL, build_check, get_services
from everthread.server.problems import Problem
from everthread.server.proxy.body_options import OPTIONS_FIELD, BodyOptions
from everthread.server.proxy.destination import USER_HEADER, Destination, find_destination
from everthread.server.proxy.exchange import Exchange
from everthread.server.proxy.formats.base import ModelRequest
from everthread.server.proxy.formats.chat_completions import ChatRequest
from everthread.server.proxy.formats.messages import MessagesRequest
from everthread.server.proxy.formats.ollama import OllamaRequest
from everthread.server.proxy.formats.responses import ResponsesRequest
from everthread.server.proxy.model_names import BANK_MARK, add_banks, rename, split_model
from everthread.server.proxy.own_embeddings import embed, read_own
from everthread.server.proxy.passed_answer import PassedAnswer
from everthread.server.proxy.place import remove_own
from everthread.server.proxy.upstream import UNREACHABLE, Target, Upstream, read_answer
from everthread.server.request_body import MAX_INLINE_JSON_BYTES
from everthread.server.request_guard import decode_path, raw_path
from everthread.stores.base import Store

router = APIRouter(include_in_schema=False)

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
READING_METHODS = ["GET", "HEAD"]
BANK_SEGMENT, OLLAMA_SEGMENT = b"bank", b"api"

MEMORY_HEADER = "x-everthread-memory"  # whether memories are recalled
SWITCHES = dict.fromkeys(("", "on", "true", "1", "yes"), True) | dict.fromkeys(("off", "false", "0", "no"), False)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def with_api_errors(handler: Handler) -> Handler:
    """Wrap a handler so that its errors have the shape of the API."""

    @wraps(handler)
    async def handle(request: Request) -> Response:
        path = decode_path(request.scope)
        try:
            return await handler(request)
        except Problem as problem:
            shows_address = problem.name == UNREACHABLE and not request.app.state.authenticator.needs_key(request)
            detail = f"{problem.detail} (now {_get_upstream(request).address})" if shows_address else problem.detail
            return model_api.build_error(path, problem.status, problem.name, detail, problem.headers)
        except EverthreadError as error:
            status = 400 if isinstance(error, BadInput) else problems.get_status(error)
            document = problems.build_error_document(error)
            code = problems.to_kebab_case(type(error).__name__)
            return model_api.build_error(path, status, code, str(document["detail"]))

    return handle


@router.post("/v1/chat/completions")
@router.post("/bank/{bank}/v1/chat/completions")
@with_api_errors
async def complete_chat(request: Request) -> Response:
    """Answer a request for a chat completion, with memories."""
    return await _answer(request, ChatRequest)


@router.post("/api/chat")
@router.post("/bank/{bank}/api/chat")
@with_api_errors
async def chat_with_ollama(request: Request) -> Response:
    """Answer a request of Ollama's chat API, with memories."""
    return await _answer(request, OllamaRequest)


@router.post("/v1/responses")
@router.post("/bank/{bank}/v1/responses")
@with_api_errors
async def create_response(request: Request) -> Response:
    """Answer a request of the Responses API, with memories."""
    return await _answer(request, ResponsesRequest)


@router.post("/v1/messages")
@router.post("/bank/{bank}/v1/messages")
@with_api_errors
async def create_message(request: Request) -> Response:
    """Answer a request of Anthropic's Messages API, with memories."""
    return await _answer(request, MessagesRequest)


@router.post("/v1/messages/count_tokens")
@router.post("/bank/{bank}/v1/messages/count_tokens")
@with_api_errors
async def count_tokens(request: Request) -> Response:
    """Count the tokens of a request of the Messages API, with the memories that it would get."""
    return await _answer(request, MessagesRequest, counts=True)


@router.get("/v1/models")
@router.get("/api/tags")
@with_api_errors
async def list_models(request: Request) -> Response:
    """List the upstream's models, and each with the banks that the caller may chat with, unless it names its bank."""
    key = await _authenticate(request)
    if BANK_HEADER in request.headers or USER_HEADER in request.headers:
        return await _pass_on(request, key)
    if key is not None and "chat" not in key.verbs:
        raise Problem(403, "forbidden", FORBIDDEN_DETAIL)
    banks = await run_in_threadpool(_list_banks, get_services(request).store, key)
    target = _find_target(request)
    field, name_fields = ("models", ("name", "model")) if target.is_root else ("data", ("id",))
    return await _pass_on_changed(request, target, lambda body: add_banks(body, banks, field, name_fields))


@router.get("/v1/models/{model:path}")
@with_api_errors
async def get_model(request: Request) -> Response:
    """Describe a model of the upstream, also under a name with a bank."""
    key = await _authenticate(request)
    wanted = decode_segment(request.path_params["model"])
    name, bank = await run_in_threadpool(split_model, wanted, _find_banks(request, key))
    if bank is None:
        return await _pass_on(request, key)
    if key is not None and not key.allows("chat", bank):
        raise Problem(403, "forbidden", FORBIDDEN_DETAIL)
    target = Target(f"/models/{quote(name, safe='/:@')}".encode())
    return await _pass_on_changed(request, target, lambda body: rename(body, wanted))


@router.post("/v1/embeddings")
@router.post("/bank/{bank}/v1/embeddings")
@with_api_errors
async def create_embeddings(request: Request) -> Response:
    """Embed texts with the embedder of the memory if the request names it, or else pass the request on."""
    key = await _authenticate(request)
    body, services = await request.body(), get_services(request)
    own = await run_in_threadpool(read_own, body, services.embedder)
    if own is None:
        return await _pass_on_model(request, key, body)
    if key is not None and "chat" not in key.verbs:
        raise Problem(403, "forbidden", FORBIDDEN_DETAIL)
    return JSONResponse(await run_in_threadpool(embed, own, services.embedder, services.count))


@router.post("/api/embed")
@router.post("/bank/{bank}/api/embed")
@router.post("/api/embeddings")
@router.post("/bank/{bank}/api/embeddings")
@router.post("/api/generate")
@router.post("/bank/{bank}/api/generate")
@router.post("/api/show")
@router.post("/bank/{bank}/api/show")
@router.post("/v1/completions")
@router.post("/bank/{bank}/v1/completions")
@router.post("/v1/responses/input_tokens")
@router.post("/bank/{bank}/v1/responses/input_tokens")
@router.post("/v1/responses/compact")
@router.post("/bank/{bank}/v1/responses/compact")
@with_api_errors
async def pass_on_model(request: Request) -> Response:
    """Pass a request on without memories, and without what is meant for Everthread."""
    return await _pass_on_model(request, await _authenticate(request), await request.body())


@router.head("/api/tags")
@router.api_route("/api/version", methods=READING_METHODS)
@router.api_route("/api/ps", methods=READING_METHODS)
@router.api_route("/bank/{bank}/api/tags", methods=READING_METHODS)
@router.api_route("/bank/{bank}/api/version", methods=READING_METHODS)
@router.api_route("/bank/{bank}/api/ps", methods=READING_METHODS)
@router.api_route("/v1/{path:path}", methods=METHODS)
@router.api_route("/bank/{bank}/v1/{path:path}", methods=METHODS)
@with_api_errors
async def pass_on(request: Request) -> Response:
    """Pass a request on without reading it."""
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    return await _pass_on(request, await _authenticate(request), request.stream() if has_body else b"")


@router.api_route("/api/{name}", methods=METHODS)
@router.api_route("/api/blobs/{digest}", methods=METHODS)
@router.api_route("/bank/{bank}/api/{name}", methods=METHODS)
@with_api_errors
async def refuse_other_ollama_path(request: Request) -> Response:
    """Refuse the rest of Ollama's own API."""
    path = decode_path(request.scope)
    if not model_api.OLLAMA_PATH.fullmatch(path):
        raise HTTPException(404)
    raise Problem(404, "not-found", f"{request.method} {path} is not passed on; ask Ollama at its own address")


async def _answer(request: Request, request_type: type[ModelRequest], *, counts: bool = False) -> Response:
    """Answer a request of a format, with memories.

    Args:
        request: the request.
        request_type: the format.
        counts: whether it only asks for the number of its tokens, so that nothing is stored.
    """
    key = await _authenticate(request)
    body = await request.body()
    try:
        is_long = len(body) > MAX_INLINE_JSON_BYTES
        asked = await run_in_threadpool(request_type.parse, body) if is_long else request_type.parse(body)
    except (ValueError, RecursionError):  # the upstream says what is wrong with it
        return await _pass_on_model(request, key, body)
    options = _read_options(request, asked)
    destination = await _find_destination(request, asked, options, key)
    if key is not None and not key.allows("chat", destination.bank):
        raise Problem(403, "forbidden", FORBIDDEN_DETAIL)
    request.app.state.metrics.recalls.inc()
    memory, upstream = request.app.state.proxied_conversations, _get_upstream(request)
    exchange = Exchange(memory, upstream, request.headers, destination, request.receive)
    answer = exchange.count if counts else exchange.answer
    patience_s = request.app.state.settings.proxy_patience_s
    passed = await answer(asked, options, _find_target(request), request.headers.raw, patience_s)
    return passed.break_off_on(build_check(request))


async def _find_destination(
    request: Request, asked: ModelRequest, options: BodyOptions, key: ApiKey | None
) -> Destination:
    """Find the bank, the session and the model of a request: in a thread if the store is asked for banks."""
    find = partial(
        find_destination,
        request.headers,
        asked,
        options,
        _path_bank(request),
        request.app.state.settings.proxy_bank,
        _find_banks(request, key),
    )
    return await run_in_threadpool(find) if BANK_MARK in asked.get_text("model") else find()


async def _pass_on_changed(request: Request, target: Target, change: Callable[[bytes], bytes]) -> Response:
    """Pass a request on, and its answer back with a change, if the upstream gives one that can be changed."""
    answer = await _get_upstream(request).send("GET", target, request.headers.raw)
    if not answer.is_success or "content-encoding" in answer.headers:
        return PassedAnswer(answer)
    body = await read_answer(answer)
    with suppress(ValueError, RecursionError):  # it is not JSON of the expected shape: passed on as it is
        body = await run_in_threadpool(change, body)
    return Response(body, answer.status_code, media_type=answer.headers.get("content-type"))


def _list_banks(store: Store, key: ApiKey | None) -> list[str]:
    """List the banks that a caller may chat with, also those in its key that don't exist yet."""
    if key is None:
        return store.banks()
    named = [bank for bank in key.banks if not bank.endswith(ALL_BANKS)]
    return sorted({*named, *(bank for bank in store.banks() if key.allows("chat", bank))})


async def _pass_on_model(request: Request, key: ApiKey | None, body: bytes) -> Response:
    """Pass a request for a model on without memories, and without what is meant for Everthread."""
    body, bank = await run_in_threadpool(remove_own, body, _find_banks(request, key))
    if key is not None and bank is not None and not key.allows("chat", bank):
        raise Problem(403, "forbidden", FORBIDDEN_DETAIL)
    return await _pass_on(request, key, body)


async def _pass_on(request: Request, key: ApiKey | None, content: bytes | AsyncIterator[bytes] = b"") -> Response:
    """Pass a request on unchanged, and its answer back. An Everthread key must allow chatting with some bank."""
    if key is not None and "chat" not in key.verbs:
        raise Problem(403, "forbidden", FORBIDDEN_DETAIL)
    receive = request.receive if isinstance(content, bytes) else None  # which is asked for the rest of the body
    target = _find_target(request)
    answer = await _get_upstream(request).send(request.method, target, request.headers.raw, content, receive)
    return PassedAnswer(answer).break_off_on(build_check(request))


async def _authenticate(request: Request) -> ApiKey | None:
    """Return the caller's Everthread key, or None if it needs none. Raises Problem 401."""
    authenticate: Callable[[Request], ApiKey | None] = request.app.state.authenticator.authenticate_model_client
    has_key = find_authorization(request.headers) is not None
    key = await run_in_threadpool(authenticate, request) if has_key else authenticate(request)
    request.state.caller = key  # for `build_check`
    return key


def _read_options(request: Request, asked: ModelRequest) -> BodyOptions:
    """Return the options of a request: those in its body, without memories if the header switches them off.

    Raises:
        BadInput: an option is invalid.
    """
    options, value = BodyOptions.parse(asked.get(OPTIONS_FIELD)), request.headers.get(MEMORY_HEADER, "")
    if (switch := SWITCHES.get(value.strip().lower())) is None:
        raise BadInput(f"invalid X-Everthread-Memory: got {value[:40]!r}, expected on or off")
    return options if switch else replace(options, memory=False)


def _find_banks(request: Request, key: ApiKey | None) -> Callable[[str], bool]:
    """Return a function that checks whether a bank exists, or the caller's key names it."""
    store = get_services(request).store
    return lambda bank: (key is not None and bank in key.banks) or store.exists(bank)


def _get_upstream(request: Request) -> Upstream:
    return request.app.state.upstream.get()  # type: ignore[no-any-return]


def _path_bank(request: Request) -> str | None:
    """Return the bank that the path names."""
    bank = request.path_params.get("bank")
    return None if bank is None else decode_segment(bank)


def _find_target(request: Request) -> Target:
    """Return the path below /v1, or that of Ollama's API, and the query, as they were sent."""
    segments = raw_path(request.scope).partition(b"?")[0].split(b"/")
    api, *below = segments[3:] if segments[1] == BANK_SEGMENT else segments[1:]
    is_root = api == OLLAMA_SEGMENT
    path, query = b"/".join([b"", *([api] if is_root else []), *below]), request.scope["query_string"]
    return Target(path + b"?" + query if query else path, is_root)

"""The language model that replies: show, try, connect and disconnect it, and have Ollama download one.

All of it needs a caller who may do everything with all banks; see `permissions.RequireAdministration`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import BaseModel, Field, SecretStr
from starlette.responses import StreamingResponse

from everthread.llms.discovery import get_openai_key
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.server import problems
from everthread.server.conversations.reply_stream import encode_event
from everthread.server.models import ollama, probe
from everthread.server.permissions import AdministrationServices
from everthread.server.problems import Problem
from everthread.server.routes.api_router import create_router
from everthread.server.services import Services

router = create_router("model", "/model")

MAX_KEY_CHARS = 4096
MAX_URL_CHARS = 2000
ModelName = Annotated[str, Field(min_length=1, max_length=200)]
PROGRESS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `progress` …, with `status`, `completed` and `total` bytes, then `done` or "
        "`error`. Closing the connection stops the download.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


class OllamaView(BaseModel):
    """An Ollama that was looked for: url, and its models that can chat. is_running: whether it answered."""

    url: str
    is_running: bool
    models: list[str]


class ConnectionView(BaseModel):
    """The model that replies; model and url are null without one.

    has_key: whether a key is stored, which is never shown. set_by: the setting that names the model, which can't be
    changed then while the server runs; null otherwise.
    """

    model: str | None
    url: str | None
    has_key: bool
    set_by: str | None
    ollama: OllamaView


class ServerBody(BaseModel):
    """A server of language models. key: null uses the stored key, if it is for this address."""

    url: Annotated[str, Field(min_length=1, max_length=MAX_URL_CHARS)]
    key: Annotated[SecretStr, Field(max_length=MAX_KEY_CHARS)] | None = None


class ConnectionBody(ServerBody):
    """A model of a server."""

    model: ModelName


class PullBody(BaseModel):
    """A model of Ollama's library."""

    model: ModelName


class ServerModelsView(BaseModel):
    """The models of a server; null if it answers, but doesn't list them."""

    items: list[str] | None


@router.get("")
def model_connection(services: AdministrationServices) -> ConnectionView:
    """Show the model that replies, and the Ollama that was found."""
    return _build_view(services)


@router.put("")
def connect_model(services: AdministrationServices, body: ConnectionBody) -> ConnectionView:
    """Connect a model, which is tried first; it replies from now on, also after a restart."""
    _require_changeable(services)
    url, key = probe.complete_address(body.url), _find_key(services, body)
    sent_key = key or get_openai_key(url)
    with _as_problems():
        probe.try_model(url, body.model, sent_key, probe.list_models(url, sent_key))
    services.connection.connect(url, body.model, key)
    return _build_view(services)


@router.delete("")
def disconnect_model(services: AdministrationServices) -> ConnectionView:
    """Disconnect the model, and remove its key; from now on replies show what is remembered."""
    _require_changeable(services)
    services.connection.disconnect()
    return _build_view(services)


@router.post("/test")
def test_model_server(services: AdministrationServices, body: ServerBody) -> ServerModelsView:
    """Check a server and its key, and list its models. Nothing is stored."""
    url = probe.complete_address(body.url)
    with _as_problems():
        return ServerModelsView(items=probe.list_models(url, _find_key(services, body) or get_openai_key(url)))


@router.post("/pull", response_class=StreamingResponse, responses=PROGRESS)
async def pull_model(services: AdministrationServices, body: PullBody) -> StreamingResponse:
    """Have Ollama download a model. It is not connected by this."""
    progress = ollama.pull(body.model)
    first = await anext(progress, None)  # an Ollama that doesn't run is an error of the request
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_encode_progress(first, progress), media_type="text/event-stream", headers=headers)


async def _encode_progress(
    first: dict[str, Any] | None, progress: AsyncIterator[dict[str, Any]]
) -> AsyncIterator[bytes]:
    try:
        if first is not None:
            yield encode_event("progress", first)
        async for event in progress:
            yield encode_event("progress", event)
        yield encode_event("done", {})
    except Problem as problem:
        yield encode_event("error", problems.build_document(problem.status, problem.name, problem.detail))


def _build_view(services: Services) -> ConnectionView:
    llm, names = services.llm, ollama.list_models()
    remote = llm if isinstance(llm, OpenAICompatible) else None
    found = OllamaView(url=f"{ollama.get_address()}/v1", is_running=names is not None, models=names or [])
    return ConnectionView(
        model=llm.name if llm else None,
        url=remote.url if remote else None,
        has_key=remote is not None and bool(remote.key),
        set_by=services.connection.set_by or None,
        ollama=found,
    )


def _require_changeable(services: Services) -> None:
    if setting := services.connection.set_by:
        detail = f"the model is set by {setting}; change it there and restart the server, or remove it to choose here"
        raise Problem(409, "model-configured", detail)


@contextmanager
def _as_problems() -> Iterator[None]:
    """Turn what is wrong with a server of models into a problem of its kind."""
    try:
        yield
    except probe.UnusableServer as error:
        raise Problem(422, f"model-{error.kind}", str(error)) from None


def _find_key(services: Services, body: ServerBody) -> str:
    if body.key is not None:
        return body.key.get_secret_value().strip()
    return services.connection.find_key(probe.complete_address(body.url))

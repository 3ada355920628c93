"""The app: routes, what stands before them, and what they share."""

from __future__ import annotations

import gc
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.concurrency import run_in_threadpool
from starlette.middleware.errors import ServerErrorMiddleware

from everthread import __version__
from everthread.server import openapi, problems, server_db, static_files, uploads
from everthread.server.auth import Access
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.idempotency import SCHEMA, IdempotencyStore
from everthread.server.keys import Keys
from everthread.server.logs import AccessLogMiddleware
from everthread.server.metrics import Metrics
from everthread.server.paths import API, EncodedSlashMiddleware
from everthread.server.request_guard import RequestGuard
from everthread.server.routes import (
    about,
    banks,
    characters,
    chat,
    lines,
    pins,
    recall,
    recipes,
    sessions,
    transfer,
    units,
)
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.server.sms import webhook
from everthread.server.workers.bank_leases import BankLeases, place
from everthread.server.workers.worker_proxy import WorkerProxyMiddleware

SILENT: TelemetryConfig = {  # FastAPI would hand bodies and errors to whatever OpenTelemetry is set up beside us
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create(engine: Services, settings: Settings | None = None, *, closes: bool = False) -> FastAPI:
    """The server's app over an engine. Its store stays the caller's to close, unless `closes` leaves it to the app.
    Raises ConfigError for what text messages can't be taken with."""
    settings = settings or Settings()
    app = FastAPI(
        title="Everthread",
        description="Long-term memory for chatbots.",
        version=__version__,
        openapi_url=None,  # `described` serves it
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would tell of a path with our own mark for an escaped /
        generate_unique_id_function=openapi.name,
        lifespan=lifespan,
        telemetry=SILENT,
    )
    app.state.engine, app.state.settings, app.state.metrics = engine, settings, Metrics()
    app.state.closes = closes
    app.state.talks = ConversationRegistry(
        engine, settings.streams, BankLeases(place() if engine.multi_process else None)
    )
    app.state.once = IdempotencyStore(server_db.ServerDatabase(server_db.path(engine.store), SCHEMA))
    app.state.access = Access(Keys(server_db.path(engine.store)), settings.key_required)
    api = APIRouter(prefix=API)
    busiest_first = (chat, lines, recall, sessions, banks, units, pins, characters, recipes, transfer, about)
    for routes in busiest_first:
        api.include_router(routes.router)
    app.include_router(api)
    app.include_router(about.health)
    app.include_router(static_files.router())
    app.state.sms = webhook.install(app, app.state.talks, settings)
    problems.install(app)
    openapi.install(app)
    _add_middleware(app, settings)
    return app


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """What each request passes, the last first. What is unforeseen is told of inside the guard, who dresses it too."""
    app.add_middleware(ServerErrorMiddleware, handler=problems.unexpected)
    app.add_middleware(EncodedSlashMiddleware)
    app.add_middleware(RequestGuard, settings=settings, access=app.state.access)
    app.add_middleware(AccessLogMiddleware, metrics=app.state.metrics)
    app.add_middleware(WorkerProxyMiddleware, claims=app.state.talks.claims, patience=settings.patience)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """While the app runs."""
    current_default_thread_limiter().total_tokens = app.state.settings.threads
    ready = threading.Thread(target=_ready, args=[app], name="everthread ready", daemon=True)
    ready.start()
    try:
        yield
    finally:
        if app.state.sms is not None:
            await run_in_threadpool(app.state.sms.close)
        await run_in_threadpool(app.state.talks.close)
        app.state.access.keys.close()
        app.state.once.close()
        if app.state.closes:
            app.state.engine.store.close()
        await run_in_threadpool(ready.join)  # a process that ends while a model is being loaded aborts


def _ready(app: FastAPI) -> None:
    """Removes what a killed process left, and loads what the first reply would wait for. If the process does nothing
    but serve, the objects that are there by then stay: the garbage collector skips them from now on, which saves pauses
    of 0.2 s."""
    uploads.sweep()
    app.state.engine.ready()
    if app.state.closes:
        gc.freeze()

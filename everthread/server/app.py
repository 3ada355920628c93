"""Builds the app: its routes, its middleware, and the objects that they share."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.concurrency import run_in_threadpool
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.routing import BaseRoute, Route

from everthread import __version__
from everthread.common.staging import remove_scratch
from everthread.server import kept_uploads, mcp_endpoint, openapi, problems, static_files, tracing, uploads
from everthread.server.authentication import Authenticator
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.idempotency import SCHEMA, IdempotencyStore
from everthread.server.import_runs import ImportRuns
from everthread.server.keys import KeyStore
from everthread.server.logs import AccessLogMiddleware
from everthread.server.mcp_endpoint import MCPEndpoint
from everthread.server.metrics import Metrics
from everthread.server.path_segments import EncodedSlashMiddleware
from everthread.server.people import openid_settings
from everthread.server.people.accounts import list_taken_banks
from everthread.server.people.directory import PeopleDirectory
from everthread.server.people.trusted_header import ProxiedClientMiddleware, TrustedHeader
from everthread.server.proxy.conversation_memory import ConversationMemory
from everthread.server.proxy.upstream import UpstreamFinder
from everthread.server.readiness import Readiness
from everthread.server.request_guard import RequestGuard
from everthread.server.routes import (
    about,
    account,
    accounts,
    banks,
    character_banks,
    characters,
    chat,
    facts,
    imports,
    line_copies,
    lines,
    mem0,
    mem0_self_hosted,
    model,
    pins,
    proxy,
    recall,
    recipes,
    sample,
    sessions,
    transfer,
    units,
)
from everthread.server.routes.api_router import get_operation_id
from everthread.server.server_db import open_database
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.server.sms import webhook
from everthread.server.telegram import service
from everthread.server.tracing import TracingMiddleware
from everthread.server.workers.bank_claims import BankClaims
from everthread.server.workers.bank_leases import BankLeases, get_socket_path
from everthread.server.workers.worker_proxy import WorkerProxyMiddleware

if TYPE_CHECKING:
    from everthread.server.people.openid_sign_in import OpenIDSignIn

log = logging.getLogger("everthread.server")

STORING_PATIENCE_S = 10.0  # at shutdown, for what passed through the proxy
VECTORS_PATIENCE_S = 10.0  # at shutdown, for the batch of lines that is being embedded
NEW_OBJECTS_PER_COLLECTION = 20_000  # Python collects after 700
TELEMETRY_OFF: TelemetryConfig = {  # otherwise FastAPI would send bodies and errors to any OpenTelemetry of the process
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(services: Services, settings: Settings | None = None, *, closes: bool = False) -> FastAPI:
    """Build the server's app.

    Args:
        services: the shared objects; their store is closed by the caller unless `closes`.
        settings: limits and addresses.
        closes: whether the app closes the store.

    Raises:
        ConfigError: for invalid settings of text messages, of Telegram, of the proxy, or of the provider where people
            sign in.
    """
    settings = settings or Settings()
    app = FastAPI(
        title="Everthread",
        description="Long-term memory for chatbots.",
        version=__version__,
        openapi_url=None,  # `openapi` serves it
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would contain SLASH_PLACEHOLDER
        generate_unique_id_function=get_operation_id,
        lifespan=lifespan,
        telemetry=TELEMETRY_OFF,
    )
    _add_state(app, services, settings)
    app.state.closes_store = closes
    _add_routes(app, settings)
    app.state.sms = webhook.install(app, app.state.conversations, settings)
    app.state.telegram = service.install(app.state.conversations, settings)
    app.state.openid = _add_openid(app, settings)
    problems.install(app)
    openapi.install(app)
    _add_middleware(app, settings)
    return app


def _add_state(app: FastAPI, services: Services, settings: Settings) -> None:
    """Add the objects that routes and middleware share."""
    app.state.services, app.state.settings, app.state.metrics = services, settings, Metrics()
    location = services.location
    leases = BankLeases(
        get_socket_path() if services.multi_process else None,
        None if isinstance(location, Path) else BankClaims(location),
    )
    app.state.conversations = ConversationRegistry(services, settings.max_replies, leases)
    app.state.upstream = UpstreamFinder(settings, services)
    app.state.proxied_conversations = ConversationMemory(
        app.state.conversations, stores_history=settings.proxy_stores_history
    )
    app.state.idempotency = IdempotencyStore(open_database(location, SCHEMA))
    people = PeopleDirectory(location)
    keys = KeyStore(location)
    list_taken = partial(list_taken_banks, services.store, keys, settings.proxy_bank)
    header = TrustedHeader(settings.account_header, settings.proxies, people, list_taken)
    app.state.authenticator = Authenticator(keys, people, header, settings.key_required)
    app.state.readiness = Readiness(services.store, keys)
    app.state.import_runs = ImportRuns()
    app.state.mcp = None
    if find_spec("mcp") is not None:
        app.state.mcp = MCPEndpoint(
            services,
            app.state.conversations,
            app.state.proxied_conversations,
            app.state.authenticator,
            settings.max_body_bytes,
        )


def _add_routes(app: FastAPI, settings: Settings) -> None:
    if settings.serves_mem0:  # first, because the page has the other paths at the root
        app.router.routes += mem0_self_hosted.router.routes
    app.router.routes += _list_routes(settings.key_required)
    if app.state.mcp is not None:
        # Some clients' configurations end the address with a slash.
        app.router.routes += [Route(path, app.state.mcp) for path in (mcp_endpoint.PATH, f"{mcp_endpoint.PATH}/")]


def _add_openid(app: FastAPI, settings: Settings) -> OpenIDSignIn | None:
    """Add signing in at a provider if one is configured; only then its packages are imported, which takes 0.1 s."""
    if not settings.openid_issuer:
        return None
    openid_settings.check_provider(settings.openid_issuer, settings.openid_client, settings.account_header)
    from everthread.server.routes import openid

    return openid.install(app, settings)


@cache
def _list_routes(key_required: bool) -> list[BaseRoute]:
    """List the routes that the apps of a process share, those with the most requests first."""
    page = static_files.build_router(is_shared=key_required)
    routers = (
        mem0.router,
        proxy.router,
        chat.router,
        line_copies.router,
        lines.router,
        recall.router,
        sessions.router,
        banks.router,
        units.router,
        facts.router,
        pins.router,
        characters.router,
        character_banks.router,
        recipes.router,
        transfer.router,
        imports.router,
        about.router,
        account.router,
        accounts.router,
        model.router,
        sample.router,
        about.health,
        page,
    )
    return [route for router in routers for route in router.routes]


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """Add the middleware; the last one added runs first.

    Unexpected errors are handled inside the guard, so that their responses get its headers.
    """
    app.add_middleware(ServerErrorMiddleware, handler=problems.render_unexpected)
    app.add_middleware(EncodedSlashMiddleware)
    app.add_middleware(RequestGuard, settings=settings, authenticator=app.state.authenticator)
    app.add_middleware(AccessLogMiddleware, metrics=app.state.metrics)
    app.add_middleware(TracingMiddleware)
    app.add_middleware(
        WorkerProxyMiddleware, leases=app.state.conversations.leases, body_timeout_s=settings.body_timeout_s
    )
    app.add_middleware(ProxiedClientMiddleware, proxies=settings.proxies)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run the app's start-up and shutdown."""
    current_default_thread_limiter().total_tokens = app.state.settings.max_threads
    warm_up = threading.Thread(target=_warm_up, args=[app], name="everthread warm-up", daemon=True)
    warm_up.start()
    if app.state.telegram is not None:
        await run_in_threadpool(app.state.telegram.start_when_free)
    try:
        async with nullcontext() if app.state.mcp is None else app.state.mcp.run():
            yield
    finally:
        for channel in filter(None, (app.state.sms, app.state.telegram)):
            await run_in_threadpool(channel.close)
        await app.state.proxied_conversations.tasks.finish(STORING_PATIENCE_S)
        await run_in_threadpool(app.state.import_runs.close)
        await run_in_threadpool(app.state.conversations.close)
        await run_in_threadpool(app.state.services.vectors.close, VECTORS_PATIENCE_S)
        await app.state.upstream.close()
        if app.state.openid is not None:
            app.state.openid.close()
        app.state.authenticator.close()
        app.state.idempotency.close()
        if app.state.closes_store:
            app.state.services.store.close()
            await run_in_threadpool(tracing.finish)  # uvicorn ends the process by a signal
        await run_in_threadpool(warm_up.join)  # a process that ends while a model is being loaded aborts


def _warm_up(app: FastAPI) -> None:
    """Clean up after killed processes, and load the models in advance, so that the first reply need not wait for them.

    In a process that only serves, objects that exist by then are excluded from garbage collection, which saves pauses
    of 0.2 s, and the others are collected less often, because one long request creates thousands of them.
    """
    uploads.remove_stale_uploads()
    remove_scratch()
    kept_uploads.remove_expired()
    app.state.services.warm_up()
    if app.state.closes_store:
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS_PER_COLLECTION)

"""The app: routes, what stands before them, and what they share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool

from everthread import __version__
from everthread.server import problems
from everthread.server.engine import Engine
from everthread.server.paths import Segments
from everthread.server.routes import chat, lines, pins
from everthread.server.talks import STREAMS, Talks

API = "/api/v1"


@asynccontextmanager
async def _lasting(app: FastAPI) -> AsyncIterator[None]:
    yield
    await run_in_threadpool(app.state.talks.close)


def create(engine: Engine, *, streams: int = STREAMS) -> FastAPI:
    """The server's app over an engine, which stays the caller's to close. streams: replies that are written at once."""
    app = FastAPI(
        title="Everthread",
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lasting,
    )
    app.state.engine = engine
    app.state.talks = Talks(engine, streams)
    api = APIRouter(prefix=API)
    for routes in (lines, chat, pins):
        api.include_router(routes.router)
    app.include_router(api)
    problems.install(app)
    app.add_middleware(Segments)
    return app

"""The app: routes, what stands before them, and what they share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool

from everthread import __version__
from everthread.config import Config
from everthread.server import beside, described, problems, sms
from everthread.server.engine import Engine
from everthread.server.once import SCHEMA, Records
from everthread.server.paths import Segments
from everthread.server.routes import banks, characters, chat, lines, pins, recall, sessions, transfer, units
from everthread.server.talks import STREAMS, Talks

API = "/api/v1"


@asynccontextmanager
async def _lasting(app: FastAPI) -> AsyncIterator[None]:
    yield
    if app.state.sms is not None:
        await run_in_threadpool(app.state.sms.close)
    await run_in_threadpool(app.state.talks.close)


def create(engine: Engine, *, streams: int = STREAMS, config: Config | None = None) -> FastAPI:
    """The server's app over an engine, which stays the caller's to close. streams: replies that are written at once.
    It takes text messages where the configuration has Twilio's token. Raises ConfigError."""
    app = FastAPI(
        title="Everthread",
        description="Long-term memory for chatbots.",
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=described.name,
        lifespan=_lasting,
    )
    app.state.engine = engine
    app.state.once = Records(beside.Beside(beside.path(engine.store), SCHEMA))
    app.state.talks = Talks(engine, streams)
    api = APIRouter(prefix=API)
    for routes in (banks, sessions, lines, recall, units, transfer, characters, chat, pins):
        api.include_router(routes.router)
    app.include_router(api)
    app.state.sms = sms.install(app, app.state.talks, config or Config())
    problems.install(app)
    described.install(app)
    app.add_middleware(Segments)
    return app

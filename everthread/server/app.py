"""The app: routes, what stands before them, and what they share."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from everthread import __version__
from everthread.server import beside, described, problems
from everthread.server.engine import Engine
from everthread.server.once import SCHEMA, Records
from everthread.server.paths import Segments
from everthread.server.routes import banks, characters, lines, recall, sessions, transfer, units

API = "/api/v1"


def create(engine: Engine) -> FastAPI:
    """The server's app over an engine, which stays the caller's to close."""
    app = FastAPI(
        title="Everthread",
        description="Long-term memory for chatbots.",
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=described.name,
    )
    app.state.engine = engine
    app.state.once = Records(beside.Beside(beside.path(engine.store), SCHEMA))
    api = APIRouter(prefix=API)
    for routes in (banks, sessions, lines, recall, units, transfer, characters):
        api.include_router(routes.router)
    app.include_router(api)
    problems.install(app)
    described.install(app)
    app.add_middleware(Segments)
    return app

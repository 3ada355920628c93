"""The app: routes, what stands before them, and what they share."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from everthread import __version__
from everthread.server import page, problems
from everthread.server.engine import Engine
from everthread.server.paths import Segments
from everthread.server.routes import lines

API = "/api/v1"


def create(engine: Engine) -> FastAPI:
    """The server's app over an engine, which stays the caller's to close."""
    app = FastAPI(
        title="Everthread", version=__version__, openapi_url=f"{API}/openapi.json", docs_url=None, redoc_url=None
    )
    app.state.engine = engine
    api = APIRouter(prefix=API)
    for routes in (lines,):
        api.include_router(routes.router)
    app.include_router(api)
    app.include_router(page.router)
    problems.install(app)
    app.add_middleware(Segments)
    return app

"""Builds the OpenAPI document: FastAPI's, with problem documents instead of FastAPI's errors."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

from everthread.server.path_segments import API_PREFIX
from everthread.server.problems import MEDIA_TYPE
from everthread.server.schemas import ProblemView
from everthread.server.static_files import StaticFile

COMMON_ERRORS = {  # of every route
    "400": "The body is not JSON",
    "401": "A key is missing or invalid",
    "403": "The key doesn't permit this",
    "404": "Not found",
    "413": "The body is too large",
    "422": "An invalid argument; `detail` says which",
    "429": "Too many requests; wait",
    "503": "Temporarily unavailable; try again",
}
WRITE_ERRORS = {  # of routes that write
    "409": "In progress, or in conflict with a reply in progress",
    "415": "The body's Content-Type is not accepted",
}
WRITE_METHODS = {"post", "put", "patch", "delete"}
REMOVED_SCHEMAS = ("HTTPValidationError", "ValidationError")  # FastAPI's, which we don't use


def install(app: FastAPI) -> None:
    """Make the app serve the document of `build_document`, which is rendered once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = build_document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

    @cache
    def render_document() -> StaticFile:
        return StaticFile.from_bytes("application/json", json.dumps(app.openapi()).encode(), compress=True)

    @app.get(f"{API_PREFIX}/openapi.json", include_in_schema=False)
    def serve(request: Request) -> Response:
        """Serve the OpenAPI document."""
        return render_document().response(request)


def build_document(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI document of an app."""
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in REMOVED_SCHEMAS:
        schemas.pop(name, None)
    schemas["Problem"] = ProblemView.model_json_schema()
    problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in document["paths"].values():
        for method, operation in operations.items():
            errors = COMMON_ERRORS | (WRITE_ERRORS if method in WRITE_METHODS else {})
            responses = {status: {"description": text, "content": problem} for status, text in errors.items()}
            operation["responses"] = {**operation["responses"], **responses}
    return document

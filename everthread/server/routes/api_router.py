"""The routers of the API."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from everthread.server.path_segments import API_PREFIX
from everthread.server.request_body import AuthFirstRoute


def create_router(tag: str, path: str = "", route_class: type[APIRoute] = AuthFirstRoute) -> APIRouter:
    """Create a router whose routes are complete, so that an app adds them as they are.

    For an app that includes a router, FastAPI builds each of its routes a second time, which takes a server that starts
    a quarter of a second.

    Args:
        tag: names the routes' part of the API in its description.
        path: precedes the paths of its routes, below that of the API.
        route_class: the class of its routes.
    """
    return APIRouter(
        prefix=API_PREFIX + path,
        tags=[tag],
        route_class=route_class,
        generate_unique_id_function=get_operation_id,
    )


def get_operation_id(route: APIRoute) -> str:
    """Return the operation's id: the name of its function, which is that of the library's method if there is one."""
    return route.name

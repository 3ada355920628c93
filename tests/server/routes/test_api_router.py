"""The routers of the API."""

from __future__ import annotations

from fastapi.testclient import TestClient

from everthread.server.routes import lines
from everthread.server.routes.api_router import create_router


def test_an_app_has_the_routes_of_a_router_as_they_are(api: TestClient) -> None:
    assert {id(route) for route in lines.router.routes} <= {id(route) for route in api.app.router.routes}  # type: ignore[attr-defined]


def test_a_route_has_its_whole_path_and_is_named_after_its_function() -> None:
    router = create_router("gardens", "/gardens")

    @router.get("/{garden}")
    def read_garden(garden: str) -> str:
        return garden

    [route] = router.routes
    assert (route.path, route.tags, route.unique_id) == ("/api/v1/gardens/{garden}", ["gardens"], "read_garden")  # type: ignore[attr-defined]

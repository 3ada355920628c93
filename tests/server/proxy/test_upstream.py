from __future__ import annotations

import asyncio

import pytest
from hardship import llm

from everthread.server.proxy.upstream import Target, Upstream


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (Target(b"/models"), "/v1/models?api-version=2"),
        (Target(b"/models?limit=3"), "/v1/models?limit=3&api-version=2"),
        (Target(b"/api/tags", is_root=True), "/api/tags?api-version=2"),
    ],
)
def test_the_query_of_the_base_url_follows_each_path(target: Target, path: str) -> None:
    async def ask(url: str) -> None:
        upstream = Upstream(url)
        await (await upstream.send("GET", target, [])).aclose()
        await upstream.close()

    with llm.llm_server() as server:
        asyncio.run(ask(f"{server.url}/?api-version=2"))
    assert [request.path for request in server.requests] == [path]


@pytest.mark.parametrize(("path", "warns"), [("", True), ("/", True), ("/v1", False)])
def test_a_404_at_an_address_without_a_path_is_logged_with_the_remedy(
    caplog: pytest.LogCaptureFixture, path: str, warns: bool
) -> None:
    async def ask(url: str) -> int:
        upstream = Upstream(url)
        answer = await upstream.send("POST", Target(b"/nothing"), [], b"{}")
        await answer.aclose()
        await upstream.close()
        return answer.status_code

    with llm.llm_server("Hello there.") as server:
        assert asyncio.run(ask(server.url.removesuffix("/v1") + path)) == 404
    assert ("set EVERTHREAD_PROXY_URL to an address with a path" in caplog.text) is warns

"""MemoryClient: the memories on a server of Everthread, with the methods of mem0's `MemoryClient`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from everthread.client.client import DEFAULT_URL
from everthread.client.connection import CONNECT_TIMEOUT_S, URN_PREFIX, build_error, build_path, unreachable_error
from everthread.common.lazy import Lazy
from everthread.common.tls import tls_context
from everthread.common.undo import undo_on_error
from everthread.compat.mem0.ids import KIND_BY_ID
from everthread.compat.mem0.memory import Record
from everthread.errors import BadInput

if TYPE_CHECKING:
    import httpx

KEY_VARIABLE = "MEM0_API_KEY"
NO_KEY = "none"  # sent without a key; a server that needs none ignores it
TIMEOUT_S = 300.0  # as in mem0


class MemoryClient:
    """The memories of many users on a server. Thread-safe; a context manager.

    Options are keyword arguments, or a dict or an object of mem0's option classes. Errors are those of Everthread, and
    a request is sent once: if its answer is lost, it is not repeated.
    """

    def __init__(self, api_key: str | None = None, host: str | None = None) -> None:
        """Connect to a server, and check the key.

        Args:
            api_key: a key of `everthread keys new`; None: that in `MEM0_API_KEY`. A server on the same machine may need
                none.
            host: the server's URL; None: that of `everthread serve`.

        Raises:
            ConfigError: the URL or the key is invalid.
            StoreUnavailable: no server answers.
        """
        self.host = (host or DEFAULT_URL).rstrip("/")
        key = api_key or os.environ.get(KEY_VARIABLE) or NO_KEY
        self._http = Lazy(lambda: _open_http(key))
        with undo_on_error(self.close):
            self._send("GET", "v1/ping/")

    def add(self, messages: Any, options: Any = None, **kwargs: Any) -> Record:
        """Store messages, word for word, each as a memory. Raises BadInput."""
        return self._post("v3/memories/add/", {"messages": messages, **_merge(options, kwargs)})

    def search(self, query: str, options: Any = None, **kwargs: Any) -> Record:
        """Find the memories that are relevant to a query. Raises BadInput."""
        return self._post("v3/memories/search/", {"query": query, **_merge(options, kwargs)})

    def get_all(self, options: Any = None, **kwargs: Any) -> Record:
        """Return a page of memories, with their number as "count". Raises BadInput."""
        body = _merge(options, kwargs)
        page = {name: body.pop(name) for name in ("page", "page_size") if name in body}
        return self._post("v3/memories/", body, **page)

    def get(self, memory_id: str) -> Record:
        """Return a memory. Raises NotFound."""
        return self._send("GET", _path(memory_id))

    def update(self, memory_id: str, options: Any = None, **kwargs: Any) -> Record:
        """Replace the text of a memory, or add to its metadata, and return it. Raises BadInput and NotFound."""
        changes = _merge(options, kwargs)
        if "expiration_date" in kwargs:  # None removes it
            changes["expiration_date"] = kwargs["expiration_date"]
        return self._send("PUT", _path(memory_id), changes)

    def delete(self, memory_id: str, delete_linked: bool = False) -> Record:
        """Delete a memory with all its versions, whether or not linked ones are asked for. Raises NotFound."""
        return self._send("DELETE", _path(memory_id))

    def delete_all(self, options: Any = None, **kwargs: Any) -> Record:
        """Delete all memories of a user, an agent, a run or an app. Raises BadInput."""
        given = _merge(options, kwargs)
        ids = {**given.pop("filters", {}), **given}
        return self._send("DELETE", "v1/memories/", **ids)

    def history(self, memory_id: str) -> list[Record]:
        """Return how a memory changed, oldest event first."""
        return cast("list[Record]", self._send("GET", f"{_path(memory_id)}history/"))

    def users(self) -> Record:
        """Return the users, and the agents, runs and apps that have memories without a user."""
        return self._send("GET", "v1/entities/")

    def delete_users(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> Record:
        """Delete all memories of a user, an agent, an app or a run; without an id, all memories."""
        ids = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
        entities = [(KIND_BY_ID[name], value) for name, value in ids.items() if value]
        for kind, name in entities or [(each["type"], each["name"]) for each in self.users()["results"]]:
            self._send("DELETE", f"v2/entities/{build_path(kind, name)}/")
        return {"message": "Entity deleted successfully."}

    def reset(self) -> Record:
        """Delete all memories."""
        return self.delete_users()

    def batch_update(self, memories: Sequence[Mapping[str, Any]]) -> Record:
        """Change several memories, each with its `memory_id`. Raises BadInput and NotFound."""
        return self._send("PUT", "v1/batch/", {"memories": list(memories)})

    def batch_delete(self, memories: Sequence[Mapping[str, Any]]) -> Record:
        """Delete several memories, each named by its `memory_id`. Raises NotFound."""
        return self._send("DELETE", "v1/batch/", {"memories": list(memories)})

    def close(self) -> None:
        """Close the connections. A later call opens others."""
        if (http := self._http.take()) is not None:
            http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _post(self, path: str, body: Mapping[str, Any], **query: Any) -> Record:
        return self._send("POST", path, body, **query)

    def _send(self, method: str, path: str, body: object = None, **query: Any) -> Record:
        """Send a request and return the parsed answer."""
        import httpx

        try:
            answer = self._http.get(CONNECT_TIMEOUT_S).request(
                method, f"{self.host}/{path}", json=body, params=query or None
            )
        except httpx.TransportError as error:
            raise unreachable_error(self.host, error) from error
        try:
            document: Record = answer.json()
        except ValueError:  # not a server of Everthread
            raise build_error(answer.status_code, {}, self.host) from None
        if not answer.is_success:
            raise build_error(answer.status_code, _as_problem(document), self.host)
        return document


def _open_http(key: str) -> httpx.Client:
    import httpx  # here, so that programs without a server don't load an HTTP client

    return httpx.Client(headers={"Authorization": f"Token {key}"}, verify=tls_context(), timeout=TIMEOUT_S)


def _path(memory_id: str) -> str:
    return f"v1/memories/{build_path(memory_id)}/"


def _merge(options: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that are None.

    Raises:
        BadInput: they are neither a dict nor an object of mem0.
    """
    if hasattr(options, "model_dump"):
        options = options.model_dump(exclude_unset=True)
    if options is not None and not isinstance(options, Mapping):
        raise BadInput(f"invalid options: got {options!r}, expected a dict or keyword arguments")
    return {name: value for name, value in {**(options or {}), **given}.items() if value is not None}


def _as_problem(document: Any) -> dict[str, Any]:
    """Return the problem document of an error; below /v1, requests are refused in the form of OpenAI's API."""
    if not isinstance(document, dict):
        return {}
    error = document.get("error")
    if isinstance(error, dict):
        return {"type": f"{URN_PREFIX}{error.get('code')}", "detail": error.get("message")}
    return document

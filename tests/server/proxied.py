"""A server with the memory proxy, and its upstream, for tests that are its clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import openai
from hardship import PATIENCE, llm, web
from hardship.loopback import serve_app

from everthread import Line, Memory
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.proxy.memory_block import OPENING
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

FACT = "My sister Mia moved to Lisbon in May."
QUESTION = "Where does my sister Mia live?"
BANKS = (f"person-{number}" for number in count())


def user(text: Any) -> Any:
    return {"role": "user", "content": text}


def bot(text: Any) -> Any:
    return {"role": "assistant", "content": text}


@dataclass
class Proxy:
    """A server with the proxy, its upstream, and a bank that no other test uses."""

    url: str
    upstream: llm.Server
    services: Services
    bank: str

    @property
    def memory(self) -> Memory:
        return self.services.get_memory(self.bank, create=True)

    @property
    def lines(self) -> list[Line]:
        return list(self.memory.lines()) if self.services.store.exists(self.bank) else []

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.lines]

    def client(self, key: str = "sk-client") -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=PATIENCE)

    def post(self, *messages: Any, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
        """Send messages to the bank."""
        body = {"model": f"m@{self.bank}", "messages": messages, **fields}
        return web.post(f"{self.url}/v1/chat/completions", json=body, headers=headers)

    @property
    def blocks(self) -> list[str]:
        """The blocks of memories in the last request to the upstream."""
        contents = [str(message["content"]) for message in self.upstream.bodies[-1]["messages"]]
        return [content for content in contents if OPENING in content]


@contextmanager
def serve_proxy(folder: Path, **settings: Any) -> Iterator[Proxy]:
    store = SQLiteStore(folder)
    services = Services(store, HashEmbedder(64), None, Default())
    with llm.llm_server("Hello there.") as upstream:
        given = {"proxy_url": upstream.url, "proxy_patience_s": PATIENCE, **settings}
        with serve_app(create_app(services, Settings(**given))) as url:
            yield Proxy(url, upstream, services, next(BANKS))
    store.close()

"""The MCP server at /mcp: streamable HTTP, with the keys of this server.

The SDK is loaded by the first request, because most servers never get one. Under several workers a client that uses a
version of the protocol before 2026 has no session, because any worker may get its next request; so it can't be asked
questions. The same holds with a database, which several servers may share.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup, TaskStatus
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.server.authentication import Authenticator
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.keys import ALL_BANKS, SUBTREE_SUFFIX, ApiKey, Verb
from everthread.server.name_headers import BANK_HEADER, read_name
from everthread.server.permissions import FORBIDDEN_DETAIL
from everthread.server.problems import Problem
from everthread.server.proxy.conversation_memory import ConversationMemory
from everthread.server.proxy.message_text import ChatMessage, drop_cached_texts
from everthread.server.services import Services
from everthread.server.shared_secret import load_secret

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from everthread.mcp.banks import ChatTurn

PATH = "/mcp"
DEFAULT_BANK = "default"
SECRET_TABLE = "mcp_secret"


class ServedBanks:
    """The banks of a server, as far as the key of a request permits; see `everthread.mcp.banks.Banks`."""

    def __init__(
        self, services: Services, conversations: ConversationRegistry, proxied: ConversationMemory, secret: bytes
    ) -> None:
        """Offer the banks of a server.

        Args:
            services: the shared objects.
            conversations: those of characters, which pause while something is forgotten.
            proxied: recognises resent conversations.
            secret: see `Banks`.
        """
        self.services, self.conversations, self.proxied, self.secret = services, conversations, proxied, secret

    def may(self, request: Request, verb: Verb) -> bool:
        """Return whether the caller's key permits the verb with some bank."""
        key: ApiKey | None = request.state.key
        return key is None or verb in key.verbs

    def has_choice(self, request: Request) -> bool:
        """Return whether neither the request nor its key names a single bank."""
        return BANK_HEADER not in request.headers and _only_bank(request.state.key) is None

    def open(self, request: Request, bank: str | None, verb: Verb) -> Memory:
        """Return the memory of a bank. Writing creates it, and so does the first use of the caller's usual bank.

        Raises:
            BadInput: the key doesn't permit the verb, or the bank's id is invalid.
            NotFound: there is no such bank.
        """
        key: ApiKey | None = request.state.key
        name = read_name(request.headers, BANK_HEADER) or bank or _only_bank(key) or DEFAULT_BANK
        if key is not None and not key.allows(verb, name):
            raise BadInput(FORBIDDEN_DETAIL)
        may_write = key is None or key.allows("write", name)
        return self.services.get_memory(name, create=verb == "write" or (bank is None and may_write))

    def keep(self, memory: Memory, messages: Sequence[ChatTurn], session: str | None) -> str:
        """Store what is new in a conversation, and return its session. Raises BadInput."""
        try:
            said = [ChatMessage(role, text, said_at=said_at) for role, text, said_at in messages]
            return self.proxied.keep(memory.bank, said, session)
        except Problem as problem:
            raise BadInput(str(problem.detail)) from None

    @contextmanager
    def pause(self, bank: str) -> Iterator[None]:
        """Pause the conversations of a bank while part of it is being forgotten. Raises BadInput if they can't be."""
        try:
            with self.conversations.pause_bank(bank):
                yield
            drop_cached_texts()
        except Problem as problem:
            raise BadInput(str(problem.detail)) from None


def _only_bank(key: ApiKey | None) -> str | None:
    """Return the bank of a key that is valid for no other."""
    if key is None or len(key.banks) != 1 or key.banks[0] == ALL_BANKS or key.banks[0].endswith(SUBTREE_SUFFIX):
        return None
    return key.banks[0]


class MCPEndpoint:
    """Answers the requests at /mcp while `run` is entered."""

    path = PATH  # as a route has it, for the log

    def __init__(
        self,
        services: Services,
        conversations: ConversationRegistry,
        proxied: ConversationMemory,
        authenticator: Authenticator,
        max_body_bytes: int,
    ) -> None:
        self.services, self.conversations, self.proxied = services, conversations, proxied
        self.authenticator, self.max_body_bytes = authenticator, max_body_bytes
        self._tasks: TaskGroup | None = None
        self._sessions: StreamableHTTPSessionManager | None = None
        self._start_lock = anyio.Lock()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Accept requests; at the end, end the sessions."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            yield
            tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        request = Request(scope, receive)
        try:
            request.state.key = await run_in_threadpool(self.authenticator.authenticate_program, request)
            if scope["method"] == "GET":  # a stream that would keep the server from stopping; clients do without it
                raise Problem(405, "wrong-method", "this path takes POST and DELETE", {"Allow": "POST, DELETE"})
            sessions = await self._get_sessions()
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        await sessions.handle_request(scope, receive, send)

    async def _get_sessions(self) -> StreamableHTTPSessionManager:
        """Return the session manager, which the first request starts."""
        async with self._start_lock:
            if self._sessions is None:
                if self._tasks is None:
                    raise Problem(503, "not-started", "the server is starting or stopping; try again")
                self._sessions = await self._tasks.start(self._run_sessions)
        return self._sessions

    async def _run_sessions(self, *, task_status: TaskStatus[StreamableHTTPSessionManager]) -> None:
        sessions = await run_in_threadpool(self._build_sessions)
        async with sessions.run():
            task_status.started(sessions)
            await anyio.sleep_forever()

    def _build_sessions(self) -> StreamableHTTPSessionManager:
        """Load the SDK, and build the server. The guard has checked Host and Origin."""
        from mcp.server.transport_security import TransportSecuritySettings

        from everthread.mcp.server import MemoryServer

        secret = load_secret(self.services.location, SECRET_TABLE)
        server = MemoryServer(ServedBanks(self.services, self.conversations, self.proxied, secret))
        server.streamable_http_app(
            stateless_http=self.services.is_shared,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=self.max_body_bytes,
        )
        return server.session_manager

"""Checks keys: one dependency for every route. What a key allows, `keys` knows.

A key is checked before the store and the body of the request are read (see `bodies`): a caller who may not use a bank
gets the same answer whether it exists or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from everthread.memory import Memory
from everthread.server import path_segments
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.keys import ApiKey, KeyStore, Verb
from everthread.server.problems import Problem
from everthread.server.services import Services

BEARER = HTTPBearer(auto_error=False, description="A key made by `everthread keys new`.")
PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip")  # what a proxy says of whoever asked it
FORBIDDEN_DETAIL = (
    "this key is not for that; `everthread keys list` shows what it is for"  # the same for whatever it is not for
)


class Authenticator:
    """Who may come in. Without `required`, whoever asks on this machine and shows no key may do everything."""

    def __init__(self, keys: KeyStore, required: bool) -> None:
        self.keys, self.key_required = keys, required

    def find_key(self, authorization: str | None) -> ApiKey | None:
        """The key that a header shows, if it is one."""
        scheme, _, secret = (authorization or "").partition(" ")
        return self.keys.find(secret.strip()) if scheme.lower() == "bearer" and secret.strip() else None

    def authenticate(self, request: Request) -> ApiKey | None:
        """The key of whoever asks; None who needs none. Problem 401 for whoever shows none, or a wrong one.

        A proxy on this machine asks for others: who comes through it is not on this machine.
        """
        shown = request.headers.get("authorization")
        if (key := self.find_key(shown)) is not None:
            return key
        if shown is not None or self.key_required or any(name in request.headers for name in PROXY_HEADERS):
            what = "the key is unknown, or was revoked" if shown else "a key is needed: Authorization: Bearer et_…"
            remedy = "make one with `everthread keys new` where the server runs"
            raise Problem(401, "unauthorized", f"{what}; {remedy}", {"WWW-Authenticate": "Bearer"})
        return None


def get_services(request: Request) -> Services:
    """What the requests share."""
    return request.app.state.services  # type: ignore[no-any-return]


def get_key(request: Request) -> ApiKey | None:
    """The key of whoever asks, looked up once a request; None who needs none. Problem 401."""
    if not hasattr(request.state, "key"):
        request.state.key = request.app.state.authenticator.authenticate(request)
    return request.state.key  # type: ignore[no-any-return]


def require(request: Request, verb: Verb, bank: str) -> None:
    """Problem 403 unless whoever asks may do this with the bank; for a bank that a body names, and not the path."""
    if (key := get_key(request)) is not None and not key.allows(verb, bank):
        raise Problem(403, "forbidden", FORBIDDEN_DETAIL)


def permitted_banks(request: Request, verb: Verb, banks: Iterable[str]) -> list[str]:
    """Those of the banks with which whoever asks may do this, in their order."""
    key = get_key(request)
    return [bank for bank in banks if key is None or key.allows(verb, bank)]


BankId = Annotated[path_segments.PathSegment, Path(description="A bank's id; a / in it is written %2F.")]


class PermissionCheck:
    """What a route requires of a key."""

    def __init__(self, verb: Verb) -> None:
        self.verb = verb

    def check(self, request: Request) -> None:
        """Raises Problem 401 or 403 unless the caller's key allows the verb. Here: with the bank in the path."""
        require(request, self.verb, path_segments.decode_segment(request.path_params["bank"]))

    async def check_async(self, request: Request) -> None:
        """Runs `check`, in a thread where a key has to be looked up."""
        if "authorization" in request.headers:
            await run_in_threadpool(self.check, request)
        else:
            self.check(request)


class RequirePermission(PermissionCheck):
    """The memory of the bank in the path, if the key permits the action: a route's `Annotated[Memory, Needs(…)]`."""

    def __call__(self, request: Request, bank: BankId, _: Annotated[object, Depends(BEARER)]) -> Memory:
        self.check(request)
        return get_services(request).get_memory(bank)


class RequireBankPermission(PermissionCheck):
    """What is shared, for a route of a bank that is not opened."""

    def __call__(self, request: Request, bank: BankId, _: Annotated[object, Depends(BEARER)]) -> Services:
        self.check(request)
        return get_services(request)


class LazyMemory:
    """The memory of a bank that may not be there yet. Called, it is; what is to be kept in it is seen to be good
    before, so that nothing is made for what is refused."""

    def __init__(self, services: Services, bank: str) -> None:
        self.services, self.bank = services, bank

    def __call__(self, validate: Callable[[], object]) -> Memory:
        """The memory. Raises what `see` raises, and nothing was made."""
        if not self.services.store.exists(self.bank):
            validate()
        return self.services.get_memory(self.bank, create=True)

    def get_existing(self) -> Memory:
        """The memory, if the bank is there. NotFound."""
        return self.services.get_memory(self.bank)


class RequireNewBankPermission(PermissionCheck):
    """The memory of the bank in the path, once it is called, for whoever may do this with it."""

    async def __call__(self, request: Request, bank: BankId, _: Annotated[object, Depends(BEARER)]) -> LazyMemory:
        await self.check_async(request)
        return LazyMemory(get_services(request), bank)


class RequireAllBanksPermission(PermissionCheck):
    """What is shared, for a route of no bank in particular: whoever has a key must have one for all banks."""

    def check(self, request: Request) -> None:
        """Raises Problem 401 or 403 unless the caller's key allows the verb with all banks."""
        if (key := get_key(request)) is not None and not key.allows_everywhere(self.verb):
            raise Problem(403, "forbidden", FORBIDDEN_DETAIL)

    def __call__(self, request: Request, _: Annotated[object, Depends(BEARER)]) -> Services:
        self.check(request)
        return get_services(request)


class RequireAnyBankPermission(PermissionCheck):
    """What is shared, for a route of no bank in particular: any key will do that may do this with some bank."""

    def check(self, request: Request) -> None:
        """Raises Problem 401 or 403 unless the caller's key allows the verb with some bank."""
        if (key := get_key(request)) is not None and self.verb not in key.verbs:
            raise Problem(403, "forbidden", FORBIDDEN_DETAIL)

    def __call__(self, request: Request, _: Annotated[object, Depends(BEARER)]) -> Services:
        self.check(request)
        return get_services(request)


async def get_conversations(request: Request) -> ConversationRegistry:
    """The conversations that are open."""
    return request.app.state.conversations  # type: ignore[no-any-return]


Conversations = Annotated[ConversationRegistry, Depends(get_conversations)]
SharedServices = Annotated[Services, Depends(get_services)]
ReadMemory = Annotated[Memory, Depends(RequirePermission("read"))]
WriteLazyMemory = Annotated[LazyMemory, Depends(RequireNewBankPermission("write"))]
WriteMemory = Annotated[Memory, Depends(RequirePermission("write"))]
ForgetMemory = Annotated[Memory, Depends(RequirePermission("forget"))]
ChatMemory = Annotated[Memory, Depends(RequirePermission("chat"))]
ChatLazyMemory = Annotated[LazyMemory, Depends(RequireNewBankPermission("chat"))]
ReadAllServices = Annotated[Services, Depends(RequireAllBanksPermission("read"))]
WriteAllServices = Annotated[Services, Depends(RequireAllBanksPermission("write"))]
ForgetAllServices = Annotated[Services, Depends(RequireAllBanksPermission("forget"))]
ChatAnyServices = Annotated[Services, Depends(RequireAnyBankPermission("chat"))]
ReadAnyServices = Annotated[Services, Depends(RequireAnyBankPermission("read"))]

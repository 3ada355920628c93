"""Dependencies of routes that authenticate and authorise the caller: a program with a key, or a person with an account.

`keys` and `people.accounts` define what they allow. That is checked before the store and the body of the request are
read (see `request_body`): a caller without access to a bank gets the same answer whether it exists or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from everthread.memory import Memory
from everthread.server import path_segments
from everthread.server.authentication import Caller
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.gallery import Gallery
from everthread.server.keys import VERBS, Verb
from everthread.server.people.accounts import Account
from everthread.server.problems import Problem
from everthread.server.services import Services

BEARER = HTTPBearer(auto_error=False, description="A key that `everthread keys new` created.")
# The same for every bank and verb, so that it reveals nothing.
FORBIDDEN_DETAIL = "this key does not permit the request; `everthread keys list` shows what each key permits"
FORBIDDEN_TO_ACCOUNT = "your account does not permit this; an administrator of this server can help"


def get_services(request: Request) -> Services:
    """Return the objects that all requests share."""
    return request.app.state.services  # type: ignore[no-any-return]


def get_caller(request: Request) -> Caller | None:
    """Return the caller's key or account, looked up once a request; None if none is needed.

    Raises:
        Problem: 401 if a needed key is missing, or the key is invalid; 403 for a change that names no page.
    """
    if not hasattr(request.state, "caller"):
        request.state.caller = request.app.state.authenticator.authenticate(request)
    return request.state.caller  # type: ignore[no-any-return]


def forbidden(caller: Caller | None) -> Problem:
    """Return the problem of a request that a caller may not make."""
    return Problem(403, "forbidden", FORBIDDEN_TO_ACCOUNT if isinstance(caller, Account) else FORBIDDEN_DETAIL)


def build_check(request: Request) -> Callable[[], None] | None:
    """Return a function that raises Problem once the caller of a long request may not go on; None if none is needed."""
    if (caller := get_caller(request)) is None:
        return None

    def check() -> None:
        if not request.app.state.authenticator.is_still_valid(request, caller):
            raise Problem(401, "unauthorized", "your session or key is no longer valid; sign in again")

    return check


def require(request: Request, verb: Verb, *banks: str) -> None:
    """Check that the caller may use the verb with all of these banks.

    Raises:
        Problem: 401 or 403.
    """
    if len(permitted_banks(request, verb, banks)) < len(banks):
        raise forbidden(get_caller(request))


def permitted_banks(request: Request, verb: Verb, banks: Iterable[str]) -> list[str]:
    """Return the banks with which the caller may use the verb, in their order."""
    caller = get_caller(request)
    return [bank for bank in banks if caller is None or caller.allows(verb, bank)]


BankId = Annotated[path_segments.PathSegment, Path(description="A bank's id; a / in it is written %2F.")]


class PermissionCheck:
    """Checks that the caller may use a verb with the bank in the path."""

    def __init__(self, verb: Verb) -> None:
        self.verb = verb

    def check(self, request: Request) -> None:
        """Check the caller.

        Raises:
            Problem: 401 or 403.
        """
        require(request, self.verb, path_segments.decode_segment(request.path_params["bank"]))

    async def check_async(self, request: Request) -> None:
        """Run `check`, in a thread if the caller has to be looked up."""
        if request.app.state.authenticator.has_credentials(request):
            await run_in_threadpool(self.check, request)
        else:
            self.check(request)


class RequirePermission(PermissionCheck):
    """Dependency: the memory of the bank in the path, if the caller may use the verb with it."""

    def __call__(self, request: Request, bank: BankId, _: Annotated[object, Depends(BEARER)]) -> Memory:
        self.check(request)
        return get_services(request).get_memory(bank)


class RequireBankPermission(PermissionCheck):
    """Dependency: the shared objects, for a route that doesn't open its bank."""

    def __call__(self, request: Request, bank: BankId, _: Annotated[object, Depends(BEARER)]) -> Services:
        self.check(request)
        return get_services(request)


class LazyMemory:
    """The memory of a bank that may not exist yet. Calling it creates the bank, after the request was validated."""

    def __init__(self, services: Services, bank: str) -> None:
        self.services, self.bank = services, bank

    def __call__(self, validate: Callable[[], object]) -> Memory:
        """Return the memory.

        Args:
            validate: called before a bank is created; if it raises, none is.
        """
        if not self.services.store.exists(self.bank):
            validate()
        return self.services.get_memory(self.bank, create=True)

    def get_existing(self) -> Memory:
        """Return the memory of an existing bank.

        Raises:
            NotFound: if the bank does not exist.
        """
        return self.services.get_memory(self.bank)


class RequireNewBankPermission(PermissionCheck):
    """Dependency: the memory of the bank in the path, which is created when the `LazyMemory` is called."""

    async def __call__(self, request: Request, bank: BankId, _: Annotated[object, Depends(BEARER)]) -> LazyMemory:
        await self.check_async(request)
        return LazyMemory(get_services(request), bank)


class RequireAllBanksPermission(PermissionCheck):
    """Dependency: the shared objects, for a route of no particular bank and callers who may use the verb with all."""

    def check(self, request: Request) -> None:
        """Check that the caller may use the verb with all banks.

        Raises:
            Problem: 401 or 403.
        """
        if (caller := get_caller(request)) is not None and not caller.allows_everywhere(self.verb):
            raise forbidden(caller)

    def __call__(self, request: Request, _: Annotated[object, Depends(BEARER)]) -> Services:
        self.check(request)
        return get_services(request)


class RequireAnyBankPermission(PermissionCheck):
    """Dependency: the shared objects, for a route of no particular bank and callers who may use the verb with some."""

    def check(self, request: Request) -> None:
        """Check that the caller may use the verb with some bank.

        Raises:
            Problem: 401 or 403.
        """
        if (caller := get_caller(request)) is not None and self.verb not in caller.verbs:
            raise forbidden(caller)

    def __call__(self, request: Request, _: Annotated[object, Depends(BEARER)]) -> Services:
        self.check(request)
        return get_services(request)


class RequireAdministration(PermissionCheck):
    """Dependency: the shared objects, for a route that changes the server: for administrators and keys for everything.

    A caller on this machine may do so without either, unless keys are required.
    """

    def __init__(self) -> None:
        super().__init__("write")

    def check(self, request: Request) -> None:
        """Check that the caller may use every verb with all banks.

        Raises:
            Problem: 401 or 403.
        """
        if (caller := get_caller(request)) is not None and not all(map(caller.allows_everywhere, VERBS)):
            raise forbidden(caller)

    def __call__(self, request: Request, _: Annotated[object, Depends(BEARER)]) -> Services:
        self.check(request)
        return get_services(request)


class RequireGallery(PermissionCheck):
    """Dependency: the characters that the caller sees, and may change: members their own, others those of all."""

    def check(self, request: Request) -> None:
        """Check that the caller may use the verb with the characters.

        Raises:
            Problem: 401 or 403.
        """
        caller = get_caller(request)
        if caller is not None and not isinstance(caller, Account) and not caller.allows_everywhere(self.verb):
            raise forbidden(caller)

    def __call__(self, request: Request, _: Annotated[object, Depends(BEARER)]) -> Gallery:
        self.check(request)
        return Gallery(get_caller(request))


class RequireReadableGallery(RequireGallery):
    """Dependency: the characters that the caller sees, for any caller who may chat."""

    def __init__(self) -> None:
        super().__init__("chat")

    def check(self, request: Request) -> None:
        """Check that the caller may chat in some bank.

        Raises:
            Problem: 401 or 403.
        """
        if (caller := get_caller(request)) is not None and self.verb not in caller.verbs:
            raise forbidden(caller)


async def get_conversations(request: Request) -> ConversationRegistry:
    """Return the open conversations."""
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
VisibleGallery = Annotated[Gallery, Depends(RequireReadableGallery())]
WriteGallery = Annotated[Gallery, Depends(RequireGallery("write"))]
ForgetGallery = Annotated[Gallery, Depends(RequireGallery("forget"))]
AdministrationServices = Annotated[Services, Depends(RequireAdministration())]
ReadAnyServices = Annotated[Services, Depends(RequireAnyBankPermission("read"))]

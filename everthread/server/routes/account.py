"""A person's own account: sign in, sign out, change the password."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import anyio
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from pydantic import Field, SecretStr
from starlette.concurrency import run_in_threadpool

from everthread.server.people import cookies
from everthread.server.people.accounts import Account
from everthread.server.people.directory import PeopleDirectory
from everthread.server.people.passwords import MAX_CHARS
from everthread.server.permissions import PermissionCheck, forbidden, get_caller
from everthread.server.problems import Problem
from everthread.server.rate_limit import client_address
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import RequestBody, View

router = create_router("account")

MAX_NAME_CHARS = 200  # of a name that is typed; those of accounts are shorter
HASHING = anyio.CapacityLimiter(2)  # passwords at a time, which take 64 MiB each; others wait without a thread

Password = Annotated[SecretStr, Field(max_length=MAX_CHARS)]


class LoginBody(RequestBody):
    """The name and the password of an account."""

    name: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    password: Password


class LogoutBody(RequestBody):
    """Which sessions to end. everywhere: all of the account, in every browser."""

    everywhere: bool = False


class PasswordBody(RequestBody):
    """A new password, and the current one."""

    current: Password
    new: Password


class AccountView(View):
    """A person's own account. banks: the ids that it owns, with all below them; the first is where chats begin.

    at_proxy: whether a reverse proxy has signed the person in, where they sign out as well.
    """

    name: str
    administrator: bool
    has_password: bool
    at_proxy: bool
    banks: list[str]


def build_view(account: Account, request: Request) -> AccountView:
    """Return the account of a request as its owner sees it."""
    return AccountView(
        name=account.name,
        administrator=account.is_administrator,
        has_password=account.has_password,
        at_proxy=request.app.state.authenticator.header.is_sent_by_proxy(request),
        banks=list(account.banks),
    )


def get_people(request: Request) -> PeopleDirectory:
    """Return the accounts of the server."""
    return request.app.state.authenticator.people  # type: ignore[no-any-return]


class RequireAccount(PermissionCheck):
    """Dependency: the account of the caller, who must be a person."""

    def __init__(self) -> None:
        super().__init__("read")

    def check(self, request: Request) -> None:
        """Check that the caller has signed in.

        Raises:
            Problem: 401, 403 for a key, or 404 for a caller that needs neither.
        """
        if (caller := get_caller(request)) is None:
            raise Problem(404, "no-account", "on this machine no account is needed, and this request has none")
        if not isinstance(caller, Account):
            raise forbidden(caller)

    def __call__(self, request: Request) -> Account:
        self.check(request)
        account = get_caller(request)
        assert isinstance(account, Account)
        return account


People = Annotated[PeopleDirectory, Depends(get_people)]
OwnAccount = Annotated[Account, Depends(RequireAccount())]


@router.post("/login")
async def login(request: Request, response: Response, people: People, body: LoginBody) -> AccountView:
    """Sign in. The response sets a cookie, which is valid for 30 days."""
    sign_in = partial(people.sign_in, body.name, body.password.get_secret_value(), client_address(request.scope))
    account, token = await run_sync(sign_in, limiter=HASHING)
    cookies.set_token(request, response, token)
    return build_view(account, request)


@router.post("/logout", status_code=204)
async def logout(request: Request, people: People, body: LogoutBody) -> Response:
    """Sign out, in this browser or everywhere. A session that is over already needs nothing more."""
    response = Response(status_code=204)
    try:
        account = await run_in_threadpool(get_caller, request)
    except Problem as problem:
        if problem.status != 401:
            raise
        account = None
    if isinstance(account, Account):
        token = cookies.get_token(request)
        await run_in_threadpool(people.sign_out, account, token, everywhere=body.everywhere)
    cookies.delete_token(request, response)
    return response


@router.get("/account")
def own_account(request: Request, account: OwnAccount) -> AccountView:
    """Get the account of the caller. On this machine, where no account is needed, the response is 404."""
    return build_view(account, request)


@router.put("/account/password", status_code=204)
async def change_password(request: Request, account: OwnAccount, people: People, body: PasswordBody) -> Response:
    """Change the password. All other sessions end; this one gets a new cookie."""
    passwords = body.current.get_secret_value(), body.new.get_secret_value()
    change = partial(people.change_password, account, *passwords, client_address(request.scope))
    token, response = await run_sync(change, limiter=HASHING), Response(status_code=204)
    cookies.set_token(request, response, token)
    return response

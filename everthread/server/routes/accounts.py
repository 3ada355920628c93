"""The accounts of a server, for its administrators: they see counts, and never what was said."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from os.path import basename
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import Path, Query, Request
from pydantic import Field

from everthread.errors import NotFound
from everthread.server import kept_uploads, path_segments
from everthread.server.gallery import remove_own_characters
from everthread.server.people.accounts import Account, count_content
from everthread.server.people.directory import PeopleDirectory
from everthread.server.permissions import AdministrationServices, Conversations, get_caller
from everthread.server.problems import Problem
from everthread.server.proxy.message_text import drop_cached_texts
from everthread.server.routes.account import HASHING, Password, People
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import ItemList, RequestBody, View
from everthread.stores.base import Store
from everthread.stores.limits import MAX_BANK_ID_CHARS

router = create_router("accounts", "/accounts")

Name = Annotated[path_segments.PathSegment, Path(description="The name of an account.")]
GivenBanks = Annotated[list[Annotated[str, Field(max_length=MAX_BANK_ID_CHARS)]], Field(max_length=100)]


class AccountSummaryView(View):
    """An account, with the number of its banks and of the lines in them."""

    name: str
    administrator: bool
    locked: bool
    has_password: bool
    made_on: date
    signed_in_on: date | None
    banks: int
    lines: int


class NewAccountBody(RequestBody):
    """An account to create. password: null for a person who signs in without one. banks: existing ones to give it."""

    name: Annotated[str, Field(max_length=200)]
    password: Password | None = None
    administrator: bool = False
    banks: GivenBanks = Field(default_factory=list)


class AccountChanges(RequestBody):
    """Changes of an account. password: ends all its sessions, and so does locking it. give_banks: banks to add."""

    password: Password | None = None
    locked: bool | None = None
    administrator: bool | None = None
    give_banks: GivenBanks = Field(default_factory=list)


class RemovalView(View):
    """The numbers of banks and lines that were forgotten with an account; backups: those that could not be reached, and
    hold some of them until the next backup is made."""

    banks: int
    lines: int
    backups: list[str]


@router.get("", response_model=ItemList[AccountSummaryView])
def accounts(services: AdministrationServices, people: People) -> dict[str, Any]:
    """List the accounts, with counts."""
    return {"items": [_summarize(services.store, account) for account in people.accounts.list_accounts()]}


@router.post("", status_code=201)
async def create_account(services: AdministrationServices, people: People, body: NewAccountBody) -> AccountSummaryView:
    """Create an account."""

    def create() -> Account:
        return people.create(
            body.name,
            body.password.get_secret_value() if body.password else None,
            is_administrator=body.administrator,
            banks=body.banks,
            taken_banks=services.store.banks(),
        )

    account = await run_sync(create, limiter=HASHING)
    return await run_sync(_summarize, services.store, account)


@router.patch("/{name}")
async def change_account(
    request: Request, services: AdministrationServices, people: People, name: Name, body: AccountChanges
) -> AccountSummaryView:
    """Set a password, lock or unlock an account, make it an administrator's, or give it banks."""
    changed = await run_sync(_change, people, name, body, get_caller(request), limiter=HASHING)
    return await run_sync(_summarize, services.store, changed)


@router.delete("/{name}")
def remove_account(
    request: Request,
    services: AdministrationServices,
    people: People,
    conversations: Conversations,
    name: Name,
    banks: Annotated[Literal["keep", "forget"], Query(description="What happens to the banks of the account.")],
) -> RemovalView:
    """Remove an account. Its banks are forgotten for good, or kept without an owner; they can be given to another."""
    account = people.accounts.get(name)
    _require_other(get_caller(request), account)
    people.set_locked(account, True)  # nothing more is said in its banks
    removal = RemovalView(banks=0, lines=0, backups=[])
    if banks == "forget":
        left: dict[str, None] = {}
        for bank in account.owned(services.store.banks()):
            with suppress(NotFound), conversations.pause_bank(bank, close=True):  # forgotten in the meantime
                receipt = services.get_memory(bank).forget(everything=True)
                removal.lines += receipt.lines
                removal.banks += 1
                left |= dict.fromkeys(map(basename, receipt.backups))
        removal.backups = list(left)
        drop_cached_texts()
    people.remove(account)
    remove_own_characters(account)
    kept_uploads.discard_of_caller(kept_uploads.name_account(account))
    return removal


def _change(people: PeopleDirectory, name: str, changes: AccountChanges, caller: object) -> Account:
    account = people.accounts.get(name)
    if changes.locked or changes.administrator is False:
        _require_other(caller, account)
    if changes.password is not None:
        people.passwords.check_new(changes.password.get_secret_value())  # before anything is changed
    if changes.give_banks:
        people.give_banks(account, changes.give_banks)
    if changes.password is not None:
        people.set_password(account, changes.password.get_secret_value())
    if changes.administrator is not None:
        people.set_administrator(account, changes.administrator)
    if changes.locked is not None:
        people.set_locked(account, changes.locked)
    return people.accounts.get(name)


def _require_other(caller: object, account: Account) -> None:
    """Raise Problem 409 if an administrator is about to shut themselves out."""
    if isinstance(caller, Account) and caller.id == account.id:
        detail = "this is your own account; another administrator can change it, or `everthread accounts`"
        raise Problem(409, "own-account", detail)


def _summarize(store: Store, account: Account) -> AccountSummaryView:
    banks, lines = count_content(store, account)
    return AccountSummaryView(
        name=account.name,
        administrator=account.is_administrator,
        locked=account.is_locked,
        has_password=account.has_password,
        made_on=account.made_on,
        signed_in_on=account.signed_in_on,
        banks=banks,
        lines=lines,
    )

"""The banks of one person: each of their characters has its own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from everthread.chat import character_banks
from everthread.chat.character_banks import is_untouched
from everthread.server.gallery import Gallery
from everthread.server.idempotency import Idempotency
from everthread.server.permissions import (
    BankId,
    Conversations,
    ReadMemory,
    RequireBankPermission,
    SharedServices,
    get_caller,
    permitted_banks,
    require,
)
from everthread.server.routes.api_router import create_router
from everthread.server.routes.banks import summarize_banks
from everthread.server.routes.characters import Name
from everthread.server.schemas import BankView, ItemList
from everthread.server.services import Services

router = create_router("banks", "/banks/{bank}/characters")


@router.get("", response_model=ItemList[BankView])
def banks_of_person(request: Request, memory: ReadMemory, services: SharedServices) -> dict[str, Any]:
    """List the banks in which the person of this bank talks with a character, including this one."""
    ids = sorted(permitted_banks(request, "read", services.store.banks()))
    banks = character_banks.list_banks(services.store, memory.bank, ids)
    return {"items": list(summarize_banks(services, banks))}


@router.delete("", status_code=204)
def discard_untouched_bank(
    request: Request,
    services: Annotated[Services, Depends(RequireBankPermission("forget"))],
    idempotency: Idempotency,
    conversations: Conversations,
    bank: BankId,
) -> None:
    """Remove this bank if it was opened for a character and nothing was said or set in it; leave any other as it is."""

    def may_be_discarded() -> bool:
        return services.store.exists(bank) and is_untouched(services.store, bank, Gallery(get_caller(request)).load)

    def discard() -> None:
        if may_be_discarded():  # before replies are stopped
            with conversations.pause_bank(bank, close=True):
                if may_be_discarded():
                    services.get_memory(bank).forget(everything=True)

    idempotency.run_once(discard, lambda _: True, lambda _: None)


@router.put("/{name}", response_model=BankView)
def bank_of_character(
    request: Request, memory: ReadMemory, services: SharedServices, idempotency: Idempotency, name: Name
) -> BankView:
    """Find the bank in which the person of this bank talks with a character of the gallery, or create it.

    A bank in which something was said keeps its character as it is.
    """
    character = Gallery(get_caller(request)).load(name)
    ids = permitted_banks(request, "read", services.store.banks())
    bank = character_banks.find_bank(services.store, memory.bank, character.name, ids)
    require(request, "write", bank)

    def prepare() -> None:
        character_banks.give_character(services.get_memory(bank, create=True), character, memory.bank)

    idempotency.run_once(prepare, lambda _: True, lambda _: None)
    return next(summarize_banks(services, [bank]))

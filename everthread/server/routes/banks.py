"""Banks: list, create, count, configure, forget."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Depends, Request

from everthread.bank import stats as timeline
from everthread.chat import character_banks
from everthread.chat.character import Character
from everthread.chat.character_library import open_character
from everthread.common.keys import (
    SETTING_MODEL_FACTS,
    SETTING_RECALL_FROM,
    SETTING_REMEMBER,
    SETTING_SCRIBE,
)
from everthread.errors import BankDamaged, BankTooNew, StoreUnavailable
from everthread.memory import Memory
from everthread.server.idempotency import Idempotency, IdempotentRequest
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, build_page, decode_cursor
from everthread.server.permissions import (
    BankId,
    Conversations,
    ReadAnyServices,
    ReadMemory,
    RequireAnyBankPermission,
    SharedServices,
    WriteLazyMemory,
    WriteMemory,
    permitted_banks,
    require,
)
from everthread.server.routes.api_router import create_router
from everthread.server.routes.receipts import forget_once
from everthread.server.schemas import (
    BankView,
    CharacterBody,
    CharacterChanges,
    CharacterView,
    ItemList,
    MonthView,
    Page,
    ReceiptView,
    SettingsBody,
    SettingsView,
    StatsView,
)
from everthread.server.services import Services
from everthread.types import JSONValue, Receipt, Stats

log = logging.getLogger("everthread.server")
router = create_router("banks", "/banks")

Settings = Mapping[str, JSONValue]


@router.get("", response_model=Page[BankView])
def banks(
    request: Request, services: ReadAnyServices, after: After = None, limit: Limit = DEFAULT_LIMIT
) -> dict[str, Any]:
    """List the banks that the key may read, by id."""
    previous = decode_cursor(after, (str,))
    ids = sorted(permitted_banks(request, "read", services.store.banks()))
    following = (bank for bank in ids if previous is None or bank > previous[0])
    return build_page(summarize_banks(services, following), limit, lambda item: [item.id])


def summarize_banks(services: Services, banks: Iterable[str]) -> Iterator[BankView]:
    """Yield banks in short, except those that were forgotten in the meantime or can't be read."""
    store = services.store
    for bank in banks:
        if store.exists(bank):
            try:
                yield _build_view(store.stats(bank, services.embedder.name), store.settings(bank))
            except (BankDamaged, BankTooNew, StoreUnavailable) as error:
                if isinstance(error, StoreUnavailable) and not error.bank:  # the whole store
                    raise
                log.warning("a bank that can't be read is left out of a list (%s); see doctor", type(error).__name__)


def _build_view(stats: Stats, settings: Settings) -> BankView:
    return BankView(
        id=stats.bank,
        character=character_banks.character_name(settings),
        person=character_banks.person_name(settings),
        lines=stats.lines,
        sessions=stats.sessions,
        last_said_at=stats.last_said_at,
    )


@router.put("/{bank}", response_model=StatsView)
def create_bank(lazy_memory: WriteLazyMemory, idempotency: Idempotency) -> Stats:
    """Create a bank unless it exists, and count its content."""
    memory = lazy_memory(lambda: None)

    def create() -> None:
        memory.store.create(memory.bank)  # again, if the bank has been forgotten since

    idempotency.run_once(create, lambda _: True, lambda _: create())
    return memory.stats()


@router.get("/{bank}", response_model=StatsView)
def stats(memory: ReadMemory) -> Stats:
    """Count the content of a bank."""
    return memory.stats()


@router.delete("/{bank}", response_model=ReceiptView)
def forget_everything(
    request: Request,
    services: Annotated[Services, Depends(RequireAnyBankPermission("forget"))],
    idempotency: Idempotency,
    bank: BankId,
    conversations: Conversations,
) -> ReceiptView:
    """Forget the whole bank, for good."""
    require(request, "forget", bank)  # not by `ForgetMemory`: a repeated request finds no bank

    def forget() -> Receipt:
        return services.get_memory(bank).forget(everything=True)

    return forget_once(idempotency, conversations, bank, forget, close=True)


@router.get("/{bank}/settings", response_model=SettingsView, response_model_exclude_none=True)
def settings(memory: ReadMemory) -> dict[str, Any]:
    """Get the settings of a bank."""
    return _settings_view(memory.settings())


@router.patch("/{bank}/settings", response_model=SettingsView, response_model_exclude_none=True)
def set_settings(
    request: Request, memory: WriteMemory, services: SharedServices, idempotency: Idempotency, body: SettingsBody
) -> dict[str, Any]:
    """Change settings of a bank: whether conversations are remembered, which model writes notes and summaries and
    whether it lists facts, and on which other banks replies draw."""
    services.get_scribe(body.scribe)
    require(request, "read", *body.recall_from)

    def change() -> None:
        if SETTING_RECALL_FROM in body.model_fields_set:  # first, because a bank may not exist
            memory.set_setting(SETTING_RECALL_FROM, list(body.recall_from) or None)
        if SETTING_REMEMBER in body.model_fields_set:
            memory.set_setting(SETTING_REMEMBER, body.remember)
        if SETTING_SCRIBE in body.model_fields_set:
            memory.set_setting(SETTING_SCRIBE, body.scribe)
        if SETTING_MODEL_FACTS in body.model_fields_set:
            memory.set_setting(SETTING_MODEL_FACTS, body.model_facts or None)

    idempotency.run_once(change, lambda _: True, lambda _: None)
    return _settings_view(memory.settings())


def _settings_view(stored: Settings) -> dict[str, Any]:
    """Return the settings that are the person's; the others are internal."""
    names = (SETTING_SCRIBE, SETTING_RECALL_FROM, SETTING_MODEL_FACTS)
    return {SETTING_REMEMBER: stored.get(SETTING_REMEMBER, "ask"), **{name: stored.get(name) for name in names}}


@router.get("/{bank}/timeline", response_model=ItemList[MonthView])
def months(memory: ReadMemory) -> dict[str, Any]:
    """Count the lines of each month, in the time zones of their speakers."""
    return {"items": [asdict(month) for month in timeline.lines_by_month(memory.store, memory.bank)]}


@router.get("/{bank}/character", response_model=CharacterView, response_model_exclude_unset=True)
def bank_character(memory: ReadMemory) -> dict[str, Any]:
    """Get the character of the bank."""
    return dict(open_character(None, memory.settings()).to_json())


@router.put("/{bank}/character", response_model=CharacterView, response_model_exclude_unset=True)
def set_bank_character(memory: WriteMemory, idempotency: Idempotency, body: CharacterBody) -> dict[str, Any]:
    """Set the character of the bank."""
    return _set_character_once(memory, idempotency, Character(**body.model_dump()))


@router.patch("/{bank}/character", response_model=CharacterView, response_model_exclude_unset=True)
def change_bank_character(memory: WriteMemory, idempotency: Idempotency, body: CharacterChanges) -> dict[str, Any]:
    """Change some fields of the bank's character: its description, where you are, your name."""
    changed = open_character(None, memory.settings()).with_changes(**body.get_changes())
    return _set_character_once(memory, idempotency, changed)


def _set_character_once(memory: Memory, idempotency: IdempotentRequest, character: Character) -> dict[str, Any]:
    """Save the bank's character once, and return the one that the bank has now."""
    former = character_banks.person_name(memory.settings())
    idempotency.run_once(
        lambda: character_banks.save_character(memory, character, former), lambda _: True, lambda _: None
    )
    return bank_character(memory)

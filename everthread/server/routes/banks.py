"""Banks: list, make, count, set, forget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request

from everthread import open as opening
from everthread import timeline
from everthread.observe.consent import ANSWERS, SETTING
from everthread.prompt.character import Character
from everthread.server.access import Changing, Forgetting, Reading, ReadingAny, Writing, permitted
from everthread.server.once import Once
from everthread.server.pages import After, Limit, page, place
from everthread.server.wire import (
    All,
    BankView,
    CharacterBody,
    CharacterChanges,
    CharacterView,
    MonthView,
    Page,
    ReceiptView,
    SettingsBody,
    SettingsView,
    StatsView,
)
from everthread.stores.base import Store
from everthread.types import Receipt, Stats

router = APIRouter(prefix="/banks", tags=["banks"])


@router.get("", response_model=Page[BankView])
def banks(request: Request, engine: ReadingAny, after: After = None, limit: Limit = 50) -> dict[str, Any]:
    """List the banks that may be read, by their ids."""
    behind = place(after, (str,))
    ids = sorted(permitted(request, "read", engine.store.banks()))
    there = (bank for bank in ids if behind is None or bank > behind[0])
    return page(_short(engine.store, there, engine.embedder.name), limit, lambda item: [item.bank])


def _short(store: Store, banks: Iterable[str], model: str) -> Iterator[Stats]:
    """What the banks hold, those left out that are forgotten meanwhile."""
    for bank in banks:
        if store.has(bank):
            yield store.stats(bank, model)


@router.put("/{bank}", response_model=StatsView)
def make(memory: Writing, once: Once) -> Stats:
    """Make a bank, if it is not there, and count what it holds."""
    memory.store.corpus(memory.bank)  # which makes it anew where it was forgotten
    return memory.stats()


@router.get("/{bank}", response_model=StatsView)
def stats(memory: Reading) -> Stats:
    """Count what a bank holds."""
    return memory.stats()


@router.delete("/{bank}", response_model=ReceiptView)
def forget_everything(memory: Forgetting, once: Once) -> object:
    """Forget the whole bank, for good."""
    return once.once(lambda: memory.forget(everything=True), told, dict)


def told(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON, from which the same answer is made."""
    return ReceiptView.model_validate(receipt).model_dump(mode="json")


@router.get("/{bank}/settings", response_model=SettingsView)
def settings(memory: Reading) -> dict[str, str]:
    """What a bank is set to."""
    return _settings(memory.settings())


@router.patch("/{bank}/settings", response_model=SettingsView)
def set_settings(memory: Changing, once: Once, body: SettingsBody) -> dict[str, str]:
    """Set a bank: whether conversations are remembered."""
    memory.set_setting(SETTING, body.remember)
    return _settings(memory.settings())


def _settings(kept: Any) -> dict[str, str]:
    """Those settings that are the person's; the others are ours."""
    return {SETTING: kept[SETTING] if kept.get(SETTING) in ANSWERS else "ask"}


@router.get("/{bank}/timeline", response_model=All[MonthView])
def months(memory: Reading) -> dict[str, Any]:
    """How much was said in each month, on the clocks of those who spoke."""
    return {"items": [asdict(month) for month in timeline.months(memory.store, memory.bank)]}


@router.get("/{bank}/character", response_model=CharacterView, response_model_exclude_unset=True)
def bank_character(memory: Reading) -> dict[str, Any]:
    """The character with which the bank is talked to."""
    return dict(opening.character(None, memory.settings()).to_json())


@router.put("/{bank}/character", response_model=CharacterView, response_model_exclude_unset=True)
def set_bank_character(memory: Changing, once: Once, body: CharacterBody) -> dict[str, Any]:
    """Give the bank a character, from now on."""
    character = Character(**body.model_dump())
    memory.set_setting("character", character.to_json())
    return dict(character.to_json())


@router.patch("/{bank}/character", response_model=CharacterView, response_model_exclude_unset=True)
def change_bank_character(memory: Changing, once: Once, body: CharacterChanges) -> dict[str, Any]:
    """Change some of the bank's character, from now on: its description, where you are, your name."""
    character = opening.character(None, memory.settings()).edited(**body.given())
    memory.set_setting("character", character.to_json())
    return dict(character.to_json())

"""The banks of one person, each with a character of its own: laura for Ever, and laura/captain-vey for Captain Vey.

A character remembers what was said in its bank. If the setting `recall_from` of the bank names others, its replies draw
on those too; nothing is stored in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from itertools import count

from everthread.chat.character import DEFAULT_CHARACTER, Character, is_same_name
from everthread.chat.character_library import open_character
from everthread.common.keys import (
    SETTING_CHARACTER,
    SETTING_FORMER_NAMES,
    SETTING_HOME,
    SETTING_PERSON_NAMES,
    SETTING_SHARED_WITH,
)
from everthread.errors import BadFile, BankDamaged, BankTooNew, NotFound
from everthread.memory import Memory
from everthread.stores.base import Store
from everthread.stores.limits import MAX_BANK_ID_CHARS
from everthread.stores.name_setting import add_name, spoken_names
from everthread.types import JSONValue

MAX_NUMBER_CHARS = 5  # of a number that distinguishes two ids, with its hyphen
_CARD_FIELDS = [field.name for field in fields(Character) if field.name != "person"]

Settings = Mapping[str, JSONValue]


def character_name(settings: Settings) -> str:
    """Return the name of a bank's character."""
    return _saved_name(settings, "name", DEFAULT_CHARACTER.name)


def person_name(settings: Settings) -> str:
    """Return the name of the person who talks with a bank's character; `user` if none is known."""
    return _saved_name(settings, "person", DEFAULT_CHARACTER.person)


def person_names(settings: Settings) -> set[str]:
    """Return the names under which the person's lines are stored: that of the bank's character, those under which the
    person has spoken in chats, and `user`."""
    spoken = spoken_names(settings.get(SETTING_PERSON_NAMES))
    return {person_name(settings), DEFAULT_CHARACTER.person, *spoken}


def record_person_name(memory: Memory, name: str) -> None:
    """Save a name under which the person speaks, so that its lines remain the person's after a change of name."""
    if name not in (DEFAULT_CHARACTER.person, *spoken_names(memory.settings().get(SETTING_PERSON_NAMES))):
        memory.store.update_setting(memory.bank, SETTING_PERSON_NAMES, lambda value: add_name(value, name))


def save_character(memory: Memory, character: Character, former: str) -> None:
    """Save the character of a bank.

    Args:
        memory: the bank.
        character: its character from now on.
        former: the person's name until now; what was said under it remains the person's if the name changes.
    """
    if former != character.person:
        memory.store.update_setting(memory.bank, SETTING_FORMER_NAMES, lambda value: add_name(value, former))
    memory.set_setting(SETTING_CHARACTER, character.to_json())


def _saved_name(settings: Settings, field: str, default: str) -> str:
    saved = settings.get(SETTING_CHARACTER)
    return str(saved.get(field, default)) if isinstance(saved, Mapping) else default


def separate_bank(bank: str, current: str, name: str) -> str:
    """Return the id of the bank for a character: laura/captain-vey, beside laura or, of the character Ever, laura/ever.

    Args:
        bank: an id of the person's.
        current: the name of that bank's character.
        name: the name of the other character.
    """
    return _without_suffix(bank, current) + _suffix(name)


def _suffix(name: str) -> str:
    return "/" + re.sub(r"[\s/]+", "-", name.lower())


def _without_suffix(bank: str, name: str) -> str:
    return bank.removesuffix(_suffix(name)) or bank


def _find_home(bank: str, settings: Settings) -> str:
    """Return the id that the ids of all of the person's banks begin with."""
    home = settings.get(SETTING_HOME)
    return home if isinstance(home, str) else _without_suffix(bank, character_name(settings))


def list_banks(store: Store, bank: str, ids: Iterable[str]) -> list[str]:
    """List those of `ids` in which the person of `bank` talks with a character, without banks that can't be read."""
    home = _find_home(bank, store.settings(bank))

    def belongs(other: str) -> bool:
        try:
            return store.exists(other) and _find_home(other, store.settings(other)) == home
        except (BankDamaged, BankTooNew):
            return False

    return [other for other in ids if (other == home or other.startswith(f"{home}/")) and belongs(other)]


def list_banks_with(store: Store, bank: str, name: str, ids: Iterable[str]) -> list[str]:
    """List those of `ids` in which the person of `bank` talks with the character of this name."""
    own = list_banks(store, bank, ids)
    return [other for other in own if is_same_name(character_name(store.settings(other)), name)]


def find_bank(store: Store, bank: str, name: str, ids: Iterable[str]) -> str:
    """Find the bank in which the person of `bank` talks with a character.

    Args:
        store: the store of the banks.
        bank: a bank of the person's.
        name: the name of the character.
        ids: the banks to consider.

    Returns:
        The id of the bank, or a free one if the person has not talked with the character yet. Of several banks `bank`
        is preferred, then the one with the most lines.
    """
    own = list_banks_with(store, bank, name, ids)
    if bank in own:
        return bank
    if own:
        return max(own, key=lambda other: store.corpus_stats(other).lines)
    return _find_free_id(store, _find_home(bank, store.settings(bank)), name)


def _find_free_id(store: Store, home: str, name: str) -> str:
    first = (home + _suffix(name))[: MAX_BANK_ID_CHARS - MAX_NUMBER_CHARS]
    ids = (first if number == 1 else f"{first}-{number}" for number in count(1))
    return next(bank for bank in ids if not store.exists(bank))


def is_untouched(store: Store, bank: str, load: Callable[[str], Character]) -> bool:
    """Return whether nothing was said or set in a bank since `give_character` opened it.

    Args:
        store: the store of the bank.
        bank: its id.
        load: loads a character of the gallery by name.
    """
    settings = store.settings(bank)
    if settings.keys() - {SETTING_SHARED_WITH} != {SETTING_HOME, SETTING_CHARACTER} or store.sessions(bank):
        return False
    try:
        given = load(character_name(settings)).with_changes(person=person_name(settings))
    except (NotFound, BadFile):
        return False
    return settings[SETTING_CHARACTER] == given.to_json() and not store.corpus_stats(bank).last_seq


def give_character(memory: Memory, character: Character, beside: str) -> None:
    """Give a bank its character, unless something has been said in it. The person's name is that of the bank `beside`.

    Raises:
        BadInput: the character has the person's name.
    """
    if memory.store.corpus_stats(memory.bank).lines:
        return
    settings = memory.store.settings(beside)
    person = person_name(settings)
    if person != DEFAULT_CHARACTER.person:
        character = character.with_changes(person=person)
    if (home := _find_home(beside, settings)) != memory.bank:
        memory.set_setting(SETTING_HOME, home)
    memory.set_setting(SETTING_CHARACTER, character.to_json())


def follow_edit(memories: Iterable[Memory], before: Character, after: Character) -> list[tuple[Memory, Character]]:
    """Return the characters of banks after an edit of the one in the gallery that they were given.

    Args:
        memories: the banks.
        before: the character in the gallery before the edit.
        after: the same one after it.

    Returns:
        The banks that change, each with its new character. A field that was changed in the bank itself stays, and so
        does the person's name.

    Raises:
        BadInput: the character would have the name of a bank's person.
    """
    edited = [name for name in _CARD_FIELDS if getattr(before, name) != getattr(after, name)]

    def change(copy: Character) -> Character:
        same = [name for name in edited if getattr(copy, name) == getattr(before, name)]
        return copy.with_changes(**{name: getattr(after, name) for name in same})

    copies = [(memory, open_character(None, memory.settings())) for memory in memories]
    return [(memory, changed) for memory, copy in copies if (changed := change(copy)) != copy]

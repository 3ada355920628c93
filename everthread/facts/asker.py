"""Finds the entity that asks: "me" in a question about facts."""

from __future__ import annotations

from collections.abc import Mapping

from everthread.common.keys import SETTING_CHARACTER, SETTING_PERSON_NAMES
from everthread.facts.cache import FactIndex, normalize_name
from everthread.stores.base import Store
from everthread.stores.name_setting import spoken_names


def find_asker(store: Store, bank: str, known: FactIndex, speaker: str = "") -> str | None:
    """Return the name of the entity that asks; None if that is in doubt.

    It is the speaker of the question, else the person who talks with the bank's character, else the only speaker.

    Args:
        store: the store of the bank.
        bank: its id.
        known: what is known.
        speaker: who said the question; empty if that is unknown.
    """
    for name in (speaker, *list_asker_names(store, bank)):
        key = normalize_name(name)
        if key in known.names:
            return known.names[key][0]
        if key in known.owners:
            return known.owners[key]
    speakers = {each.name for each in store.corpus_stats(bank).speakers if each.role == "user"}
    found = known.names.get(normalize_name(speakers.pop())) if len(speakers) == 1 else None
    return found[0] if found else None


def list_asker_names(store: Store, bank: str) -> list[str]:
    """Return the names of the person who talks with the bank's character."""
    settings = store.settings(bank)
    character = settings.get(SETTING_CHARACTER)
    names = [str(character.get("person", ""))] if isinstance(character, Mapping) else []
    return [*names, *spoken_names(settings.get(SETTING_PERSON_NAMES)), "user"]

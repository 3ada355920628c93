"""Lists the names that the person who talks with a bank's character has and had, by the bank's settings."""

from __future__ import annotations

from collections.abc import Mapping

from everthread.common.keys import SETTING_CHARACTER, SETTING_FORMER_NAMES
from everthread.stores.name_setting import spoken_names
from everthread.types import JSONValue

UNNAMED = "user"  # the speaker of lines by a person without a name


def list_person_names(settings: Mapping[str, JSONValue]) -> tuple[str, ...]:
    """Return the names from the settings of a bank, the present one first; empty if none is saved."""
    character = settings.get(SETTING_CHARACTER)
    present = [str(character.get("person") or UNNAMED)] if isinstance(character, Mapping) else []
    return tuple(dict.fromkeys((*present, *spoken_names(settings.get(SETTING_FORMER_NAMES)))))

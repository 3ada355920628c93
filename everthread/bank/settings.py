"""Validates the settings of a bank, and parses those that have a structure.

`common.keys` has the names of all settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as shortly

from everthread.bank.validation import check_name
from everthread.common.keys import SETTING_MODEL_FACTS, SETTING_RECALL_FROM, SETTING_RECIPE, SETTING_REMEMBER
from everthread.errors import BadInput
from everthread.stores.json_text import storable_json
from everthread.types import JSONValue

MAX_SETTING_CHARS = 1_000_000  # characters of JSON
REMEMBER_POLICIES = {"always": True, "ask": None, "never": False}  # values of the setting `remember`; unset is "ask"


def check_setting(name: str, value: JSONValue | None) -> None:
    """Check that a setting can be stored.

    Raises:
        BadInput: its name or its value is invalid.
    """
    check_name(name, "the name of a setting")
    if name == SETTING_REMEMBER and not (value is None or (isinstance(value, str) and value in REMEMBER_POLICIES)):
        raise BadInput(f"setting {name!r} must be one of {', '.join(REMEMBER_POLICIES)}, got {shortly(value)}")
    if name == SETTING_MODEL_FACTS and not (value is None or isinstance(value, bool)):
        raise BadInput(f"setting {name!r} must be true or false, got {shortly(value)}")
    if name == SETTING_RECIPE:
        parse_recipe(value)
    if name == SETTING_RECALL_FROM and value is not None:
        _check_bank_ids(name, value)
    if len(storable_json(value, f"setting {name!r}", BadInput)) > MAX_SETTING_CHARS:
        raise BadInput(f"setting {name!r} is too large: more than {MAX_SETTING_CHARS:,} characters of JSON")


def _check_bank_ids(name: str, value: JSONValue) -> None:
    if not isinstance(value, list) or not all(isinstance(bank, str) for bank in value):
        raise BadInput(f"setting {name!r} must be a list of banks' ids, got {shortly(value)}")


def remember_policy(settings: Mapping[str, JSONValue]) -> bool | None:
    """Return whether a bank remembers its conversations; None: the user is asked at the end of each."""
    return REMEMBER_POLICIES.get(str(settings.get(SETTING_REMEMBER)))


def parse_recipe(value: JSONValue | None) -> tuple[str, Mapping[str, JSONValue]] | None:
    """Parse the setting `recipe`.

    Returns:
        The recipe's name and its saved options; None if it is unset.

    Raises:
        BadInput: the value is invalid.
    """
    if value is None:
        return None
    name = value.get("name") if isinstance(value, Mapping) else None
    options = value.get("options", {}) if isinstance(value, Mapping) else None
    if not isinstance(name, str) or not isinstance(options, Mapping):
        raise BadInput(
            f"invalid setting {SETTING_RECIPE!r}: {value!r}; expected an object with `name`, and `options` by name"
        )
    return name, options


def recall_from(settings: Mapping[str, JSONValue]) -> list[str]:
    """Return the banks that the replies of a bank also draw on."""
    banks = settings.get(SETTING_RECALL_FROM)
    return [bank for bank in banks if isinstance(bank, str)] if isinstance(banks, list) else []

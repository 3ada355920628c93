"""Limits that hold in every store, and the validation of bank ids."""

from __future__ import annotations

import re
from reprlib import repr as shortly

from everthread.errors import BadBankId, BadInput, BadQuery

MAX_BANK_ID_CHARS = 200  # characters; enough for user/character/thread ids
MAX_SEQ = 2**63 - 1  # the largest integer of both databases
UNSTORABLE_CHARACTERS = re.compile("[\x00\ud800-\udfff]")  # NUL, and half a surrogate pair


def check_bank_id(bank: str) -> str:
    """Check the id of a bank, and return it.

    Raises:
        BadBankId: it is blank, longer than 200 characters, or contains control characters or half a surrogate pair.
    """
    if not isinstance(bank, str) or not bank.strip():
        raise BadBankId(f"a bank id must be text that is not blank, got {bank!r}; try 'alice'")
    if len(bank) > MAX_BANK_ID_CHARS:
        raise BadBankId(f"bank id {bank[:40]!r}… has {len(bank)} characters; at most {MAX_BANK_ID_CHARS} are allowed")
    if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", bank):
        raise BadBankId(f"bank id {bank!r} contains control characters or half a surrogate pair; use printable text")
    return bank


def check_storable(text: str, name: str, error: type[BadInput] = BadQuery) -> str:
    """Check that a bank can store a name or a value, and return it.

    Args:
        text: the text.
        name: its name in messages.
        error: the class of the error to raise.

    Raises:
        BadInput: it contains NUL or half a surrogate pair.
    """
    if UNSTORABLE_CHARACTERS.search(text):
        raise error(
            f"{name} contains NUL or half a surrogate pair, which can't be stored: {shortly(text)}; "
            "use whole characters"
        )
    return text

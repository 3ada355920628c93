"""What a bank may be called, and what no bank can hold, in every store."""

from __future__ import annotations

import re

from everthread.errors import BadBankId

LONGEST_ID = 200  # characters; enough for user/character/thread ids
LARGEST_SEQ = 2**63 - 1  # what a database can count to
UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")  # NUL, and half a surrogate pair


def checked(bank: str) -> str:
    """The id of a bank. BadBankId if it is empty, too long, or holds what no one can type."""
    if not isinstance(bank, str) or not bank.strip():
        raise BadBankId(f"a bank id must be text that is not blank, got {bank!r}; try 'alice'")
    if len(bank) > LONGEST_ID:
        raise BadBankId(f"bank id {bank[:40]!r}… has {len(bank)} characters; at most {LONGEST_ID} are allowed")
    if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", bank):
        raise BadBankId(f"bank id {bank!r} holds control characters or half a surrogate pair; use printable text")
    return bank

"""The ids of users, agents, runs and apps, which name banks, and of memories, which name lines.

The bank of a memory is named after the first of these that it has. The id of a memory has the form of a UUID: it holds
a digest of the bank's id, a digest of the line's time, and the number of the line, so that nothing is stored for it,
and a bank that is deleted and filled again doesn't take up old ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from uuid import UUID

from everthread.common.timestamps import to_micros
from everthread.errors import BadInput
from everthread.types import Line

PREFIX = "mem0/"
APP = "app_id"  # of mem0's hosted API; its library has no such argument, but programs have it in the metadata
KIND_BY_ID = {"user_id": "user", "agent_id": "agent", "run_id": "run", APP: "app"}  # the first given names the bank
ID_NAMES = tuple(KIND_BY_ID)

_BANK_BITS, _TIME_BITS, _SEQ_BITS = 60, 22, 40  # a UUID has 122 bits of its own
_VERSION = 5  # computed from names; clients accept versions 1 to 5


def check_ids(ids: Mapping[str, object]) -> dict[str, str]:
    """Return the ids that are given, as texts without spaces around them.

    Raises:
        BadInput: one is blank or contains a space.
    """
    checked = {name: str(value).strip() for name, value in ids.items() if value is not None}
    for name, value in checked.items():
        if not value or (name != APP and any(character.isspace() for character in value)):
            raise BadInput(f"invalid {name}: got {ids[name]!r}, expected text without spaces, such as 'nora'")
    return checked


def require_ids(ids: Mapping[str, object]) -> dict[str, str]:
    """Return the ids that are given, as `check_ids`.

    Raises:
        BadInput: one is missing or invalid.
    """
    checked = check_ids(ids)
    if not checked:
        raise BadInput("expected a user_id, an agent_id or a run_id, got none; for example user_id='nora'")
    return checked


def name_bank(ids: Mapping[str, str]) -> str:
    """Return the id of the bank of new memories with these ids."""
    name = next(name for name in ID_NAMES if name in ids)
    return f"{PREFIX}{KIND_BY_ID[name]}/{ids[name]}"


def owner_of(bank: str) -> dict[str, str]:
    """Return the id that a bank is named after, by its name, such as {"user_id": "nora"}."""
    kind, _, owner = bank.removeprefix(PREFIX).partition("/")
    return {name: owner for name in ID_NAMES if KIND_BY_ID[name] == kind}


def may_hold(bank: str, ids: Mapping[str, str]) -> bool:
    """Return whether a bank may hold memories with all of these ids."""
    for name, owner in owner_of(bank).items():
        earlier = ID_NAMES[: ID_NAMES.index(name)]  # a memory with one of these is in another bank
        return ids.get(name, owner) == owner and not any(other in ids for other in earlier)
    return False


def identify(bank: str, line: Line) -> str:
    """Return the id of the memory in a line; a correction has that of the line that it corrects."""
    number = _digest(bank, _BANK_BITS) << _TIME_BITS | _digest_time(line)
    return str(_to_uuid(number << _SEQ_BITS | line.position))


def find_line(memory_id: str, banks: Iterable[str]) -> tuple[str, int] | None:
    """Return the bank among these and the number of the line to which the id of a memory leads, or None.

    The line is the memory's if `identify` returns the same id for it.
    """
    try:
        number = _from_uuid(UUID(str(memory_id)))
    except ValueError:
        return None
    digest, seq = number >> (_TIME_BITS + _SEQ_BITS), number & ((1 << _SEQ_BITS) - 1)
    bank = next((bank for bank in banks if _digest(bank, _BANK_BITS) == digest), None)
    return None if bank is None or not seq else (bank, seq)


def _digest_time(line: Line) -> int:
    return _digest(str(to_micros(line.said_at)), _TIME_BITS)


def _digest(text: str, bits: int) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> (64 - bits)


def _to_uuid(number: int) -> UUID:
    """Spread 122 bits over a UUID, around its version and its variant."""
    head, middle, tail = number >> 74, number >> 62 & 0xFFF, number & ((1 << 62) - 1)
    return UUID(int=head << 80 | middle << 64 | tail, version=_VERSION)


def _from_uuid(uuid: UUID) -> int:
    number = uuid.int
    head, middle, tail = number >> 80, number >> 64 & 0xFFF, number & ((1 << 62) - 1)
    return head << 74 | middle << 62 | tail

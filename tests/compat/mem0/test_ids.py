from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from everthread.compat.mem0.ids import find_line, identify, may_hold, name_bank, owner_of
from everthread.types import Line

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def line(seq: int, said_at: datetime = NOON) -> Line:
    return Line(seq, "s", "user", "user", "hello", said_at)


@pytest.mark.parametrize("owner", ["nora", "a/b", "日本", "x" * 190])
@pytest.mark.parametrize("seq", [1, 2**22 - 1, 2**31 + 12_345, 2**40 - 1])
def test_an_id_is_a_uuid_that_leads_to_its_line(owner: str, seq: int) -> None:
    bank = f"mem0/user/{owner}"
    number = identify(bank, line(seq))
    assert (UUID(number).version, UUID(number).variant) == (5, UUID(int=0, version=4).variant)
    assert find_line(number, ["mem0/agent/x", bank]) == (bank, seq)
    assert find_line(number.upper(), [bank]) == (bank, seq)
    assert find_line(number, ["mem0/agent/x"]) is None


def test_a_line_of_another_time_has_another_id() -> None:
    assert identify("mem0/user/nora", line(1)) != identify("mem0/user/nora", line(1, NOON + timedelta(seconds=1)))


def test_the_user_names_the_bank_before_the_agent_and_the_run() -> None:
    assert name_bank({"run_id": "r", "agent_id": "bob", "user_id": "nora/x"}) == "mem0/user/nora/x"
    assert name_bank({"run_id": "r", "agent_id": "bob"}) == "mem0/agent/bob"
    assert name_bank({"run_id": "r"}) == "mem0/run/r"
    assert owner_of("mem0/user/nora/x") == {"user_id": "nora/x"}
    assert owner_of("mem0/diary") == {}


def test_a_bank_without_an_owner_holds_no_memories() -> None:
    assert not may_hold("mem0/diary", {})

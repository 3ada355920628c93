"""Limits of failed attempts to sign in."""

from pathlib import Path

import pytest

from everthread.server.people.sign_in_limits import FREE_FAILURES, MAX_WAIT_S, MEMORY_S, SignInLimits
from server.people.test_login_sessions import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limits(tmp_path: Path, clock: Clock) -> SignInLimits:
    return SignInLimits(tmp_path / "server.sqlite", clock)


def fail(limits: SignInLimits, times: int, name: str = "nora", address: str = "192.0.2.1") -> list[int]:
    return [limits.begin(name, address) for _ in range(times)]


def test_the_wait_grows_with_each_failure_and_ends_with_a_success(limits: SignInLimits, clock: Clock) -> None:
    assert fail(limits, FREE_FAILURES["pair"]) == [0] * FREE_FAILURES["pair"]
    waits = []
    for _ in range(12):
        waits.append(limits.begin("nora", "192.0.2.1"))
        clock.now += waits[-1]
        assert limits.begin("nora", "192.0.2.1") == 0
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, MAX_WAIT_S, MAX_WAIT_S]
    assert limits.begin("nora", "198.51.100.9") == 0, "other addresses need not wait"
    clock.now += MAX_WAIT_S
    assert limits.begin("nora", "192.0.2.1") == 0
    limits.succeed("nora", "192.0.2.1")
    assert [limits.begin("nora", "192.0.2.1"), limits.begin("nora", "192.0.2.1")] == [0, 0]


def test_many_names_from_one_address_are_limited_and_a_success_does_not_help(limits: SignInLimits) -> None:
    for number in range(FREE_FAILURES["address"]):
        assert limits.begin(f"name {number}", "192.0.2.1") == 0
        if not limits.begin("own", "192.0.2.1"):
            limits.succeed("own", "192.0.2.1")
    assert limits.begin("another", "192.0.2.1") > 0
    assert limits.begin("another", "192.0.2.2") == 0


def test_many_addresses_are_limited_by_the_name(limits: SignInLimits) -> None:
    assert {limits.begin("nora", f"192.0.2.{number}") for number in range(FREE_FAILURES["name"])} == {0}
    assert limits.begin("nora", "198.51.100.1") == 1
    assert limits.begin("mia", "198.51.100.1") == 0


def test_failures_are_forgotten_after_a_day_and_a_clock_that_is_set_back_extends_no_wait(
    limits: SignInLimits, clock: Clock
) -> None:
    fail(limits, 6)
    clock.now -= 10 * MEMORY_S
    assert limits.begin("nora", "192.0.2.1") == MAX_WAIT_S
    clock.now += 12 * MEMORY_S
    assert fail(limits, 5) == [0] * 5


def test_neither_names_nor_addresses_are_stored(limits: SignInLimits, tmp_path: Path) -> None:
    limits.begin("my password by mistake", "192.0.2.1")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"mistake" not in content
    assert b"192.0.2.1" not in content

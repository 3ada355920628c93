"""Sessions of people who have signed in."""

from pathlib import Path

import pytest

from everthread.server.people.accounts import AccountStore
from everthread.server.people.login_sessions import LIFETIME_S, LoginSessions


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "server.sqlite"


def test_a_session_is_found_by_its_token_until_it_ends(file: Path) -> None:
    accounts, clock = AccountStore(file), Clock()
    sessions, other_process = LoginSessions(file, clock), LoginSessions(file, clock)
    assert sessions.find_account("anything") is None
    assert not file.exists()
    nora, mia = accounts.create("nora", None), accounts.create("mia", None)
    tokens = [sessions.begin(nora), sessions.begin(nora), sessions.begin(nora), sessions.begin(mia)]
    assert [other_process.find_account(token) for token in tokens] == [nora, nora, nora, mia]
    for wrong in ("", tokens[0][:-1], tokens[0] + "A", tokens[0].swapcase()):
        assert sessions.find_account(wrong) is None
    sessions.end(tokens[0])
    assert [other_process.find_account(token) for token in tokens] == [None, nora, nora, mia]
    sessions.end_all(nora)
    assert [other_process.find_account(token) for token in tokens] == [None, None, None, mia]
    clock.now += LIFETIME_S + 1
    assert sessions.find_account(tokens[3]) is None


def test_a_session_of_a_locked_or_removed_account_is_invalid_and_no_token_is_stored(file: Path) -> None:
    accounts, sessions = AccountStore(file), LoginSessions(file)
    nora = accounts.create("nora", None)
    token = sessions.begin(nora)
    accounts.set_locked(nora, True)
    assert sessions.find_account(token) is None
    accounts.set_locked(nora, False)
    assert sessions.find_account(token) == nora
    accounts.remove(nora)
    accounts.create("nora", None)
    assert sessions.find_account(token) is None
    assert not any(token.encode() in path.read_bytes() for path in file.parent.iterdir())

"""Signing in, and what is logged of it."""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from argon2 import profiles

from everthread.errors import BadInput
from everthread.server.people.directory import PeopleDirectory
from everthread.server.people.passwords import Passwords
from everthread.server.problems import Problem
from server.people.cheap import PASSWORDS

PASSWORD, ADDRESS = "violet harbour", "192.0.2.1"


@pytest.fixture
def people(tmp_path: Path) -> Iterator[PeopleDirectory]:
    people = PeopleDirectory(tmp_path / "server.sqlite")
    people.passwords = PASSWORDS
    yield people
    people.close()


def refusal(people: PeopleDirectory, name: str, password: str) -> tuple[int, str, str]:
    with pytest.raises(Problem) as problem:
        people.sign_in(name, password, ADDRESS)
    return problem.value.status, problem.value.name, str(problem.value.detail)


def test_a_person_signs_in_with_name_and_password_and_every_refusal_is_the_same(
    people: PeopleDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "everthread.accounts")
    nora = people.create("nora", PASSWORD)
    people.create("mia", None)
    account, token = people.sign_in("Nora", PASSWORD, ADDRESS)
    assert (account, people.sessions.find_account(token)) == (nora, people.accounts.get("nora"))
    refusals = {refusal(people, *attempt) for attempt in (("nora", "wrong"), ("mia", "wrong"), (PASSWORD, "wrong"))}
    assert refusals == {(401, "wrong-password", "the name or the password is wrong")}
    events = [(record.message, record.fields["account"]) for record in caplog.records]  # type: ignore[attr-defined]
    assert events == [
        ("account created", "nora"),
        ("account created", "mia"),
        ("signed in", "nora"),
        ("sign-in failed", "nora"),
        ("sign-in failed", "mia"),
        ("sign-in failed", None),
    ]
    assert PASSWORD not in json.dumps([vars(record) for record in caplog.records], default=str)


def test_a_right_password_is_refused_while_one_has_to_wait(people: PeopleDirectory) -> None:
    people.create("nora", PASSWORD)
    for _ in range(5):
        people.limits.begin("nora", ADDRESS)
    people.limits.begin("nora", ADDRESS)
    assert refusal(people, "nora", PASSWORD)[:2] == (429, "too-many-attempts")
    assert people.sign_in("nora", PASSWORD, "198.51.100.1")


def test_a_locked_account_is_named_only_to_who_knows_its_password(people: PeopleDirectory) -> None:
    nora = people.create("nora", PASSWORD)
    token = people.begin_session(nora, ADDRESS)
    people.set_locked(nora, True)
    assert refusal(people, "nora", "wrong")[1] == "wrong-password"
    assert refusal(people, "nora", PASSWORD)[:2] == (403, "account-locked")
    people.set_locked(nora, False)
    assert people.sessions.find_account(token) is None
    assert people.sign_in("nora", PASSWORD, ADDRESS)


def test_a_changed_password_ends_all_sessions_but_a_new_one(people: PeopleDirectory) -> None:
    nora = people.create("nora", PASSWORD)
    token = people.begin_session(nora, ADDRESS)
    for current, new, error in (("wrong", "another one of mine", Problem), (PASSWORD, "short", BadInput)):
        with pytest.raises(error):
            people.change_password(nora, current, new, ADDRESS)
        assert people.sessions.find_account(token) is not None
    new_token = people.change_password(nora, PASSWORD, "another one of mine", ADDRESS)
    assert people.sessions.find_account(token) is None
    assert people.sessions.find_account(new_token) is not None
    assert refusal(people, "nora", PASSWORD)[0] == 401


def test_signing_out_ends_one_session_or_all(people: PeopleDirectory) -> None:
    nora = people.create("nora", PASSWORD)
    tokens = [people.begin_session(nora, ADDRESS) for _ in range(3)]
    people.sign_out(nora, tokens[0], everywhere=False)
    assert [people.sessions.find_account(token) is None for token in tokens] == [True, False, False]
    people.sign_out(nora, tokens[1], everywhere=True)
    assert [people.sessions.find_account(token) for token in tokens] == [None] * 3


def test_a_hash_with_other_parameters_is_replaced_when_its_owner_signs_in(people: PeopleDirectory) -> None:
    nora = people.create("nora", PASSWORD)
    stronger = people.passwords = Passwords(replace(profiles.CHEAPEST, time_cost=2))
    people.sign_in("nora", PASSWORD, ADDRESS)
    digest = people.accounts.get_password_hash(nora)
    assert digest is not None
    assert not stronger.needs_rehash(digest)
    assert stronger.verify(PASSWORD, digest)


class Interrupted(Passwords):
    """Passwords during whose verification something else happens."""

    def __init__(self, event: Callable[[], None]) -> None:
        super().__init__(profiles.CHEAPEST)
        self.event = event

    def verify(self, password: str, password_hash: str | None) -> bool:
        is_right = super().verify(password, password_hash)
        self.event()
        return is_right


def test_a_password_that_is_changed_while_it_is_checked_begins_no_session(
    people: PeopleDirectory, tmp_path: Path
) -> None:
    nora = people.create("nora", PASSWORD)
    for change in (partial(people.set_locked, nora, True), partial(people.set_password, nora, "another harbour")):
        people.passwords = Interrupted(change)
        assert refusal(people, "nora", PASSWORD)[:2] == (401, "wrong-password")
        people.set_locked(nora, False)
    with closing(sqlite3.connect(tmp_path / "server.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM login_session").fetchone() == (0,)

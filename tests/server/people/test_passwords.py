"""Passwords: their rules and their hashes."""

import pytest
from argon2 import extract_parameters

from everthread.errors import BadInput
from everthread.server.people.passwords import LOW_MEMORY, Passwords
from server.people.cheap import PASSWORDS


@pytest.mark.slow
def test_a_password_is_known_by_its_hash_however_its_characters_are_composed() -> None:
    passwords = Passwords()
    digest = passwords.hash("cafe\u0301 au lait")
    assert digest.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert "lait" not in digest
    assert passwords.verify("café au lait", digest)
    assert not passwords.verify("cafe au lait", digest)
    assert not passwords.needs_rehash(digest)


def test_without_a_hash_no_password_is_right_and_the_check_costs_the_same() -> None:
    assert not PASSWORDS.verify("café au lait", None)
    assert not PASSWORDS.verify("a\ud800", None)
    assert not PASSWORDS.verify("x", "not a hash")
    for passwords in (PASSWORDS, Passwords()):
        assert not passwords.needs_rehash(passwords._dummy_hash), "it has the parameters of the others"
    assert extract_parameters(Passwords()._dummy_hash) == LOW_MEMORY


@pytest.mark.parametrize("password", ["", "ninechars", "x" * 1001])
def test_a_password_that_is_too_short_or_too_long_is_refused_without_being_quoted(password: str) -> None:
    with pytest.raises(BadInput, match=f"got {len(password)} characters, expected 10 to 1000") as error:
        PASSWORDS.hash(password)
    assert "ninechars" not in str(error.value)

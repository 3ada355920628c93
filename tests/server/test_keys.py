"""Keys: their permissions and how they are stored."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput, NotFound, StoreUnavailable
from everthread.server.keys import VERBS, ApiKey, KeyStore
from everthread.types import now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "server.sqlite"


def test_a_key_is_found_by_its_secret_and_by_nothing_else(file: Path) -> None:
    keys = KeyStore(file)
    secret = keys.create("phone", ["alice/*", "bob"], ["read", "chat"])
    key = keys.find(secret)
    assert key is not None
    assert (key.name, key.banks, key.verbs) == ("phone", ("alice/*", "bob"), ("read", "chat"))
    for wrong in ("", "et_", secret[:-1], secret + "A", secret.upper(), "phone"):
        assert keys.find(wrong) is None


def test_no_part_of_a_secret_is_stored_and_only_the_owner_can_read_the_file(file: Path) -> None:
    keys = KeyStore(file)
    secrets = [keys.create(f"key {number}") for number in range(5)]
    assert len(set(secrets)) == 5
    for path in file.parent.iterdir():
        assert not path.stat().st_mode & 0o077, path.name
        assert not any(secret.encode() in path.read_bytes() for secret in secrets)


def test_reading_creates_no_file(file: Path) -> None:
    assert KeyStore(file).list_keys() == []
    assert KeyStore(file).find("et_anything") is None
    assert not file.exists()


def test_a_key_created_or_revoked_by_one_process_is_seen_by_another_at_once(file: Path) -> None:
    server, command = KeyStore(file), KeyStore(file)
    assert server.find("et_x") is None
    secret = command.create("phone")
    assert server.find(secret) is not None
    command.revoke("phone")
    assert server.find(secret) is None
    assert server.list_keys() == []
    assert command.create("phone") != secret, "the name is free again"


def test_the_day_of_a_keys_last_use_is_recorded(file: Path) -> None:
    keys = KeyStore(file)
    secret = keys.create("phone")
    assert [key.used_on for key in keys.list_keys()] == [None]
    keys.find(secret)
    (key,) = keys.list_keys()
    assert key.used_on == now().date()
    assert key.made_on <= key.used_on


@pytest.mark.parametrize(
    ("name", "banks", "verbs", "message"),
    [
        ("", ["*"], ["read"], "''"),
        ("a\nb", ["*"], ["read"], "printable"),
        ("a" * 101, ["*"], ["read"], "100"),
        ("phone", ["al*"], ["read"], "'al\\*'"),
        ("phone", ["*/alice"], ["read"], "\\*/alice"),
        ("phone", ["/*"], ["read"], "blank"),
        ("phone", [" "], ["read"], "blank"),
        ("phone", ["*"], ["fly"], "'fly'"),
        ("phone", ["*"], [], "nothing"),
        ("phone", [], ["read"], "nothing"),
    ],
)
def test_an_invalid_key_definition_is_rejected(
    file: Path, name: str, banks: list[str], verbs: list[str], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        KeyStore(file).create(name, banks, verbs)
    assert KeyStore(file).list_keys() == []


def test_a_key_name_is_unique_and_an_unknown_one_is_not_found(file: Path) -> None:
    keys = KeyStore(file)
    keys.create("phone")
    with pytest.raises(BadInput, match="'phone'"):
        keys.create("phone")
    with pytest.raises(NotFound, match="'tablet'"):
        keys.revoke("tablet")


def test_an_error_names_a_file_that_is_not_a_server_database(file: Path) -> None:
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreUnavailable, match=r"server\.sqlite"):
        KeyStore(file).list_keys()


NAMES = st.text("abc/*", min_size=1, max_size=6)


@given(NAMES, NAMES)
def test_a_scope_covers_only_its_bank_or_the_banks_below_it(scope: str, bank: str) -> None:
    key = ApiKey("k", (scope, "x/*"), ("read",), date.today())
    below = scope.endswith("/*") and bank[: len(scope) - 1] == scope[:-1]
    assert key.allows("read", bank) == (scope in (bank, "*") or below)
    assert key.allows("read", f"x/{bank}")
    assert key.allows("read", "x") == (scope == "*")
    assert not any(key.allows(verb, bank) for verb in VERBS if verb != "read")
    assert key.allows_everywhere("read") == (scope == "*")

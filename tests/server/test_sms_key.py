"""The key by which telephone numbers are hashed, in a file."""

from pathlib import Path

import pytest

from everthread.errors import ConfigError
from everthread.server.sms_key import load_key


def test_the_key_is_readable_only_by_its_owner_and_stays_the_same(tmp_path: Path) -> None:
    one, two = tmp_path / "one" / "server.sqlite", tmp_path / "two" / "server.sqlite"
    key = load_key(one)
    assert load_key(one) == key != load_key(two)
    assert one.with_name("sms.key").stat().st_mode & 0o777 == 0o600


def test_a_damaged_key_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "sms.key").write_bytes(b"short")
    with pytest.raises(ConfigError, match="restore the original file"):
        load_key(tmp_path / "server.sqlite")

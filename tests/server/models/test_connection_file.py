"""The place of a connected model's key: the keyring of the system, or the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null

from everthread.server.models.connection_file import ConnectionFile, StoredModel

MODEL = StoredModel("http://127.0.0.1:1/v1", "m", "sk-very-secret")


def use(backend: type[KeyringBackend]) -> None:
    keyring.set_keyring(backend())


class Unlocked(KeyringBackend):
    """A keyring in memory."""

    priority = 1.0
    entries: ClassVar[dict[tuple[str, str], str]] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


@pytest.fixture(autouse=True)
def _no_keyring_at_the_end() -> Iterator[None]:
    yield
    use(fail.Keyring)
    Unlocked.entries.clear()


def test_the_key_is_in_the_systems_keyring_while_its_model_is_connected(tmp_path: Path) -> None:
    use(Unlocked)
    path = tmp_path / "model.json"
    ConnectionFile(path).write(MODEL)
    assert MODEL.key not in path.read_text()
    stored = ConnectionFile(path).read()
    assert stored is not None
    assert (stored.url, stored.model, stored.key) == (MODEL.url, MODEL.model, MODEL.key)
    ConnectionFile(path).write(StoredModel("http://127.0.0.1:2/v1", "n", "sk-other"))
    assert list(Unlocked.entries.values()) == ["sk-other"]
    use(fail.Keyring)
    with pytest.raises(ValueError, match="unlock it, or connect the model again"):
        ConnectionFile(path).read()
    use(Unlocked)
    ConnectionFile(path).write(StoredModel())
    assert not Unlocked.entries


@pytest.mark.parametrize("backend", [fail.Keyring, null.Keyring])
def test_without_a_keyring_the_key_is_in_the_file(tmp_path: Path, backend: type[KeyringBackend]) -> None:
    use(backend)
    ConnectionFile(tmp_path / "model.json").write(MODEL)
    assert ConnectionFile(tmp_path / "model.json").read() == MODEL

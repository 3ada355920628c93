"""The file model.json with the model that was connected while the server ran: its server, its name, and the key."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

from everthread.errors import StoreUnavailable
from everthread.server import server_db
from everthread.server.models import system_keyring
from everthread.stores.base import Store

FILE_NAME = "model.json"

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model that was connected; without a URL, the decision to have none."""

    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    in_keyring: bool = False  # whether the key is in the system's keyring


class ConnectionFile:
    """Stores the connected model so that only the file's owner can read it. Changes of other processes are seen.

    The key is stored in the system's keyring instead, if there is one, under the address that it is for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def beside(cls, store: Store) -> Self:
        """Return the file that belongs to a store."""
        return cls(server_db.get_path(store).with_name(FILE_NAME))

    def get_version(self) -> Version | None:
        """Return a value that differs after each change, or None while there is no file."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def read(self) -> StoredModel | None:
        """Return the stored model with its key, or None if there is no file.

        Raises:
            ValueError: the file is damaged, or the keyring locked. The message contains nothing of either.
        """
        stored = self._read_file()
        if stored is None or not stored.in_keyring:
            return stored
        return replace(stored, key=system_keyring.load_key(self._name_keyring_entry(stored)))

    def find_key(self, url: str) -> str:
        """Return the stored key if it is for the server at this address, else "": no other server may receive it."""
        try:
            stored = self.read()
        except ValueError:
            return ""
        return stored.key if stored is not None and stored.url == url else ""

    def _read_file(self) -> StoredModel | None:
        try:
            return StoredModel(**json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise ValueError(f"{self._path} can't be read; connect the model again, or delete the file") from None

    def _name_keyring_entry(self, stored: StoredModel) -> str:
        """Return the name of the key in the keyring."""
        return f"{stored.url} in {self._path}"

    def write(self, stored: StoredModel) -> None:
        """Replace the stored model at once, and delete its predecessor's key.

        Raises:
            StoreUnavailable: the file can't be written; the previous one stays.
        """
        previous = None
        with suppress(ValueError):  # a damaged file is replaced, too
            previous = self._read_file()
        if stored.key and system_keyring.save_key(self._name_keyring_entry(stored), stored.key):
            stored = replace(stored, key="", in_keyring=True)
        self._write_file(stored)
        if previous is not None and previous.in_keyring and (previous.url != stored.url or not stored.in_keyring):
            system_keyring.delete_key(self._name_keyring_entry(previous))

    def _write_file(self, stored: StoredModel) -> None:
        draft = self._path.with_name(f"{FILE_NAME}.{secrets.token_hex(8)}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                json.dump(asdict(stored), file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
        except OSError as error:
            with suppress(OSError):  # the error to report is the first one
                draft.unlink()
            remedy = "check that its folder is writable and has free space, and try again"
            raise StoreUnavailable(f"cannot write {self._path}: {error.strerror}; {remedy}") from error

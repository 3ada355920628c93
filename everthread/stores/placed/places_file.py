"""The file that lists the places of banks, such as places.toml:

    [places]
    north = "postgresql://me@north/memories"
    south = "postgresql://me@south/memories"
    disk = "/srv/banks"

    [banks]
    nora = "disk"

A new bank is created in its home: the place that `[banks]` names, or else the place that the hash of its id chooses.
References in the places have the names, which must therefore stay what they are.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from everthread.errors import BadInput, ConfigError, NotFound
from everthread.stores.limits import check_bank_id
from everthread.stores.postgres import dsn

SUFFIX = ".toml"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_EXAMPLE = 'write [places], and for each a line such as: north = "postgresql://user@host/database"'


@dataclass(frozen=True)
class PlacesFile:
    """The places and the table of banks.

    Attributes:
        path: of the file.
        places: a folder or a URL, by the name of the place.
        banks: the names of the homes of banks that are not chosen by the hash, by bank.
    """

    path: Path
    places: Mapping[str, str]
    banks: Mapping[str, str]

    def order(self, bank: str) -> list[str]:
        """Return the names of all places: the home of a bank, then those that would be if the others were missing.

        By rendezvous hashing (Thaler and Ravishankar 1998): another place becomes the home of its share of banks, and
        no bank changes from one of the others to another of them.
        """
        hashed = sorted(self.places, key=lambda name: sha256(f"{name}\0{bank}".encode()).digest(), reverse=True)
        return sorted(hashed, key=lambda name: name != self.banks.get(bank))

    def check_name(self, name: str) -> str:
        """Return the name of a place. Raises BadInput for an unknown one."""
        if name not in self.places:
            raise BadInput(f"unknown place {name!r}; {self.path} has {', '.join(self.places)}")
        return name


def read_places_file(path: Path) -> PlacesFile:
    """Read and check the file.

    Raises:
        NotFound: there is no such file.
        ConfigError: it is invalid.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"there is no file {path} of places; {_EXAMPLE}") from None
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}; make it a readable file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} can't be read as TOML: {error}; {_EXAMPLE}") from error
    if unknown := content.keys() - {"places", "banks"}:
        raise ConfigError(f"{path}: unknown table {min(unknown)!r}; expected [places] and [banks]")
    places = {name: _check_place(path, name, place) for name, place in _read_table(path, content, "places").items()}
    if not places:
        raise ConfigError(f"{path} has no places; {_EXAMPLE}")
    _check_distinct(path, places)
    return PlacesFile(path, places, _check_banks(path, places, _read_table(path, content, "banks")))


def _read_table(path: Path, content: dict[str, Any], name: str) -> dict[str, str]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {name} is not a table; write [{name}]")
    for key, value in table.items():
        if not isinstance(value, str) or not value:
            raise ConfigError(f"{path}: {key!r} in [{name}] is {value!r}, expected text in quotes")
    return table


def _check_place(path: Path, name: str, place: str) -> str:
    """Return a folder or a URL; a relative folder is one beside the file."""
    if not _NAME.fullmatch(name):
        what = "expected at most 32 characters of a-z, 0-9, _ and -, of which the first is no _ or -"
        raise ConfigError(f"{path}: invalid name of a place {name!r}; {what}")
    if place.startswith(dsn.SCHEMES):
        return dsn.check_url(place)
    if "://" in place or place.endswith(SUFFIX):
        shown = dsn.redact_password(place)
        raise ConfigError(f"{path}: place {name!r} is {shown!r}; expected a folder, or {dsn.EXAMPLE}")
    return str(path.parent.absolute() / Path(place).expanduser())


def _check_distinct(path: Path, places: Mapping[str, str]) -> None:
    names: dict[str, str] = {}
    for name, place in places.items():
        is_url = place.startswith(dsn.SCHEMES)
        key = place.partition("://")[2].rpartition("@")[2] if is_url else os.path.realpath(place)
        if key in names:
            shown = dsn.redact_password(place)
            raise ConfigError(f"{path}: {names[key]!r} and {name!r} are one place, {shown}; remove one of them")
        names[key] = name


def _check_banks(path: Path, places: Mapping[str, str], banks: Mapping[str, str]) -> Mapping[str, str]:
    for bank, name in banks.items():
        try:
            check_bank_id(bank)
        except BadInput as error:
            raise ConfigError(f"{path}: {error}") from None
        if name not in places:
            raise ConfigError(f"{path}: bank {bank!r} is in the unknown place {name!r}; expected {', '.join(places)}")
    return banks

"""Files that list places of banks, for tests."""

from __future__ import annotations

from pathlib import Path

from everthread import factory
from everthread.stores.placed.store import PlacedStore


def write_places(folder: Path, **places: str) -> Path:
    """Write a file of places: folders beside it, which are made, or URLs, by name."""
    for place in places.values():
        if "://" not in place:
            (folder / place).mkdir(parents=True, exist_ok=True)
    rows = [f'{name} = "{place}"' for name, place in places.items()]
    path = folder / "places.toml"
    path.write_text("\n".join(["[places]", *rows, ""]))
    return path


def open_places(path: Path) -> PlacedStore:
    """Open the store of a file of places."""
    store = factory.open_store(path)
    assert isinstance(store, PlacedStore)
    return store

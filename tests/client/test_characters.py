"""The characters of a real server, from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hardship.loopback import serve_app

from everthread import BadFile, BadInput, BadQuery, Character, Client, ConfigError, NotFound
from everthread.chat import card, character_library, png_text
from everthread.chat.character import DEFAULT_CHARACTER
from everthread.client.characters import RemoteCharacters
from everthread.recipes.default import Default
from everthread.server import server_db
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

NORA = Character(
    "Nora/Müller 你",
    "A sailor who knows {{user}}.",
    location="At sea.",
    greeting="Ahoy, {{user}}!",
    person="Ann",
    card={"data": {"tags": ["sea"], "extensions": {"mood": {"joy": 0.5}}}},
)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SQLiteStore]:
    """Open a store whose server has a separate folder of characters."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    with closing(SQLiteStore(tmp_path / "banks")) as held:
        yield held


@pytest.fixture
def url(store: SQLiteStore) -> Iterator[str]:
    with serve_app(create_app(Services(store, HashEmbedder(64), None, Default()))) as url:
        yield url


@pytest.fixture
def there(url: str) -> Iterator[RemoteCharacters]:
    with Client(url) as client:
        yield client.characters


def test_a_character_is_saved_loaded_and_removed(there: RemoteCharacters) -> None:
    assert there.list_names() == [DEFAULT_CHARACTER.name]
    there.save(NORA)
    assert there.list_names() == [DEFAULT_CHARACTER.name, NORA.name]
    assert there.load(NORA.name) == NORA == character_library.load(NORA.name)
    there.remove(NORA.name)
    assert there.list_names() == [DEFAULT_CHARACTER.name]
    assert there.load(DEFAULT_CHARACTER.name) == DEFAULT_CHARACTER


def test_a_character_of_the_same_name_is_replaced_only_if_forced(there: RemoteCharacters) -> None:
    there.save(NORA)
    other = NORA.with_changes(description="A diver.")
    for keep in (lambda: there.save(other), lambda: there.add(json.dumps(card.to_card(other)).encode())):
        with pytest.raises(BadInput, match=r"the character .* exists already; .* replace it with force=True"):
            keep()
    assert there.load(NORA.name) == NORA
    there.save(other, force=True)
    assert there.load(NORA.name) == other
    assert there.add(json.dumps(card.to_card(NORA)).encode(), force=True) == NORA
    assert there.load(NORA.name) == NORA


@pytest.mark.parametrize("form", ["json", "png"])
def test_an_exported_card_can_be_added_again(there: RemoteCharacters, tmp_path: Path, form: Any) -> None:
    there.save(NORA)
    content = there.export(NORA.name, form)
    assert png_text.is_png(content) == (form == "png")
    (tmp_path / f"card.{form}").write_bytes(content)
    assert card.read(tmp_path / f"card.{form}") == NORA
    there.remove(NORA.name)
    assert there.add(content) == there.load(NORA.name) == NORA
    assert character_library.has_picture(NORA.name) == (form == "png")


def test_a_changed_character_keeps_its_picture(there: RemoteCharacters) -> None:
    there.save(NORA)
    there.add(there.export(NORA.name, "png"), force=True)
    there.save(NORA.with_changes(description="A diver."), force=True)
    assert character_library.has_picture(NORA.name)
    assert there.load(NORA.name).description == "A diver."


def test_names_are_listed_from_several_pages(there: RemoteCharacters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everthread.client.connection.PAGE_ITEMS", 2)
    names = [f"Nora {n}" for n in range(5)]
    for name in names:
        there.save(Character(name))
    assert there.list_names() == [DEFAULT_CHARACTER.name, *names]


def test_a_missing_character_is_not_found(there: RemoteCharacters) -> None:
    for ask in (there.load, there.export, there.remove):
        with pytest.raises(NotFound, match="there is no character 'Nemo'"):
            ask("Nemo")
    with pytest.raises(NotFound):
        there.remove(DEFAULT_CHARACTER.name)


@pytest.mark.parametrize("name", ["", ".", "..", "\ud800"])
def test_a_name_that_cannot_be_part_of_a_url_is_rejected(there: RemoteCharacters, name: str) -> None:
    for ask in (there.load, there.export, there.remove):
        with pytest.raises(BadQuery):
            ask(name)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x89PNG\r\n\x1a\nnot", b"\xff\xfe", b'{"name": ""}'])
def test_an_invalid_card_is_rejected(there: RemoteCharacters, content: bytes) -> None:
    with pytest.raises(BadFile):
        there.add(content)
    assert there.list_names() == [DEFAULT_CHARACTER.name]


def test_a_card_that_is_too_large_or_not_bytes_is_rejected(there: RemoteCharacters, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="8,000,000"):
        there.add(bytes(8_000_001))
    wrong: Any = tmp_path / "nora.png"
    with pytest.raises(BadInput, match="invalid file: got PosixPath, expected bytes"):
        there.add(wrong)


def test_a_key_for_one_bank_may_not_change_characters(store: SQLiteStore, url: str) -> None:
    with closing(KeyStore(server_db.get_path(store))) as keys:
        secret = keys.create("alice's", ["alice"], ["read", "write", "chat", "forget"])
    with Client(url, "alice", secret) as client:
        assert client.characters.load(DEFAULT_CHARACTER.name) == DEFAULT_CHARACTER  # "chat" permits reading
        with pytest.raises(ConfigError, match="this key does not permit the request"):
            client.characters.save(NORA)
        with pytest.raises(ConfigError, match="this key does not permit the request"):
            client.characters.remove(DEFAULT_CHARACTER.name)

"""The characters of a real server, through the client."""

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
    with closing(SQLiteStore(tmp_path / "banks")) as opened:
        yield opened


@pytest.fixture
def url(store: SQLiteStore) -> Iterator[str]:
    with serve_app(create_app(Services(store, HashEmbedder(64), None, Default()))) as url:
        yield url


@pytest.fixture
def characters(url: str) -> Iterator[RemoteCharacters]:
    with Client(url) as client:
        yield client.characters


def test_a_character_is_saved_loaded_and_removed(characters: RemoteCharacters) -> None:
    assert characters.list_names() == [DEFAULT_CHARACTER.name]
    characters.save(NORA)
    assert characters.list_names() == [DEFAULT_CHARACTER.name, NORA.name]
    assert characters.load(NORA.name) == NORA == character_library.load(NORA.name)
    characters.remove(NORA.name)
    assert characters.list_names() == [DEFAULT_CHARACTER.name]
    assert characters.load(DEFAULT_CHARACTER.name) == DEFAULT_CHARACTER


def test_a_character_of_the_same_name_is_replaced_only_if_forced(characters: RemoteCharacters) -> None:
    characters.save(NORA)
    other = NORA.with_changes(description="A diver.")
    for store in (lambda: characters.save(other), lambda: characters.add(json.dumps(card.to_card(other)).encode())):
        with pytest.raises(BadInput, match=r"the character .* exists already; .* replace it with force=True"):
            store()
    assert characters.load(NORA.name) == NORA
    characters.save(other, force=True)
    assert characters.load(NORA.name) == other
    assert characters.add(json.dumps(card.to_card(NORA)).encode(), force=True) == NORA
    assert characters.load(NORA.name) == NORA


@pytest.mark.parametrize("form", ["json", "png"])
def test_an_exported_card_can_be_added_again(characters: RemoteCharacters, tmp_path: Path, form: Any) -> None:
    characters.save(NORA)
    content = characters.export(NORA.name, form)
    assert png_text.is_png(content) == (form == "png")
    (tmp_path / f"card.{form}").write_bytes(content)
    assert card.read(tmp_path / f"card.{form}") == NORA
    characters.remove(NORA.name)
    assert characters.add(content) == characters.load(NORA.name) == NORA
    assert character_library.has_picture(NORA.name) == (form == "png")


def test_a_character_is_given_a_picture(characters: RemoteCharacters) -> None:
    characters.save(NORA)
    characters.set_picture(NORA.name, png_text.build_plain_picture())
    assert character_library.read_picture(NORA.name) == png_text.build_plain_picture()
    with pytest.raises(BadFile, match="this is no PNG picture"):
        characters.set_picture(NORA.name, b"GIF89a")


def test_a_changed_character_keeps_its_picture(characters: RemoteCharacters) -> None:
    characters.save(NORA)
    characters.add(characters.export(NORA.name, "png"), force=True)
    characters.save(NORA.with_changes(description="A diver."), force=True)
    assert character_library.has_picture(NORA.name)
    assert characters.load(NORA.name).description == "A diver."


def test_names_are_listed_from_several_pages(characters: RemoteCharacters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everthread.client.connection.PAGE_ITEMS", 2)
    names = [f"Nora {n}" for n in range(5)]
    for name in names:
        characters.save(Character(name))
    assert characters.list_names() == [DEFAULT_CHARACTER.name, *names]


def test_a_missing_character_is_not_found(characters: RemoteCharacters) -> None:
    for call in (characters.load, characters.export, characters.remove):
        with pytest.raises(NotFound, match="there is no character 'Nemo'"):
            call("Nemo")
    with pytest.raises(NotFound):
        characters.remove(DEFAULT_CHARACTER.name)


@pytest.mark.parametrize("name", ["", ".", "..", "\ud800"])
def test_a_name_that_cannot_be_part_of_a_url_is_rejected(characters: RemoteCharacters, name: str) -> None:
    for call in (characters.load, characters.export, characters.remove):
        with pytest.raises(BadQuery):
            call(name)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x89PNG\r\n\x1a\nnot", b"\xff\xfe", b'{"name": ""}'])
def test_an_invalid_card_is_rejected(characters: RemoteCharacters, content: bytes) -> None:
    with pytest.raises(BadFile):
        characters.add(content)
    assert characters.list_names() == [DEFAULT_CHARACTER.name]


def test_a_card_that_is_too_large_or_not_bytes_is_rejected(characters: RemoteCharacters, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="8,000,000"):
        characters.add(bytes(8_000_001))
    path: Any = tmp_path / "nora.png"
    with pytest.raises(BadInput, match="invalid file: got PosixPath, expected bytes"):
        characters.add(path)


def test_a_key_for_one_bank_may_not_change_characters(store: SQLiteStore, url: str) -> None:
    with closing(KeyStore(server_db.get_path(store))) as keys:
        secret = keys.create("alice's", ["alice"], ["read", "write", "chat", "forget"])
    with Client(url, "alice", secret) as client:
        assert client.characters.load(DEFAULT_CHARACTER.name) == DEFAULT_CHARACTER  # "chat" permits reading
        with pytest.raises(ConfigError, match="this key does not permit the request"):
            client.characters.save(NORA)
        with pytest.raises(ConfigError, match="this key does not permit the request"):
            client.characters.remove(DEFAULT_CHARACTER.name)

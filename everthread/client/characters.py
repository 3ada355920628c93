"""The characters of a server. `everthread.chat.character_library` has the same functions for this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

from everthread.chat import card, png_text
from everthread.chat.character import Character
from everthread.client.connection import JSON_TYPE, Connection, FileBody, build_path

PNG_TYPE = "image/png"


class RemoteCharacters:
    """The server's folder of characters, which all its banks share; changing it needs a key for every bank.

    Characters are addressed by name, never by file. Methods raise as those of `Client`, and NotFound for an unknown
    name.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list_names(self) -> list[str]:
        """List the names of the characters, sorted, including the default one, which has no file."""
        return [item["name"] for item in self._connection.list_items("characters")]

    def load(self, name: str) -> Character:
        """Load a character. Raises BadFile if its card is damaged."""
        return Character.from_json(self._connection.request("GET", build_path("characters", name)))

    def save(self, character: Character, *, force: bool = False) -> None:
        """Store a character under its name; its picture is not changed.

        Args:
            character: the character.
            force: replace a character of the same name.

        Raises:
            BadInput: a character of the same name exists, and `force` is not set.
        """
        if force:
            self._connection.request("PUT", build_path("characters", character.name), character.to_json())
        else:
            self.add(json.dumps(card.to_card(character)).encode())

    def add(self, content: bytes, *, force: bool = False, rename: bool = False) -> Character:
        """Store the character of a card, the bytes of a JSON or PNG file.

        With `rename`, it gets a number if there is one of its name: "Nora 2". Raises the same errors as `save`, and
        BadFile.
        """
        file = FileBody(content)  # raises BadInput before the content is read
        file = replace(file, media_type=PNG_TYPE if png_text.is_png(content) else JSON_TYPE)
        data = self._connection.request("POST", "characters", file, replace=force, rename=rename)
        return Character.from_json(data)

    def set_picture(self, name: str, content: bytes) -> None:
        """Give a character a picture, the bytes of a PNG file of at most 8 MB. Raises BadFile if it is no PNG file."""
        self._connection.request("PUT", build_path("characters", name, "picture"), FileBody(content, PNG_TYPE))

    def export(self, name: str, format: Literal["json", "png"] = "json") -> bytes:
        """Return the card of a character, as the bytes of a file for other programs.

        The card contains all fields, including the user's name and the location. Raises BadFile if the card is damaged.
        """
        return self._connection.download(build_path("characters", name, "card"), format=format)

    def remove(self, name: str) -> None:
        """Remove a character for good. Its conversations remain in their banks."""
        self._connection.request("DELETE", build_path("characters", name))

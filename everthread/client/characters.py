"""The characters on a server, as `everthread.chat.character_library` has those of this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

from everthread.chat import card, png_text
from everthread.chat.character import Character
from everthread.client.connection import JSON_TYPE, Connection, FileBody, build_path, in_python

PNG = "image/png"


class RemoteCharacters:
    """The server's folder of characters, which all its banks share: a key for it is one for every bank.

    A character is named, never a file. Raises as `Client`, and NotFound for one that is not there.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def listed(self) -> list[str]:
        """The names of those that there are to be talked with, sorted; ours among them, which is kept nowhere."""
        return [told["name"] for told in self._connection.list_items("characters")]

    def load(self, name: str) -> Character:
        """The character of this name. Raises BadFile where its card is damaged."""
        return Character.from_json(self._connection.request("GET", build_path("characters", name)))

    def save(self, character: Character, *, force: bool = False) -> None:
        """Keep a character under its name; a picture that it has stays. Raises BadInput if there is one of that name,
        unless force."""
        if force:
            self._connection.request("PUT", build_path("characters", character.name), character.to_json())
        else:
            self.add(json.dumps(card.to_card(character)).encode())

    def add(self, content: bytes, *, force: bool = False) -> Character:
        """Keep the character of a card, of which this is the file, JSON or PNG. Raises as `save`, and BadFile."""
        file = FileBody(content)
        file = replace(file, kind=PNG if png_text.recognised(content) else JSON_TYPE)
        with in_python():
            told = self._connection.request("POST", "characters", file, replace=force)
        return Character.from_json(told)

    def export(self, name: str, format: Literal["json", "png"] = "json") -> bytes:
        """The card of a character, as a file for other programs. All of the character is in it, also your name and the
        place. Raises BadFile where the card is damaged."""
        return self._connection.download(build_path("characters", name, "card"), format=format)

    def remove(self, name: str) -> None:
        """Take a character out of the folder for good. What was said with it stays in its banks."""
        self._connection.request("DELETE", build_path("characters", name))

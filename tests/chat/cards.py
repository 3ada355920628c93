"""A character, and pictures with cards."""

from __future__ import annotations

from pathlib import Path

from everthread.chat import card, png_text
from everthread.chat.character import Character

NORA = Character("Nora", "Keeps a lighthouse.", person="Ben", card={"data": {"creator": "someone"}})


def write_picture_card(path: Path, character: Character) -> Path:
    """Write a picture with the card of a character; it differs from the pictures of others."""
    path.write_bytes(
        png_text.replace_texts(png_text.build_plain_picture(), {"Title": character.name.encode()}, (), path)
    )
    card.write(character, path, force=True)
    return path

"""The characters that a caller of the server sees: those of all and, with an account, their own.

Administrators, keys for all banks, and callers without an account change those of all. A member has a folder of their
own, which no other account sees; a character in it hides the one of the same name.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from everthread.chat import card, character_library
from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.errors import BadInput, NotFound
from everthread.server.authentication import Caller
from everthread.server.people.accounts import Account

MAX_OWN_CHARACTERS = 200  # of a member; a card has up to 8 MB


class Gallery:
    """The characters of a caller."""

    def __init__(self, caller: Caller | None) -> None:
        """Open the gallery of a caller; None: one that needs no key."""
        is_member = isinstance(caller, Account) and not caller.is_administrator
        self._own = own_folder(caller) if is_member and isinstance(caller, Account) else None

    @property
    def folder(self) -> Path | None:
        """The folder that the caller changes; None: that of all."""
        return self._own

    def names(self) -> set[str]:
        """Return the names of the characters in the folders, without the default one."""
        shared = set(character_library.list_names())
        return shared | set(character_library.list_names(self._own)) if self._own else shared

    def is_own(self, name: str) -> bool:
        """Return whether a character is in the folder that the caller changes."""
        return name in character_library.list_names(self._own)

    def find_folder(self, name: str) -> Path | None:
        """Return the folder of a character; None: that of all.

        Raises:
            NotFound: there is no such character. A name is never read as a path.
        """
        if self._own is not None and name in character_library.list_names(self._own):
            return self._own
        if name not in character_library.list_names():
            raise NotFound(f"there is no character {name!r}; GET /api/v1/characters lists all")
        return None

    def load(self, name: str) -> Character:
        """Load a character, or the default one. Raises NotFound and BadFile."""
        if name == DEFAULT_CHARACTER.name and name not in self.names():
            return DEFAULT_CHARACTER
        return character_library.load(name, folder=self.find_folder(name))

    def has_picture(self, name: str) -> bool:
        """Return whether a character has a picture."""
        with suppress(NotFound):
            return character_library.has_picture(name, self.find_folder(name))
        return False

    def save(self, character: Character, picture: Path | None = None) -> None:
        """Create or change a character. A member's copy of one of all gets its picture. Raises BadInput, BadFile."""
        self.check_room([character.name])
        if picture is None and self._own is not None and not self.is_own(character.name):
            shared = character_library.find_file(character.name)
            picture = shared if shared is not None and shared.suffix == card.PNG else None
        character_library.save(character, picture=picture, force=True, folder=self._own)

    def check_room(self, added: Iterable[str] = ("",)) -> None:
        """Raise BadInput if a member has too many characters for these to be added."""
        if self._own is not None and len({*character_library.list_names(self._own), *added}) > MAX_OWN_CHARACTERS:
            raise BadInput(
                f"you have {MAX_OWN_CHARACTERS} characters of your own, the most allowed; remove one first",
                reason="many-characters",
                values={"limit": MAX_OWN_CHARACTERS},
            )


def own_folder(account: Account) -> Path:
    """Return the folder of an account's own characters."""
    return character_library.library_folder().with_name("people") / account.id


def remove_own_characters(account: Account) -> None:
    """Delete the characters of an account that is removed. Its banks hold copies of those that it talked with."""
    shutil.rmtree(own_folder(account), ignore_errors=True)

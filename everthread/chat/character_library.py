"""Manages a folder of characters, with one card per file. Functions without `folder` use the one of the user.

A character's name is escaped for the file's name, and never read as a path. Upper-case letters are escaped too, so that
`Nora` and `nora` remain two characters if file names ignore case.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import platformdirs

from everthread.chat import card, png_text
from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.common.keys import SETTING_CHARACTER
from everthread.errors import BadInput, NotFound, StoreUnavailable
from everthread.types import JSONValue

MAX_STEM_BYTES = 200  # of a file's name, without its ending; the usual limit is 255
DIGEST_CHARS = 32  # of the SHA-256 of a longer name, after its beginning and a ~
MAX_LISTED = 20  # names in a message: enough to find a mistyped one
_DIGEST_SUFFIX = re.compile(rf"~[0-9a-f]{{{DIGEST_CHARS}}}\Z")
_DEVICE_NAMES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\Z")  # reserved device names on Windows


def library_folder() -> Path:
    """Return the folder of the characters. It is in the user's data folder, even if the banks are stored elsewhere."""
    return Path(platformdirs.user_data_dir("everthread")) / "characters"


def list_names(folder: Path | None = None) -> list[str]:
    """List the names of the characters in the folder. Raises BadFile."""
    folder = folder or library_folder()
    if not folder.is_dir():
        return []
    files = ((path, _read_name(path)) for path in folder.iterdir() if path.suffix in (card.JSON, card.PNG))
    return sorted({name for path, name in files if path.stem == file_stem(name)})


def open_character(spec: Character | str | None, settings: Mapping[str, JSONValue]) -> Character:
    """Open the character of a conversation.

    Args:
        spec: a character, the name of one, or the path of a card; None: the bank's own character. Its name means the
            version in the bank, which may have been edited. `Ever` means the default character, unless the folder has
            another character of that name.
        settings: the bank's settings.

    Raises:
        NotFound: there is no such character.
        BadFile: the card can't be read.
    """
    saved = settings.get(SETTING_CHARACTER)
    saved_character = Character.from_json(saved) if isinstance(saved, Mapping) else None
    if spec is None:
        return saved_character or DEFAULT_CHARACTER
    if not isinstance(spec, str):
        return spec
    if saved_character is not None and saved_character.name.casefold() == spec.casefold():
        return saved_character
    if spec == DEFAULT_CHARACTER.name and spec not in list_names():
        return DEFAULT_CHARACTER
    return load(spec)


def load(name: str | Path, *, folder: Path | None = None) -> Character:
    """Load the character of this name in the folder, else the card of this path (a Path, or ending in .json or .png).

    Raises:
        NotFound: there is no such character.
        BadFile: the card can't be read.
    """
    return card.read(_find_source(name, folder))


def save(
    character: Character, *, picture: str | Path | None = None, force: bool = False, folder: Path | None = None
) -> Path:
    """Save a character in the folder under its name, and return its file.

    The file is a PNG if a picture is given; otherwise its type stays the same, and is JSON for a new character. Raises
    BadInput if there is a character of that name, unless `force`, and the same errors as
    `card.write`.
    """
    existing = _check_replaceable(character.name, force, folder)
    kind = card.PNG if picture is not None else card.JSON if existing is None else existing.suffix
    file = _target_path(character.name, kind, folder)
    card.write(character, file, picture=picture, force=True)
    return _remove_previous(file, existing)


def add(path: str | Path, *, force: bool = False, rename: bool = False, folder: Path | None = None) -> Character:
    """Save the character of a card in the folder: a picture unchanged, JSON as a V3 card.

    With `rename`, it gets a number if there is one of its name: "Nora 2". Raises the same errors as `save`, and
    BadFile.
    """
    character, raw = card.read(path), card.read_bytes(Path(path))
    if rename and find_file(character.name, folder) is not None:
        return _add_numbered(character, Path(path) if png_text.is_png(raw) else None, folder)
    existing = _check_replaceable(character.name, force, folder)
    if png_text.is_png(raw):
        file = _target_path(character.name, card.PNG, folder)
        card.write_bytes(file, raw, force=True)
    else:
        file = _target_path(character.name, card.JSON, folder)
        card.write(character, file, force=True)
    _remove_previous(file, existing)
    return character


def find_numbered(name: str, folder: Path | None = None) -> str:
    """Return the last of "Nora", "Nora 2", "Nora 3" … that the folder has, without a gap; the name if it has none."""
    names = (f"{name} {number}" for number in itertools.count(2))
    found = itertools.takewhile(lambda numbered: find_file(numbered, folder), names)
    return next(iter(deque(found, maxlen=1)), name)


def _add_numbered(character: Character, picture: Path | None, folder: Path | None) -> Character:
    names = (f"{character.name} {number}" for number in itertools.count(2))
    numbered = replace(character, name=next(name for name in names if find_file(name, folder) is None))
    save(numbered, picture=picture, folder=folder)
    return numbered


def add_all(paths: Sequence[Path], *, force: bool = False) -> list[Character]:
    """Add the characters of several cards to the folder: all, or none if one of them can't be added.

    Raises:
        BadInput: two have the same name, or, unless `force`, the folder has one of that name.
        BadFile: a card can't be read.
    """
    names: dict[str, Path] = {}
    for path in paths:
        name = card.read(path).name
        if name in names:
            raise BadInput(f"{names[name]} and {path} are both cards of {name!r}; import one of them")
        _check_replaceable(name, force, None)
        names[name] = path
    return [add(path, force=force) for path in paths]


def export(
    name: str | Path,
    path: str | Path,
    *,
    version: int = 3,
    picture: str | Path | None = None,
    force: bool = False,
    folder: Path | None = None,
) -> None:
    """Write the card of a character, as `load` finds it, to a .json or .png file; a .png uses the character's own
    picture unless another is given. Raises the same errors as `load` and `card.write`."""
    source = _find_source(name, folder)
    if picture is None and {source.suffix.lower(), Path(path).suffix.lower()} == {card.PNG}:
        picture = source
    card.write(card.read(source), path, version=version, picture=picture, force=force)


def has_picture(name: str, folder: Path | None = None) -> bool:
    """Return whether the character of this name in the folder has a picture."""
    file = find_file(name, folder)
    return file is not None and file.suffix == card.PNG


def read_picture(name: str, folder: Path | None = None) -> bytes:
    """Return the picture of the character of this name, without its card. Raises NotFound and BadFile."""
    file = find_file(name, folder)
    if file is None or file.suffix != card.PNG:
        raise NotFound(f"the character {name!r} has no picture")
    return png_text.replace_texts(card.read_bytes(file), {}, card.PNG_KEYWORDS.values(), file)


def get_file(name: str, folder: Path | None = None) -> Path:
    """Return the file of the character of this name in the folder.

    Raises:
        NotFound: there is no such character.
    """
    if (file := find_file(name, folder)) is None:
        raise _not_found(name, folder)
    return file


def remove(name: str, folder: Path | None = None) -> None:
    """Delete a character from the folder. Its banks remain. Raises NotFound."""
    get_file(name, folder).unlink()


def file_stem(name: str) -> str:
    """Return the name of a character's file, without its ending."""
    escaped = "".join(c if re.match(r"[a-z0-9_-]", c) else _escape(c) for c in name)
    if _DEVICE_NAMES.match(escaped):
        return _escape(escaped[0]) + escaped[1:]
    if len(escaped) <= MAX_STEM_BYTES:
        return escaped
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return f"{escaped[: MAX_STEM_BYTES - DIGEST_CHARS - 1]}~{digest}"


def _escape(c: str) -> str:
    return "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogatepass"))


def _read_name(path: Path) -> str:
    """Undo `file_stem`; a shortened name is read from the card."""
    return card.read(path).name if _DIGEST_SUFFIX.search(path.stem) else unquote(path.stem)


def find_file(name: str, folder: Path | None = None) -> Path | None:
    """Return the file of the character of this name in the folder; else None."""
    files = ((folder or library_folder()) / (file_stem(name) + kind) for kind in (card.PNG, card.JSON))
    return next((file for file in files if file.exists()), None)


def _find_source(name: str | Path, folder: Path | None) -> Path:
    """Return the file of a character, by its name in the folder, else by its path."""
    if isinstance(name, str):
        if (file := find_file(name, folder)) is not None:
            return file
        if Path(name).suffix.lower() not in (card.JSON, card.PNG):
            raise _not_found(name, folder)
    return Path(name)


def _check_replaceable(name: str, force: bool, folder: Path | None) -> Path | None:
    """Return the file that will be replaced; else None."""
    file = find_file(name, folder)
    if file is not None and not force:
        remedy = "edit it, remove it, or replace it with {option}"
        raise BadInput(f"the character {name!r} exists already", remedy=remedy, option="force")
    return file


def _target_path(name: str, kind: str, folder: Path | None) -> Path:
    """Return the path of a character's file, and create the folder."""
    folder = folder or library_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"{folder} can't be created ({error.strerror}); check that you may write to the folder around it"
        ) from error
    return folder / (file_stem(name) + kind)


def _remove_previous(file: Path, previous: Path | None) -> Path:
    """Remove the character's previous file, if it is another one, and return the new one."""
    if previous is not None and previous != file:
        previous.unlink(missing_ok=True)
    return file


def _not_found(name: str, folder: Path | None) -> NotFound:
    names = list_names(folder)
    more = " …" if len(names) > MAX_LISTED else ""
    known = f"known characters: {', '.join(names[:MAX_LISTED])}{more}" if names else "there are no characters yet"
    return NotFound(f"there is no character {name!r}; {known}. A card's file is named with its ending, .json or .png")

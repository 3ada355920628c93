"""Character cards: a character as a JSON file or inside a PNG picture, as other programs read and write them.

V1 is a flat object, V2 (`chara_card_v2`) and V3 (`chara_card_v3`) have it under "data". The specifications:
https://github.com/malfoyslastname/character-card-spec-v2 and https://github.com/kwaroran/character-card-spec-v3.
Nothing that a card refers to is fetched or run. Fields that are not used here are preserved and written back.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from everthread.chat import png_text
from everthread.chat.character import Character
from everthread.common.atomic_write import write_atomically
from everthread.errors import BadFile, BadInput
from everthread.transfer.files import file_error, parse_json, shorten

MAX_FILE_BYTES = 32 * 1024 * 1024  # three times the size of a large picture with a lorebook
SPECS = {2: ("chara_card_v2", "2.0"), 3: ("chara_card_v3", "3.0")}
PNG_KEYWORDS = {3: "ccv3", 2: "chara"}  # by version, the preferred first; V1 is under that of V2
JSON, PNG = ".json", ".png"
FIELDS = {  # a card's fields -> a character's, except the description
    "name": "name",
    "scenario": "scenario",
    "first_mes": "greeting",
    "mes_example": "examples",
    "system_prompt": "instructions",
    "post_history_instructions": "reminder",
    "nickname": "nickname",
}
V1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
EXTENSION_FIELDS = {"location": "", "person": "user", "sample": ""}  # a character's fields that no card has -> default
EXTENSION_KEY = "everthread"  # under which the extensions of a card hold them
DEFAULTS: dict[str, Any] = {  # required fields of a card
    "creator_notes": "",
    "alternate_greetings": [],
    "tags": [],
    "creator": "",
    "character_version": "",
    "extensions": {},
    "group_only_greetings": [],
}
V3_ONLY_FIELDS = ("group_only_greetings",)
FIELD_TYPES: dict[str, Any] = {  # of the fields that are not texts of a character
    **{name: type(value) for name, value in DEFAULTS.items()},
    "source": list,
    "assets": list,
    "character_book": dict,
    "creator_notes_multilingual": dict,
}
TYPE_NAMES: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
V2_COPY_NOTE = "(A copy for programs that read no V3 cards. The V3 card in this picture may hold more.)"


# ------------------------------------------------------------------------- JSON


def from_card(value: object) -> Character:
    """Build the character of a card, parsed JSON of any version. Raises BadInput."""
    if not isinstance(value, dict):
        raise BadInput(f"a card is a JSON object, got {shorten(value)}")
    top_level = {name: item for name, item in value.items() if name not in ("spec", "spec_version", "data")}
    spec = value.get("spec")
    if spec is not None and spec not in [known for known, _ in SPECS.values()]:
        raise BadInput(f'invalid "spec": got {shorten(spec)}, expected "chara_card_v2", "chara_card_v3", or none')
    if spec is None and "data" not in value:
        data = {name: top_level.pop(name) for name in V1_FIELDS if name in top_level}
    else:
        data = dict(_check_type(value.get("data"), dict, "data"))
        for name in V1_FIELDS:  # often repeated at the top level, for programs that read V1 only
            if name in top_level and top_level[name] == data.get(name):
                del top_level[name]
    return _build_character(data, top_level)


def _build_character(data: dict[str, Any], top_level: dict[str, Any]) -> Character:
    """Build the character from the fields of "data", which is emptied, and the fields at the top level."""
    if data.get("name") is None:
        raise BadInput('it has no "name"; a character card must name its character')
    _check_types(data)
    texts = {ours: _pop_text(data, theirs) for theirs, ours in FIELDS.items()}
    description, personality = _pop_text(data, "description"), _pop_text(data, "personality")
    extensions = dict(data.pop("extensions", None) or {})
    extension = dict(_check_type(extensions.pop(EXTENSION_KEY, {}), dict, f"extensions.{EXTENSION_KEY}"))
    texts |= {name: _pop_text(extension, name) for name in EXTENSION_FIELDS if name in extension}
    extensions |= {EXTENSION_KEY: extension} if extension else {}
    data |= {"extensions": extensions} | ({"personality": personality} if personality else {})
    others = {name: value for name, value in data.items() if name not in DEFAULTS or value != DEFAULTS[name]}
    rest = {**top_level, "data": others} if others else top_level
    return Character(**texts, description=_join_description(description, personality), card=rest)


def to_card(character: Character, version: int = 3) -> dict[str, Any]:
    """Build a card of version 2 or 3, with all fields that the character's card had. Raises BadInput."""
    if version not in SPECS:
        raise BadInput(f"invalid version of a card: got {version!r}, expected 2 or 3")
    top_level = {**character.card}
    card_data: dict[str, Any] = {**_check_type(top_level.pop("data", {}), dict, "data")}
    _check_types(card_data)
    description, personality = _split_description(character.description, _pop_text(card_data, "personality"))
    extensions = {**(card_data.pop("extensions", None) or {})}
    extension = {**_check_type(extensions.pop(EXTENSION_KEY, {}), dict, f"extensions.{EXTENSION_KEY}")}
    extension |= {
        name: getattr(character, name) for name, empty in EXTENSION_FIELDS.items() if getattr(character, name) != empty
    }
    data: dict[str, Any] = {"name": character.name, "description": description, "personality": personality}
    data |= {theirs: getattr(character, ours) for theirs, ours in FIELDS.items()}
    if not character.nickname:
        del data["nickname"]
    defaults = {name: value for name, value in DEFAULTS.items() if version == 3 or name not in V3_ONLY_FIELDS}
    data = {**data, **defaults, **card_data, **data}
    data["extensions"] = {**extensions, EXTENSION_KEY: extension} if extension else extensions
    spec, number = SPECS[version]
    return {**top_level, "spec": spec, "spec_version": number, "data": data}


def _check_types(data: Mapping[str, Any]) -> None:
    for name, kind in FIELD_TYPES.items():
        if data.get(name) is not None:
            _check_type(data[name], kind, name)


def _join_description(description: str, personality: str) -> str:
    """Join the description and the personality of a card."""
    return "\n\n".join(filter(None, (description, personality if personality.strip() else "")))


def _split_description(description: str, personality: str) -> tuple[str, str]:
    """Undo `_join_description`. If the description no longer ends with the personality, it is all description."""
    if not personality.strip() or description == personality:
        return ("", personality) if personality.strip() else (description, personality)
    before = description.removesuffix(f"\n\n{personality}")
    return (before, personality) if before != description else (description, "")


def _pop_text(record: dict[str, Any], name: str) -> str:
    """Remove a text from a record, and return it; empty if it is null or missing."""
    value = record.pop(name, None)
    return "" if value is None else str(_check_type(value, str, name))


def _check_type(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise BadInput(f'"{name}" is {shorten(value)}; it must be {TYPE_NAMES[kind]}')
    if isinstance(value, list) and name != "assets" and not all(isinstance(item, str) for item in value):
        raise BadInput(f'"{name}" is {shorten(value)}; it must be a list of texts')
    return value


# -------------------------------------------------------------------------- files


def read(path: str | Path) -> Character:
    """Read a card, a JSON or PNG file. Raises BadFile."""
    path = Path(path)
    raw, where, remedy = read_bytes(path), "", "give a card's JSON in UTF-8, or a PNG picture that holds one"
    if not raw.strip():
        raise file_error(path, where, "the file is empty", remedy, reason="empty-file")
    if png_text.is_png(raw):
        raw, where = _read_picture_card(raw, path)
    elif path.suffix.lower() == PNG:
        raise png_text.not_png_error(path)
    try:
        return from_card(parse_json(raw.decode("utf-8-sig"), path))
    except UnicodeDecodeError:
        what = "this is neither JSON in UTF-8 nor a PNG picture"
        raise file_error(path, where, what, remedy, reason="no-card") from None
    except BadFile:
        raise
    except BadInput as error:
        raise BadFile(str(error), path=path, reason=error.reason, values=error.values) from None


def write(
    character: Character,
    path: str | Path,
    *,
    version: int = 3,
    picture: str | Path | None = None,
    force: bool = False,
) -> None:
    """Write a card to a `.json` file or a `.png` picture, atomically.

    Args:
        character: the character.
        path: the file.
        version: of the card, 2 or 3. A PNG with version 3 also holds a V2 card.
        picture: the PNG to copy; default: the one that is replaced, else a plain picture.
        force: replace the file if it exists.

    Raises:
        BadInput: the ending is neither .json nor .png, or the file exists.
        BadFile: the picture is no PNG.
        StoreUnavailable: the file can't be written.
    """
    path = Path(path)
    if path.suffix.lower() not in (JSON, PNG):
        remedy = f"a card is written to a {JSON} or a {PNG} file"
        raise BadInput(f"the file has the ending {path.suffix!r}", path=path, remedy=remedy)
    if path.suffix.lower() == JSON:
        if picture is not None:
            remedy = f"leave the picture out, or write to a {PNG} file"
            raise BadInput(f"a {JSON} file can hold no picture", path=path, remedy=remedy)
        write_bytes(path, json.dumps(to_card(character, version), ensure_ascii=False, indent=2).encode() + b"\n", force)
        return
    if picture is None and force and path.exists():
        picture = path
    raw = png_text.build_plain_picture() if picture is None else read_bytes(Path(picture))
    texts = _build_texts(character, version)
    write_bytes(path, png_text.replace_texts(raw, texts, PNG_KEYWORDS.values(), Path(picture or path)), force)


def read_bytes(path: Path) -> bytes:
    """Read a file of at most MAX_FILE_BYTES. Raises BadFile."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        what = f"can't be read ({error.strerror})"
        raise file_error(path, "", what, "check the path and your rights to it") from None
    if len(raw) > MAX_FILE_BYTES:
        raise file_error(path, "", f"has more than {MAX_FILE_BYTES // 1024**2} MB", "make its picture smaller")
    return raw


def write_bytes(path: Path, raw: bytes, force: bool = False) -> None:
    """Write a file atomically. Raises BadInput if it exists, unless `force`, or would be too large."""
    if not force and path.exists():
        remedy = "name another file, or replace this one with {option}"
        raise BadInput("the file exists already", path=path, remedy=remedy, option="force")
    if len(raw) > MAX_FILE_BYTES:
        remedy = f"take a smaller picture, or {JSON}"
        raise BadInput(f"the file would have more than {MAX_FILE_BYTES // 1024**2} MB", path=path, remedy=remedy)
    write_atomically(path, raw)


def _read_picture_card(raw: bytes, path: Path) -> tuple[bytes, str]:
    """Return the JSON of the card in a picture, and the name of its chunk."""
    texts = png_text.read_texts(raw, path)
    keyword = next((known for known in PNG_KEYWORDS.values() if known in texts), None)
    if keyword is None:
        remedy = "give one that was exported as a card; converting or resizing a picture takes the card out"
        what = "there is no character card in this picture"
        raise BadFile(what, path=path, remedy=remedy, reason="no-card")
    where = f"its {keyword} chunk"
    try:
        return base64.b64decode(b"".join(texts[keyword].split()), validate=True), where
    except binascii.Error as error:
        remedy = "take another copy of the picture"
        raise file_error(path, where, f"not base64 ({error})", remedy, reason="damaged-file") from None


def _build_texts(character: Character, version: int) -> dict[str, bytes]:
    """Build the texts of a picture that hold the card."""
    cards: Mapping[int, dict[str, Any]] = {version: to_card(character, version)}
    if version == 3:
        cards = {2: to_card(character, 2), **cards}
        data = cards[2]["data"]
        data["creator_notes"] = "\n\n".join(filter(None, (V2_COPY_NOTE, data["creator_notes"])))
    return {
        PNG_KEYWORDS[number]: base64.b64encode(json.dumps(card, ensure_ascii=False).encode())
        for number, card in cards.items()
    }

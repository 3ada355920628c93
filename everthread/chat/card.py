"""Character cards: a character as a JSON file or inside a PNG picture, as other programs read and write them.

V1 is a flat object, V2 (`chara_card_v2`) and V3 (`chara_card_v3`) have it under "data". The specifications:
https://github.com/malfoyslastname/character-card-spec-v2 and https://github.com/kwaroran/character-card-spec-v3.
Nothing that a card names is ever fetched or run: what we make no use of is kept as it came, and written back.
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
from everthread.transfer.files import file_error, parse, shown

LARGEST = 32 * 1024 * 1024  # bytes of a file; large pictures and whole books of lore have a third of it
SPECS = {2: ("chara_card_v2", "2.0"), 3: ("chara_card_v3", "3.0")}
CHUNKS = {3: "ccv3", 2: "chara"}  # the keyword in a PNG, the better first; V1 is under that of V2
JSON, PNG = ".json", ".png"
FIELDS = {  # a card's fields that are a character's, but for the description
    "name": "name",
    "scenario": "scenario",
    "first_mes": "greeting",
    "mes_example": "examples",
    "system_prompt": "instructions",
    "post_history_instructions": "reminder",
    "nickname": "nickname",
}
V1 = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
OURS = {"location": "", "person": "user", "sample": ""}  # that no card has a place for, and what they are by default
OWN = "everthread"  # under which they stand in a card's extensions
DEFAULTS: dict[str, Any] = {  # what a card must have, and has if nothing is said
    "creator_notes": "",
    "alternate_greetings": [],
    "tags": [],
    "creator": "",
    "character_version": "",
    "extensions": {},
    "group_only_greetings": [],
}
SINCE_V3 = ("group_only_greetings",)
KINDS: dict[str, Any] = {  # those of its other fields that are of a certain kind
    **{name: type(value) for name, value in DEFAULTS.items()},
    "source": list,
    "assets": list,
    "character_book": dict,
    "creator_notes_multilingual": dict,
}
CALLED: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
OF_V3 = "(A copy for programs that read no V3 cards. The V3 card in this picture may hold more.)"  # as V3 asks for


# ------------------------------------------------------------------- what it says


def from_card(value: object) -> Character:
    """The character of a card as JSON has it, of any version. Raises BadInput."""
    if not isinstance(value, dict):
        raise BadInput(f"a card is a JSON object, this is {shown(value)}")
    outside = {name: each for name, each in value.items() if name not in ("spec", "spec_version", "data")}
    spec = value.get("spec")
    if spec is not None and spec not in [known for known, _ in SPECS.values()]:
        raise BadInput(f'its "spec" is {shown(spec)}; a card has "chara_card_v2", "chara_card_v3", or none')
    if spec is None and "data" not in value:
        data = {name: outside.pop(name) for name in V1 if name in outside}
    else:
        data = dict(_kind(value.get("data"), dict, "data"))
        for name in V1:  # which many repeat outside, for programs that know V1 alone
            if name in outside and outside[name] == data.get(name):
                del outside[name]
    return _character(data, outside)


def _character(data: dict[str, Any], outside: dict[str, Any]) -> Character:
    """The character of what stands under "data", which is used up, and of what stands outside of it."""
    if data.get("name") is None:
        raise BadInput('it has no "name"; a card of a character names it')
    _check_kinds(data)
    texts = {ours: _text(data, theirs) for theirs, ours in FIELDS.items()}
    description, personality = _text(data, "description"), _text(data, "personality")
    extensions = dict(data.pop("extensions", None) or {})
    own = dict(_kind(extensions.pop(OWN, {}), dict, f"extensions.{OWN}"))
    texts |= {name: _text(own, name) for name in OURS if name in own}
    extensions |= {OWN: own} if own else {}
    data |= {"extensions": extensions} | ({"personality": personality} if personality else {})
    others = {name: each for name, each in data.items() if name not in DEFAULTS or each != DEFAULTS[name]}
    rest = {**outside, "data": others} if others else outside
    return Character(**texts, description=_joined(description, personality), card=rest)


def to_card(character: Character, version: int = 3) -> dict[str, Any]:
    """The card of a character as JSON, of version 2 or 3, with all that its card held. Raises BadInput."""
    if version not in SPECS:
        raise BadInput(f"there are cards of version 2 and 3 to be written, not {version!r}")
    outside = {**character.card}
    kept: dict[str, Any] = {**_kind(outside.pop("data", {}), dict, "data")}
    _check_kinds(kept)
    description, personality = _split(character.description, _text(kept, "personality"))
    extensions = {**(kept.pop("extensions", None) or {})}
    own = {**_kind(extensions.pop(OWN, {}), dict, f"extensions.{OWN}")}
    own |= {name: getattr(character, name) for name, empty in OURS.items() if getattr(character, name) != empty}
    data: dict[str, Any] = {"name": character.name, "description": description, "personality": personality}
    data |= {theirs: getattr(character, ours) for theirs, ours in FIELDS.items()}
    if not character.nickname:
        del data["nickname"]
    needed = {name: each for name, each in DEFAULTS.items() if version == 3 or name not in SINCE_V3}
    data = {**data, **needed, **kept, **data}
    data["extensions"] = {**extensions, OWN: own} if own else extensions
    spec, number = SPECS[version]
    return {**outside, "spec": spec, "spec_version": number, "data": data}


def _check_kinds(data: Mapping[str, Any]) -> None:
    for name, kind in KINDS.items():
        if data.get(name) is not None:
            _kind(data[name], kind, name)


def _joined(description: str, personality: str) -> str:
    """A card's two descriptions as our one."""
    return "\n\n".join(filter(None, (description, personality if personality.strip() else "")))


def _split(description: str, personality: str) -> tuple[str, str]:
    """What `_joined` made one; where the description was changed so that it does not end like that, it is all ours."""
    if not personality.strip() or description == personality:
        return ("", personality) if personality.strip() else (description, personality)
    before = description.removesuffix(f"\n\n{personality}")
    return (before, personality) if before != description else (description, "")


def _text(record: dict[str, Any], name: str) -> str:
    """A field that is text, taken out of the record; empty where it is null or not there."""
    value = record.pop(name, None)
    return "" if value is None else str(_kind(value, str, name))


def _kind(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise BadInput(f'"{name}" is {shown(value)}; it must be {CALLED[kind]}')
    if isinstance(value, list) and name != "assets" and not all(isinstance(each, str) for each in value):
        raise BadInput(f'"{name}" is {shown(value)}; it must be a list of texts')
    return value


# -------------------------------------------------------------------------- files


def read(path: str | Path) -> Character:
    """The character of a card's file, JSON or PNG. Raises BadFile."""
    path = Path(path)
    text, where = content(path), ""
    if not text.strip():
        raise file_error(
            path, where, "the file is empty", "give a card's JSON in UTF-8, or a PNG picture that holds one"
        )
    if png_text.recognised(text):
        text, where = _of_picture(text, path)
    elif path.suffix.lower() == PNG:
        raise png_text.none(path)
    try:
        return from_card(parse(text.decode("utf-8-sig"), path))
    except UnicodeDecodeError:
        remedy = "give a card's JSON in UTF-8, or a PNG picture that holds one"
        raise file_error(path, where, "this is neither JSON in UTF-8 nor a PNG picture", remedy) from None
    except BadFile:
        raise
    except BadInput as error:
        raise BadFile(str(error), path=path) from None


def write(
    character: Character,
    path: str | Path,
    *,
    version: int = 3,
    picture: str | Path | None = None,
    force: bool = False,
) -> None:
    """Write a card, a `.json` file or a `.png` picture, all of it or nothing.

    A PNG is a copy of the picture, else of the one that it replaces, else a plain one. With version 3 it also holds a
    V2 card. Raises BadInput for another kind of file and for one that is there, unless force; BadFile for a picture
    that is no PNG; StoreUnavailable where it can't be written.
    """
    path = Path(path)
    if path.suffix.lower() not in (JSON, PNG):
        remedy = f"a card is written to a {JSON} or a {PNG} file"
        raise BadInput(f"the file has the ending {path.suffix!r}", path=path, remedy=remedy)
    if path.suffix.lower() == JSON:
        if picture is not None:
            remedy = f"leave the picture out, or write to a {PNG} file"
            raise BadInput(f"a {JSON} file can hold no picture", path=path, remedy=remedy)
        put(path, json.dumps(to_card(character, version), ensure_ascii=False, indent=2).encode() + b"\n", force)
        return
    if picture is None and force and path.exists():
        picture = path
    raw = png_text.plain() if picture is None else content(Path(picture))
    put(path, png_text.with_texts(raw, _texts(character, version), CHUNKS.values(), Path(picture or path)), force)


def content(path: Path) -> bytes:
    """All of a file of at most LARGEST bytes."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise file_error(
            path, "", f"can't be read ({error.strerror})", "check the path and your rights to it"
        ) from None
    if len(raw) > LARGEST:
        raise file_error(path, "", f"has more than {LARGEST // 1024**2} MB", "make its picture smaller")
    return raw


def put(path: Path, raw: bytes, force: bool = False) -> None:
    """Write a file so that at any moment there is all of it or what was there before."""
    if not force and path.exists():
        remedy = "name another file, or replace this one with {option}"
        raise BadInput("the file is there already", path=path, remedy=remedy, option="force")
    if len(raw) > LARGEST:
        remedy = f"take a smaller picture, or {JSON}"
        raise BadInput(f"the file would have more than {LARGEST // 1024**2} MB", path=path, remedy=remedy)
    write_atomically(path, raw)


def _of_picture(raw: bytes, path: Path) -> tuple[bytes, str]:
    """The card's JSON in a picture, and where it stands there."""
    found = png_text.texts(raw, path)
    keyword = next((each for each in CHUNKS.values() if each in found), None)
    if keyword is None:
        remedy = "give one that was exported as a card; converting or resizing a picture takes the card out"
        raise file_error(path, "", "there is no character card in this picture", remedy)
    where = f"its {keyword} chunk"
    try:
        return base64.b64decode(b"".join(found[keyword].split()), validate=True), where
    except binascii.Error as error:
        raise file_error(path, where, f"not base64 ({error})", "take another copy of the picture") from None


def _texts(character: Character, version: int) -> dict[str, bytes]:
    """A picture's texts that hold the card."""
    cards: Mapping[int, dict[str, Any]] = {version: to_card(character, version)}
    if version == 3:
        cards = {2: to_card(character, 2), **cards}
        data = cards[2]["data"]
        data["creator_notes"] = "\n\n".join(filter(None, (OF_V3, data["creator_notes"])))
    return {
        CHUNKS[each]: base64.b64encode(json.dumps(card, ensure_ascii=False).encode()) for each, card in cards.items()
    }

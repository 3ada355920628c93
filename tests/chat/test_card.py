"""Character cards are read and written; invalid ones are rejected."""

from __future__ import annotations

import base64
import json
import os
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import png
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.chat import card
from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.errors import BadFile, BadInput, StoreUnavailable

V1 = {
    "name": "Nora",
    "description": "{{char}} keeps a lighthouse.",
    "personality": "dry, patient",
    "scenario": "A storm is coming.",
    "first_mes": "Come in, {{user}}.",
    "mes_example": "<START>\n{{user}}: Hello?\n{{char}}: Mind the step.\n<START>\n{{char}}: Tea?",
}
DATA: dict[str, Any] = {
    **V1,
    "creator_notes": "For quiet evenings.",
    "system_prompt": "{{original}} Be brief.",
    "post_history_instructions": "Stay in the lighthouse.",
    "alternate_greetings": ["Who is there?", "Ah, you."],
    "character_book": {"entries": [{"keys": ["lamp"], "content": "It is lit at dusk.", "extensions": {"x/y": [1.5]}}]},
    "tags": ["sea", "calm"],
    "creator": "someone",
    "character_version": "1.2",
    "extensions": {"other/program": {"depth": 4, "on": True, "nothing": None}},
    "of_a_later_version": {"a": [1, 2]},
}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": DATA, "create_date": "2024"}
V3 = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        **DATA,
        "nickname": "Norrie",
        "assets": [{"type": "icon", "uri": "https://127.0.0.1:1/never.png", "name": "main", "ext": "png"}],
        "source": ["id:7"],
        "creation_date": 1714500000,
        "group_only_greetings": ["All of you?"],
        "creator_notes_multilingual": {"de": "Für ruhige Abende."},
    },
}


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(*chunks: bytes, width: int = 2, pixels: bytes | None = None) -> bytes:
    """Build a PNG of two rows with extra chunks before its end."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, 2, 8, 2, 0, 0, 0))
    rows = zlib.compress(b"\0\1\2\3\4\5\6" * 2) if pixels is None else pixels
    return b"".join([b"\x89PNG\r\n\x1a\n", header, chunk(b"IDAT", rows), *chunks, chunk(b"IEND", b"")])


def text(keyword: bytes, value: object) -> bytes:
    return chunk(b"tEXt", keyword + b"\0" + base64.b64encode(json.dumps(value).encode()))


def parts(raw: bytes) -> list[tuple[bytes, bytes]]:
    return [(bytes(kind), bytes(data)) for kind, data in png.Reader(bytes=raw).chunks()]


def cards_in(raw: bytes) -> dict[str, Any]:
    texts = [data.split(b"\0", 1) for kind, data in parts(raw) if kind == b"tEXt"]
    return {word.decode(): json.loads(base64.b64decode(value)) for word, value in texts if word in (b"chara", b"ccv3")}


def file(folder: Path, content: object, name: str = "card.json") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


# ------------------------------------------------------------------------ reading


@pytest.mark.parametrize("value", [V2, V3], ids=["V2", "V3"])
def test_a_card_becomes_a_character(value: dict[str, Any], tmp_path: Path) -> None:
    nora = card.read(file(tmp_path, value))
    assert nora.name == "Nora"
    assert nora.description == "{{char}} keeps a lighthouse.\n\ndry, patient"
    assert nora.scenario == "A storm is coming."
    assert nora.greeting == "Come in, {{user}}."
    assert nora.examples == V1["mes_example"]
    assert nora.instructions == "{{original}} Be brief."
    assert nora.reminder == "Stay in the lighthouse."
    assert (nora.location, nora.person, nora.sample) == ("", "user", "")


def test_a_v1_card_is_read_and_keeps_its_other_fields(tmp_path: Path) -> None:
    nora = card.read(file(tmp_path, {**V1, "avatar": "none"}))
    assert (nora.name, nora.greeting) == ("Nora", "Come in, {{user}}.")
    assert nora.card == {"avatar": "none", "data": {"personality": "dry, patient"}}
    assert card.to_card(nora)["avatar"] == "none"


def test_the_nickname_replaces_char(tmp_path: Path) -> None:
    assert card.read(file(tmp_path, V3)).fill_names("{{char}}") == "Norrie"


def test_fields_repeated_outside_for_older_programs_are_read_once(tmp_path: Path) -> None:
    nora = card.read(file(tmp_path, {**V2, **V1, "scenario": "another"}))
    assert {name for name in nora.card if name != "data"} == {"create_date", "scenario"}


def test_null_is_read_as_an_empty_text(tmp_path: Path) -> None:
    assert card.read(file(tmp_path, {"name": "Nora", "scenario": None})) == Character("Nora")


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    raw = json.dumps(V2).encode()
    assert card.read(file(tmp_path, b"\xef\xbb\xbf" + raw)) == card.from_card(V2)
    packed = chunk(b"tEXt", b"chara\0" + base64.b64encode(b"\xef\xbb\xbf" + raw))
    assert card.read(file(tmp_path, picture(packed), "card.png")) == card.from_card(V2)


def test_a_picture_is_recognised_by_its_content_not_its_name(tmp_path: Path) -> None:
    assert card.read(file(tmp_path, picture(text(b"chara", V2)), "card.json")) == card.from_card(V2)


def test_the_v3_card_of_a_picture_is_preferred(tmp_path: Path) -> None:
    older = {**V2, "data": {**DATA, "name": "Old Nora"}}
    raw = picture(text(b"chara", older), text(b"ccv3", V3))
    assert card.read(file(tmp_path, raw, "card.png")) == card.from_card(V3)


def test_a_card_broken_into_rows_and_with_a_keyword_in_capitals_is_read(tmp_path: Path) -> None:
    packed = base64.encodebytes(json.dumps(V2).encode())
    raw = picture(chunk(b"tEXt", b"Chara\0" + packed))
    assert card.read(file(tmp_path, raw, "card.png")) == card.from_card(V2)


def test_pixels_are_never_unpacked(tmp_path: Path) -> None:
    bomb = zlib.compress(b"\0" * 10_000_000)
    raw = picture(text(b"chara", V2), width=2**31 - 1, pixels=bomb)
    source, copy = file(tmp_path, raw, "card.png"), tmp_path / "copy.png"
    card.write(card.read(source), copy, picture=source)
    assert (b"IDAT", bomb) in parts(copy.read_bytes())


# ---------------------------------------------------------------- hostile, broken


def deep(depth: int) -> bytes:
    return b'{"name": "Nora", "x": ' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("card.png", b"", "the file is empty; give a card's JSON"),
        ("card.png", b"GIF89a", "this is no PNG picture"),
        ("card.png", picture(), "there is no character card in this picture"),
        ("card.png", picture(chunk(b"zTXt", b"chara\0\0x")), "there is no character card in this picture"),
        ("card.png", picture(text(b"chara", V2))[:-30], "a damaged PNG"),
        ("card.png", picture(text(b"chara", V2))[:-12], "a damaged PNG (No more chunks"),
        ("card.png", picture(text(b"chara", V2))[:9], "a damaged PNG"),
        ("card.png", picture(text(b"chara", V2)).replace(b"IDAT", b"IDAX"), "a damaged PNG (Checksum error"),
        ("card.png", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt", "a damaged PNG"),
        ("card.png", b"\x89PNG\r\n\x1a\n\0\0\0\1\xff\xfe\0\0", "a damaged PNG"),
        ("card.png", picture(chunk(b"tEXt", b"chara\0!!!")), "its chara chunk: not base64"),
        ("card.png", picture(chunk(b"tEXt", b"ccv3\0QUJ")), "its ccv3 chunk: not base64"),
        ("card.png", picture(chunk(b"tEXt", b"chara")), "empty"),
        ("card.png", picture(chunk(b"tEXt", b"chara\0/w==")), "its chara chunk: this is neither JSON in UTF-8"),
        ("card.png", picture(text(b"chara", ["no"])), "a card is a JSON object, got ['no']"),
        ("card.json", b"", "the file is empty; give a card's JSON"),
        ("card.json", b"Nora is nice.", "not JSON"),
        ("card.json", b'{"name": "Nora"', "line 1, column 16: not JSON"),
        ("card.json", json.dumps(V2).encode("utf-16"), "this is neither JSON in UTF-8 nor a PNG picture"),
        ("card.json", json.dumps(V2).encode("utf-16-le"), "not JSON"),
        ("card.json", b"PK\3\4\xff", "this is neither JSON in UTF-8 nor a PNG picture"),
        ("card.json", b"[]", "a card is a JSON object, got []"),
        ("card.json", b"null", "a card is a JSON object, got None"),
        ("card.json", b"{}", 'it has no "name"'),
        ("card.json", b'{"name": null}', 'it has no "name"'),
        ("card.json", b'{"name": " "}', "name must be text that is not blank"),
        ("card.json", b'{"name": 5}', '"name" is 5; it must be a text'),
        ("card.json", b'{"name": "Nora", "first_mes": ["Hi"]}', "\"first_mes\" is ['Hi']; it must be a text"),
        ("card.json", b'{"name": "N\\u0000ra"}', "name contains '\\x00'"),
        ("card.json", b'{"name": "Nora", "scenario": "\\ud800"}', "scenario contains '\\ud800'"),
        ("card.json", b'{"name": "Nora", "avatar": "\\udfff"}', "card contains '\\udfff'"),
        ("card.json", b'{"name": "Nora", "x": NaN}', "NaN is not a JSON number"),
        ("card.json", b'{"name": "Nora", "x": 1e999}', "card must be JSON-serialisable"),
        ("card.json", b'{"name": "Nora", "x": ' + b"9" * 5000 + b"}", "unusable JSON"),
        ("card.json", deep(10_000), "nested too deeply"),
        ("card.json", deep(200), "card is nested more than 100 deep"),
        ("card.json", b'{"name": "user"}', "name 'user' is the user's name too"),
        ("card.json", b'{"spec": "lorebook_v3", "data": {"name": "Nora"}}', "invalid \"spec\": got 'lorebook_v3'"),
        ("card.json", b'{"spec": ["chara_card_v2"]}', "invalid \"spec\": got ['chara_card_v2']"),
        ("card.json", b'{"spec": "chara_card_v2", "name": "Nora"}', '"data" is None; it must be an object'),
        ("card.json", b'{"name": "Nora", "data": 7}', '"data" is 7; it must be an object'),
    ],
)
def test_an_invalid_card_is_rejected_with_its_path_and_a_reason(
    name: str, raw: bytes, words: str, tmp_path: Path
) -> None:
    path = file(tmp_path, raw, name)
    with pytest.raises(BadFile) as refused:
        card.read(path)
    assert str(refused.value).startswith(str(path))
    assert words in str(refused.value)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("tags", "sea", "a list"),
        ("tags", [1], "a list of texts"),
        ("alternate_greetings", {}, "a list"),
        ("group_only_greetings", 3, "a list"),
        ("assets", {}, "a list"),
        ("extensions", [], "an object"),
        ("character_book", [], "an object"),
        ("creator", 5, "a text"),
        ("creator_notes", [], "a text"),
        ("nickname", 5, "a text"),
        ("extensions", {"everthread": 5}, "an object"),
        ("extensions", {"everthread": {"location": 5}}, "a text"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(field: str, value: object, kind: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=rf'".*" is .*; it must be {kind}$'):
        card.read(file(tmp_path, {**V3, "data": {**V3["data"], field: value}}))  # type: ignore[dict-item]


def test_a_file_that_is_too_large_is_rejected(tmp_path: Path) -> None:
    with (tmp_path / "card.png").open("wb") as large:
        large.truncate(card.MAX_FILE_BYTES + 1)
    with pytest.raises(BadFile, match="has more than 32 MB"):
        card.read(tmp_path / "card.png")


def test_a_text_that_is_too_long_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="scenario has 100,001 characters"):
        card.read(file(tmp_path, {**V1, "scenario": "x" * 100_001}))


@pytest.mark.parametrize("name", [".", "nothing.json"])
def test_a_folder_or_a_missing_file_is_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="can't be read"):
        card.read(tmp_path / name)


# ------------------------------------------------------------------------ writing


@pytest.mark.parametrize("kind", ["json", "png"])
@pytest.mark.parametrize(("value", "version"), [(V2, 2), (V3, 3)], ids=["V2", "V3"])
def test_a_card_is_written_back_with_all_its_fields(
    value: dict[str, Any], version: int, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / f"back.{kind}"
    card.write(card.from_card(value), path, version=version)
    written = (
        json.loads(path.read_bytes()) if kind == "json" else cards_in(path.read_bytes())[card.PNG_KEYWORDS[version]]
    )
    assert written == value


def test_fields_of_v3_are_preserved_in_a_v2_card() -> None:
    nora = card.from_card(V3)
    assert card.from_card(card.to_card(nora, 2)) == nora


def test_our_fields_are_stored_among_the_extensions_of_a_card() -> None:
    nora = card.from_card(V2).with_changes(location="on the stairs", person="Ben", sample="Mind the step.")
    extensions = card.to_card(nora)["data"]["extensions"]
    assert extensions == {
        **DATA["extensions"],
        "everthread": {"location": "on the stairs", "person": "Ben", "sample": "Mind the step."},
    }
    assert card.from_card(card.to_card(nora)) == nora


def test_our_extensions_of_a_later_version_are_preserved() -> None:
    value = {**V2, "data": {**DATA, "extensions": {"everthread": {"person": "Ben", "voice": "deep"}}}}
    nora = card.from_card(value)
    assert nora.person == "Ben"
    assert card.to_card(nora, 2) == value


def test_an_edited_description_replaces_the_personality() -> None:
    data = card.to_card(card.from_card(V2).with_changes(description="A sailor."))["data"]
    assert (data["description"], data["personality"]) == ("A sailor.", "")


def test_an_edit_before_the_personality_preserves_it() -> None:
    data = card.to_card(card.from_card(V2).with_changes(description="A sailor.\n\ndry, patient"))["data"]
    assert (data["description"], data["personality"]) == ("A sailor.", "dry, patient")


@pytest.mark.parametrize("description", ["", "b", "a", "\n\nb", "a\n\nb", " "])
@pytest.mark.parametrize("personality", ["", "b", "\n\nb", " ", "b\n\nb"])
def test_description_and_personality_are_written_back_separately(description: str, personality: str) -> None:
    value = {**V2, "data": {**DATA, "description": description, "personality": personality}}
    assert card.to_card(card.from_card(value), 2) == value


def test_a_v3_picture_also_contains_a_v2_card_with_a_note(tmp_path: Path) -> None:
    card.write(card.from_card(V3), tmp_path / "card.png")
    cards = cards_in((tmp_path / "card.png").read_bytes())
    assert list(cards) == ["chara", "ccv3"]
    assert cards["chara"]["spec"] == "chara_card_v2"
    assert cards["chara"]["data"]["creator_notes"] == f"{card.V2_COPY_NOTE}\n\nFor quiet evenings."
    assert cards["ccv3"]["data"]["creator_notes"] == "For quiet evenings."


def test_a_v2_picture_contains_no_v3_card(tmp_path: Path) -> None:
    source = file(tmp_path, picture(text(b"ccv3", V3), text(b"chara", V2)), "old.png")
    card.write(card.read(source), tmp_path / "new.png", version=2, picture=source)
    assert list(cards_in((tmp_path / "new.png").read_bytes())) == ["chara"]


def test_a_copy_of_a_picture_differs_only_in_its_card(tmp_path: Path) -> None:
    other = [chunk(b"tEXt", b"Comment\0by hand"), chunk(b"gAMA", b"\0\0\xb1\x8f"), chunk(b"prVt", bytes(range(256)))]
    source = file(tmp_path, picture(text(b"chara", V2), *other, text(b"ccv3", V3)) + b"behind the end", "old.png")
    card.write(DEFAULT_CHARACTER, tmp_path / "new.png", picture=source)
    raw = (tmp_path / "new.png").read_bytes()
    other_parts = [part for part in parts(raw) if part[1].split(b"\0")[0] not in (b"chara", b"ccv3")]
    assert other_parts == parts(picture(*other))
    assert raw.endswith(b"behind the end")
    assert card.read(tmp_path / "new.png") == DEFAULT_CHARACTER


def test_without_a_picture_a_valid_plain_one_is_created(tmp_path: Path) -> None:
    card.write(DEFAULT_CHARACTER, tmp_path / "card.png")
    width, height, rows, _ = png.Reader(bytes=(tmp_path / "card.png").read_bytes()).asRGB8()
    assert {bytes(row) for row in rows} == {bytes((94, 120, 148)) * width}
    assert width == height == 256


def test_a_card_that_is_replaced_keeps_its_picture(tmp_path: Path) -> None:
    path = file(tmp_path, picture(text(b"chara", V2)), "card.png")
    card.write(DEFAULT_CHARACTER, path, force=True)
    assert parts(path.read_bytes())[:2] == parts(picture())[:2]
    assert card.read(path) == DEFAULT_CHARACTER


def test_an_existing_file_is_replaced_only_if_forced(tmp_path: Path) -> None:
    path = file(tmp_path, V2)
    with pytest.raises(BadInput, match="the file exists already"):
        card.write(DEFAULT_CHARACTER, path)
    assert card.read(path).name == "Nora"
    card.write(DEFAULT_CHARACTER, path, force=True)
    assert card.read(path) == DEFAULT_CHARACTER


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("card.gif", {}, "has the ending '.gif'"),
        ("card", {}, "has the ending ''"),
        ("card.json", {"version": 1}, "invalid version of a card: got 1, expected 2 or 3"),
        ("card.png", {"version": "2"}, "invalid version of a card: got '2', expected 2 or 3"),
        ("card.json", {"picture": "old.png"}, "can hold no picture"),
        ("card.png", {"picture": "missing.png"}, "missing.png: can't be read"),
        ("card.png", {"picture": os.devnull}, "this is no PNG picture"),
    ],
)
def test_a_card_that_cannot_be_written_leaves_no_file(
    name: str, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=words):
        card.write(DEFAULT_CHARACTER, tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({"data": 5}, '"data" is 5; it must be an object'),
        ({"data": {"tags": "sea"}}, "\"tags\" is 'sea'; it must be a list"),
        ({"data": {"extensions": {"everthread": 5}}}, '"extensions.everthread" is 5'),
    ],
)
def test_a_card_that_could_not_be_read_again_is_rejected(kept: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        card.to_card(Character("Nora", card=kept))


@pytest.mark.slow
def test_a_card_too_large_to_be_read_again_is_not_written(tmp_path: Path) -> None:
    large = DEFAULT_CHARACTER.with_changes(card={"x": "y" * card.MAX_FILE_BYTES})
    with pytest.raises(BadInput, match="would have more than 32 MB"):
        card.write(large, tmp_path / "card.json")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_previous_file_only(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.mkdir()
    with pytest.raises(StoreUnavailable, match=r"card.json can't be written"):
        card.write(DEFAULT_CHARACTER, path, force=True)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(StoreUnavailable, match="check its folder"):
        card.write(DEFAULT_CHARACTER, tmp_path / "nowhere" / "card.json")


# --------------------------------------------------------------------- properties

WHOLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(WHOLE, max_size=30)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=40).filter(str.strip)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3), max_leaves=8
)
KNOWN = {*card.FIELDS, *card.FIELD_TYPES, *V1, "data", "spec", "spec_version"}
UNKNOWN = st.dictionaries(TEXTS.filter(lambda name: name not in KNOWN), VALUES, max_size=4)
SPECIFIED = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.lists(TEXTS, min_size=1, max_size=3),
        "creator": TEXTS.filter(bool),
        "alternate_greetings": st.lists(TEXTS, min_size=1, max_size=3),
        "character_book": st.dictionaries(TEXTS, VALUES, max_size=3),
        "assets": st.lists(VALUES, max_size=2),
        "extensions": st.dictionaries(TEXTS.filter(lambda name: name != "everthread"), VALUES, min_size=1, max_size=3),
    },
)


@st.composite
def characters(draw: st.DrawFn) -> Character:
    name, person, nickname = draw(NAMES), draw(NAMES), draw(st.just("") | NAMES)
    while person.strip().casefold() in (name.strip().casefold(), nickname.strip().casefold()):
        person += "'"
    texts = ("description", "location", "scenario", "greeting", "examples", "sample", "instructions", "reminder")
    data = draw(UNKNOWN) | draw(SPECIFIED)
    outside = draw(UNKNOWN) | ({"data": data} if data else {})
    return Character(name, person=person, nickname=nickname, card=outside, **{field: draw(TEXTS) for field in texts})


@settings(deadline=None)
@given(character=characters(), version=st.sampled_from([2, 3]), kind=st.sampled_from(["json", "png"]))
def test_any_character_survives_its_card(
    tmp_path_factory: pytest.TempPathFactory, character: Character, version: int, kind: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    path.unlink(missing_ok=True)
    card.write(character, path, version=version)
    assert card.read(path) == character


@given(outside=UNKNOWN, data=UNKNOWN, specified=SPECIFIED, version=st.sampled_from([2, 3]))
def test_unknown_fields_survive(
    outside: dict[str, Any], data: dict[str, Any], specified: dict[str, Any], version: int
) -> None:
    spec, number = card.SPECS[version]
    value = {**outside, "spec": spec, "spec_version": number, "data": {**data, **specified, "name": "Nora"}}
    written = card.to_card(card.from_card(value), version)
    assert {**written, "data": {**written["data"], **value["data"]}} == written  # all of it is in what is written
    assert {name: each for name, each in written.items() if name != "data"} == {
        name: each for name, each in value.items() if name != "data"
    }


@settings(deadline=None)
@given(raw=st.binary(max_size=80), cut=st.integers(0, 400), at=st.integers(0, 400), bit=st.integers(0, 7))
def test_a_damaged_card_raises_only_bad_file(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, cut: int, at: int, bit: int
) -> None:
    good = bytearray(picture(text(b"chara", {"name": "Nora"})))
    good[at % len(good)] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "damaged.png"
    for damaged in (raw, bytes(good[: cut % len(good)]), bytes(good)):
        path.write_bytes(damaged)
        with pytest.raises(BadFile):
            card.read(path)


def test_the_pictures_of_these_tests_are_valid() -> None:
    out = BytesIO(picture())
    assert png.Reader(file=out).asDirect()[:2] == (2, 2)

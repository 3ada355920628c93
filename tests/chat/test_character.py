"""Validation of characters, and the names in their texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.chat.character import DEFAULT_CHARACTER, MAX_CARD_DEPTH, MAX_FIELD_CHARS, Character
from everthread.errors import BadInput
from everthread.languages.wording import load_wording

NORA = Character("Nora", "A keeper of a lighthouse.", person="Ben")


def nested(depth: int) -> Any:
    value: Any = "end"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "name must be text that is not blank, got ''"),
        ({"name": " \t"}, "name must be text that is not blank"),
        ({"name": 5}, "name must be text, got 5"),
        ({"name": "x" * 201}, "has 201 characters; at most 200"),
        ({"name": "No\nra"}, "name 'No\\nra' has a line break"),
        ({"name": "Nora\n"}, "has a line break"),
        ({"name": "No\u2028ra"}, "has a line break"),
        ({"name": "No\0ra"}, "name contains '\\x00' at 2"),
        ({"name": "Nora", "person": ""}, "person must be text that is not blank"),
        ({"name": "Nora", "person": "B\ren"}, "has a line break"),
        ({"name": "Nora", "person": "nora "}, "name 'Nora' is the user's name too"),
        ({"name": "USER"}, "name 'USER' is the user's name too"),
        ({"name": "Nora", "person": "Ben", "nickname": "BEN"}, "nickname 'BEN' is the user's name too"),
        ({"name": "Nora", "nickname": " "}, "nickname must be text that is not blank"),
        ({"name": "Nora", "description": None}, "description must be text, got None"),
        ({"name": "Nora", "scenario": "x" * (MAX_FIELD_CHARS + 1)}, "scenario has 100,001 characters; at most 100,000"),
        ({"name": "Nora", "greeting": "a\ud800"}, "greeting contains '\\ud800' at 1"),
        ({"name": "Nora", "card": []}, r"card must be a mapping, got \[\]"),
        ({"name": "Nora", "card": {"a": {1: 2}}}, "card must be JSON-serialisable, got dict {1: 2}"),
        ({"name": "Nora", "card": {"a": {1, 2}}}, "got set {1, 2}"),
        ({"name": "Nora", "card": {"a": float("nan")}}, "got float nan"),
        ({"name": "Nora", "card": {"a": 10**5000}}, "got int"),
        ({"name": "Nora", "card": {"a": "\0"}}, "card contains '\\x00' at 0"),
        ({"name": "Nora", "card": {"\udc00": 1}}, "card contains '\\udc00' at 0"),
        ({"name": "Nora", "card": {"a": nested(MAX_CARD_DEPTH)}}, "card is nested more than 100 deep"),
    ],
)
def test_an_invalid_character_is_rejected_with_a_reason(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        Character(**fields)
    assert words.replace(r"\[", "[").replace(r"\]", "]") in str(refused.value)


def test_texts_and_cards_at_the_limit_are_accepted() -> None:
    character = Character("x" * 200, "y" * MAX_FIELD_CHARS, card={"a": nested(MAX_CARD_DEPTH - 1)})
    assert len(character.description) == MAX_FIELD_CHARS


def test_names_are_filled_in_regardless_of_case() -> None:
    text = "{{char}} {{Char}} {{USER}} <USER> <user> <BOT> <char> {{original}} {char} <START>"
    assert NORA.fill_names(text) == "Nora Nora Ben Ben Ben Nora Nora {{original}} {char} <START>"


def test_a_nickname_replaces_the_name_in_texts() -> None:
    assert NORA.with_changes(nickname="Norrie").fill_names("{{char}} and {{user}}") == "Norrie and Ben"


def test_a_name_that_looks_like_another_placeholder_is_not_filled_in_again() -> None:
    assert Character("{{user}}", person="<BOT>").fill_names("{{char}}, {{user}}") == "{{user}}, <BOT>"
    assert Character(r"\1", person="Ben").fill_names("{{char}}") == r"\1"


def test_an_edit_leaves_the_original_character_unchanged() -> None:
    moved = NORA.with_changes(location="on the beach", person="Ann")
    assert (moved.location, moved.person, moved.name) == ("on the beach", "Ann", "Nora")
    assert NORA.location == ""


def test_an_edit_is_checked_like_a_new_character() -> None:
    with pytest.raises(
        BadInput, match=r"unknown field 'mood' of a character; expected one of name, description, location, .*nickname"
    ):
        NORA.with_changes(mood="glad")
    with pytest.raises(BadInput, match="user's name too"):
        NORA.with_changes(person="Nora")


def test_a_character_copies_its_card() -> None:
    tags = ["sea"]
    character = Character("Nora", card={"data": {"tags": tags}})
    tags.append("rocks")
    assert character.card == {"data": {"tags": ["sea"]}}
    assert hash(character) == hash(Character("Nora", card={"data": {"tags": ["sea"]}}))


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=200).filter(str.strip)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)


@given(name=NAMES, person=NAMES, texts=st.dictionaries(st.sampled_from(["description", "sample", "reminder"]), TEXTS))
def test_a_character_survives_json(name: str, person: str, texts: dict[str, Any]) -> None:
    if name.strip().casefold() == person.strip().casefold():
        return
    character = Character(name, person=person, card={"data": {"creator": name}}, **texts)
    assert Character.from_json(json.loads(json.dumps(character.to_json()))) == character


def test_json_contains_only_fields_that_are_set() -> None:
    assert NORA.to_json() == {"name": "Nora", "description": "A keeper of a lighthouse.", "person": "Ben"}
    assert Character("-").to_json() == {"name": "-"}


def test_unknown_fields_in_json_are_ignored() -> None:
    assert Character.from_json({"name": "Nora", "voice": "deep"}) == Character("Nora")


@pytest.mark.parametrize("values", [{}, [], None, {"description": "nobody"}])
def test_json_without_a_name_is_rejected(values: Any) -> None:
    with pytest.raises(BadInput, match="a character is an object with a name, got"):
        Character.from_json(values)


def test_json_with_a_wrong_type_is_rejected() -> None:
    with pytest.raises(BadInput, match="scenario must be text, got 7"):
        Character.from_json({"name": "Nora", "scenario": 7})


def test_the_default_character_greets_by_its_name() -> None:
    assert DEFAULT_CHARACTER.fill_names(DEFAULT_CHARACTER.greeting).startswith("Hello, I'm Ever.")
    assert load_wording("en")("chat.greeting", name="{{char}}") == DEFAULT_CHARACTER.greeting
    assert "{{" not in DEFAULT_CHARACTER.fill_names(DEFAULT_CHARACTER.description)

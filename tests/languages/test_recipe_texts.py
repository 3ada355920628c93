"""The names and meanings of the recipes' options: each language has all of them, and none that is unknown."""

from __future__ import annotations

import re

import pytest

from everthread.config import LANGUAGES
from everthread.factory import RECIPES, open_recipe
from everthread.languages.recipe_texts import ABOUT, OWN_TEXTS, SHARED, load_recipe_texts
from everthread.recall import features, statements, token_match
from everthread.recipes.options import Option, options

OPTIONS: dict[str, dict[str, Option]] = {name: options(open_recipe(name)) for name in RECIPES}
NAMES = {option for declared in OPTIONS.values() for option in declared}
CHOICES = {choice for declared in OPTIONS.values() for each in declared.values() for choice in each.limits.choices}
MAX_NAME_CHARS = 32  # beside the field


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_option_and_choice_has_a_name(language: str) -> None:
    texts = load_recipe_texts(language)
    assert texts.names.keys() == NAMES
    assert texts.choices.keys() == CHOICES
    assert max(map(len, texts.names.values())) <= MAX_NAME_CHARS
    for declared in OPTIONS.values():
        names = [texts.name(option) for option in declared]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("table", ["values", "terminal"])
def test_the_words_for_values_have_the_placeholders_of_the_english_ones(language: str, table: str) -> None:
    words, english = (getattr(load_recipe_texts(each), table) for each in (language, "en"))
    assert words.keys() == english.keys()
    for name, text in words.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", english[name]))


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_meaning_is_translated_once(language: str) -> None:
    texts = load_recipe_texts(language)
    shared = texts.recipes[SHARED]
    assert texts.recipes.keys() == {SHARED, *RECIPES}
    for recipe, declared in OPTIONS.items():
        own = texts.recipes[recipe]
        assert own.keys() == {ABOUT, *declared} - (shared.keys() - own.keys())
        assert texts.describe(recipe, "") == own[ABOUT]
        for name, option in declared.items():
            meaning = texts.explain(recipe, name, option.limits.meaning)
            assert meaning not in ("", option.limits.meaning)
    meanings = {name: {each[name].limits.meaning for each in OPTIONS.values() if name in each} for name in shared}
    assert [name for name in ("window", "offers", "facts") if len(meanings[name]) > 1] == []


def test_every_language_states_the_number_of_the_signals_of_the_default_recipe() -> None:
    assert len({*features.SIGNALS, *statements.SIGNALS, token_match.SIGNAL}) == 25
    words = {"de": "fünfundzwanzig", "es": "veinticinco", "fr": "vingt-cinq", "ja": "25", "zh": "二十五"}
    assert "twenty-five" in open_recipe("default").description
    assert words.keys() == {*LANGUAGES} - {"en"}
    for language, word in words.items():
        assert word in load_recipe_texts(language).recipes["default"][ABOUT]


def test_a_recipe_of_ones_own_keeps_its_words() -> None:
    assert OWN_TEXTS.describe("mine", "As I like it") == "As I like it"
    assert OWN_TEXTS.name("max_hits") == "max hits"
    assert OWN_TEXTS.name_choice("none") == "none"
    assert OWN_TEXTS.explain("mine", "window", "Only half.") == "Only half."

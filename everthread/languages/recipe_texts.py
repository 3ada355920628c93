"""Loads the names of the recipes' options, and their descriptions in languages other than English, for people."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from everthread.common.once import once
from everthread.languages.wording import DEFAULT_LANGUAGE

FOLDER = Path(__file__).parent / "recipes"
SHARED = "shared"  # the table of meanings that several recipes have in common
ABOUT = "about"  # the key of a recipe's description

Table = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RecipeTexts:
    """The texts of one language. A recipe or an option without a text keeps the one that its code declares.

    Attributes:
        names: the names of options.
        choices: the names of their values.
        values: the words that describe which values an option accepts.
        terminal: the words around them in the terminal.
        recipes: the description of each recipe, and the meanings of its options.
    """

    names: Table
    choices: Table
    values: Table
    terminal: Table
    recipes: Mapping[str, Table]

    def describe(self, recipe: str, description: str) -> str:
        """Return the description of a recipe."""
        return self.recipes.get(recipe, {}).get(ABOUT, description)

    def name(self, option: str) -> str:
        """Return the name of an option."""
        return self.names.get(option) or option.replace("_", " ")

    def name_choice(self, choice: str) -> str:
        """Return the name of a value of an option."""
        return self.choices.get(choice, choice)

    def explain(self, recipe: str, option: str, meaning: str) -> str:
        """Return the meaning of an option of a recipe."""
        own, shared = (self.recipes.get(table, {}) for table in (recipe, SHARED))
        return own.get(option) or shared.get(option, meaning)


OWN_TEXTS = RecipeTexts({}, {}, {}, {}, {})  # for a recipe of a user's own, whose options may have the same names


@once
def load_recipe_texts(language: str = DEFAULT_LANGUAGE) -> RecipeTexts:
    """Load the texts of a language, which must be one of `config.LANGUAGES`."""
    tables = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    names, choices, values, terminal = (tables.pop(name) for name in ("names", "choices", "values", "terminal"))
    return RecipeTexts(names, choices, values, terminal, tables)

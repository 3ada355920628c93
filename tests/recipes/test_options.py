import re
from dataclasses import dataclass
from typing import Any

import pytest

from everthread.errors import BadInput
from everthread.factory import RECIPES
from everthread.recipes.base import Recipe
from everthread.recipes.emi import Emi
from everthread.recipes.membot import Membot
from everthread.recipes.options import OPTION_TYPES, as_text, identify, option, options, read_values, with_options
from everthread.recipes.packabby import Packabby


@dataclass(frozen=True, kw_only=True)
class Own(Recipe):
    name = "own"
    about = "a recipe of a user's"
    mood: str = option("calm", "How it speaks.", choices=("calm", "loud"))
    voice: Any = option("", "The name of a voice, or in Python a function that speaks.")


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_each_option_has_a_meaning_a_type_and_a_default_within_its_limits(recipe: Recipe) -> None:
    found = options(recipe)
    assert found
    for each in found.values():
        assert each.type in OPTION_TYPES.values()
        assert each.limits.meaning.endswith(".")
        assert each.read(as_text(each.default)) == each.default


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_option_values_survive_a_round_trip_through_text(recipe: Recipe) -> None:
    written = {name: as_text(value) for name, value in read_values(recipe).items()}
    assert read_values(with_options(recipe, written)) == read_values(recipe)


def test_values_are_read_from_text_and_from_json_alike() -> None:
    read = with_options(Packabby(), {"threshold": "0.3", "max_hits": 2, "decoys": "They said hello, They left"})
    assert (read.threshold, read.max_hits, read.decoys) == (0.3, 2, ("They said hello", "They left"))
    assert with_options(read, {"threshold": "none", "decoys": ["a, b"]}).decoys == ("a, b",)
    assert (
        with_options(read, {"threshold": "none"}).threshold is with_options(read, {"threshold": None}).threshold is None
    )
    assert with_options(Emi(), {"include_user": "true"}).include_user
    assert with_options(Own(), {"mood": "loud"}).mood == "loud"


@pytest.mark.parametrize(
    ("recipe", "given", "said"),
    [
        (Packabby(), {"threshold": "5"}, "threshold must be a number from -1 to 1, or none, got '5'"),
        (Packabby(), {"threshold": "warm"}, "threshold must be a number from -1 to 1, or none, got 'warm'"),
        (Packabby(), {"threshold": "nan"}, "threshold must be a number from -1 to 1, or none, got 'nan'"),
        (Packabby(), {"max_hits": 1.5}, "max_hits must be a whole number from 1 to 1000, got 1.5"),
        (Packabby(), {"max_hits": True}, "max_hits must be a whole number from 1 to 1000, got True"),
        (Packabby(), {"max_hits": None}, "max_hits must be a whole number from 1 to 1000, got None"),
        (Packabby(), {"decoys": [1]}, "decoys must be texts separated by commas, got [1]"),
        (Emi(), {"include_user": "yes"}, "include_user must be true or false, got 'yes'"),
        (Own(), {"mood": "sad"}, "mood must be one of calm, loud, got 'sad'"),
        (Packabby(), {"treshold": 1}, "unknown option 'treshold' of recipe 'packabby'; did you mean 'threshold'?"),
        (Packabby(), {"scribe": 1}, "unknown option 'scribe' of recipe 'packabby'; expected one of max_hits, "),
    ],
)
def test_invalid_values_are_rejected_with_name_and_limits(recipe: Recipe, given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        with_options(recipe, given)


def test_a_text_in_place_of_a_number_is_rejected_in_python() -> None:
    with pytest.raises(BadInput, match=r"neighbours must be a whole number from 0 to 1000, got '3'"):
        Membot(neighbours="3")  # type: ignore[arg-type]


def test_an_object_reads_as_the_default_of_its_option() -> None:
    assert read_values(Own(voice=print))["voice"] == ""
    assert with_options(Own(voice=print), {"voice": "low"}).voice == "low"


def test_recipes_with_equal_names_and_options_have_equal_identities() -> None:
    assert identify(Packabby(max_hits=2)) == identify(with_options(Packabby(), {"max_hits": "2"}))
    assert len({identify(Packabby()), identify(Packabby(max_hits=2)), identify(Emi())}) == 3

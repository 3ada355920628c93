"""Recipes: the available ones, their options, and the recipe of a bank."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Depends
from pydantic import BaseModel, Field

from everthread import factory
from everthread.languages.recipe_texts import OWN_TEXTS, load_recipe_texts
from everthread.recipes.base import Recipe
from everthread.recipes.options import as_json, check_remote, describe_options, options, read_values, with_options
from everthread.recipes.saved_recipe import SavedRecipe
from everthread.server.idempotency import Idempotency, IdempotentRequest
from everthread.server.page_languages import ResponseLanguage
from everthread.server.permissions import BankId, ReadAnyServices, RequireBankPermission
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import ItemList, RequestBody
from everthread.server.services import Services

router = create_router("recipes")

MAX_OPTIONS = 100  # in a request

ReadServices = Annotated[Services, Depends(RequireBankPermission("read"))]
WriteServices = Annotated[Services, Depends(RequireBankPermission("write"))]
OptionValue = bool | int | float | str | list[str] | None


class OptionView(BaseModel):
    """One option of a recipe.

    title and meaning: its name and what it does, in the language of the request. optional: whether null is valid. low
    and high: the limits of a number. choices: the values of a text, and choice_titles their names. usual: the value
    unless the bank sets it.
    """

    name: str
    title: str
    type: Literal["bool", "int", "float", "str", "texts"]
    optional: bool
    low: float | None
    high: float | None
    choices: list[str]
    choice_titles: list[str]
    meaning: str
    default: OptionValue
    usual: OptionValue
    value: OptionValue


class RecipeView(BaseModel):
    """A recipe with its options. about: what it does, in the language of the request. kept: whether it is the bank's
    own, and not the server's."""

    name: str
    about: str
    kept: bool
    options: list[OptionView]


class RecipeBody(RequestBody):
    """A recipe for a bank, with options. Without a name: the server's for `PUT`, the bank's current one for `PATCH`."""

    name: str | None = None
    options: dict[str, Any] = Field(default_factory=dict, max_length=MAX_OPTIONS)


@router.get("/recipes", response_model=ItemList[RecipeView])
def recipes(services: ReadAnyServices, language: ResponseLanguage) -> dict[str, Any]:
    """List the recipes with the server's options."""
    return {"items": [_view(recipe, recipe, False, language) for recipe in services.list_recipes()]}


@router.get("/banks/{bank}/recipe", response_model=RecipeView)
def bank_recipe(services: ReadServices, bank: BankId, language: ResponseLanguage) -> dict[str, Any]:
    """Get the recipe of a bank, and the values of its options."""
    services.require_bank(bank)
    return _bank_view(services, bank, language)


@router.put("/banks/{bank}/recipe", response_model=RecipeView)
def set_recipe(
    services: WriteServices, bank: BankId, idempotency: Idempotency, body: RecipeBody, language: ResponseLanguage
) -> dict[str, Any]:
    """Set a bank's recipe with these options, the others as the server has them; without a name and options, use the
    server's recipe."""
    services.require_bank(bank)
    server_recipe = services.get_recipe(body.name or services.recipe.name)
    check_remote(server_recipe, body.options)
    recipe = None if body.name is None and not body.options else with_options(server_recipe, body.options)
    _save_once(services, bank, idempotency, recipe)
    return _bank_view(services, bank, language)


@router.patch("/banks/{bank}/recipe", response_model=RecipeView)
def change_recipe(
    services: WriteServices, bank: BankId, idempotency: Idempotency, body: RecipeBody, language: ResponseLanguage
) -> dict[str, Any]:
    """Change some options of the bank's recipe, or the recipe."""
    services.require_bank(bank)
    recipe = services.get_bank_recipe(bank, body.name)
    check_remote(services.get_recipe(recipe.name), body.options)
    _save_once(services, bank, idempotency, with_options(recipe, body.options))
    return _bank_view(services, bank, language)


def _save_once(services: Services, bank: str, idempotency: IdempotentRequest, recipe: Recipe | None) -> None:
    idempotency.run_once(lambda: services.save_recipe(bank, recipe), lambda _: True, lambda _: None)


def _bank_view(services: Services, bank: str, language: str) -> dict[str, Any]:
    recipe = services.get_bank_recipe(bank)
    is_saved = SavedRecipe.load(services.store, bank) is not None
    return _view(recipe, services.get_recipe(recipe.name), is_saved, language)


def _view(recipe: Recipe, server_recipe: Recipe, is_saved: bool, language: str) -> dict[str, Any]:
    texts = load_recipe_texts(language) if factory.is_builtin(recipe) else OWN_TEXTS
    server_values = read_values(server_recipe)
    described = [
        {
            **description,
            "title": texts.name(name),
            "meaning": texts.explain(recipe.name, name, option.limits.meaning),
            "choice_titles": list(map(texts.name_choice, option.limits.choices)),
            "usual": as_json(server_values[name]),
        }
        for description, (name, option) in zip(describe_options(recipe), options(recipe).items(), strict=True)
    ]
    about = texts.describe(recipe.name, recipe.description)
    return {"name": recipe.name, "about": about, "kept": is_saved, "options": described}

"""Recipes: the available ones, their options, and the recipe of a bank."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from everthread.recipes.base import Recipe
from everthread.recipes.options import check_remote, describe_options, with_options
from everthread.recipes.saved_recipe import SavedRecipe
from everthread.server.idempotency import Idempotency, IdempotentRequest
from everthread.server.permissions import BankId, ReadAnyServices, RequireBankPermission
from everthread.server.request_body import AuthFirstRoute
from everthread.server.schemas import ItemList, RequestBody
from everthread.server.services import Services

router = APIRouter(tags=["recipes"], route_class=AuthFirstRoute)

MAX_OPTIONS = 100  # in a request

ReadServices = Annotated[Services, Depends(RequireBankPermission("read"))]
WriteServices = Annotated[Services, Depends(RequireBankPermission("write"))]
OptionValue = bool | int | float | str | list[str] | None


class OptionView(BaseModel):
    """One option of a recipe.

    optional: whether null is valid. low and high: the limits of a number. choices: the values of a text. usual: the
    value unless the bank sets it.
    """

    name: str
    type: Literal["bool", "int", "float", "str", "texts"]
    optional: bool
    low: float | None
    high: float | None
    choices: list[str]
    meaning: str
    default: OptionValue
    usual: OptionValue
    value: OptionValue


class RecipeView(BaseModel):
    """A recipe with its options. kept: whether it is the bank's own, and not the server's."""

    name: str
    about: str
    kept: bool
    options: list[OptionView]


class RecipeBody(RequestBody):
    """A recipe for a bank, with options. Without a name: the server's for `PUT`, the bank's current one for `PATCH`."""

    name: str | None = None
    options: dict[str, Any] = Field(default_factory=dict, max_length=MAX_OPTIONS)


@router.get("/recipes", response_model=ItemList[RecipeView])
def recipes(services: ReadAnyServices) -> dict[str, Any]:
    """List the recipes with the server's options."""
    return {"items": [_view(recipe, recipe, False) for recipe in services.list_recipes()]}


@router.get("/banks/{bank}/recipe", response_model=RecipeView)
def bank_recipe(services: ReadServices, bank: BankId) -> dict[str, Any]:
    """Get the recipe of a bank, and the values of its options."""
    services.require_bank(bank)
    return _bank_view(services, bank)


@router.put("/banks/{bank}/recipe", response_model=RecipeView)
def set_recipe(services: WriteServices, bank: BankId, idempotency: Idempotency, body: RecipeBody) -> dict[str, Any]:
    """Set a bank's recipe with these options, the others as the server has them; without a name and options, use the
    server's recipe."""
    services.require_bank(bank)
    server_recipe = services.get_recipe(body.name or services.recipe.name)
    check_remote(server_recipe, body.options)
    recipe = None if body.name is None and not body.options else with_options(server_recipe, body.options)
    return _save_once(services, bank, idempotency, recipe)


@router.patch("/banks/{bank}/recipe", response_model=RecipeView)
def change_recipe(services: WriteServices, bank: BankId, idempotency: Idempotency, body: RecipeBody) -> dict[str, Any]:
    """Change some options of the bank's recipe, or the recipe."""
    services.require_bank(bank)
    recipe = services.get_bank_recipe(bank, body.name)
    check_remote(services.get_recipe(recipe.name), body.options)
    return _save_once(services, bank, idempotency, with_options(recipe, body.options))


def _save_once(services: Services, bank: str, idempotency: IdempotentRequest, recipe: Recipe | None) -> dict[str, Any]:
    idempotency.run_once(lambda: services.save_recipe(bank, recipe), lambda _: True, lambda _: None)
    return _bank_view(services, bank)


def _bank_view(services: Services, bank: str) -> dict[str, Any]:
    recipe = services.get_bank_recipe(bank)
    return _view(recipe, services.get_recipe(recipe.name), SavedRecipe.load(services.store, bank) is not None)


def _view(recipe: Recipe, server_recipe: Recipe, is_saved: bool) -> dict[str, Any]:
    server_values = {option["name"]: option["value"] for option in describe_options(server_recipe)}
    options = [{**option, "usual": server_values[option["name"]]} for option in describe_options(recipe)]
    return {"name": recipe.name, "about": recipe.description, "kept": is_saved, "options": options}

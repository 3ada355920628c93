"""Recipes: which there are, their options, and the recipe of a bank."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from everthread.errors import NotFound
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

Reading = Annotated[Services, Depends(RequireBankPermission("read"))]
Changing = Annotated[Services, Depends(RequireBankPermission("write"))]
Value = bool | int | float | str | list[str] | None


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
    default: Value
    usual: Value
    value: Value


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
    return {"items": [_view(each, each, False) for each in services.list_recipes()]}


@router.get("/banks/{bank}/recipe", response_model=RecipeView)
def bank_recipe(services: Reading, bank: BankId) -> dict[str, Any]:
    """Get the recipe of a bank, and the values of its options."""
    _require_bank(services, bank)
    return _bank_view(services, bank)


@router.put("/banks/{bank}/recipe", response_model=RecipeView)
def set_recipe(services: Changing, bank: BankId, idempotency: Idempotency, body: RecipeBody) -> dict[str, Any]:
    """Set a bank's recipe with these options, the others as the server has them; without a name and options, use the
    server's recipe."""
    _require_bank(services, bank)
    usual = services.get_recipe(body.name or services.recipe.name)
    check_remote(usual, body.options)
    recipe = None if body.name is None and not body.options else with_options(usual, body.options)
    return _save_once(services, bank, idempotency, recipe)


@router.patch("/banks/{bank}/recipe", response_model=RecipeView)
def change_recipe(services: Changing, bank: BankId, idempotency: Idempotency, body: RecipeBody) -> dict[str, Any]:
    """Change some options of the bank's recipe, or the recipe."""
    _require_bank(services, bank)
    recipe = services.get_bank_recipe(bank, body.name)
    check_remote(services.get_recipe(recipe.name), body.options)
    return _save_once(services, bank, idempotency, with_options(recipe, body.options))


def _require_bank(services: Services, bank: str) -> None:
    """Raise NotFound if there is no such bank. The bank need not be readable."""
    if not services.store.exists(bank):
        raise NotFound(f"there is no bank {bank!r}; the first line stored in it creates it")


def _save_once(services: Services, bank: str, idempotency: IdempotentRequest, recipe: Recipe | None) -> dict[str, Any]:
    idempotency.run_once(lambda: services.save_recipe(bank, recipe), lambda _: True, lambda _: None)
    return _bank_view(services, bank)


def _bank_view(services: Services, bank: str) -> dict[str, Any]:
    recipe = services.get_bank_recipe(bank)
    return _view(recipe, services.get_recipe(recipe.name), SavedRecipe.load(services.store, bank) is not None)


def _view(recipe: Recipe, usual: Recipe, kept: bool) -> dict[str, Any]:
    before = {each["name"]: each["value"] for each in describe_options(usual)}
    options = [{**each, "usual": before[each["name"]]} for each in describe_options(recipe)]
    return {"name": recipe.name, "about": recipe.description, "kept": kept, "options": options}

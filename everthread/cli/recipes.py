"""`everthread recipes`: shows the recipes and their options; `refusals` is a subcommand."""

from __future__ import annotations

import click

from everthread import factory
from everthread.cli.common import json_option, show_json
from everthread.cli.main import open_store
from everthread.cli.refusals import refusals
from everthread.languages.recipe_texts import RecipeTexts, load_recipe_texts
from everthread.languages.terminal_language import find_language
from everthread.recipes import options
from everthread.recipes.base import Recipe
from everthread.recipes.options import Option
from everthread.recipes.saved_recipe import SavedRecipe

bank_option = click.option("-b", "--bank", help="Show the values of this bank.")


class RecipeGroup(click.Group):
    """Accepts the name of a recipe as a command, which shows the options of that recipe."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of that name, else the one that shows the options of the recipe of that name."""
        return super().get_command(ctx, name) or _build_command(name)


@click.group(cls=RecipeGroup, invoke_without_command=True, subcommand_metavar="[NAME | COMMAND [ARGS]...]")
@bank_option
@json_option
@click.pass_context
def recipes(ctx: click.Context, /, bank: str | None, as_json: bool) -> None:
    """List the recipes, which --recipe chooses from, or show the options of the recipe NAME.

    With --bank and without a NAME, show the options of the bank's own recipe.
    """
    if ctx.invoked_subcommand is not None:
        return
    if bank is not None:
        _show(_open_recipe(ctx, None, bank), as_json)
        return
    descriptions = {name: recipe.description for name, recipe in factory.RECIPES.items()}
    if as_json:
        show_json(descriptions)
        return
    texts = load_recipe_texts(find_language())
    rows = (f"{name:<12} {texts.describe(name, description)}" for name, description in descriptions.items())
    click.echo("\n".join(rows))
    click.echo(texts.terminal["hint"], err=True)


recipes.add_command(refusals)


def _build_command(name: str) -> click.Command:
    @click.command(name, help=f"Show the options of the recipe {name}.")
    @bank_option
    @json_option
    @click.pass_context
    def show(ctx: click.Context, /, bank: str | None, as_json: bool) -> None:
        parent = ctx.parent.params if ctx.parent else {}
        _show(_open_recipe(ctx, name, bank or parent.get("bank")), as_json or parent.get("as_json", False))

    return show


def _open_recipe(ctx: click.Context, name: str | None, bank: str | None) -> Recipe:
    """Open the recipe of that name, else the one that --recipe names, with the values of the bank."""
    saved = None
    if bank is not None:
        with open_store(ctx, bank) as store:
            saved = SavedRecipe.load(store, bank)
    return factory.open_recipe(name or ctx.obj["recipe"], saved, ctx.obj["options"])


def _show(recipe: Recipe, as_json: bool) -> None:
    if as_json:
        show_json({"name": recipe.name, "about": recipe.description, "options": options.describe_options(recipe)})
        return
    texts, values = load_recipe_texts(find_language()), options.read_values(recipe)
    rows = [
        f"\n{name} = {options.as_text(values[name])}\n"
        f"    {texts.name(name)}: {texts.explain(recipe.name, name, option.limits.meaning)}\n"
        f"    {_describe_values(option, texts)}"
        for name, option in options.options(recipe).items()
    ]
    click.echo("\n".join([f"{recipe.name}: {texts.describe(recipe.name, recipe.description)}", *rows]))


def _describe_values(option: Option, texts: RecipeTexts) -> str:
    """Describe the values that an option accepts, and its default."""
    words, expected = texts.terminal, option.describe_values(texts.values)
    default = options.as_text(option.default) or words["empty"]
    return words["default"].format(expected=expected[:1].upper() + expected[1:], value=default)

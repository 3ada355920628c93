"""`everthread characters`: lists, creates, edits, imports and exports the characters of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from everthread.chat import character_library
from everthread.chat.character import Character
from everthread.cli.common import confirm, json_option, show_json, to_json, yes_option
from everthread.cli.sanitize import escape_control_chars
from everthread.errors import BadInput

Command = TypeVar("Command", bound=Callable[..., None])

OPTIONS = {
    "description": "Description of the character.",
    "location": "Where the conversation takes place.",
    "scenario": "The situation in which you talk.",
    "greeting": "Its first message.",
    "person": "Your name, as the character knows it.",
    "nickname": "Name used for {{char}} in its texts, if other than its name.",
    "examples": "Example dialogues, each after a row <START>.",
    "instructions": "Instructions to the model, in place of the built-in ones.",
    "reminder": "Text placed at the end of the prompt.",
}


def text_options(command: Command) -> Command:
    """Add an option for each text of a character."""
    for name, meaning in reversed(OPTIONS.items()):
        command = click.option(f"--{name}", metavar="TEXT", help=meaning)(command)
    return command


@click.group(invoke_without_command=True)
@click.pass_context
def characters(ctx: click.Context) -> None:
    """Manage the characters to talk with, and exchange them as character cards. Without a command: list them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=False)


@characters.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the characters."""
    names = character_library.list_names()
    if_empty = "there are no characters yet; create one with: everthread characters new NAME"
    show_json(names) if as_json else click.echo("\n".join(names) or if_empty)


@characters.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a character of the library or of a card file."""
    _show(character_library.load(name), as_json)


@characters.command()
@click.argument("name")
@text_options
@json_option
def new(name: str, as_json: bool, **texts: str | None) -> None:
    """Create a character. {{char}} and {{user}} are replaced by the names in every text."""
    character = Character(name, **_drop_missing(texts))
    character_library.save(character)
    _show(character, as_json)


@characters.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace characters with the same names.")
@json_option
def import_(files: tuple[Path, ...], force: bool, as_json: bool) -> None:
    """Import characters from card FILES, JSON or PNG (V1, V2, V3). If one file is invalid, none is imported."""
    imported = [character.name for character in character_library.add_all(files, force=force)]
    show_json(imported) if as_json else click.echo("\n".join(imported))


@characters.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--version", type=click.Choice(["2", "3"]), default="3", show_default=True, help="Version of the card format."
)
@click.option(
    "--picture",
    metavar="PNG",
    type=click.Path(path_type=Path),
    help="Picture of a PNG card. Default: the character's own, or a plain one.",
)
@click.option("--force", is_flag=True, help="Replace the file.")
@json_option
def export_(name: str, file: Path, version: str, picture: Path | None, force: bool, as_json: bool) -> None:
    """Write a character's card to FILE, whose name ends in .json or .png.

    The card contains all texts of the character, including your name and the location; check it before you share it.
    """
    character_library.export(name, file, version=int(version), picture=picture, force=force)
    show_json({"name": name, "file": str(file)}) if as_json else click.echo(f"{name} → {file}")


@characters.command()
@click.argument("name")
@text_options
@click.option("--picture", metavar="PNG", type=click.Path(path_type=Path), help="Picture of the character.")
@json_option
def edit(name: str, picture: Path | None, as_json: bool, **texts: str | None) -> None:
    """Change a character. Texts that are not given stay; an empty TEXT removes one."""
    changes = _drop_missing(texts)
    if not changes and picture is None:
        raise BadInput(f"there is nothing to change; pass one of --{', --'.join((*OPTIONS, 'picture'))}")
    file = character_library.get_file(name)
    character = character_library.load(name).with_changes(**changes)
    if character.name != name:  # renamed by hand in the file
        raise BadInput(f"{file} now holds {character.name!r}; import it under that name, and remove {name!r}")
    character_library.save(character, picture=picture, force=True)
    _show(character, as_json)


@characters.command("remove")
@click.argument("name")
@yes_option
@json_option
def remove_(name: str, yes: bool, as_json: bool) -> None:
    """Remove a character permanently. Its banks stay; `everthread forget` removes them."""
    character_library.get_file(name)
    if as_json and not yes:
        raise BadInput(f"with --json there is no confirmation; pass --yes as well, to remove {name!r} for good")
    if not yes:
        confirm(f"Remove {name!r} for good?")
    character_library.remove(name)
    show_json({"removed": name}) if as_json else click.echo(f"removed: {name}")


def _drop_missing(texts: dict[str, str | None]) -> dict[str, Any]:
    """Return the texts that were given as options."""
    return {name: text for name, text in texts.items() if text is not None}


def _show(character: Character, as_json: bool) -> None:
    if as_json:
        show_json(character.to_json())
        return
    for name, value in character.to_json().items():
        text = to_json(value) if name == "card" else str(value)
        click.echo(escape_control_chars(f"{name:>12}  " + "\n              ".join(text.splitlines())))

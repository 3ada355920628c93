"""The folder of characters, one card a file, and `everthread characters`, which looks after them.

A name becomes a file's name by escaping, never a path. Upper-case letters are escaped too, so that `Nora` and `nora`
stay two where file names ignore case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import click
import platformdirs

from everthread.chat import card, png_text
from everthread.chat.character import Character
from everthread.cli.common import json_option, show_json, to_json
from everthread.cli.sanitize import escape_control_chars
from everthread.errors import BadInput, NotFound, StoreUnavailable

LONGEST_STEM = 200  # bytes of a file's name, without its ending; the usual limit is 255
DIGEST = 32  # characters of the SHA-256 of a longer one, which stand behind its beginning and a ~
SHOWN = 20  # characters that a message lists: enough to find a mistyped name
_CUT = re.compile(rf"~[0-9a-f]{{{DIGEST}}}\Z")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\Z")  # which Windows takes for something else than files


def folder() -> Path:
    """Where the characters are: in the user's data folder, wherever the banks are kept."""
    return Path(platformdirs.user_data_dir("everthread")) / "characters"


def listed() -> list[str]:
    """The names of the characters in the folder. Raises BadFile."""
    if not folder().is_dir():
        return []
    named = ((path, _name(path)) for path in folder().iterdir() if path.suffix in (card.JSON, card.PNG))
    return sorted({name for path, name in named if path.stem == _stem(name)})


def load(name: str | Path) -> Character:
    """The character of this name in the folder; else, if it ends in .json or .png or is a Path, of that card's file.

    Raises NotFound, and BadFile.
    """
    return card.read(_source(name))


def save(character: Character, *, picture: str | Path | None = None, force: bool = False) -> Path:
    """Keep a character in the folder, under its name; the file. With a picture it is a PNG, else what it was before.

    Raises BadInput if there is one of that name, unless force; and as `card.write`.
    """
    there = _existing(character.name, force)
    kind = card.PNG if picture is not None else card.JSON if there is None else there.suffix
    file = _target_path(character.name, kind)
    card.write(character, file, picture=picture, force=True)
    return _remove_previous(file, there)


def add(path: str | Path, *, force: bool = False) -> Character:
    """Keep the character of a card's file in the folder: a picture as it came, JSON as a V3 card. Raises as `save`,
    and BadFile."""
    character, raw = card.read(path), card.content(Path(path))
    there = _existing(character.name, force)
    if png_text.recognised(raw):
        file = _target_path(character.name, card.PNG)
        card.put(file, raw, force=True)
    else:
        file = _target_path(character.name, card.JSON)
        card.write(character, file, force=True)
    _remove_previous(file, there)
    return character


def export(
    name: str | Path, path: str | Path, *, version: int = 3, picture: str | Path | None = None, force: bool = False
) -> None:
    """Write the card of a character, as `load` finds it, to a .json or .png file; a .png in its own picture if it has
    one and no other is given. Raises as `load` and `card.write`."""
    source = _source(name)
    if picture is None and {source.suffix.lower(), Path(path).suffix.lower()} == {card.PNG}:
        picture = source
    card.write(card.read(source), path, version=version, picture=picture, force=force)


def has_picture(name: str) -> bool:
    """Whether the character of this name in the folder has a picture."""
    file = _file(name)
    return file is not None and file.suffix == card.PNG


def picture(name: str) -> bytes:
    """The picture of the character of this name in the folder, without its card. Raises NotFound and BadFile."""
    file = _file(name)
    if file is None or file.suffix != card.PNG:
        raise NotFound(f"the character {name!r} has no picture")
    return png_text.with_texts(card.content(file), {}, card.CHUNKS.values(), file)


def remove(name: str) -> None:
    """Take a character out of the folder for good. What was said with it stays in its banks. Raises NotFound."""
    if (file := _file(name)) is None:
        raise _not_found(name)
    file.unlink()


def _stem(name: str) -> str:
    """The name of a character's file, without its ending."""
    escaped = "".join(c if re.match(r"[a-z0-9_-]", c) else _escaped(c) for c in name)
    if _DEVICES.match(escaped):
        return _escaped(escaped[0]) + escaped[1:]
    if len(escaped) <= LONGEST_STEM:
        return escaped
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    return f"{escaped[: LONGEST_STEM - DIGEST - 1]}~{digest}"


def _escaped(c: str) -> str:
    return "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogatepass"))


def _name(path: Path) -> str:
    """The name from which `_stem` made this file's; of a long one its card tells."""
    return card.read(path).name if _CUT.search(path.stem) else unquote(path.stem)


def _file(name: str) -> Path | None:
    """The file of the character of this name, if there is one."""
    files = (folder() / (_stem(name) + kind) for kind in (card.PNG, card.JSON))
    return next((file for file in files if file.exists()), None)


def _source(name: str | Path) -> Path:
    """The file of a character by its name in the folder, or else by its path."""
    if isinstance(name, str):
        if (file := _file(name)) is not None:
            return file
        if Path(name).suffix.lower() not in (card.JSON, card.PNG):
            raise _not_found(name)
    return Path(name)


def _existing(name: str, force: bool) -> Path | None:
    """The file that will be replaced."""
    file = _file(name)
    if file is not None and not force:
        raise BadInput(
            f"there is a character {name!r} already; edit it, remove it, or import with --force (in Python force=True)"
        )
    return file


def _target_path(name: str, kind: str) -> Path:
    """Where a character's file goes, in a folder that is there."""
    try:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{folder()} can't be made ({error.strerror}); make it a folder of yours") from error
    return folder() / (_stem(name) + kind)


def _remove_previous(file: Path, before: Path | None) -> Path:
    """The file, as the only one of its character."""
    if before is not None and before != file:
        before.unlink(missing_ok=True)
    return file


def _not_found(name: str) -> NotFound:
    there = listed()
    more = " …" if len(there) > SHOWN else ""
    known = f"there are {', '.join(there[:SHOWN])}{more}" if there else "there are none yet"
    return NotFound(f"there is no character {name!r}; {known}. A card's file is named with its ending, .json or .png")


# ----------------------------------------------------------------------- commands

Command = TypeVar("Command", bound=Callable[..., None])

OPTIONS = {
    "description": "Who it is.",
    "location": "Where you two are.",
    "scenario": "What is going on.",
    "greeting": "What it says first.",
    "person": "Your name, as it knows you.",
    "nickname": "What it is called in its texts, where that is not its name.",
    "examples": "Dialogues that show how it speaks, each after a row <START>.",
    "instructions": "What stands in place of our instructions to the model.",
    "reminder": "What the model reads last.",
}


def text_options(command: Command) -> Command:
    for name, words in reversed(OPTIONS.items()):
        command = click.option(f"--{name}", metavar="TEXT", help=words)(command)
    return command


@click.group(invoke_without_command=True)
@click.pass_context
def characters(ctx: click.Context) -> None:
    """Keep characters to talk with, and exchange them as character cards. Without a command: list them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=False)


@characters.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the characters."""
    found = listed()
    none = "there are no characters yet; make one with: everthread characters new NAME"
    show_json(found) if as_json else click.echo("\n".join(found) or none)


@characters.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a character, of the folder or of a card's file."""
    _show(load(name), as_json)


@characters.command()
@click.argument("name")
@text_options
@json_option
def new(name: str, as_json: bool, **texts: str | None) -> None:
    """Make a character. {{char}} and {{user}} stand for the names in every text."""
    character = Character(name, **_given(texts))
    save(character)
    _show(character, as_json)


@characters.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace characters of the same names.")
@json_option
def import_(files: tuple[Path, ...], force: bool, as_json: bool) -> None:
    """Keep the characters of card FILES, JSON or PNG (V1, V2, V3); of all of them or, where one is wrong, of none."""
    names: dict[str, Path] = {}
    for file in files:
        name = card.read(file).name
        if name in names:
            raise BadInput(f"{names[name]} and {file} are both of {name!r}; import one of them")
        _existing(name, force)
        names[name] = file
    done = [add(file, force=force).name for file in files]
    show_json(done) if as_json else click.echo("\n".join(done))


@characters.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--version", type=click.Choice(["2", "3"]), default="3", show_default=True, help="Of the card.")
@click.option("--picture", metavar="PNG", type=click.Path(path_type=Path), help="Default: its own, or a plain one.")
@click.option("--force", is_flag=True, help="Replace the file.")
@json_option
def export_(name: str, file: Path, version: str, picture: Path | None, force: bool, as_json: bool) -> None:
    """Write a character's card to FILE, whose name ends in .json or .png.

    All of the character is in it, also your name and the place; look at it before you give it to others.
    """
    export(name, file, version=int(version), picture=picture, force=force)
    show_json({"name": name, "file": str(file)}) if as_json else click.echo(f"{name} → {file}")


@characters.command()
@click.argument("name")
@text_options
@click.option("--picture", metavar="PNG", type=click.Path(path_type=Path), help="A picture, which will hold the card.")
@json_option
def edit(name: str, picture: Path | None, as_json: bool, **texts: str | None) -> None:
    """Change a character. What is not given stays; an empty TEXT takes one away."""
    changes = _given(texts)
    if not changes and picture is None:
        raise BadInput(f"nothing is given to be changed; give --{', --'.join((*OPTIONS, 'picture'))}")
    if (file := _file(name)) is None:
        raise _not_found(name)
    character = load(name).with_changes(**changes)
    if character.name != name:  # by hand
        raise BadInput(f"{file} holds {character.name!r} by now; import it as that, and remove {name!r}")
    save(character, picture=picture, force=True)
    _show(character, as_json)


@characters.command("remove")
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@json_option
def remove_(name: str, yes: bool, as_json: bool) -> None:
    """Remove a character for good. What was said with it stays in its banks; `everthread forget` removes that."""
    from everthread.cli.main import confirm  # which is there by now, and itself needs much that the folder doesn't

    if _file(name) is None:
        raise _not_found(name)
    if as_json and not yes:
        raise BadInput(f"with --json nothing is asked; give --yes, too, to remove {name!r} for good")
    if not yes:
        confirm(f"Remove {name!r} for good?")
    remove(name)
    show_json({"removed": name}) if as_json else click.echo(f"removed: {name}")


def _given(texts: dict[str, str | None]) -> dict[str, Any]:
    """The options that were given."""
    return {name: text for name, text in texts.items() if text is not None}


def _show(character: Character, as_json: bool) -> None:
    if as_json:
        show_json(character.to_json())
        return
    for name, value in character.to_json().items():
        text = to_json(value) if name == "card" else str(value)
        click.echo(escape_control_chars(f"{name:>12}  " + "\n              ".join(text.splitlines())))

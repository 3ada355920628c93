"""`everthread export`: write a bank, or one of its sessions, into a file, or each session into a file of a folder."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from everthread.cli.common import bank_option, json_option, pluralize, show_json
from everthread.cli.main import open_memory
from everthread.cli.names import find_session
from everthread.common.atomic_write import open_atomically
from everthread.errors import BadFile, BadInput
from everthread.memory import Memory
from everthread.transfer import exporting
from everthread.transfer.exporting import EXPORT_FORMATS, find_format

FORMATS_BY_ENDING = {".html": "html", ".htm": "html", ".md": "markdown", ".jsonl": "jsonl"}


def _complete_formats(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in EXPORT_FORMATS if name.startswith(incomplete)]


@click.command()
@bank_option
@click.option(
    "-f", "--format", "form", metavar="NAME", shell_complete=_complete_formats,
    help=f"{', '.join(EXPORT_FORMATS)}. Only jsonl has everything. Default: by the ending of the file, or jsonl.",
)  # fmt: skip
@click.option("--session", help="Only this session: its name or its title.")
@click.option(
    "-o", "--output", type=click.Path(),
    help="A file, or a folder for a file of each session; a missing FOLDER/ is made. Default: standard output.",
)  # fmt: skip
@click.option(
    "--retracted", is_flag=True, help="Include retracted lines; of a jsonl file, `import` retracts them again."
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@json_option
@click.pass_context
def export(
    ctx: click.Context,
    /,
    bank: str,
    form: str | None,
    session: str | None,
    output: str | None,
    retracted: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a bank as JSON Lines, from which `import` makes the same bank again, or in a format of other programs.

    If the output is a folder, each session is written into a file of its own. SillyTavern has a file for each chat.
    """
    form = form or FORMATS_BY_ENDING.get(Path(output or "").suffix.lower(), "jsonl")
    find_format(form)
    counts: list[int] = []
    with open_memory(ctx, bank) as memory:
        session = None if session is None else find_session(memory, session)
        if output is None:
            escaped = codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8"
            options = {"session": session, "retracted": retracted}
            sys.stdout.writelines(exporting.export(memory, form, ascii_only=escaped, **options))  # type: ignore[arg-type]
            return
        try:
            if Path(output).is_dir() or output.endswith(("/", os.sep)):
                files = _write_folder(memory, form, Path(output), session, retracted, force, counts)
            else:
                texts = exporting.export(memory, form, session=session, retracted=retracted, progress=counts.append)
                files = [_write_file(Path(output), texts, force)]
        except OSError as error:
            remedy = "name a file that you may write, on a disk with room for it"
            raise BadFile(f"{output} can't be written ({error.strerror}); {remedy}") from None
    if as_json:
        show_json({"bank": bank, "lines": sum(counts), "file": output, "files": len(files)})
        return
    place = output if files == [Path(output)] else f"{pluralize(len(files), 'file')} in {output}"
    click.echo(f"{pluralize(sum(counts), 'line')} written to {place}", err=True)


def _write_folder(
    memory: Memory, form: str, folder: Path, session: str | None, retracted: bool, force: bool, counts: list[int]
) -> list[Path]:
    """Write sessions into a folder, which is made if it is missing; return the files, and add the numbers of lines."""
    named = exporting.export_files(memory, form, session=session, retracted=retracted, progress=counts.append)
    folder.mkdir(exist_ok=True)
    if not force and any(folder.iterdir()):
        for name, _ in exporting.export_files(memory, form, session=session):
            _check_missing(folder / name)
    return [_write_file(folder / name, texts, force) for name, texts in named]


def _check_missing(path: Path) -> None:
    """Raise BadInput if a file exists; a device or a pipe may."""
    if path.is_file():
        remedy = "name another file, or replace this one with {option}"
        raise BadInput("the file exists already", path=path, remedy=remedy, option="force")


def _write_file(path: Path, texts: Iterator[str], force: bool) -> Path:
    """Write a file completely or not at all; what is no file, such as a pipe, as the texts come."""
    if not force:
        _check_missing(path)
    is_file = path.is_file() or not path.exists()
    with open_atomically(Path(os.path.realpath(path))) if is_file else path.open("wb") as file:
        file.writelines(text.encode() for text in texts)
    return path

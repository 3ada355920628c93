"""`everthread export`: write a bank, or one of its sessions, into a file, or each session into a file of a folder."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from everthread.cli.common import bank_option, json_option, pluralize, show_json
from everthread.cli.main import open_memory
from everthread.common.atomic_write import open_atomically
from everthread.errors import BadFile
from everthread.memory import Memory
from everthread.transfer import exporting
from everthread.transfer.exporting import EXPORT_FORMATS


@click.command()
@bank_option
@click.option(
    "-f", "--format", "form", type=click.Choice(list(EXPORT_FORMATS)), default="jsonl", metavar="NAME",
    help=f"{', '.join(EXPORT_FORMATS)}. Only jsonl has everything. Default: jsonl.",
)  # fmt: skip
@click.option("--session", help="Only this session.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="A file, or a folder for a file of each session. Default: standard output.",
)  # fmt: skip
@click.option(
    "--retracted", is_flag=True, help="Include retracted lines; of a jsonl file, `import` retracts them again."
)
@json_option
@click.pass_context
def export(
    ctx: click.Context,
    /,
    bank: str,
    form: str,
    session: str | None,
    output: Path | None,
    retracted: bool,
    as_json: bool,
) -> None:
    """Write a bank as JSON Lines, from which `import` makes the same bank again, or in a format of other programs.

    If the output is a folder, each session is written into a file of its own. SillyTavern has a file for each chat.
    """
    counts: list[int] = []
    with open_memory(ctx, bank) as memory:
        if output is None:
            escaped = codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8"
            options = {"session": session, "retracted": retracted}
            sys.stdout.writelines(exporting.export(memory, form, ascii_only=escaped, **options))  # type: ignore[arg-type]
            return
        try:
            files = _write(memory, form, output, session, retracted, counts)
        except OSError as error:
            message = f"{output} can't be written ({error.strerror}); name a file on a disk with room for it"
            raise BadFile(message) from None
    if as_json:
        show_json({"bank": bank, "lines": sum(counts), "file": str(output), "files": len(files)})
        return
    place = output if files == [output] else f"{pluralize(len(files), 'file')} in {output}"
    click.echo(f"{pluralize(sum(counts), 'line')} written to {place}", err=True)


def _write(
    memory: Memory, form: str, output: Path, session: str | None, retracted: bool, counts: list[int]
) -> list[Path]:
    """Write a bank into a file, or its sessions into a folder; return the files, and add the numbers of lines."""
    if session is None and form != "jsonl" and output.is_dir():
        named = exporting.export_files(memory, form, retracted=retracted, progress=counts.append)
        return [_write_file(output / name, texts) for name, texts in named]
    texts = exporting.export(memory, form, session=session, retracted=retracted, progress=counts.append)
    return [_write_file(output, texts)]


def _write_file(path: Path, texts: Iterator[str]) -> Path:
    """Write a file completely or not at all; what is no file, such as a pipe, as the texts come."""
    is_file = path.is_file() or not path.exists()
    with open_atomically(path.resolve()) if is_file else path.open("wb") as file:
        file.writelines(text.encode() for text in texts)
    return path

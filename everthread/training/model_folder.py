"""Writes the files of an exported model into a folder that may hold another one."""

from __future__ import annotations

from pathlib import Path

DESCRIPTION = "embedder.json"  # with the model's name; without it a folder is no model


def replace_model(source: Path, out: Path) -> None:
    """Copy a model into a folder, in place of the model that is there. Other files stay.

    The description is removed first and written last, so that a process that is killed in between leaves a folder that
    can't be opened, never the name of one model with the weights of another: their vectors would be compared.
    """
    out.mkdir(parents=True, exist_ok=True)
    (out / DESCRIPTION).unlink(missing_ok=True)
    for file in sorted(source.iterdir(), key=lambda file: file.name == DESCRIPTION):
        (out / file.name).write_bytes(file.read_bytes())

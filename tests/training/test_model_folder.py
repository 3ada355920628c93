from __future__ import annotations

from pathlib import Path

import pytest

from everthread.training.model_folder import DESCRIPTION, replace_model


def make_model(folder: Path, name: str) -> Path:
    folder.mkdir()
    for file in (DESCRIPTION, "model.onnx", "tokenizer.json"):
        (folder / file).write_text(f"{file} of {name}")
    return folder


def read(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_a_model_takes_the_place_of_another_and_leaves_other_files_alone(tmp_path: Path) -> None:
    old, new = make_model(tmp_path / "old", "old"), make_model(tmp_path / "new", "new")
    (old / "notes.txt").write_text("mine")
    replace_model(new, old)
    assert read(old) == {**read(new), "notes.txt": "mine"}


def test_a_folder_is_made_for_the_first_model(tmp_path: Path) -> None:
    new = make_model(tmp_path / "new", "new")
    replace_model(new, tmp_path / "models" / "mine")
    assert read(tmp_path / "models" / "mine") == read(new)


def test_a_copy_that_breaks_off_leaves_no_name_with_the_weights_of_another_model(tmp_path: Path) -> None:
    old, new = make_model(tmp_path / "old", "old"), make_model(tmp_path / "new", "new")
    (old / "tokenizer.json").unlink()
    (old / "tokenizer.json").mkdir()  # can't be replaced by a file
    with pytest.raises(OSError, match=r"tokenizer\.json"):
        replace_model(new, old)
    assert not (old / DESCRIPTION).exists()

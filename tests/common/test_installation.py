"""Each installation is a folder with the metadata that an installer writes, read by an interpreter of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

PACKAGE = Path(__file__).parents[2] / "everthread"
ASKED = "from everthread.common.installation import *; print(extra_command('server')); print(upgrade_command())"


def commands(folder: Path, origin: dict[str, Any] | None, python: str = sys.executable) -> list[str]:
    """Return the commands of an installation with that origin, with words for the interpreter's path."""
    site = folder / "site"
    metadata = site / "everthread-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: everthread\nVersion: 0.1.0\n")
    if origin is not None:
        (metadata / "direct_url.json").write_text(json.dumps(origin))
    (site / "everthread").symlink_to(PACKAGE)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [python, "-c", ASKED], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.replace(f"{sys.executable} -m pip", "PIP").splitlines()


def test_an_index_installation_names_the_index_package(tmp_path: Path) -> None:
    assert commands(tmp_path, None) == ["PIP install 'everthread[server]'", "PIP install --upgrade everthread"]


def test_a_clone_names_an_editable_install_with_the_extra(tmp_path: Path) -> None:
    origin = {"url": (tmp_path / "my clone").as_uri(), "dir_info": {"editable": True}}
    assert commands(tmp_path, origin) == [
        f"PIP install --editable '{tmp_path}/my clone[server]'",
        f"git -C '{tmp_path}/my clone' pull",
    ]


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        ({"url": "file:///tmp/e.whl", "archive_info": {}}, "'everthread[server] @ file:///tmp/e.whl'"),
        ({"url": "file:///srv/everthread", "dir_info": {}}, "'everthread[server] @ file:///srv/everthread'"),
        (
            {"url": "https://example.org/e.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "'everthread[server] @ git+https://example.org/e.git@abc'",
        ),
    ],
)
def test_an_archive_or_repository_is_named_by_its_origin(
    tmp_path: Path, origin: dict[str, Any], requirement: str
) -> None:
    assert commands(tmp_path, origin)[0] == f"PIP install {requirement}"


def test_a_make_environment_names_make_and_one_without_pip_names_uv(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    venv.create(clone / ".venv", with_pip=False)
    python = str(clone / ".venv" / "bin" / "python")
    of_make = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    server, upgraded = commands(tmp_path / "a", of_make, python)
    assert (server, upgraded) == ("make serve", f"git -C {clone} pull")
    other, _ = commands(tmp_path / "b", None, python)
    assert other == f"uv pip install --python {python} 'everthread[server]'"


def test_no_release_that_cannot_be_built_is_a_dependency() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    allowed = {each.name: each.specifier for each in map(Requirement, project["dependencies"])}
    assert "2.2.0" not in allowed["pystemmer"]
    assert "2.2.0.2" in allowed["pystemmer"]

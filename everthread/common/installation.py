"""Builds the shell commands that add an extra to this installation, or update it.

A command such as `pip install 'everthread[server]'` is right only for an installation from a package index. For a
clone, an archive or a repository the requirement differs (PEP 610 records the origin), and the `pip` of a shell may
belong to another environment than the running interpreter.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from everthread.common.shell import quote

NAME = "everthread"


def extra_command(extra: str) -> str:
    """Return the shell command that installs an extra into the running environment."""
    clone = _find_source_tree()
    if clone is not None and extra == "server" and Path(sys.prefix) == clone / ".venv":
        return "make serve"
    if clone is not None:
        return f"{_find_installer()} --editable {quote(f'{clone}[{extra}]')}"
    return f"{_find_installer()} {quote(_format_requirement(f'[{extra}]'))}"


def has_llm_extra() -> bool:
    """Return whether the packages for writing notes and summaries with a language model are installed."""
    return all(find_spec(name) for name in ("json_repair", "pydantic"))


def installed_version() -> str:
    """Return the version of this installation."""
    try:
        return distribution(NAME).version
    except PackageNotFoundError:  # run from a folder that is not installed
        return "unknown"


def upgrade_command() -> str:
    """Return the shell command that updates Everthread."""
    clone = _find_source_tree()
    if clone is not None:
        return f"git -C {quote(str(clone))} pull"
    return f"{_find_installer()} --upgrade {quote(_format_requirement())}"


def package_command(package: str) -> str:
    """Return the shell command that installs another package into the running environment."""
    return f"{_find_installer()} {quote(package)}"


def _find_installer() -> str:
    python = quote(sys.executable)
    return f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"


def _find_source_tree() -> Path | None:
    """Return the folder of the source tree that the package runs from; None for an installed copy."""
    origin = _find_origin()
    if origin is None:
        root = Path(__file__).resolve().parents[2]
        return root if (root / "pyproject.toml").is_file() else None
    editable = origin.get("dir_info", {}).get("editable", False)
    return Path(url2pathname(urlsplit(origin["url"]).path)) if editable else None


def _format_requirement(extras: str = "") -> str:
    origin = _find_origin()
    if not origin:
        return f"{NAME}{extras}"
    url, vcs = origin["url"], origin.get("vcs_info")
    return f"{NAME}{extras} @ " + (f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url)


def _find_origin() -> dict[str, Any] | None:
    """Return the PEP 610 record of the origin; {} for a package index, None if the package is not installed."""
    try:
        record = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    origin: dict[str, Any] = json.loads(record) if record else {}
    return origin

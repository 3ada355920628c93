"""Reads the docstrings of commands without importing their modules, which may need seconds or lack a package."""

from __future__ import annotations

import ast
from importlib.util import find_spec


def read_docstring(module: str, function: str) -> str | None:
    """Return the docstring of a function of a module, from its source; None if it has none."""
    spec = find_spec(module)
    source = getattr(spec.loader, "get_source", lambda name: None)(module) if spec else None
    for node in ast.parse(source or "").body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return ast.get_docstring(node)
    return None

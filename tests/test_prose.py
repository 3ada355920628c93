"""Docstrings, comments, messages, docs and test names are plain technical English; documented arguments exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("everthread", "tests", "examples", "docs")
EXEMPT = ("tests/test_prose.py", "docs/cli.md")  # the list of words itself; a page that is generated from help texts
BANNED = re.compile(
    r"\b(?:whoever|whom|whence|anew|afresh|besides|so many|told|tells|stands|behind(?! (?:a|the) \w*proxy)|shall|seldom"
    r"|(?-i:is none|are none)|reckon(?:s|ed)?|mend(?:s|ed)?|somebody|nobody|everybody|but for|of itself|in mind)\b",
    re.IGNORECASE,
)
HEADLESS = re.compile(r"(?:\A|[.:!?]\s+)(?:What|Who|Whose|Whoever|Those|Where|Whether)\s[^.!?:]*(?![^.!?:]|\?)")
NO_VERB = re.compile(
    r"(?:What|Who|Whose|Whoever|Those|These|Where|Whether|How|When|The|A|An|Its|All|Each|Every|It|As)\b"
)
QUOTED = re.compile(  # code, quotations, and the targets of links
    r"```.*?```|`[^`]*`|\"[^\"\n]*\"|“[^”]*”|(?<=\])\([^()\s]*\)", re.DOTALL
)
COMMENT = re.compile(  # or a text, in which a # begins none
    r'"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|(\#[^\n]*)', re.DOTALL
)
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def files() -> list[str]:
    """Return the paths of all files with prose."""
    paths = [path for folder in FOLDERS for end in ("py", "md") for path in (ROOT / folder).rglob(f"*.{end}")]
    own = [path for path in paths if "node_modules" not in path.parts]
    names = {path.relative_to(ROOT).as_posix() for path in (*own, *ROOT.glob("*.md"))}
    return sorted(names.difference(EXEMPT))


def folder_of(file: str) -> str:
    """Return the first two folders of a path."""
    return "/".join(file.split("/")[:-1][:2])


def faults(file: str) -> list[str]:
    """Return the banned words, headless sentences and public functions' docstrings without a verb in a file.

    In the package and its examples, documented arguments that don't exist are faults, too.
    """
    source = (ROOT / file).read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source))) if file.endswith(".py") else []
    texts = [QUOTED.sub("…", text) for text in (prose_of(source, nodes) if nodes else [source])]
    found = [match[0] for text in texts for rule in (BANNED, HEADLESS) for match in rule.finditer(text)]
    found += [text for text in docstrings_of_functions(nodes) if NO_VERB.match(text)]
    if file.startswith(("everthread", "examples")):
        found += [name for node in nodes if isinstance(node, FUNCTION) for name in unknown_arguments(node)]
    return found


def prose_of(source: str, nodes: list[ast.AST]) -> Iterator[str]:
    """Yield docstrings, comments, the texts of errors and of help, and the names of tests."""
    for match in COMMENT.finditer(source):
        yield (match[1] or "").strip("#- ")
    for node in nodes:
        if isinstance(node, (*FUNCTION, ast.ClassDef, ast.Module)):
            yield ast.get_docstring(node) or ""
        if isinstance(node, FUNCTION) and node.name.startswith("test_"):
            yield node.name.replace("_", " ")
        if isinstance(node, ast.Raise) or (isinstance(node, ast.keyword) and node.arg == "help"):
            yield " ".join(str(constant.value) for constant in ast.walk(node) if isinstance(constant, ast.Constant))


def docstrings_of_functions(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the docstrings of public functions; not of properties, which are nouns."""
    for node in nodes:
        if isinstance(node, FUNCTION) and not (node.name.startswith("_") or is_property(node)):
            yield ast.get_docstring(node) or ""


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a method is read as an attribute."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def unknown_arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names under `Args:` in a function's docstring that are not its parameters."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", ast.get_docstring(node) or "", re.MULTILINE)
    documented = re.findall(r"^    ([\w*][\w, *]*):", section[1], re.MULTILINE) if section else []
    given = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
    return [name for names in documented for name in re.split(r"[ ,*]+", names) if name and name not in given]


@pytest.mark.parametrize("folder", sorted({folder_of(file) for file in files()}))
def test_files_are_plain_technical_english_and_document_arguments_that_exist(folder: str) -> None:
    found = {file: faults(file) for file in files() if folder_of(file) == folder}
    assert {file: texts for file, texts in found.items() if texts} == {}
